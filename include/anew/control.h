// Control flow over trees: cond, switch_, while_loop, fori_loop, map, associative_scan (scan is in scan.h). Branches
// give trees of one structure and of the same types; carries keep theirs; numbers in them are arrays.
#pragma once
#include <anew/scan.h>

namespace anew {

// Functions to choose from, for switch_: they may have different C++ types.
template <class... F>
struct Branches {
  std::tuple<F...> list;
};
template <class... F>
[[nodiscard]] Branches<F...> branches(F... f) {
  return {{std::move(f)...}};
}

namespace detail {

// ---- branches
// The type of operand I, given as T: what the first branch that says so takes.
template <std::size_t I, class T, template <class> class Numbers, class F, class... Fs>
struct operand {
  using type = argument_t<F, I, T, Numbers>;
};
template <std::size_t I, class T, template <class> class Numbers, class F, class G, class... Fs>
  requires std::same_as<typename nth<I, params_t<F>>::type, unknown>
struct operand<I, T, Numbers, F, G, Fs...> : operand<I, T, Numbers, G, Fs...> {};
template <std::size_t I, class T, template <class> class Numbers, class... Fs>
using operand_t = typename operand<I, T, Numbers, Fs...>::type;

template <class... R>
inline constexpr bool all_same = true;
template <class R, class... Rs>
inline constexpr bool all_same<R, Rs...> = (std::same_as<R, Rs> && ...);
template <class F, class... A>
using branch_result_t = typename traced_numbers<result_t<F, A...>>::type;
template <class... A, class... F>
consteval bool check_branches(types<F...>, types<A...>) {
  if constexpr ((check_call<F, A...>() && ...)) {
    constexpr bool same = all_same<branch_result_t<F, A...>...>;
    static_assert(same, "anew::cond, switch_: all branches must return the same type (a number counts as an Array)");
    return same;
  }
  return false;
}

[[noreturn]] void branch_values_differ(const ValueDifference& d, std::string_view op, const Location& at);
// What the branches return, without leaves: the first one decides, the others must give the same.
template <class R>
class BranchResults {
 public:
  BranchResults(std::string_view op, const Location& at) : op_(op), at_(at) {}
  Arrays flatten(R r) {
    Arrays out = take_leaves(r);
    if (!like_) {
      like_.emplace(std::move(r));
      return out;
    }
    check_structure(r, *like_, op_, "result", "first branch's result", at_);
    if constexpr (holds_values<R>()) {
      ValueDifference d;
      if (!same_values(*like_, r, d)) branch_values_differ(d, op_, at_);
    }
    return out;
  }
  R rebuild(LeafList xs) const {
    if (!like_) never_called();
    return with_leaves(*like_, xs);
  }

 private:
  std::string_view op_;
  Location at_;
  std::optional<R> like_;
};

template <class F, class R, class... A>
struct Branch {
  const F& f;
  const Pack<A...>& operands;  // without leaves
  BranchResults<R>& results;

  FlatFunction flat() { return flat_function(this, run); }
  static Arrays run(void* self, std::span<const Array> xs) {
    return static_cast<Branch*>(self)->run_with(xs, std::index_sequence_for<A...>{});
  }
  template <std::size_t... I>
  Arrays run_with(std::span<const Array> xs, std::index_sequence<I...>) {
    [[maybe_unused]] Pack<A...> args = operands;
    LeafPass pass(xs);
    (walk(get<I>(args), pass), ...);
    pass.finish();
    return results.flatten(static_cast<R>(detail::call(f, std::as_const(get<I>(args))...)));
  }
};

template <class... A>
Arrays take_operands(Pack<A...>& args) {
  Arrays out;
  [[maybe_unused]] LeafPass pass(LeafPass::Action::take, out);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (walk(get<I>(args), pass), ...);
  }(std::index_sequence_for<A...>{});
  return out;
}

Arrays run_branches(bool is_cond, const Array& index, const std::vector<FlatFunction>& branches, const Arrays& operands,
                    const Location& at);

// `index`: a predicate where `is_cond`, with the branch for true first.
template <class... F, class... A>
auto choose(bool is_cond, const ArrayLike& index, types<A...>, Pack<A...> operands, const F&... f) {
  if constexpr (check_branches<A...>(types<F...>{}, types<A...>{})) {
    using R = std::tuple_element_t<0, std::tuple<branch_result_t<F, A...>...>>;
    BranchResults<R> results(is_cond ? "cond" : "switch_", index.at);
    Arrays leaves = take_operands<A...>(operands);
    std::tuple<Branch<F, R, A...>...> list{Branch<F, R, A...>{f, operands, results}...};
    std::vector<FlatFunction> flat;
    std::apply([&](auto&... b) { (flat.push_back(b.flat()), ...); }, list);
    return results.rebuild(run_branches(is_cond, index.value, flat, leaves, index.at));
  }
}
template <class F, class... A>
auto choose_among(const ArrayLike& index, const std::vector<F>& list, types<A...>, Pack<A...> operands) {
  if constexpr (check_branches<A...>(types<F>{}, types<A...>{})) {
    using R = branch_result_t<F, A...>;
    BranchResults<R> results("switch_", index.at);
    Arrays leaves = take_operands<A...>(operands);
    std::vector<Branch<F, R, A...>> all;
    all.reserve(list.size());
    std::vector<FlatFunction> flat;
    for (const F& f : list) {
      all.push_back({f, operands, results});
      flat.push_back(all.back().flat());
    }
    return results.rebuild(run_branches(false, index.value, flat, leaves, index.at));
  }
}
template <template <class> class Numbers, class... F, std::size_t... I, class... T>
auto choose_with(bool is_cond, const ArrayLike& index, std::index_sequence<I...>, const std::tuple<const T&...>& given,
                 const F&... f) {
  using Operands = types<operand_t<I, T, Numbers, F...>...>;
  return choose(
      is_cond, index, Operands{},
      Pack<operand_t<I, T, Numbers, F...>...>{{static_cast<operand_t<I, T, Numbers, F...>>(std::get<I>(given))}...},
      f...);
}
template <class F, std::size_t... I, class... T>
auto choose_among_with(const ArrayLike& index, const std::vector<F>& list, std::index_sequence<I...>,
                       const T&... given) {
  return choose_among(index, list, types<argument_t<F, I, T>...>{},
                      Pack<argument_t<F, I, T>...>{{static_cast<argument_t<F, I, T>>(given)}...});
}

}  // namespace detail

// on_true(operands...) where the predicate, a bool scalar, is true, else on_false(operands...).
template <class F = detail::Elementwise, class G = detail::Elementwise, class... T>
[[nodiscard]] auto cond(const ArrayLike& predicate, F on_true, G on_false, const T&... operands) {
  return detail::choose_with<detail::traced_floats>(true, predicate, std::index_sequence_for<T...>{},
                                                    std::tuple<const T&...>(operands...), on_true, on_false);
}
// Branch number `index`, an integer scalar that is clamped to the branches there are.
template <class... F, class... T>
[[nodiscard]] auto switch_(const ArrayLike& index, const Branches<F...>& list, const T&... operands) {
  static_assert(sizeof...(F) > 0, "anew::switch_: there is no branch");
  return std::apply(
      [&](const F&... f) {
        return detail::choose_with<detail::traced_floats>(false, index, std::index_sequence_for<T...>{},
                                                          std::tuple<const T&...>(operands...), f...);
      },
      list.list);
}
template <class F, class... T>
[[nodiscard]] auto switch_(const ArrayLike& index, const std::vector<F>& list, const T&... operands) {
  for (const F& f : list) detail::check_function(f, index.at);
  return detail::choose_among_with(index, list, std::index_sequence_for<T...>{}, operands...);
}

// ---- loops
namespace detail {

using RunTest = Array (*)(void* loop, std::span<const Array> carry);
flat::LoopCondition loop_condition(void* loop, RunTest run);

template <class Body, class C, class... I>
consteval bool check_loop_body() {
  if constexpr (check_tree<C>()) {
    static_assert(holds_arrays<C>, "anew::while_loop, fori_loop: the carry holds no array; make its numbers Array");
    constexpr bool callable = std::is_invocable_v<const Body&, const I&..., const C&>;
    static_assert(callable,
                  "anew::while_loop, fori_loop: body must be callable as body(carry), of fori_loop body(i, carry)");
    if constexpr (holds_arrays<C> && callable) {
      constexpr bool same = std::convertible_to<result_t<Body, I..., C>, C>;
      static_assert(same, "anew::while_loop, fori_loop: body must return a carry of the type it takes");
      return same;
    }
  }
  return false;
}
template <class Test, class C>
consteval bool check_loop_condition() {
  constexpr bool callable = std::is_invocable_v<const Test&, const C&>;
  static_assert(callable, "anew::while_loop: the condition must be callable as condition(carry)");
  if constexpr (callable) {
    constexpr bool scalar = std::convertible_to<std::invoke_result_t<const Test&, const C&>, Array>;
    static_assert(scalar, "anew::while_loop: the condition must return a scalar Array of bool");
    return scalar;
  }
  return false;
}

template <class Test, class Body, class C>
struct WhileLoop {
  const Test& test;
  const Body& body;
  Carry<C> carry;

  static Array run_test(void* self, std::span<const Array> xs) {
    auto& loop = *static_cast<WhileLoop*>(self);
    return detail::call(loop.test, loop.carry.with(xs));
  }
  static Arrays run_body(void* self, std::span<const Array> xs) {
    auto& loop = *static_cast<WhileLoop*>(self);
    return loop.carry.flatten(static_cast<C>(detail::call(loop.body, loop.carry.with(xs))));
  }
};
template <class Body, class C>
struct ForiLoop {
  const Body& body;
  Carry<C> carry;

  static Arrays run_body(void* self, std::span<const Array> xs) {
    auto& loop = *static_cast<ForiLoop*>(self);
    return loop.carry.flatten(
        static_cast<C>(detail::call(loop.body, xs[0], loop.carry.with(LeafList(xs).behind_first()))));
  }
};

}  // namespace detail

// while (condition(carry)) carry = body(carry), from init; gives the last carry.
template <class Test, class Body, class Init>
[[nodiscard]] auto while_loop(Test condition, Body body, Init init, const LoopOptions& options = {},
                              const Location& at = Location::current()) {
  using C = detail::operand_t<0, Init, detail::traced_numbers, Body, Test>;
  if constexpr (detail::check_loop_body<Body, C>() && detail::check_loop_condition<Test, C>()) {
    detail::WhileLoop<Test, Body, C> loop{condition, body,
                                          detail::Carry<C>(static_cast<C>(std::move(init)), "while_loop", at)};
    return loop.carry.with(flat::while_loop(detail::loop_condition(&loop, loop.run_test),
                                            detail::flat_function(&loop, loop.run_body), loop.carry.start(), options,
                                            loop.carry.paths(), at));
  }
}
namespace detail {
template <class Body>
consteval bool check_counter() {
  using I = typename nth<0, params_t<Body>>::type;
  constexpr bool array = std::same_as<I, unknown> || std::convertible_to<const Array&, I>;
  static_assert(array,
                "anew::fori_loop: the counter i is an Array, whose value is not known while the body is traced: write "
                "[](Array i, ... carry); for a number in C++, write a for loop");
  return array;
}
}  // namespace detail
// for (i = lo; i < hi; ++i) carry = body(i, carry), from init; i is an Array; gives the last carry.
template <class Body, class Init>
[[nodiscard]] auto fori_loop(const ArrayLike& lo, const ArrayLike& hi, Body body, Init init,
                             const LoopOptions& options = {}, const Location& at = Location::current()) {
  using C = detail::argument_t<Body, 1, Init, detail::traced_numbers>;
  if constexpr (!detail::check_counter<Body>()) {
    return Array();  // so that nothing is said but that
  } else if constexpr (detail::check_loop_body<Body, C, Array>()) {
    detail::ForiLoop<Body, C> loop{body, detail::Carry<C>(static_cast<C>(std::move(init)), "fori_loop", at)};
    return loop.carry.with(flat::fori_loop(lo.value, hi.value, detail::flat_function(&loop, loop.run_body),
                                           loop.carry.start(), options, loop.carry.paths(), at));
  }
}

// f of every element along axis 0 of xs, one after the other, or `.batch_size` at a time; results are stacked.
template <class F = detail::Elementwise, class Xs>
[[nodiscard]] auto map(F f, Xs xs, const MapOptions& options = {}, const Location& at = Location::current()) {
  using X = detail::argument_t<F, 0, Xs, detail::traced_numbers>;
  if constexpr (detail::check_call<F, X>()) {
    detail::Call<F, std::index_sequence<0>, X> c(f, std::move(xs));
    return c.rebuild(flat::map(c.flat(), c.leaves(), options, at));
  }
}

namespace detail {

using RunCombine = Arrays (*)(void* loop, std::span<const Array> a, std::span<const Array> b);
flat::Combine combine_function(void* loop, RunCombine run);
template <class F, class X>
consteval bool check_combine() {
  if constexpr (check_tree<X>()) {
    constexpr bool callable = std::is_invocable_v<const F&, const X&, const X&>;
    static_assert(callable, "anew::associative_scan: the function must be callable as f(a, b) with the type of xs");
    if constexpr (callable) {
      constexpr bool same = std::convertible_to<result_t<F, X, X>, X>;
      static_assert(same, "anew::associative_scan: f(a, b) must have the type of a and b");
      return same;
    }
  }
  return false;
}
template <class F, class X>
struct AssociativeScan {
  const F& f;
  Carry<X> like;

  static Arrays run(void* self, std::span<const Array> a, std::span<const Array> b) {
    auto& loop = *static_cast<AssociativeScan*>(self);
    return loop.like.flatten(static_cast<X>(detail::call(loop.f, loop.like.with(a), loop.like.with(b))));
  }
};

}  // namespace detail

// All prefixes of xs along an axis, combined by an associative f(a, b) that works element by element along that axis.
template <class F = detail::ElementwisePair, class Xs>
[[nodiscard]] auto associative_scan(F f, Xs xs, const AssociativeScanOptions& options = {},
                                    const Location& at = Location::current()) {
  using X = detail::argument_t<F, 0, Xs, detail::traced_numbers>;
  detail::check_function(f, at);
  if constexpr (detail::check_combine<F, X>()) {
    detail::AssociativeScan<F, X> loop{f, detail::Carry<X>(static_cast<X>(std::move(xs)), "associative_scan", at)};
    return loop.like.with(
        flat::associative_scan(detail::combine_function(&loop, loop.run), loop.like.start(), options, at));
  }
}

}  // namespace anew
