// Control flow over trees: scan. Carries and outputs may be any trees of arrays; numbers in them are arrays.
#pragma once
#include <anew/call.h>

namespace anew {

namespace detail {

template <class R>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

// What happens to the types of a loop: C the carry, X one step's input.
template <class Body, class C, class X>
consteval bool check_scan_body() {
  if constexpr (check_tree<C>() && check_tree<X>()) {
    constexpr bool carry = holds_arrays<C> || std::is_empty_v<C>;
    static_assert(carry, "anew::scan: the carry holds no array; make its numbers Array, or pass none");
    constexpr bool callable = std::is_invocable_v<const Body&, const C&, const X&>;
    static_assert(callable, "anew::scan: body must be callable as body(carry, x), with x of the type of xs (or none)");
    if constexpr (carry && callable) {
      using R = std::remove_cvref_t<std::invoke_result_t<const Body&, const C&, const X&>>;
      static_assert(is_pair<R>,
                    "anew::scan: body must return std::pair(carry, y); write std::pair(carry, none) if there is no y");
      if constexpr (is_pair<R>) {
        constexpr bool same = std::convertible_to<typename R::first_type, C>;
        static_assert(same, "anew::scan: the carry that body returns has another type than the initial carry");
        return same && check_tree<typename R::second_type>();
      }
    }
  }
  return false;
}

using RunBody = flat::ScanResult (*)(void* loop, std::span<const Array> carry, std::span<const Array> x);
flat::ScanBody scan_body(void* loop, RunBody run);

// One loop: the carry and the input without their leaves, and the output's shape once the body has been called.
template <class Body, class C, class X>
class ScanLoop {
  using Returned = std::remove_cvref_t<std::invoke_result_t<const Body&, const C&, const X&>>;

 public:
  using Y = typename traced_numbers<typename Returned::second_type>::type;
  ScanLoop(const Body& body, C init, X xs, const Location& at)
      : body_(body), carry_(std::move(init)), x_(std::move(xs)), at_(at) {}
  ScanLoop(const ScanLoop&) = delete;
  ScanLoop& operator=(const ScanLoop&) = delete;

  std::pair<C, Y> run(const ScanOptions& options) {
    Arrays init = take_leaves(carry_), xs = take_leaves(x_);
    std::vector<std::string> paths;
    if constexpr (!std::same_as<C, Array>) paths = leaf_paths(carry_, "carry");
    flat::ScanResult out = flat::scan(scan_body(this, step), init, xs, options, paths, at_);
    return {with_leaves(carry_, out.carry), y_.rebuild(out.ys)};
  }

 private:
  static flat::ScanResult step(void* self, std::span<const Array> carry, std::span<const Array> x) {
    auto& loop = *static_cast<ScanLoop*>(self);
    const C c = with_leaves(loop.carry_, carry);
    const X x_now = with_leaves(loop.x_, x);
    Returned r = detail::call(loop.body_, c, x_now);
    C next = static_cast<C>(std::move(r.first));
    check_structure(next, loop.carry_, "scan", "carry", "initial carry", loop.at_);
    Arrays carry_out = take_leaves(next);
    return {std::move(carry_out), loop.y_.flatten(static_cast<Y>(std::move(r.second)))};
  }

  const Body& body_;
  C carry_;
  X x_;
  Location at_;
  ResultShape<Y> y_;
};

}  // namespace detail

// carry = init; for each x along axis 0 of xs: (carry, y) = body(carry, x). Gives the last carry and the stacked y.
template <class Body, class Init, class Xs>
[[nodiscard]] auto scan(Body body, Init init, Xs xs, const ScanOptions& options = {},
                        const Location& at = Location::current()) {
  using C = detail::argument_t<Body, 0, Init, detail::traced_numbers>;
  using X = detail::argument_t<Body, 1, Xs, detail::traced_numbers>;
  if constexpr (detail::check_scan_body<Body, C, X>())
    return detail::ScanLoop<Body, C, X>(body, static_cast<C>(std::move(init)), static_cast<X>(std::move(xs)), at)
        .run(options);
}

}  // namespace anew
