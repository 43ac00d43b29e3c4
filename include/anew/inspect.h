// Inspection of functions of trees: which values a backward pass keeps, and its program beside the forward one.
// ANEW_ARGS(w, x) in place of the arguments passes their names and the line on.
#pragma once
#include <anew/linearize.h>

namespace anew {

namespace detail {

template <auto work, class F, class... T>
auto inspect(const F& f, const ArgNames& names, const T&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, args...);
    return work(c.flat(), c.leaves(), call_info(c.skeleton(), names));
  }
}

}  // namespace detail

// What the backward pass of f keeps, constants and arguments first, then values in the order of their equations.
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto saved_residuals(F f, ArgNames names, const T&... args) {
  return detail::inspect<flat::saved_residuals>(f, names, args...);
}
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto saved_residuals(F f, const T&... args) {
  return detail::inspect<flat::saved_residuals>(f, ArgNames(), args...);
}
ANEW_CALLS_WITH_LINE([[nodiscard]], saved_residuals, detail::inspect<flat::saved_residuals>)
// One line per residual with its bytes, and a last line with the total.
template <class F = detail::Elementwise, class... T>
void print_saved_residuals(F f, ArgNames names, const T&... args) {
  detail::inspect<flat::print_saved_residuals>(f, names, args...);
}
template <class F = detail::Elementwise, class... T>
void print_saved_residuals(F f, const T&... args) {
  detail::inspect<flat::print_saved_residuals>(f, ArgNames(), args...);
}
ANEW_CALLS_WITH_LINE(, print_saved_residuals, detail::inspect<flat::print_saved_residuals>)
// The forward and the backward program side by side.
template <class F = detail::Elementwise, class... T>
void print_fwd_bwd(F f, ArgNames names, const T&... args) {
  detail::inspect<flat::print_fwd_bwd>(f, names, args...);
}
template <class F = detail::Elementwise, class... T>
void print_fwd_bwd(F f, const T&... args) {
  detail::inspect<flat::print_fwd_bwd>(f, ArgNames(), args...);
}
ANEW_CALLS_WITH_LINE(, print_fwd_bwd, detail::inspect<flat::print_fwd_bwd>)

}  // namespace anew
