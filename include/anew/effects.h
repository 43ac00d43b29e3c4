// Effects: printing and calling back from inside transformed functions. They happen in program order whenever the
// function runs, compiled or not, and are never dropped or merged; a checkpoint prints again when it recomputes.
#pragma once
#include <anew/call.h>

namespace anew {

namespace debug {

struct Format {
  std::string_view text;
  Location at;
  Format(const char* s, const Location& at = Location::current()) : text(s), at(at) {}
  Format(const std::string& s, const Location& at = Location::current()) : text(s), at(at) {}
};
// print("y: {}, z: {}", y, z): one line each time it runs, under vmap one per example; {{ and }} are braces.
template <class... T>
  requires(std::convertible_to<const T&, Array> && ...)
void print(const Format& format, const T&... xs) {
  flat::debug_print(format.text, Arrays{Array(xs)...}, format.at);
}
// Where lines go, one call per line, without its end; by default standard output. Returns the former sink; {} restores
// the default.
using Sink = std::function<void(std::string_view line)>;
Sink set_sink(Sink sink);

}  // namespace debug

namespace detail {

std::vector<ShapeDtype> types_of_leaves(const Arrays& xs);
// Kept as long as an equation may run: owns the function and the trees without their leaves.
template <class F, class R, class... A>
struct Callback {
  F f;
  Pack<A...> args;
  R result;

  template <std::size_t... I>
  Arrays run(std::span<const Array> xs, std::index_sequence<I...>) const {
    [[maybe_unused]] Pack<A...> filled = args;
    LeafPass pass(xs);
    (walk(get<I>(filled), pass), ...);
    pass.finish();
    R r = static_cast<R>(detail::call(f, std::as_const(get<I>(filled))...));
    check_structure(r, result, "io_callback", "result", "given result type", Location{});
    return take_leaves(r);
  }
};
template <class F, class R, class... A>
consteval bool check_callback() {
  if constexpr (check_call<F, A...>()) {
    constexpr bool same = std::convertible_to<result_t<F, A...>, R>;
    static_assert(same, "anew::io_callback: the function must return what the result type says (none: nothing)");
    return same;
  }
  return false;
}
template <class F, class R, std::size_t... I, class... T>
auto io_callback_of(F f, R result, const Location& at, std::index_sequence<I...> all, const T&... args) {
  if constexpr (check_callback<F, R, argument_t<F, I, T>...>()) {
    using State = Callback<F, R, argument_t<F, I, T>...>;
    Pack<argument_t<F, I, T>...> pack{{static_cast<argument_t<F, I, T>>(args)}...};
    Arrays leaves;
    [[maybe_unused]] LeafPass pass(LeafPass::Action::take, leaves);
    (walk(get<I>(pack), pass), ...);
    std::vector<ShapeDtype> types = types_of_leaves(take_leaves(result));
    auto state = std::make_shared<const State>(State{std::move(f), std::move(pack), result});
    FlatFunction g = [state, all](std::span<const Array> xs) { return state->run(xs, all); };
    return with_leaves(std::move(result), flat::io_callback(g, types, leaves, at));
  }
}

}  // namespace detail

// Calls f(args...) with concrete arrays each time it runs; result_type (ShapeDtype, a tree of them, arrays for their
// types, or none) says what f returns. It has no derivative.
template <class F, class R, class... T>
auto io_callback(F f, const R& result_type, const T&... args) {
  using Result = typename detail::traced_numbers<R>::type;
  return detail::io_callback_of(std::move(f), static_cast<Result>(result_type), Location{},
                                std::index_sequence_for<T...>{}, args...);
}

}  // namespace anew
