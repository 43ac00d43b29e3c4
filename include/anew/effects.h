// Effects: printing and calling back from inside transformed functions. They happen in program order whenever the
// function runs, compiled or not, and are never dropped or merged; a checkpoint prints again when it recomputes.
#pragma once
#include <anew/function_key.h>

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
  flat::debug_print(format.text, detail::LeafList(Arrays{Array(xs)...}), format.at);
}
// Where lines go, one call per line, without its end; by default standard output. Returns the former sink; {} restores
// the default.
using Sink = std::function<void(std::string_view line)>;
Sink set_sink(Sink sink);

}  // namespace debug

namespace detail {

enum class CallbackKind { io, pure, debug };
// flat::io_callback or another kind; the results have the types of `like`.
Arrays run_callback(CallbackKind kind, const FlatFunction& f, const FunctionKey& key, const Arrays& like,
                    const Arrays& args, const Location& at);
// Kept as long as an equation may run: owns the function and the trees without their leaves.
template <class F, class R, class... A>
struct Callback {
  F f;
  Pack<A...> args;
  R result;
  Location at;
  CallbackKind kind;

  template <std::size_t... I>
  Arrays run(std::span<const Array> xs, std::index_sequence<I...>) const {
    [[maybe_unused]] Pack<A...> filled = args;
    LeafPass pass(xs);
    (walk(get<I>(filled), pass), ...);
    pass.finish();
    R r = static_cast<R>(detail::call(f, std::as_const(get<I>(filled))...));
    check_structure(r, result, kind == CallbackKind::pure ? "pure_callback" : "io_callback", "result",
                    "given result type", at);
    return take_leaves(r);
  }
};
// Of f at one line: its results are checked, and errors say where.
template <class F, class R, class... A>
FunctionKey key_of_callback(const F& f, const R& result, const Pack<A...>& args, const Location& at) {
  if constexpr ((std::is_empty_v<F> || is_function_pointer<F>) && describable<R>() && (describable<A>() && ...)) {
    flat::CallKey values;
    values.text(at.file_name());
    values.word(at.line());
    describe(f, values);
    describe(result, values);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (describe(get<I>(args), values), ...);
    }(std::index_sequence_for<A...>());
    return key_of_values(key_of_types<F, R, A...>(), std::move(values));
  } else return nullptr;
}
template <class F, class R, class... A>
consteval bool check_callback() {
  if constexpr (check_call<F, A...>()) {
    constexpr bool same = std::convertible_to<result_t<F, A...>, R>;
    static_assert(
        same, "anew::io_callback, pure_callback: the function must return what the result type says (none: nothing)");
    return same;
  }
  return false;
}
template <class F, class R, std::size_t... I, class... T>
auto callback_of(CallbackKind kind, F f, R result, const Location& at, std::index_sequence<I...> all,
                 const T&... args) {
  if constexpr (check_callback<F, R, argument_t<F, I, T>...>()) {
    using State = Callback<F, R, argument_t<F, I, T>...>;
    Pack<argument_t<F, I, T>...> pack{{static_cast<argument_t<F, I, T>>(args)}...};
    Arrays leaves;
    [[maybe_unused]] LeafPass pass(LeafPass::Action::take, leaves);
    (walk(get<I>(pack), pass), ...);
    Arrays like = take_leaves(result);
    const FunctionKey key = key_of_callback(f, result, pack, at);
    auto state = std::make_shared<const State>(State{std::move(f), std::move(pack), result, at, kind});
    FlatFunction g = [state, all](std::span<const Array> xs) { return state->run(xs, all); };
    return with_leaves(std::move(result), run_callback(kind, g, key, like, leaves, at));
  }
}
template <class F, class R, class... T>
auto callback_at(CallbackKind kind, F f, const R& result_type, const Location& at, const T&... args) {
  check_function(f, at);
  using Result = typename traced_numbers<R>::type;
  return callback_of(kind, std::move(f), static_cast<Result>(result_type), at, std::index_sequence_for<T...>{},
                     args...);
}

}  // namespace detail

// Calls f(args...) with concrete arrays each time it runs; result_type (ShapeDtype, a tree of them, arrays for their
// types, or none) says what f returns. It has no derivative. One overload per number of arguments, up to six (a struct
// or tuple holds more), since behind a pack there is no place for the caller's line.
template <class F, class R>
auto io_callback(F f, const R& result_type, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at);
}
template <class F, class R, class A>
  requires(!std::same_as<A, Location>)
auto io_callback(F f, const R& result_type, const A& a, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a);
}
template <class F, class R, class A, class B>
  requires(!std::same_as<B, Location>)
auto io_callback(F f, const R& result_type, const A& a, const B& b, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a, b);
}
template <class F, class R, class A, class B, class C>
  requires(!std::same_as<C, Location>)
auto io_callback(F f, const R& result_type, const A& a, const B& b, const C& c,
                 const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a, b, c);
}
template <class F, class R, class A, class B, class C, class D>
  requires(!std::same_as<D, Location>)
auto io_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d,
                 const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a, b, c, d);
}
template <class F, class R, class A, class B, class C, class D, class E>
  requires(!std::same_as<E, Location>)
auto io_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d, const E& e,
                 const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a, b, c, d, e);
}
template <class F, class R, class A, class B, class C, class D, class E, class G>
  requires(!std::same_as<G, Location>)
auto io_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d, const E& e, const G& g,
                 const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::io, std::move(f), result_type, at, a, b, c, d, e, g);
}

// The same of a function whose results depend on nothing but its arguments, in place of rows that the library lacks: it
// may be called more than once, or not at all where its results are not needed. vmap calls it once per example, in
// order.
template <class F, class R>
auto pure_callback(F f, const R& result_type, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at);
}
template <class F, class R, class A>
  requires(!std::same_as<A, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a);
}
template <class F, class R, class A, class B>
  requires(!std::same_as<B, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const B& b, const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a, b);
}
template <class F, class R, class A, class B, class C>
  requires(!std::same_as<C, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const B& b, const C& c,
                   const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a, b, c);
}
template <class F, class R, class A, class B, class C, class D>
  requires(!std::same_as<D, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d,
                   const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a, b, c, d);
}
template <class F, class R, class A, class B, class C, class D, class E>
  requires(!std::same_as<E, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d, const E& e,
                   const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a, b, c, d, e);
}
template <class F, class R, class A, class B, class C, class D, class E, class G>
  requires(!std::same_as<G, Location>)
auto pure_callback(F f, const R& result_type, const A& a, const B& b, const C& c, const D& d, const E& e, const G& g,
                   const Location& at = Location::current()) {
  return detail::callback_at(detail::CallbackKind::pure, std::move(f), result_type, at, a, b, c, d, e, g);
}

namespace debug {
// Calls f(args...), which returns nothing, whenever it runs, as print prints.
template <class F>
void callback(F f, const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at);
}
template <class F, class A>
  requires(!std::same_as<A, Location>)
void callback(F f, const A& a, const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a);
}
template <class F, class A, class B>
  requires(!std::same_as<B, Location>)
void callback(F f, const A& a, const B& b, const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a, b);
}
template <class F, class A, class B, class C>
  requires(!std::same_as<C, Location>)
void callback(F f, const A& a, const B& b, const C& c, const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a, b, c);
}
template <class F, class A, class B, class C, class D>
  requires(!std::same_as<D, Location>)
void callback(F f, const A& a, const B& b, const C& c, const D& d, const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a, b, c, d);
}
template <class F, class A, class B, class C, class D, class E>
  requires(!std::same_as<E, Location>)
void callback(F f, const A& a, const B& b, const C& c, const D& d, const E& e,
              const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a, b, c, d, e);
}
template <class F, class A, class B, class C, class D, class E, class G>
  requires(!std::same_as<G, Location>)
void callback(F f, const A& a, const B& b, const C& c, const D& d, const E& e, const G& g,
              const Location& at = Location::current()) {
  detail::callback_at(detail::CallbackKind::debug, std::move(f), none, at, a, b, c, d, e, g);
}
}  // namespace debug

}  // namespace anew
