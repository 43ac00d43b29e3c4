// What happens at the leaves of a tree, the same for all types of trees: copying, taking and putting arrays, building
// key paths, comparing structures. A `put` that runs out of arrays, or has some left, is a mistake of the library.
#include <anew/call_key.h>
#include <anew/tree.h>
#include <fmt/format.h>

#include <algorithm>

#include "tree/carried.h"

namespace anew::detail {

void LeafPass::leaf(Array& a) {
  switch (action_) {
    case Action::copy: out_->push_back(a); return;
    case Action::take:
      out_->push_back(std::move(a));
      a = Array();
      return;
    case Action::put:
      if (next_ == in_.size()) throw InternalError(fmt::format("a tree has more leaves than the {} given", in_.size()));
      a = in_[next_++];
      return;
  }
}

void LeafPass::leaves(std::vector<Array>& list) {
  for (Array& a : list) leaf(a);
}

void LeafPass::finish() const {
  if (next_ != in_.size()) throw InternalError(fmt::format("a tree has {} leaves, {} were given", next_, in_.size()));
}

LeafList::operator std::span<const Array>() const { return {data_, size_}; }

void PathPass::leaf() { out_.push_back(path_); }
void PathPass::leave(std::size_t mark) {
  path_.resize(mark);
  --depth_;
}

std::size_t PathPass::enter(std::string_view before, std::string_view part, std::string_view behind) {
  std::size_t mark = path_.size();
  if (style_ == PathStyle::code) fmt::format_to(std::back_inserter(path_), "{}{}{}", before, part, behind);
  else fmt::format_to(std::back_inserter(path_), "{}{}", depth_ ? "." : "", part);
  ++depth_;
  return mark;
}
std::size_t PathPass::enter_index(std::size_t i) { return enter("[", fmt::format_int(i).str(), "]"); }
std::size_t PathPass::enter_key(std::string_view key) { return enter("['", key, "']"); }
std::size_t PathPass::enter_field(std::string_view name) { return enter(path_.empty() ? "" : ".", name, ""); }

void compare_paths(const std::vector<std::string>& got, const std::vector<std::string>& want, std::string_view op,
                   std::string_view what, std::string_view like, const Location& at) {
  std::size_t same = 0;
  while (same < got.size() && same < want.size() && got[same] == want[same]) ++same;
  if (same == got.size() && same == want.size()) return;
  const Carried c(op);
  const bool carried = what == "carry";
  auto leaf = [&](const std::string& path) {
    return carried ? c.path(path) : path.empty() ? std::string("the array") : path;
  };
  // Both lists of paths begin with `what`; this one belongs to the other tree.
  auto other = [&](const std::string& path) {
    return carried || what.empty() || !path.starts_with(what) ? leaf(path)
                                                              : fmt::format("{}{}", like, path.substr(what.size()));
  };
  std::string difference = same == want.size() ? fmt::format("{} is too much", leaf(got[same]))
                           : same == got.size()
                               ? fmt::format("{} is missing", leaf(want[same]))
                               : fmt::format("{} stands in the place of {}", leaf(got[same]), other(want[same]));
  throw Error(fmt::format("[{}] {} has {} leaves and {} has {}, which do not correspond: {}", op,
                          carried ? c.what : fmt::format("the {}", what), got.size(),
                          carried ? c.like : fmt::format("the {}", like), want.size(), difference),
              at, carried ? c.hint : "");
}

bool ValueDifference::between(bool a, bool b) { return between_shown(fmt::to_string(a), fmt::to_string(b)); }
bool ValueDifference::between(std::int64_t a, std::int64_t b) {
  return between_shown(fmt::to_string(a), fmt::to_string(b));
}
bool ValueDifference::between(std::uint64_t a, std::uint64_t b) {
  return between_shown(fmt::to_string(a), fmt::to_string(b));
}
bool ValueDifference::between(double a, double b) { return between_shown(fmt::to_string(a), fmt::to_string(b)); }
bool ValueDifference::between(std::string_view a, std::string_view b) {
  return between_shown(fmt::format("'{}'", a), fmt::format("'{}'", b));
}
bool ValueDifference::between_shown(std::string a, std::string b) {
  first_ = std::move(a);
  second_ = std::move(b);
  return false;
}
bool ValueDifference::at_index(std::size_t i) {
  path_ = fmt::format("[{}]{}", i, path(""));
  return false;
}
bool ValueDifference::at_key(std::string_view key) {
  path_ = fmt::format("['{}']{}", key, path(""));
  return false;
}
bool ValueDifference::at_field(std::string_view name) {
  path_ = path(name);
  return false;
}
std::string ValueDifference::path(std::string_view root) const {
  return fmt::format("{}{}{}", root, path_.empty() || path_[0] == '[' ? "" : ".", path_);
}

void values_differ(const ValueDifference& d, std::string_view op, std::string_view what, std::string_view like,
                   const Location& at) {
  std::string path = d.path("");
  if (path.starts_with('.')) path.erase(0, 1);
  throw Error(
      fmt::format("[{}] {}, which is no array, is {}", op, path.empty() ? "the tree" : path,
                  d.first().empty() ? fmt::format("not the same in the {} as in the {}", what, like)
                                    : fmt::format("{} in the {} and {} in the {}", d.second(), what, d.first(), like)),
      at, "give both the same value, or make it an Array");
}
void other_tree(std::string_view op, std::size_t i, const std::vector<std::string>& given,
                const std::vector<std::string>& like, const ValueDifference& d, const Location& at) {
  const std::size_t common = std::min(given.size(), like.size());
  const auto k = static_cast<std::size_t>(
      std::mismatch(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(common), like.begin()).first -
      given.begin());
  const auto named = [&](std::string_view path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    return fmt::format("argument {}{}{}", i, path.empty() || path[0] == '[' ? "" : ", ", path);
  };
  std::string difference;
  if (k < common) difference = fmt::format("{} is there, in the place of {}", named(given[k]), named(like[k]));
  else if (k < given.size()) difference = fmt::format("{} is too much", named(given[k]));
  else if (k < like.size()) difference = fmt::format("{} is missing", named(like[k]));
  else if (d.first().empty() && d.second().empty())
    difference = fmt::format("{} has a container of another size, or a value that is not the same", named(d.path("")));
  else difference = fmt::format("{} is no array, is {} and was {}", named(d.path("")), d.second(), d.first());
  throw Error(fmt::format("[{}] called with another tree than the function was made for: {}", op, difference), at,
              op == "compile" ? "compile once for each, or call jit(f), which does" : "make one for each");
}

void values_differ(const ValueDifference& d, std::string_view op, std::size_t i, const Location& at) {
  values_differ(d, op, fmt::format("tree number {}", i), "first one", at);
}

void check_leaf_count(std::size_t given, std::size_t wanted, const Location& at) {
  if (given != wanted)
    throw Error(fmt::format("[tree_unflatten] the tree has {} leaves, {} were given", wanted, given), at);
}

}  // namespace anew::detail
