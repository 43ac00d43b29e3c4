// A function of the leaves of one tree, or of several that correspond. Part of tree.h, which includes it.
#pragma once
#include <anew/tree.h>

namespace anew {

namespace detail {
// Of trees whose leaves correspond.
template <class Fn, class T, class... Ts>
T map_leaves(Fn&& fn, const T& first, const Ts&... rest) {
  Arrays out = leaves(first);
  [&](const std::same_as<Arrays> auto&... others) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = fn(out[i], others[i]...);
  }(leaves(rest)...);
  return with_leaves(first, out);
}
template <class Fn, class T, class... Ts>
T map_trees(const Location& at, Fn&& fn, const T& first, const Ts&... rest) {
  static_assert(std::is_invocable_r_v<Array, Fn&, const Array&, std::conditional_t<true, const Array&, Ts>...>,
                "anew::tree_map: the function takes one Array per tree and returns an Array");
  check_function<std::remove_cvref_t<Fn>>(fn, at);
  (check_structure(rest, first, "tree_map", "tree", "first tree", at), ...);
  [[maybe_unused]] std::size_t i = 0;
  (check_values(rest, first, "tree_map", ++i, at), ...);
  return map_leaves(fn, first, rest...);
}
}  // namespace detail

// fn(leaf, leaf of each other tree...) for every leaf; static values are the same in all trees. C++ has no room for the
// line of the call behind any number of trees: two and three have functions of their own.
template <class Fn = detail::Elementwise, Tree T, std::same_as<T>... Ts>
T tree_map(Fn&& fn, const T& first, const Ts&... rest) {
  return detail::map_trees({}, fn, first, rest...);
}
template <class Fn, Tree T, std::same_as<T> U>
T tree_map(Fn&& fn, const T& first, const U& second, const Location& at = Location::current()) {
  return detail::map_trees(at, fn, first, second);
}
template <class Fn, Tree T, std::same_as<T> U, std::same_as<T> V>
T tree_map(Fn&& fn, const T& first, const U& second, const V& third, const Location& at = Location::current()) {
  return detail::map_trees(at, fn, first, second, third);
}

}  // namespace anew
