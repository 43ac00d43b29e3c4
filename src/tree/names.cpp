// Names from the text of macros: fields of ANEW_TREE, arguments of ANEW_ARGS. The text is what the user wrote, so
// commas inside brackets and quotes do not separate, and a list that cannot be split as expected falls back to numbers.
#include <anew/linearize.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace anew::detail {
namespace {

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view space = " \t\n";
  std::size_t begin = s.find_first_not_of(space);
  if (begin == s.npos) return {};
  return s.substr(begin, s.find_last_not_of(space) - begin + 1);
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      else if (c == quote) quote = 0;
    } else if (c == '"' || (c == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(list[i - 1]))))) {
      quote = c;  // a ' after a digit separates digits: 1'000
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back(trimmed(list.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (std::string_view last = trimmed(list.substr(begin)); !last.empty() || !out.empty()) out.emplace_back(last);
  return out;
}

}  // namespace

std::string nth_name(std::string_view list, std::size_t i) { return split_list(list).at(i); }

std::vector<std::string> argument_names(std::string_view text, std::size_t count) {
  std::vector<std::string> names = split_list(text);
  if (names.size() > count) names.clear();  // commas of templates
  for (std::size_t i = names.size(); i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace anew::detail
