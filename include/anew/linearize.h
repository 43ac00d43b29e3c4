// vjp, linearize and jvp of functions of trees, and the linear functions they give. Those hold residuals and the shapes
// of trees, and no array of the call besides: what a backward pass keeps alive is what its residuals say.
#pragma once
#include <anew/call.h>

namespace anew {

// The names of arguments, for reports: vjp(f, ANEW_ARGS(w, x)).
struct ArgNames {
  explicit ArgNames(std::string_view text = {}, const Location& at = {}) : text(text), at(at) {}
  std::string_view text;
  Location at;
};

namespace detail {
template <class T>
concept Argument = !std::same_as<T, ArgNames>;
}
// Behind any number of arguments C++ has no room for the line of the call: calls of up to four are functions of their
// own, which have it. work(f, names, arguments...) does what `name` does.
#define ANEW_CALLS_WITH_LINE(attributes, name, work)                                                        \
  template <class F = detail::Elementwise, detail::Argument A>                                              \
  attributes auto name(F f, const A& a, const Location& at = Location::current()) {                         \
    return work(f, ArgNames({}, at), a);                                                                    \
  }                                                                                                         \
  template <class F = detail::Elementwise, detail::Argument A, class B>                                     \
  attributes auto name(F f, const A& a, const B& b, const Location& at = Location::current()) {             \
    return work(f, ArgNames({}, at), a, b);                                                                 \
  }                                                                                                         \
  template <class F = detail::Elementwise, detail::Argument A, class B, class C>                            \
  attributes auto name(F f, const A& a, const B& b, const C& c, const Location& at = Location::current()) { \
    return work(f, ArgNames({}, at), a, b, c);                                                              \
  }                                                                                                         \
  template <class F = detail::Elementwise, detail::Argument A, class B, class C, class D>                   \
  attributes auto name(F f, const A& a, const B& b, const C& c, const D& d,                                 \
                       const Location& at = Location::current()) {                                          \
    return work(f, ArgNames({}, at), a, b, c, d);                                                           \
  }

namespace detail {

// One name per argument: "2", "3", ... of those behind the ones in `text`, and of all where it has too many.
std::vector<std::string> argument_names(std::string_view text, std::size_t count);

template <std::size_t... I, class... A>
void name_arguments(const Slots<std::index_sequence<I...>, A...>& args, const std::vector<std::string>& roots,
                    std::vector<std::string>& out) {
  auto one = [&](const auto& arg, const std::string& root) {
    PathPass pass(out, root);
    name_leaves(arg, pass);
  };
  (one(get<I>(args), roots[I]), ...);
}
template <class Seq, class... A>
flat::CallInfo call_info(const Slots<Seq, A...>& args, const ArgNames& names) {
  flat::CallInfo info{names.at, {}};
  std::vector<std::string> roots = argument_names(names.text, sizeof...(A));
  if constexpr ((std::same_as<A, Array> && ...)) info.paths = std::move(roots);
  else name_arguments(args, roots, info.paths);
  return info;
}

// What a tangent or a cotangent must look like; nothing is kept where the type says it all.
template <class T>
using Dynamic = std::conditional_t<fixed_structure<T>(), none_t, T>;
template <class T>
Dynamic<T> dynamic_skeleton(const T& skeleton) {
  if constexpr (fixed_structure<T>()) return none;
  else return skeleton;
}
template <class T>
void check_like(const T& given, const Dynamic<T>& want, std::string_view op, std::string_view what,
                std::string_view like, const Location& at) {
  if constexpr (!fixed_structure<T>()) check_structure(given, want, op, what, like, at);
}

// Where a tangent or cotangent of a static argument is asked for, anything will do.
struct Anything {
  template <class T>
  Anything(const T&) {}
};
template <class A>
using Tangent = std::conditional_t<holds_arrays<A>, A, Anything>;
template <class A>
void add_tangent(Arrays& out, const Tangent<A>& tangent, const A& like, std::string_view op, const Location& at) {
  if constexpr (holds_arrays<A>) {
    check_structure(tangent, like, op, "tangent", "argument", at);
    LeafPass pass(LeafPass::Action::copy, out);
    walk(const_cast<A&>(tangent), pass);
  }
}

}  // namespace detail

// The pullback of a function of A... with result R, at a point: residuals, and no other array of the call.
template <class R, class... A>
class Pullback {
 public:
  Pullback(flat::Linear linear, detail::Pack<A...> arguments, detail::Dynamic<R> result)
      : linear_(std::move(linear)), arguments_(std::move(arguments)), result_(std::move(result)) {}

  // One cotangent per argument: alone, or in a std::tuple with none for static arguments.
  auto operator()(const R& ct, const Location& at = Location::current()) const& {
    return rebuild(linear_.pullback(detail::LeafList(flatten(ct, at)), at));
  }
  // The last call: residuals are freed as they are used.
  auto operator()(const R& ct, const Location& at = Location::current()) && {
    return rebuild(std::move(linear_).consume(detail::LeafList(flatten(ct, at)), at));
  }
  std::vector<Residual> residuals(const Location& at = Location::current()) const { return linear_.residuals(at); }
  // Inputs: residuals, then cotangents.
  Program program(const Location& at = Location::current()) const { return linear_.pullback_program(at); }

 private:
  Arrays flatten(const R& ct, const Location& at) const {
    present_.check(at);
    detail::check_like<R>(ct, result_, "vjp", "cotangent", "output", at);
    return detail::leaves(ct);
  }
  auto rebuild(const Arrays& cts) const {
    return detail::rebuild_arguments(arguments_, cts, std::index_sequence_for<A...>{});
  }
  flat::Linear linear_;
  detail::Pack<A...> arguments_;
  detail::Dynamic<R> result_;
  detail::Present present_;
};

// The derivative of a function of A... with result R, at a point, as a linear function of tangents.
template <class R, class... A>
class Linearized {
 public:
  Linearized(flat::Linear linear, detail::Pack<A...> arguments, R result)
      : linear_(std::move(linear)), arguments_(std::move(arguments)), result_(std::move(result)) {}

  // One tangent per argument; for a static one anything, such as none.
  R operator()(const detail::Tangent<A>&... tangents, const Location& at = Location::current()) const {
    return apply(std::index_sequence_for<A...>{}, at, tangents...);
  }
  std::vector<Residual> residuals(const Location& at = Location::current()) const { return linear_.residuals(at); }
  // Inputs: residuals, then tangents.
  Program program(const Location& at = Location::current()) const { return linear_.program(at); }

 private:
  template <std::size_t... I>
  R apply(std::index_sequence<I...>, const Location& at, const detail::Tangent<A>&... tangents) const {
    present_.check(at);
    Arrays flat;
    (detail::add_tangent<A>(flat, tangents, detail::get<I>(arguments_), "linearize", at), ...);
    return detail::with_leaves(result_, linear_(detail::LeafList(flat), at));
  }
  flat::Linear linear_;
  detail::Pack<A...> arguments_;
  R result_;
  detail::Present present_;
};

namespace detail {

template <class C>
struct derivatives;
template <class F, class Free, class... A>
struct derivatives<Call<F, Free, A...>> {
  using pullback = Pullback<result_t<F, A...>, A...>;
  using linearized = Linearized<result_t<F, A...>, A...>;
};
template <class F, class... T>
auto vjp_named(const F& f, const ArgNames& names, const T&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, args...);
    auto [y, linear] = flat::linearize(c.flat(), c.leaves(), call_info(c.skeleton(), names));
    using P = typename derivatives<typename For::type>::pullback;
    return std::pair(c.rebuild(y), P(std::move(linear), c.skeleton(), dynamic_skeleton(c.result_skeleton())));
  }
}
template <class F, class... T>
auto linearize_named(const F& f, const ArgNames& names, const T&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, args...);
    auto [y, linear] = flat::linearize(c.flat(), c.leaves(), call_info(c.skeleton(), names));
    using L = typename derivatives<typename For::type>::linearized;
    return std::pair(c.rebuild(y), L(std::move(linear), c.skeleton(), c.result_skeleton()));
  }
}

}  // namespace detail

// auto [y, pullback] = vjp(f, args...)
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto vjp(F f, const T&... args) {
  return detail::vjp_named(f, ArgNames(), args...);
}
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto vjp(F f, ArgNames names, const T&... args) {
  return detail::vjp_named(f, names, args...);
}
ANEW_CALLS_WITH_LINE([[nodiscard]], vjp, detail::vjp_named)
// auto [y, f_lin] = linearize(f, args...)
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto linearize(F f, const T&... args) {
  return detail::linearize_named(f, ArgNames(), args...);
}
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto linearize(F f, ArgNames names, const T&... args) {
  return detail::linearize_named(f, names, args...);
}
ANEW_CALLS_WITH_LINE([[nodiscard]], linearize, detail::linearize_named)

namespace detail {

// A std::tuple holds one value per argument, unless the function takes one argument and that is a std::tuple.
template <class T>
inline constexpr bool is_std_tuple = false;
template <class... T>
inline constexpr bool is_std_tuple<std::tuple<T...>> = true;
template <class Ps>
inline constexpr bool takes_one_tuple = false;
template <class P>
inline constexpr bool takes_one_tuple<types<P>> = is_std_tuple<std::decay_t<P>>;

template <class F, class... T>
auto per_argument(const std::tuple<T...>& t) {
  if constexpr (takes_one_tuple<params_t<F>>) return std::tuple<const std::tuple<T...>&>(t);
  else
    return std::apply([](const auto&... x) { return std::tuple<const std::remove_cvref_t<decltype(x)>&...>(x...); }, t);
}
template <class F, class T>
std::tuple<const T&> per_argument(const T& t) {
  return {t};
}
template <class... A, class... D>
consteval bool check_tangents(types<A...>, types<D...>) {
  constexpr bool same_number = sizeof...(A) == sizeof...(D);
  static_assert(same_number, "anew::jvp: one tangent per argument, in a std::tuple where there are several");
  if constexpr (same_number) {
    constexpr bool alike = (std::convertible_to<const D&, Tangent<A>> && ...);
    static_assert(alike, "anew::jvp: the tangents must have the types of the arguments (none for static ones)");
    return alike;
  }
  return false;
}
template <class F, class... X, class... D, std::size_t... I>
auto jvp_of(const F& f, const std::tuple<const X&...>& x, const std::tuple<const D&...>& dx, std::index_sequence<I...>,
            const Location& at) {
  using For = whole_call<F, X...>;
  if constexpr (For::valid && check_tangents(typename For::arguments{}, types<D...>{})) {
    typename For::type c(f, std::get<I>(x)...);
    Arrays tangents;
    (add_tangent<typename nth<I, typename For::arguments>::type>(tangents, std::get<I>(dx), get<I>(c.skeleton()), "jvp",
                                                                 at),
     ...);
    auto [y, dy] = flat::jvp(c.flat(), c.leaves(), LeafList(tangents), at);
    return std::pair(c.rebuild(y), c.rebuild(dy));
  }
}

}  // namespace detail

// auto [y, dy] = jvp(f, x, dx); several arguments in a std::tuple.
template <class F = detail::Elementwise, class X, class D>
[[nodiscard]] auto jvp(F f, const X& x, const D& dx, const Location& at = Location::current()) {
  auto xs = detail::per_argument<F>(x);
  return detail::jvp_of(f, xs, detail::per_argument<F>(dx), std::make_index_sequence<std::tuple_size_v<decltype(xs)>>{},
                        at);
}

}  // namespace anew

// Arguments with their names, for reports: print_saved_residuals(f, ANEW_ARGS(w, x)).
#define ANEW_ARGS(...) ::anew::ArgNames(#__VA_ARGS__, ::anew::Location::current()), __VA_ARGS__
