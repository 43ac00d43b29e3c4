// Transformations of functions of trees: grad, value_and_grad, vjp, jvp, linearize, checkpoint, jit, make_program,
// eval_shape. Each is a thin wrapper of its flat form: a Call flattens the arguments, the flat form does the work, the
// results are put back into the user's types. Wrappers hold the function and options, and nothing that a call changes.
#pragma once
#include <anew/call.h>

namespace anew {

// ---- grad
namespace detail {

template <class R>
inline constexpr bool is_value_and_aux = false;
template <class Aux>
inline constexpr bool is_value_and_aux<std::pair<Array, Aux>> = true;

template <std::size_t... I>
struct chosen_arguments {
  using type = std::index_sequence<I...>;
};
template <>
struct chosen_arguments<> {
  using type = std::index_sequence<0>;
};
template <std::size_t... I, class... A>
consteval bool check_free(std::index_sequence<I...>, types<A...>) {
  constexpr bool exist = ((I < sizeof...(A)) && ...);
  static_assert(exist, "anew::grad: grad<I>(f) needs an argument number I; arguments are numbered from 0");
  if constexpr (exist) {
    constexpr bool distinct = (... + (1ull << I)) == (... | (1ull << I));
    static_assert(distinct, "anew::grad: grad<I, J>(f) names an argument twice");
    constexpr bool arrays = (holds_arrays<typename nth<I, types<A...>>::type> && ...);
    static_assert(
        arrays,
        "anew::grad: the argument to differentiate is static, it holds no array; a number given for an `int` or "
        "`double` parameter is static, and so is an integer given for an `auto` parameter");
    return distinct && arrays;
  }
  return false;
}
template <class R>
consteval bool check_loss() {
  constexpr bool scalar = std::same_as<R, Array> || is_value_and_aux<R>;
  static_assert(scalar, "anew::grad: the function must return a scalar Array, or std::pair(scalar Array, aux)");
  return scalar;
}

}  // namespace detail

template <class F, bool WithValue, std::size_t... I>
class Grad : public detail::Calls<Grad<F, WithValue, I...>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  Grad(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using Free = typename detail::chosen_arguments<I...>::type;
    using For = detail::call_for<F, Free, std::index_sequence_for<T...>, T...>;
    if constexpr (For::valid && detail::check_free(Free{}, typename For::arguments{})) {
      using C = typename For::type;
      if constexpr (detail::check_loss<typename C::Result>()) {
        C c(f_, std::forward<T>(args)...);
        constexpr bool aux = detail::is_value_and_aux<typename C::Result>;
        Arrays values;
        Arrays gs = flat::grad(c.flat(), c.leaves(), WithValue || aux ? &values : nullptr, at_);
        auto g = detail::rebuild_arguments(c.skeleton(), gs, Free{});
        if constexpr (WithValue) return std::pair(c.rebuild(values), std::move(g));
        else if constexpr (aux) return std::pair(std::move(g), c.rebuild(values).second);
        else return g;
      }
    }
  }

 private:
  F f_;
  Location at_;
};
// The derivative with respect to argument 0, or to those given: grad<0, 2>(f).
template <std::size_t... I, class F>
[[nodiscard]] auto grad(F f, const Location& at = Location::current()) {
  return Grad<F, false, I...>(std::move(f), at);
}
template <std::size_t... I, class F>
[[nodiscard]] auto value_and_grad(F f, const Location& at = Location::current()) {
  return Grad<F, true, I...>(std::move(f), at);
}

// ---- vjp, linearize, jvp
// The names of arguments, for reports: vjp(f, ANEW_ARGS(w, x)).
struct ArgNames {
  explicit ArgNames(std::string_view text = {}, const Location& at = {}) : text(text), at(at) {}
  std::string_view text;
  Location at;
};

namespace detail {

// One name per argument: "0", "1", ... where `text` does not give as many.
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
    return rebuild(linear_.pullback(flatten(ct, at), at));
  }
  // The last call: residuals are freed as they are used.
  auto operator()(const R& ct, const Location& at = Location::current()) && {
    return rebuild(std::move(linear_).consume(flatten(ct, at), at));
  }
  std::vector<Residual> residuals() const { return linear_.residuals(); }
  Program program() const { return linear_.pullback_program(); }  // inputs: residuals, then cotangents

 private:
  Arrays flatten(const R& ct, const Location& at) const {
    detail::check_like<R>(ct, result_, "pullback", "cotangent", "result", at);
    return detail::leaves(ct);
  }
  auto rebuild(const Arrays& cts) const {
    return detail::rebuild_arguments(arguments_, cts, std::index_sequence_for<A...>{});
  }
  flat::Linear linear_;
  detail::Pack<A...> arguments_;
  detail::Dynamic<R> result_;
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
  std::vector<Residual> residuals() const { return linear_.residuals(); }
  Program program() const { return linear_.program(); }  // inputs: residuals, then tangents

 private:
  template <std::size_t... I>
  R apply(std::index_sequence<I...>, const Location& at, const detail::Tangent<A>&... tangents) const {
    Arrays flat;
    (detail::add_tangent<A>(flat, tangents, detail::get<I>(arguments_), "linearize", at), ...);
    return detail::with_leaves(result_, linear_(flat, at));
  }
  flat::Linear linear_;
  detail::Pack<A...> arguments_;
  R result_;
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
auto vjp_named(const F& f, const ArgNames& names, T&&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, std::forward<T>(args)...);
    auto [y, linear] = flat::linearize(c.flat(), c.leaves(), call_info(c.skeleton(), names));
    using P = typename derivatives<typename For::type>::pullback;
    return std::pair(c.rebuild(y), P(std::move(linear), c.skeleton(), dynamic_skeleton(c.result_skeleton())));
  }
}
template <class F, class... T>
auto linearize_named(const F& f, const ArgNames& names, T&&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, std::forward<T>(args)...);
    auto [y, linear] = flat::linearize(c.flat(), c.leaves(), call_info(c.skeleton(), names));
    using L = typename derivatives<typename For::type>::linearized;
    return std::pair(c.rebuild(y), L(std::move(linear), c.skeleton(), c.result_skeleton()));
  }
}

}  // namespace detail

// auto [y, pullback] = vjp(f, args...)
template <class F, class... T>
[[nodiscard]] auto vjp(F f, T&&... args) {
  return detail::vjp_named(f, ArgNames(), std::forward<T>(args)...);
}
template <class F, class... T>
[[nodiscard]] auto vjp(F f, ArgNames names, T&&... args) {
  return detail::vjp_named(f, names, std::forward<T>(args)...);
}
// auto [y, f_lin] = linearize(f, args...)
template <class F, class... T>
[[nodiscard]] auto linearize(F f, T&&... args) {
  return detail::linearize_named(f, ArgNames(), std::forward<T>(args)...);
}
template <class F, class... T>
[[nodiscard]] auto linearize(F f, ArgNames names, T&&... args) {
  return detail::linearize_named(f, names, std::forward<T>(args)...);
}

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
    auto [y, dy] = flat::jvp(c.flat(), c.leaves(), tangents, at);
    return std::pair(c.rebuild(y), c.rebuild(dy));
  }
}

}  // namespace detail

// auto [y, dy] = jvp(f, x, dx); several arguments in a std::tuple.
template <class F, class X, class D>
[[nodiscard]] auto jvp(F f, const X& x, const D& dx, const Location& at = Location::current()) {
  auto xs = detail::per_argument<F>(x);
  return detail::jvp_of(f, xs, detail::per_argument<F>(dx), std::make_index_sequence<std::tuple_size_v<decltype(xs)>>{},
                        at);
}

// ---- checkpoint
template <class F>
class Checkpoint : public detail::Calls<Checkpoint<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  Checkpoint(F f, Policy policy, const Location& at) : f_(std::move(f)), policy_(std::move(policy)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(f_, std::forward<T>(args)...);
      return c.rebuild(flat::checkpoint(c.flat(), c.leaves(), policy_, at_));
    }
  }

 private:
  F f_;
  Policy policy_;
  Location at_;
};
// f, whose inner values are recomputed in the backward pass instead of kept, but for those that the policy saves.
template <class F>
[[nodiscard]] auto checkpoint(F f, Policy policy = checkpoint_policies::nothing_saveable,
                              const Location& at = Location::current()) {
  return Checkpoint<F>(std::move(f), std::move(policy), at);
}
template <class F>
[[nodiscard]] auto remat(F f, Policy policy = checkpoint_policies::nothing_saveable,
                         const Location& at = Location::current()) {
  return Checkpoint<F>(std::move(f), std::move(policy), at);
}

// The same tree, its arrays named for policies.
inline Array checkpoint_name(const Array& x, std::string_view name, const Location& at = Location::current()) {
  return flat::name(x, name, at);
}
namespace detail {
void name_all(Arrays& xs, std::string_view name, const Location& at);
}
template <class T>
T checkpoint_name(T tree, std::string_view name, const Location& at = Location::current()) {
  if constexpr (detail::check_tree<T>()) {
    static_assert(detail::holds_arrays<T>, "anew::checkpoint_name: there is no array to name");
    Arrays xs = detail::take_leaves(tree);
    detail::name_all(xs, name, at);
    detail::put_leaves(tree, xs);
  }
  return tree;
}

// ---- jit
template <class F>
class Jit : public detail::Calls<Jit<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  Jit(F f, JitOptions options, const Location& at) : f_(std::move(f)), options_(std::move(options)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(f_, std::forward<T>(args)...);
      return c.rebuild(flat::jit(c.flat(), c.leaves(), cache_, options_, "<lambda>", at_));
    }
  }
  std::size_t cache_size() const { return cache_.size(); }

 private:
  F f_;
  JitOptions options_;
  Location at_;
  flat::JitCache cache_;  // shared by copies
};
template <class F>
[[nodiscard]] auto jit(F f, JitOptions options = {}, const Location& at = Location::current()) {
  return Jit<F>(std::move(f), std::move(options), at);
}

// ---- tracing
template <class F>
class MakeProgram : public detail::Calls<MakeProgram<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  MakeProgram(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(f_, std::forward<T>(args)...);
      return flat::make_program(c.flat(), c.leaves(), at_);
    }
  }

 private:
  F f_;
  Location at_;
};
// make_program(f)(args...) is f as a Program; arguments may be abstract.
template <class F>
[[nodiscard]] auto make_program(F f, const Location& at = Location::current()) {
  return MakeProgram<F>(std::move(f), at);
}

// The result of f with abstract leaves; nothing is computed.
template <class F, class... T>
[[nodiscard]] auto eval_shape(F f, T&&... args) {
  using For = detail::whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, std::forward<T>(args)...);
    return c.rebuild(flat::eval_shape(c.flat(), c.leaves(), Location{}));
  }
}

}  // namespace anew

// A lambda made of a name: for overloaded, defaulted and templated functions.
#define ANEW_FN(name)                                                             \
  [](auto&&... args_) -> decltype(name(static_cast<decltype(args_)>(args_)...)) { \
    return name(static_cast<decltype(args_)>(args_)...);                          \
  }
// Arguments with their names, for reports: print_saved_residuals(f, ANEW_ARGS(w, x)).
#define ANEW_ARGS(...) ::anew::ArgNames(#__VA_ARGS__, ::anew::Location::current()), __VA_ARGS__
