// Signatures are read from the end, because types in front of a name (std::function<A(A)> f(int)) can hold anything:
//   g++    std::vector<U> ns::Q<T>::n(U) const [with U = float; T = int]   main()::<lambda(int)> mutable
//   clang  std::vector<U> ns::Q<int>::n(U) const [T = int, U = float]      auto (anonymous class)::operator()(int)
#include "base/function_name.h"

namespace anew {
namespace {

constexpr auto npos = std::string_view::npos;

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '~' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  return s;
}

// Where the bracket opens that `s` ends with, or npos.
std::size_t opening(std::string_view s, char open, char close) {
  int depth = 0;
  for (std::size_t i = s.size(); i-- > 0;) {
    if (s[i] == close) ++depth;
    if (s[i] == open && --depth == 0) return i;
  }
  return npos;
}

// Drops "[with T = int]", and behind the last ')' or '>' everything: const, &&, mutable, noexcept.
std::string_view without_suffix(std::string_view s) {
  s = trimmed(s);
  if (s.ends_with(']')) {
    const std::size_t at = opening(s, '[', ']');
    if (at != npos) s = trimmed(s.substr(0, at));
  }
  // The constraint of a function is its last word at this level, and may hold brackets of its own.
  int depth = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '<') ++depth;
    if (s[i] == ')' || s[i] == '>') --depth;
    if (depth == 0 && s.substr(i).starts_with(" requires ")) return without_suffix(s.substr(0, i));
  }
  const std::size_t last = s.find_last_of(")>");
  return last == npos ? s : s.substr(0, last + 1);
}

// The start of a last name "operator...", or npos.
std::size_t operator_start(std::string_view s) {
  const std::size_t at = s.rfind("operator");
  if (at == npos || (at > 0 && in_name(s[at - 1]))) return npos;
  const std::string_view rest = s.substr(at + 8);
  if (rest.empty() || in_name(rest.front())) return npos;
  // In "operator()(int)::Z::z" or "vector<operator_t>" it belongs to a scope or an argument.
  const bool call = rest.starts_with("()");
  return (call ? rest.substr(2) : rest).find_first_of("()") == npos ? at : npos;
}

}  // namespace

std::string short_function_name(std::string_view signature) {
  std::string_view s = without_suffix(signature);
  if (s.ends_with('>')) {
    const std::size_t at = opening(s, '<', '>');
    if (at != npos && s.substr(at).starts_with("<lambda(")) return "<lambda>";
  }
  if (!s.ends_with(')')) return std::string(signature);
  const std::size_t parameters = opening(s, '(', ')');
  if (parameters == npos) return std::string(signature);
  const std::string_view group = s.substr(parameters);
  if (group.starts_with("(*") || group.starts_with("(&")) {  // it returns a reference to an array
    return short_function_name(group.substr(2, group.size() - 3));
  }
  s = trimmed(s.substr(0, parameters));

  const std::size_t op = operator_start(s);
  if (op != npos) {
    const std::string_view scope = s.substr(0, op);
    const bool lambda = scope.ends_with("(anonymous class)::") || scope.ends_with("<lambda>::");
    return lambda ? "<lambda>" : std::string(s.substr(op));
  }
  if (s.ends_with(')')) {  // it returns a pointer to a function: "void (* f(int))"
    const std::size_t at = opening(s, '(', ')');
    if (at != npos) return short_function_name(s.substr(at + 2, s.size() - at - 3));
  }
  if (s.ends_with('>')) {
    const std::size_t at = opening(s, '<', '>');
    if (at != npos) s = s.substr(0, at);
  }
  std::size_t begin = s.size();
  while (begin > 0 && in_name(s[begin - 1])) --begin;
  return begin == s.size() ? std::string(signature) : std::string(s.substr(begin));
}

}  // namespace anew
