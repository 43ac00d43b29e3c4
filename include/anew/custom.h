// Functions with derivatives of the user's: custom_jvp and custom_vjp. A rule is copied into every equation that needs
// it, with the static arguments of the call, so it may be asked long after the call: it must not capture values of a
// trace (pass those as arguments), and it must not change anything.
#pragma once
#include <anew/control.h>
#include <anew/function_key.h>
#include <anew/linearize.h>

namespace anew {

// With CustomOptions::symbolic_zeros: whether a tangent or cotangent that a rule was given is zero; it is no array
// then.
bool is_symbolic_zero(const Array& x);

namespace detail {

using VjpBackward = std::function<Arrays(std::span<const Array> residuals, std::span<const Array> ct)>;
struct VjpResult {
  Arrays y, residuals;
  VjpBackward backward;
};
using VjpForward = std::function<VjpResult(std::span<const Array> x)>;
Arrays call_custom_jvp(const FlatFunction& f, flat::JvpRule rule, FunctionKey key, std::span<const Array> x,
                       const CustomOptions& options, const Location& at);
Arrays call_custom_vjp(const FlatFunction& f, VjpForward forward, FunctionKey key, std::span<const Array> x,
                       const CustomOptions& options, const Location& at);

// ---- arguments without their leaves, owned by a rule
template <class... A>
class Arguments {
 public:
  explicit Arguments(const Pack<A...>& skeleton) : skeleton_(skeleton) {}
  std::tuple<A...> with(std::span<const Array> xs) const { return with(xs, std::index_sequence_for<A...>{}); }
  // Tangents: none for static arguments.
  auto tangents(std::span<const Array> xs) const { return tangents(xs, std::index_sequence_for<A...>{}); }
  // One cotangent per argument to one array per leaf. Leaves of static arguments do not exist.
  template <class... C>
  Arrays flatten(std::tuple<C...> cts, std::string_view op, const Location& at) const {
    Arrays out;
    LeafPass pass(LeafPass::Action::take, out);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add(std::get<I>(cts), get<I>(skeleton_), pass, op, at), ...);
    }(std::index_sequence_for<A...>{});
    return out;
  }

 private:
  template <std::size_t... I>
  std::tuple<A...> with(std::span<const Array> xs, std::index_sequence<I...>) const {
    [[maybe_unused]] Pack<A...> args = skeleton_;
    LeafPass pass(xs);
    (walk(get<I>(args), pass), ...);
    pass.finish();
    return {std::move(get<I>(args))...};
  }
  template <std::size_t... I>
  auto tangents(std::span<const Array> xs, std::index_sequence<I...>) const {
    LeafPass pass(xs);
    std::tuple<decltype(filled(get<I>(skeleton_), pass))...> out{filled(get<I>(skeleton_), pass)...};
    pass.finish();
    return out;
  }
  template <class C, class T>
  static void add(C& ct, const T& argument, LeafPass& pass, std::string_view op, const Location& at) {
    if constexpr (holds_arrays<T>) {
      T t = static_cast<T>(std::move(ct));
      check_structure(t, argument, op, "cotangent that the backward rule returns", "argument", at);
      walk(t, pass);
    }
  }
  Pack<A...> skeleton_;
};

// ---- what the rules must look like
template <class R, class Pair>
consteval bool check_jvp_result() {
  static_assert(is_pair<Pair>, "anew::custom_jvp: the rule must return std::pair(output, tangent of the output)");
  if constexpr (is_pair<Pair>) {
    constexpr bool same =
        std::convertible_to<typename Pair::first_type, R> && std::convertible_to<typename Pair::second_type, R>;
    static_assert(same,
                  "anew::custom_jvp: output and tangent that the rule returns must have the type that the "
                  "function returns");
    return same;
  }
  return false;
}
template <class Rule, class R, class P, class T>
consteval bool check_jvp_rule() {
  constexpr bool callable = std::is_invocable_v<const Rule&, P, T>;
  static_assert(callable,
                "anew::custom_jvp: the rule must be callable as rule(primals, tangents), two std::tuples with "
                "one element per argument (the tangent of a static argument is none)");
  if constexpr (callable) return check_jvp_result<R, std::remove_cvref_t<std::invoke_result_t<const Rule&, P, T>>>();
  else return false;
}
template <class C, class A>
inline constexpr bool is_cotangent = !holds_arrays<A> || std::convertible_to<C, A>;
template <class Cts, class... A>
inline constexpr bool are_cotangents = false;
template <class... C, class... A>
  requires(sizeof...(C) == sizeof...(A))
inline constexpr bool are_cotangents<std::tuple<C...>, A...> = (is_cotangent<C, A> && ...);

template <class Backward, class R, class Res, class... A>
consteval bool check_backward() {
  constexpr bool callable = std::is_invocable_v<const Backward&, const Res&, const R&>;
  static_assert(callable,
                "anew::custom_vjp: the backward rule must be callable as backward(residuals, cotangent), with "
                "residuals of the type that the forward rule returns");
  if constexpr (callable) {
    using Cts = std::remove_cvref_t<std::invoke_result_t<const Backward&, const Res&, const R&>>;
    static_assert(is_std_tuple<Cts>,
                  "anew::custom_vjp: the backward rule must return a std::tuple, one cotangent per argument; of one "
                  "argument too: std::tuple(ct)");
    if constexpr (is_std_tuple<Cts>) {
      constexpr bool fits = are_cotangents<Cts, A...>;
      static_assert(fits,
                    "anew::custom_vjp: the backward rule must return one cotangent per argument, of the argument's "
                    "type (none for a static argument)");
      return fits;
    }
  }
  return false;
}
template <class Forward, class Backward, class R, class... A>
consteval bool check_vjp_rules() {
  constexpr bool callable = std::is_invocable_v<const Forward&, const A&...>;
  static_assert(callable, "anew::custom_vjp: the forward rule must be callable with the arguments of the function");
  if constexpr (callable) {
    using Pair = std::remove_cvref_t<std::invoke_result_t<const Forward&, const A&...>>;
    static_assert(
        is_pair<Pair>,
        "anew::custom_vjp: the forward rule must return std::pair(output, residuals); std::pair(output, none) "
        "if there are none");
    if constexpr (is_pair<Pair>) {
      constexpr bool same = std::convertible_to<typename Pair::first_type, R>;
      static_assert(same,
                    "anew::custom_vjp: the output of the forward rule must have the type that the function returns");
      if constexpr (same && check_tree<typename Pair::second_type>())
        return check_backward<Backward, R, typename Pair::second_type, A...>();
    }
  }
  return false;
}

template <class Rule, class R, class... A>
flat::JvpRule jvp_rule(const Rule& rule, const Pack<A...>& skeleton, const Location& at) {
  return [rule, args = Arguments<A...>(skeleton), at](std::span<const Array> primals, std::span<const Array> tangents) {
    auto made = rule(args.with(primals), args.tangents(tangents));
    R y = static_cast<R>(std::move(made.first)), dy = static_cast<R>(std::move(made.second));
    check_structure(dy, y, "custom_jvp", "tangent that the rule returns", "output", at);
    return std::pair(take_leaves(y), take_leaves(dy));
  };
}
template <class Forward, class Backward, class R, class... A>
VjpForward vjp_rule(const Forward& forward, const Backward& backward, const Pack<A...>& skeleton, const Location& at) {
  return [forward, backward, args = Arguments<A...>(skeleton), at](std::span<const Array> x) {
    auto made = std::apply([&](const A&... a) { return forward(a...); }, args.with(x));
    R y = static_cast<R>(std::move(made.first));
    auto res = std::move(made.second);
    VjpResult out{take_leaves(y), take_leaves(res), {}};
    // The residuals' static values and the output's structure are those of this very call.
    out.backward = [backward, y, res, args, at](std::span<const Array> residuals, std::span<const Array> ct) {
      return args.flatten(backward(with_leaves(res, residuals), with_leaves(y, ct)), "custom_vjp", at);
    };
    return out;
  };
}

template <class F, class Seq, class... T>
struct custom_call;
template <class F, std::size_t... I, class... T>
struct custom_call<F, std::index_sequence<I...>, T...> {
  using type = Call<F, std::index_sequence<I...>, argument_t<F, I, T>...>;
  static constexpr bool valid = check_call<F, argument_t<F, I, T>...>();
  // Of the rules for this call.
  static FunctionKey key(const FunctionKey& rules, const type& c) {
    if constexpr ((describable<argument_t<F, I, T>>() && ...)) {
      flat::CallKey statics;
      statics.word(reinterpret_cast<std::uintptr_t>(key_of_types<argument_t<F, I, T>...>().get()));
      (describe(get<I>(c.skeleton()), statics), ...);
      return key_of_values(rules, std::move(statics));
    } else return new_function_key();
  }
  template <class Rule>
  static consteval bool check_jvp() {
    return check_jvp_rule<Rule, typename type::Result, std::tuple<argument_t<F, I, T>...>,
                          decltype(std::declval<Arguments<argument_t<F, I, T>...>>().tangents({}))>();
  }
  template <class Forward, class Backward>
  static consteval bool check_vjp() {
    return check_vjp_rules<Forward, Backward, typename type::Result, argument_t<F, I, T>...>();
  }
  template <class Rule>
  static flat::JvpRule jvp(const Rule& rule, const type& c, const Location& at) {
    return jvp_rule<Rule, typename type::Result, argument_t<F, I, T>...>(rule, c.skeleton(), at);
  }
  template <class Forward, class Backward>
  static VjpForward vjp(const Forward& forward, const Backward& backward, const type& c, const Location& at) {
    return vjp_rule<Forward, Backward, typename type::Result, argument_t<F, I, T>...>(forward, backward, c.skeleton(),
                                                                                      at);
  }
};

}  // namespace detail

template <class F, class Rule>
class CustomJvp : public detail::Calls<CustomJvp<F, Rule>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  CustomJvp(F f, Rule rule, const CustomOptions& options, const Location& at)
      : f_(std::move(f)), rule_(std::move(rule)), options_(options), at_(at) {
    detail::check_function(rule_, at);
    if constexpr (std::is_empty_v<F> && std::is_empty_v<Rule>) key_ = detail::key_of_types<F, Rule>();
    else key_ = detail::new_function_key();
  }

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::custom_call<F, std::index_sequence_for<T...>, T...>;
    if constexpr (For::valid) {
      if constexpr (For::template check_jvp<Rule>()) {
        typename For::type c(f_, std::forward<T>(args)...);
        detail::FunctionKey key = For::key(key_, c);
        return c.rebuild(
            detail::call_custom_jvp(c.flat(), For::jvp(rule_, c, at_), std::move(key), c.leaves(), options_, at_));
      }
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  Rule rule_;
  CustomOptions options_;
  Location at_;
  detail::FunctionKey key_;
};
// f, whose derivative is rule(primals, tangents) -> std::pair(output, tangent of the output).
template <class F = detail::Elementwise, class Rule>
[[nodiscard]] auto custom_jvp(F f, Rule rule, const CustomOptions& options = {},
                              const Location& at = Location::current()) {
  return CustomJvp<F, Rule>(std::move(f), std::move(rule), options, at);
}

template <class F, class Forward, class Backward>
class CustomVjp : public detail::Calls<CustomVjp<F, Forward, Backward>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  CustomVjp(F f, Forward forward, Backward backward, const CustomOptions& options, const Location& at)
      : f_(std::move(f)), forward_(std::move(forward)), backward_(std::move(backward)), options_(options), at_(at) {
    detail::check_function(forward_, at);
    detail::check_function(backward_, at);
    if constexpr (std::is_empty_v<F> && std::is_empty_v<Forward> && std::is_empty_v<Backward>)
      key_ = detail::key_of_types<F, Forward, Backward>();
    else key_ = detail::new_function_key();
  }

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::custom_call<F, std::index_sequence_for<T...>, T...>;
    if constexpr (For::valid) {
      if constexpr (For::template check_vjp<Forward, Backward>()) {
        typename For::type c(f_, std::forward<T>(args)...);
        detail::FunctionKey key = For::key(key_, c);
        return c.rebuild(detail::call_custom_vjp(c.flat(), For::vjp(forward_, backward_, c, at_), std::move(key),
                                                 c.leaves(), options_, at_));
      }
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  Forward forward_;
  Backward backward_;
  CustomOptions options_;
  Location at_;
  detail::FunctionKey key_;
};
// f, whose backward pass is given: forward(args...) -> std::pair(output, residuals), run instead of f where f is
// differentiated; backward(residuals, ct) -> std::tuple of one cotangent per argument (none for a static one).
template <class F = detail::Elementwise, class Forward, class Backward>
[[nodiscard]] auto custom_vjp(F f, Forward forward, Backward backward, const CustomOptions& options = {},
                              const Location& at = Location::current()) {
  return CustomVjp<F, Forward, Backward>(std::move(f), std::move(forward), std::move(backward), options, at);
}

}  // namespace anew
