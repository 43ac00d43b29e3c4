// scan over trees, and what all loops do with their carries. Carries and outputs may be any trees of arrays; numbers in
// them are arrays; the plain C++ values of a carry are those that it starts with.
#pragma once
#include <anew/call.h>

namespace anew {

namespace detail {

// No step can change a plain C++ value in a carry, so a body that does is wrong, and must hear of it.
[[noreturn]] void static_carry_changes(const ValueDifference& d, std::string_view op, const Location& at);

// The carry of one loop without its leaves, and what every step must give back.
template <class C>
class Carry {
 public:
  Carry(C init, std::string_view op, const Location& at) : like_(std::move(init)), op_(op), at_(at) {
    start_ = take_leaves(like_);
  }
  const Arrays& start() const { return start_; }
  std::vector<std::string> paths() const { return leaf_paths(like_, "carry"); }
  const Location& at() const { return at_; }
  C with(LeafList xs) const { return with_leaves(like_, xs); }
  Arrays flatten(C next) const {
    check_structure(next, like_, op_, "carry", "initial carry", at_);
    if constexpr (holds_values<C>()) {
      ValueDifference d;
      if (!same_values(like_, next, d)) static_carry_changes(d, op_, at_);
    }
    return take_leaves(next);
  }

 private:
  C like_;
  std::string_view op_;
  Location at_;
  Arrays start_;
};

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
      : body_(body), carry_(std::move(init), "scan", at), x_(std::move(xs)) {}
  ScanLoop(const ScanLoop&) = delete;
  ScanLoop& operator=(const ScanLoop&) = delete;

  std::pair<C, Y> run(const ScanOptions& options) {
    Arrays xs = take_leaves(x_);
    flat::ScanResult out = flat::scan(scan_body(this, step), carry_.start(), xs, options, carry_.paths(), carry_.at());
    return {carry_.with(out.carry), y_.rebuild(out.ys)};
  }

 private:
  static flat::ScanResult step(void* self, std::span<const Array> carry, std::span<const Array> x) {
    auto& loop = *static_cast<ScanLoop*>(self);
    const C c = loop.carry_.with(carry);
    const X x_now = with_leaves(loop.x_, x);
    Returned r = detail::call(loop.body_, c, x_now);
    Arrays carry_out = loop.carry_.flatten(static_cast<C>(std::move(r.first)));
    return {std::move(carry_out), loop.y_.flatten(static_cast<Y>(std::move(r.second)))};
  }

  const Body& body_;
  Carry<C> carry_;
  X x_;
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
