// What happens at the leaves of a tree, the same for all types of trees: copying, taking and putting arrays, building
// key paths, comparing structures. A `put` that runs out of arrays, or has some left, is a mistake of the library.
#include <anew/tree.h>
#include <fmt/format.h>

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
  std::string difference = same == want.size()  ? fmt::format("{} is too much", got[same])
                           : same == got.size() ? fmt::format("{} is missing", want[same])
                                                : fmt::format("{} stands in the place of {}", got[same], want[same]);
  throw Error(fmt::format("[{}] the {} has {} leaves and the {} has {}, which do not correspond: {}", op, what,
                          got.size(), like, want.size(), difference),
              at);
}

void check_leaf_count(std::size_t given, std::size_t wanted, const Location& at) {
  if (given != wanted)
    throw Error(fmt::format("[tree_unflatten] the tree has {} leaves, {} were given", wanted, given), at);
}

}  // namespace anew::detail
