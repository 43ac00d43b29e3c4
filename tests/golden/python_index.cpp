// Python's index syntax as an Index. Anything but integers, slices, "..." and None is an index by arrays.
#include <algorithm>
#include <charconv>

#include "golden/operation.h"

namespace anew::golden {
namespace {

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == separator) out.emplace_back();
    else if (c != ' ') out.back() += c;
  }
  return out;
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

Bound parse_bound(const std::string& text) {
  if (text.empty() || text == "None") return none;
  auto v = parse_integer(text);
  if (!v) throw NotDelivered("index by arrays");
  return *v;
}

IndexItem parse_item(const std::string& text) {
  if (text == "...") return ellipsis;
  if (text == "None") return newaxis;
  if (auto v = parse_integer(text)) return *v;
  if (std::count(text.begin(), text.end(), ':') == 0) throw NotDelivered("index by arrays");
  auto bounds = parts(text, ':');
  bounds.resize(3);
  return Slice{parse_bound(bounds[0]), parse_bound(bounds[1]), parse_bound(bounds[2])};
}

}  // namespace

Index parse_index(const std::string& text) {
  Index index{};
  for (const std::string& part : parts(text, ',')) index.items.push_back(parse_item(part));
  return index;
}

}  // namespace anew::golden
