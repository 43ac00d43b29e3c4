// Transformations of functions of trees: grad, value_and_grad, checkpoint, jit, make_program, eval_shape; vjp,
// linearize and jvp are in linearize.h. Each is a thin wrapper of its flat form: a Call flattens the arguments, the
// flat form does the work, the results are put back into the user's types. Wrappers hold the function and options, and
// nothing that a call changes.
#pragma once
#include <anew/call.h>
#include <anew/jit.h>
#include <anew/linearize.h>

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

// Numbers of arguments as in JAX, which C++ wants to know when it compiles: the result's type depends on them.
template <class N>
concept ArgumentNumbers = std::integral<N> || std::same_as<N, std::initializer_list<int>>;
template <class F>
consteval void refuse_argument_numbers() {
  static_assert(!sizeof(F), "anew: arguments to differentiate stand in angle brackets: grad<0, 1>(f), jacrev<1>(f)");
}

}  // namespace detail

struct GradOptions {
  // Arrays of integers and bools may be differentiated: their derivatives are zeros of their own types.
  bool allow_int = false;
};

namespace flat {
// grad with allow_int.
Arrays grad_of_any(const FlatFunction& f, std::span<const Array> x, Arrays* values = nullptr,
                   const Location& at = Location::current());
}  // namespace flat

template <class F, bool WithValue, std::size_t... I>
class Grad : public detail::Calls<Grad<F, WithValue, I...>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Grad(F f, const GradOptions& options, const Location& at) : f_(std::move(f)), options_(options), at_(at) {}

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
        Arrays* const out = WithValue || aux ? &values : nullptr;
        Arrays gs = options_.allow_int ? flat::grad_of_any(c.flat(), c.leaves(), out, at_)
                                       : flat::grad(c.flat(), c.leaves(), out, at_);
        auto g = detail::rebuild_arguments(c.skeleton(), gs, Free{});
        if constexpr (WithValue) return std::pair(c.rebuild(values), std::move(g));
        else if constexpr (aux) return std::pair(std::move(g), c.rebuild(values).second);
        else return g;
      }
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  GradOptions options_;
  Location at_;
};
// The derivative with respect to argument 0, or to those given: grad<0, 2>(f).
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto grad(F f, const Location& at = Location::current()) {
  return Grad<F, false, I...>(std::move(f), {}, at);
}
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto grad(F f, const GradOptions& options, const Location& at = Location::current()) {
  return Grad<F, false, I...>(std::move(f), options, at);
}
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto value_and_grad(F f, const Location& at = Location::current()) {
  return Grad<F, true, I...>(std::move(f), {}, at);
}
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto value_and_grad(F f, const GradOptions& options, const Location& at = Location::current()) {
  return Grad<F, true, I...>(std::move(f), options, at);
}
template <class F, detail::ArgumentNumbers N = std::initializer_list<int>>
auto grad(F, N) {
  detail::refuse_argument_numbers<F>();
}
template <class F, detail::ArgumentNumbers N = std::initializer_list<int>>
auto value_and_grad(F, N) {
  detail::refuse_argument_numbers<F>();
}
// Of the name of an overloaded function of two arrays, such as atan2.
template <std::size_t... I>
[[nodiscard]] auto grad(detail::ElementwisePair f, const Location& at = Location::current()) {
  return Grad<detail::ElementwisePair, false, I...>(f, {}, at);
}
template <std::size_t... I>
[[nodiscard]] auto value_and_grad(detail::ElementwisePair f, const Location& at = Location::current()) {
  return Grad<detail::ElementwisePair, true, I...>(f, {}, at);
}

// ---- checkpoint
template <class F>
class Checkpoint : public detail::Calls<Checkpoint<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Checkpoint(F f, const Policy& policy, const Location& at) : f_(std::move(f)), policy_(policy), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(f_, std::forward<T>(args)...);
      return c.rebuild(flat::checkpoint(c.flat(), c.leaves(), policy_, at_));
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  Policy policy_;
  Location at_;
};
// f, whose inner values are recomputed in the backward pass instead of kept, but for those that the policy saves.
template <class F = detail::Elementwise>
[[nodiscard]] auto checkpoint(F f, const Policy& policy = checkpoint_policies::nothing_saveable,
                              const Location& at = Location::current()) {
  return Checkpoint<F>(std::move(f), policy, at);
}
template <class F = detail::Elementwise>
[[nodiscard]] auto remat(F f, const Policy& policy = checkpoint_policies::nothing_saveable,
                         const Location& at = Location::current()) {
  return Checkpoint<F>(std::move(f), policy, at);
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

// ---- tracing
template <class F>
class MakeProgram : public detail::Calls<MakeProgram<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  MakeProgram(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(f_, std::forward<T>(args)...);
      return flat::make_program(c.flat(), c.leaves(), at_);
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  Location at_;
};
// make_program(f)(args...) is f as a Program; arguments may be abstract.
template <class F = detail::Elementwise>
[[nodiscard]] auto make_program(F f, const Location& at = Location::current()) {
  return MakeProgram<F>(std::move(f), at);
}

namespace detail {
template <class F, class... T>
auto eval_shape_at(const F& f, const ArgNames& names, const T&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, args...);
    return c.rebuild(flat::eval_shape(c.flat(), c.leaves(), names.at));
  }
}
}  // namespace detail
// The result of f with abstract leaves; nothing is computed.
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto eval_shape(F f, const T&... args) {
  return detail::eval_shape_at(f, ArgNames(), args...);
}
ANEW_CALLS_WITH_LINE([[nodiscard]], eval_shape, detail::eval_shape_at)

}  // namespace anew

// A lambda made of a name: for overloaded, defaulted and templated functions.
#define ANEW_FN(name)                                                             \
  [](auto&&... args_) -> decltype(name(static_cast<decltype(args_)>(args_)...)) { \
    return name(static_cast<decltype(args_)>(args_)...);                          \
  }
