// Functions of trees: their key paths, maps and folds over leaves, trees stacked along a new axis, a tree as one vector
// and back, and trees as vectors of a space (sums, multiples, products, norms). Templates take leaves and put them
// back; the rest is compiled once, in the library. Errors about a leaf name its path: `blocks[1].up.w`.
#pragma once
#include <anew/call.h>

namespace anew {

namespace detail {

// A tree as the library sees it: its leaves, and their paths, which are made only where an error or a user wants them.
class LeafView {
 public:
  using Paths = std::vector<std::string> (*)(const void* tree);
  LeafView(Arrays leaves, const void* tree, Paths paths) : leaves_(std::move(leaves)), tree_(tree), paths_(paths) {}
  const Arrays& leaves() const { return leaves_; }
  std::vector<std::string> paths() const { return paths_(tree_); }
  std::string path(std::size_t i) const;  // "the array" where the tree is one

 private:
  Arrays leaves_;
  const void* tree_;
  Paths paths_;
};
template <class T>
std::vector<std::string> paths_of(const void* tree) {
  return leaf_paths(*static_cast<const T*>(tree), "");
}
// Looks at t: t lives longer.
template <class T>
LeafView view_leaves(const T& t) {
  return {leaves(t), &t, paths_of<T>};
}
// Throws unless all leaves are arrays; unless there are floating-point numbers in all of them.
void check_arrays(const LeafView& t, std::string_view op, std::string_view what, const Location& at);
void check_floats(const LeafView& t, std::string_view op, std::string_view what, const Location& at);

enum class LeafOperation : std::uint8_t { add, subtract };
Arrays combine_leaves(LeafOperation operation, const LeafView& a, const LeafView& b, const Location& at);
Arrays scale_leaves(const Array& factor, const LeafView& x, const Location& at);
Arrays axpy_leaves(const Array& a, const LeafView& x, const LeafView& y, const Location& at);
Arrays zeros_like_leaves(const LeafView& x, const Location& at);
Array dot_leaves(const LeafView& a, const LeafView& b, const Location& at);
Array norm_leaves(const LeafView& x, const Location& at);
// trees[k][i] is leaf i of tree k.
Arrays stack_leaves(const std::vector<Arrays>& trees, const LeafView& first, const Location& at);
std::vector<Arrays> unstack_leaves(const LeafView& x, const Location& at);
Array ravel_leaves(const LeafView& x, const Location& at);
Arrays unravel_leaves(const Array& v, const std::vector<ShapeDtype>& types, const Location& at);
std::vector<ShapeDtype> types_of(const LeafView& x, std::string_view op, const Location& at);
template <class T>
void check_pair(const T& second, const T& first, std::string_view op, const Location& at) {
  check_structure(second, first, op, "second tree", "first tree", at);
  check_values(second, first, op, "second tree", "first tree", at);
}
[[noreturn]] void no_trees(std::string_view op, const Location& at);
[[noreturn]] void no_leaves(std::string_view op, const Location& at);

}  // namespace detail

// The key path of each leaf: layers[0].w, extra['gain']; of a tree that is one array, "".
template <Tree T>
std::vector<std::string> tree_paths(const T& t) {
  return detail::leaf_paths(t, "");
}

namespace detail {
std::string leaves_text(const LeafView& leaves);
}  // namespace detail
// A line for each leaf, its path and what it prints: to look at structs, tuples and lists.
template <Tree T>
std::string tree_str(const T& t) {
  return detail::leaves_text(detail::view_leaves(t));
}

namespace detail {
template <class Fn, class T, class... Ts>
T map_trees_with_path(const Location& at, Fn&& fn, const T& first, const Ts&... rest) {
  static_assert(std::is_invocable_r_v<Array, Fn&, const std::string&, const Array&,
                                      std::conditional_t<true, const Array&, Ts>...>,
                "anew::tree_map_with_path: the function takes a path and one Array per tree, and returns an Array");
  check_function<std::remove_cvref_t<Fn>>(fn, at);
  const std::vector<std::string> paths = leaf_paths(first, "");
  std::size_t i = 0;
  return map_trees(
      at,
      [&](const Array& leaf, const std::conditional_t<true, Array, Ts>&... others) -> Array {
        return fn(paths[i++], leaf, others...);
      },
      first, rest...);
}
}  // namespace detail
// fn(path, leaf, leaf of each other tree...) for every leaf; static values are the same in all trees.
template <class Fn, Tree T, std::same_as<T>... Ts>
T tree_map_with_path(Fn&& fn, const T& first, const Ts&... rest) {
  return detail::map_trees_with_path({}, fn, first, rest...);
}
template <class Fn, Tree T, std::same_as<T> U>
T tree_map_with_path(Fn&& fn, const T& first, const U& second, const Location& at = Location::current()) {
  return detail::map_trees_with_path(at, fn, first, second);
}
template <class Fn, Tree T, std::same_as<T> U, std::same_as<T> V>
T tree_map_with_path(Fn&& fn, const T& first, const U& second, const V& third,
                     const Location& at = Location::current()) {
  return detail::map_trees_with_path(at, fn, first, second, third);
}

namespace detail {
// What a fold of leaves starting with S carries: whatever fn returns.
template <class Fn, class S>
using Folded = std::remove_cvref_t<std::invoke_result_t<Fn&, S, const Array&>>;
}  // namespace detail
// fn(...fn(fn(start, leaf 0), leaf 1)..., last leaf).
template <class Fn, Tree T, class S>
auto tree_reduce(Fn&& fn, const T& t, S start) {
  static_assert(std::is_invocable_v<Fn&, S, const Array&>,
                "anew::tree_reduce: the function takes what was reduced so far and an Array");
  detail::check_function<std::remove_cvref_t<Fn>>(fn);
  detail::Folded<Fn, S> sum(std::move(start));
  for (const Array& leaf : detail::leaves(t)) sum = fn(std::move(sum), leaf);
  return sum;
}
// Starting with the first leaf.
template <class Fn, Tree T>
Array tree_reduce(Fn&& fn, const T& t, const Location& at = Location::current()) {
  static_assert(std::is_invocable_r_v<Array, Fn&, const Array&, const Array&>,
                "anew::tree_reduce: without a start, the function takes two Arrays and returns one");
  detail::check_function<std::remove_cvref_t<Fn>>(fn, at);
  const Arrays leaves = detail::leaves(t);
  if (leaves.empty()) detail::no_leaves("tree_reduce", at);
  Array sum = leaves[0];
  for (std::size_t i = 1; i < leaves.size(); ++i) sum = fn(sum, leaves[i]);
  return sum;
}

// Trees alike as one, whose leaves have a new first axis over them: layers for scan, seeds for vmap. Static values are
// the same in all of them.
template <Tree T>
T tree_stack(const std::vector<T>& trees, const Location& at = Location::current()) {
  if (trees.empty()) detail::no_trees("tree_stack", at);
  std::vector<Arrays> leaves;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    detail::check_structure(trees[i], trees[0], "tree_stack", "tree", "first tree", at);
    detail::check_values(trees[i], trees[0], "tree_stack", i, at);
    leaves.push_back(detail::leaves(trees[i]));
  }
  return detail::with_leaves(trees[0], detail::stack_leaves(leaves, detail::view_leaves(trees[0]), at));
}
// The trees along the first axis of the leaves.
template <Tree T>
std::vector<T> tree_unstack(const T& t, const Location& at = Location::current()) {
  std::vector<T> out;
  for (const Arrays& leaves : detail::unstack_leaves(detail::view_leaves(t), at))
    out.push_back(detail::with_leaves(t, leaves));
  return out;
}

// From a vector back to a tree of the shapes, dtypes and static values that ravel_tree saw.
template <Tree T>
class Unravel {
 public:
  Unravel(T skeleton, std::vector<ShapeDtype> types) : skeleton_(std::move(skeleton)), types_(std::move(types)) {}
  T operator()(const Array& v, const Location& at = Location::current()) const {
    present_.check(at);
    return detail::with_leaves(skeleton_, detail::unravel_leaves(v, types_, at));
  }

 private:
  T skeleton_;
  std::vector<ShapeDtype> types_;
  detail::Present present_;
};
// auto [v, unravel] = ravel_tree(t): all elements in one vector, of the dtype that the leaves' promote to, and the
// function that makes a tree of such a vector; unravel(v) has the leaves' own dtypes again.
template <Tree T>
std::pair<Array, Unravel<T>> ravel_tree(const T& t, const Location& at = Location::current()) {
  const detail::LeafView view = detail::view_leaves(t);
  std::vector<ShapeDtype> types = detail::types_of(view, "ravel_tree", at);
  T skeleton = t;
  detail::take_leaves(skeleton);
  return {detail::ravel_leaves(view, at), Unravel<T>(std::move(skeleton), std::move(types))};
}

// ---- trees as vectors: leaves have the same shapes, static values are the same, and results the dtypes that stand for
// them (of the sum that of both, of multiples that of the tree)
template <Tree T>
T tree_add(const T& a, const T& b, const Location& at = Location::current()) {
  detail::check_pair(b, a, "tree_add", at);
  return detail::with_leaves(
      a, detail::combine_leaves(detail::LeafOperation::add, detail::view_leaves(a), detail::view_leaves(b), at));
}
template <Tree T>
T tree_sub(const T& a, const T& b, const Location& at = Location::current()) {
  detail::check_pair(b, a, "tree_sub", at);
  return detail::with_leaves(
      a, detail::combine_leaves(detail::LeafOperation::subtract, detail::view_leaves(a), detail::view_leaves(b), at));
}
// factor * x; `factor` is a number or a scalar.
template <Tree T>
T tree_scale(const Array& factor, const T& x, const Location& at = Location::current()) {
  return detail::with_leaves(x, detail::scale_leaves(factor, detail::view_leaves(x), at));
}
// a * x + y.
template <Tree T>
T tree_axpy(const Array& a, const T& x, const T& y, const Location& at = Location::current()) {
  detail::check_pair(y, x, "tree_axpy", at);
  return detail::with_leaves(y, detail::axpy_leaves(a, detail::view_leaves(x), detail::view_leaves(y), at));
}
// The sum of all products of elements, a scalar.
template <Tree T>
Array tree_dot(const T& a, const T& b, const Location& at = Location::current()) {
  detail::check_pair(b, a, "tree_dot", at);
  return detail::dot_leaves(detail::view_leaves(a), detail::view_leaves(b), at);
}
// The root of the sum of all squares, a scalar.
template <Tree T>
Array tree_norm(const T& x, const Location& at = Location::current()) {
  return detail::norm_leaves(detail::view_leaves(x), at);
}
template <Tree T>
T tree_zeros_like(const T& x, const Location& at = Location::current()) {
  return detail::with_leaves(x, detail::zeros_like_leaves(detail::view_leaves(x), at));
}

}  // namespace anew
