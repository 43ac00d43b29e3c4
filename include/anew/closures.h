// More ways to give a function rules: custom_gradient, where the function returns its own backward pass; defjvps, one
// rule per argument; and closure_convert, which turns the arrays that a function captures into arguments.
#pragma once
#include <anew/custom.h>

namespace anew {

namespace detail {

// f as a function of arrays like x and, behind them, of the arrays that it captures; and these.
std::pair<FlatFunction, Arrays> captured_as_arguments(const FlatFunction& f, std::span<const Array> x,
                                                      const Location& at);
Array zero_like(const Array& x);

}  // namespace detail

// What closure_convert gives: called with the arguments and, last, the arrays that were captured.
template <class R, class... A>
class ClosureConverted {
 public:
  using anew_params = detail::types<const A&..., const Arrays&>;
  ClosureConverted(FlatFunction f, detail::Pack<A...> arguments, detail::ResultShape<R> result, const Location& at)
      : f_(std::move(f)),
        arguments_(std::move(arguments)),
        keys_(keys(std::index_sequence_for<A...>{})),
        result_(std::move(result)),
        at_(at) {}

  R operator()(const A&... args, const Arrays& captured, const Location& at = Location::current()) const {
    present_.check(at_);
    Arrays leaves;
    detail::LeafPass pass(detail::LeafPass::Action::copy, leaves);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add<I>(args, pass, at), ...);
    }(std::index_sequence_for<A...>{});
    leaves.insert(leaves.end(), captured.begin(), captured.end());
    return result_.rebuild(detail::LeafList(f_(leaves)));
  }

 private:
  template <std::size_t I, class T>
  void add(const T& arg, detail::LeafPass& pass, const Location& at) const {
    detail::check_same_tree(arg, detail::get<I>(arguments_), keys_[I], "closure_convert", I, at);
    if constexpr (detail::holds_arrays<T>) detail::walk(const_cast<T&>(arg), pass);
  }
  template <std::size_t... I>
  std::vector<flat::CallKey> keys(std::index_sequence<I...>) const {
    return {detail::key_of_tree(detail::get<I>(arguments_))...};
  }
  FlatFunction f_;
  detail::Pack<A...> arguments_;  // without their arrays
  std::vector<flat::CallKey> keys_;
  detail::ResultShape<R> result_;
  Location at_;
  detail::Present present_;
};

template <class F>
class ClosureConvert : public detail::Calls<ClosureConvert<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  ClosureConvert(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) return convert<For>(typename For::arguments{}, std::forward<T>(args)...);
  }
  const Location& at() const { return at_; }

 private:
  template <class For, class... A, class... T>
  auto convert(detail::types<A...>, T&&... args) const {
    using C = typename For::type;
    C c(f_, std::forward<T>(args)...);
    auto [g, captured] = detail::captured_as_arguments(c.flat(), c.leaves(), at_);
    return std::pair(ClosureConverted<typename C::Result, A...>(std::move(g), c.skeleton(), c.result_shape(), at_),
                     std::move(captured));
  }
  F f_;
  Location at_;
};
// closure_convert(f)(args...) -> std::pair(g, captured): g(args..., captured) is f(args...), and captures no array, so
// that it may be called where values that f has captured have no meaning: in a rule, in another trace. It is for
// arguments of these types and these static values.
template <class F = detail::Elementwise>
[[nodiscard]] auto closure_convert(F f, const Location& at = Location::current()) {
  return ClosureConvert<F>(std::move(f), at);
}

namespace detail {

template <class F>
struct OutputOf {
  using anew_params = params_t<F>;
  F f;
  template <class... T>
  auto operator()(const T&... args) const {
    return f(args...).first;
  }
};

template <class F, class... A>
consteval bool check_gradient() {
  if constexpr (check_call<F, A...>()) {
    using Pair = std::remove_cvref_t<std::invoke_result_t<const F&, const A&...>>;
    static_assert(is_pair<Pair>,
                  "anew::custom_gradient: the function must return std::pair(output, backward), where "
                  "backward(cotangent of the output) gives a std::tuple of one cotangent per argument");
    if constexpr (is_pair<Pair>) {
      using R = typename Pair::first_type;
      constexpr bool callable = std::is_invocable_v<const typename Pair::second_type&, const R&>;
      static_assert(callable, "anew::custom_gradient: backward must be callable with the cotangent of the output");
      if constexpr (callable) {
        using Cts = std::remove_cvref_t<std::invoke_result_t<const typename Pair::second_type&, const R&>>;
        constexpr bool fits = are_cotangents<Cts, A...>;
        static_assert(fits,
                      "anew::custom_gradient: backward must return a std::tuple of one cotangent per argument, of the "
                      "argument's type (none for a static argument)");
        return fits;
      }
    }
  }
  return false;
}

// What backward captures is what is kept.
template <class F, class... A>
VjpForward gradient_rule(const F& f, const Pack<A...>& skeleton, const Location& at) {
  return [f, args = Arguments<A...>(skeleton), at](std::span<const Array> x) {
    auto made = std::apply([&](const A&... a) { return f(a...); }, args.with(x));
    auto y = std::move(made.first);
    VjpResult out{take_leaves(y), {}, {}};
    FlatFunction flat = [&](std::span<const Array> ct) {
      return args.flatten(made.second(with_leaves(y, LeafList(Arrays(ct.begin(), ct.end())))), "custom_gradient", at);
    };
    auto [backward, captured] = captured_as_arguments(flat, out.y, at);
    out.residuals = std::move(captured);
    out.backward = [backward = std::move(backward)](std::span<const Array> residuals, std::span<const Array> ct) {
      Arrays all(ct.begin(), ct.end());
      all.insert(all.end(), residuals.begin(), residuals.end());
      return backward(all);
    };
    return out;
  };
}

}  // namespace detail

template <class F>
class CustomGradient : public detail::Calls<CustomGradient<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  CustomGradient(F f, const Location& at) : f_(std::move(f)), at_(at) {
    detail::check_function(f_, at);
    if constexpr (std::is_empty_v<F>) key_ = detail::key_of_types<CustomGradient>();
    else key_ = detail::new_function_key();
  }

  template <class... T>
  auto apply(T&&... args) const {
    return call(std::index_sequence_for<T...>{}, std::forward<T>(args)...);
  }
  const Location& at() const { return at_; }

 private:
  template <std::size_t... I, class... T>
  auto call(std::index_sequence<I...>, T&&... args) const {
    using Output = detail::OutputOf<F>;
    if constexpr (detail::check_gradient<F, detail::argument_t<F, I, T>...>()) {
      using For = detail::custom_call<Output, std::index_sequence<I...>, T...>;
      const Output output{f_};
      typename For::type c(output, std::forward<T>(args)...);
      return c.rebuild(detail::call_custom_vjp(
          c.flat(), detail::gradient_rule<F, detail::argument_t<F, I, T>...>(f_, c.skeleton(), at_), For::key(key_, c),
          c.leaves(), {}, at_));
    }
  }
  F f_;
  Location at_;
  detail::FunctionKey key_;
};
// The function args... -> output of one that returns std::pair(output, backward), with the backward pass that it
// returns: backward(cotangent of the output) -> std::tuple of one cotangent per argument. What backward captures is
// kept.
template <class F>
[[nodiscard]] auto custom_gradient(F f, const Location& at = Location::current()) {
  return CustomGradient<F>(std::move(f), at);
}

namespace detail {

template <class F, class... Rules>
struct RulePerArgument {
  F f;
  std::tuple<Rules...> rules;
  Location at;

  template <class... P, class... T>
  auto operator()(const std::tuple<P...>& primals, const std::tuple<T...>& tangents) const {
    static_assert(sizeof...(Rules) == sizeof...(P), "anew::defjvps: there must be one rule (or none) per argument");
    auto y = std::apply([&](const P&... x) { return f(x...); }, primals);
    auto t = tree_map([](const Array& leaf) { return zero_like(leaf); }, y);
    add(t, y, primals, tangents, std::index_sequence_for<Rules...>{});
    return std::pair(std::move(y), std::move(t));
  }

 private:
  template <class Y, class P, class T, std::size_t... I>
  void add(Y& t, const Y& y, const P& primals, const T& tangents, std::index_sequence<I...>) const {
    (add_one(t, std::get<I>(rules), std::get<I>(tangents), y, primals), ...);
  }
  template <class Y, class Rule, class T, class P>
  void add_one(Y& t, const Rule& rule, const T& tangent, const Y& y, const P& primals) const {
    if constexpr (!std::same_as<Rule, none_t> && !std::same_as<T, none_t>) {
      const Y part = std::apply([&](const auto&... x) { return static_cast<Y>(rule(tangent, y, x...)); }, primals);
      check_structure(part, t, "defjvps", "tangent of a rule", "output", at);
      t = map_leaves([](const Array& a, const Array& b) { return a + b; }, t, part);
    }
  }
};

}  // namespace detail

// f with one rule per argument: std::tuple(rule0, rule1, ...), each rule(tangent, output, args...) -> what the tangent
// of the output has of that argument's; none: the output does not depend on it.
template <class F = detail::Elementwise, class... Rules>
[[nodiscard]] auto defjvps(F f, std::tuple<Rules...> rules, const Location& at = Location::current()) {
  return custom_jvp(f, detail::RulePerArgument<F, Rules...>{f, std::move(rules), at}, {}, at);
}

}  // namespace anew
