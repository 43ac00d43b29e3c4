// Transformations of functions of trees that map over examples or over unit vectors: vmap, Jacobians, Hessians; and
// with them the transpose of a linear function and check_grads. Each is a thin wrapper of its flat form.
#pragma once
#include <anew/linearize.h>
#include <anew/transforms.h>

namespace anew {

// Axes of one argument, or of one element of a result: a number for all its leaves (none or no_axis: not mapped), or a
// tree of the argument's type that holds numbers in place of its arrays: Params{.w = 0, .b = no_axis}.
class ArgumentAxes {
 public:
  template <std::integral T>
  ArgumentAxes(T axis) : ArgumentAxes(One{detail::saturated<int>(axis)}) {}
  ArgumentAxes(none_t) : ArgumentAxes(One{no_axis}) {}
  template <class T>
    requires detail::holds_arrays<T>
  ArgumentAxes(const T& axes, const Location& at = Location::current())
      : ArgumentAxes(detail::leaves(axes), detail::leaf_paths(axes, ""), at) {}
  // There is no moving: what was moved from still has its axes.
  ArgumentAxes(const ArgumentAxes&);
  ArgumentAxes& operator=(const ArgumentAxes&);
  ~ArgumentAxes();
  bool for_all() const { return for_all_; }
  const std::vector<int>& list() const { return axes_; }
  const std::vector<std::string>& paths() const { return paths_; }  // of the leaves

 private:
  struct One {
    int axis;
  };
  explicit ArgumentAxes(One one);
  ArgumentAxes(const Arrays& axes, std::vector<std::string> paths, const Location& at);
  std::vector<int> axes_;
  std::vector<std::string> paths_;
  bool for_all_ = false;
};
// One axis for everything, or axes for each argument (of results: for each element of a returned tuple).
class MapAxes {
 public:
  MapAxes(int axis = 0);
  MapAxes(none_t) : MapAxes(no_axis) {}
  MapAxes(std::initializer_list<ArgumentAxes> axes);
  MapAxes(const std::vector<int>& axes);
  MapAxes(std::vector<ArgumentAxes> axes);
  MapAxes(const MapAxes&);
  MapAxes& operator=(const MapAxes&);
  ~MapAxes();
  bool for_all() const { return for_all_; }
  const std::vector<ArgumentAxes>& list() const { return axes_; }

 private:
  std::vector<ArgumentAxes> axes_;
  bool for_all_ = false;
};
// `chunk`: at most so many examples are mapped at once, in a loop: less memory, the same bits.
struct VmapOptions {
  MapAxes in_axes = {};
  MapAxes out_axes = {};
  std::optional<int> chunk = {};
};

namespace detail {

// Leaves of each argument, or of each element of a result: how many, and their paths where somebody asks.
struct LeafGroup {
  std::size_t count = 0;
  const void* tree = nullptr;
  std::vector<std::string> (*paths)(const void* tree) = nullptr;
};
using LeafGroups = std::vector<LeafGroup>;
template <class T>
LeafGroup leaf_group(const T& t) {
  if constexpr (std::same_as<T, Array>) return {1, nullptr, [](const void*) { return std::vector<std::string>{""}; }};
  else if constexpr (!holds_arrays<T>) return {0, nullptr, [](const void*) { return std::vector<std::string>{}; }};
  else return {leaves(t).size(), &t, [](const void* tree) { return leaf_paths(*static_cast<const T*>(tree), ""); }};
}
template <std::size_t... I, class... A>
LeafGroups argument_groups(const Slots<std::index_sequence<I...>, A...>& args) {
  return {leaf_group(get<I>(args))...};
}
template <class C>
LeafGroups result_groups(const void* call) {
  const auto& r = static_cast<const C*>(call)->result_skeleton();
  if constexpr (is_tuple<std::remove_cvref_t<decltype(r)>>)
    return std::apply([](const auto&... e) { return LeafGroups{leaf_group(e)...}; }, r);
  else return {leaf_group(r)};
}
Arrays run_vmap(const FlatFunction& f, std::span<const Array> leaves, const LeafGroups& arguments,
                const VmapOptions& options, const void* call, LeafGroups (*results)(const void* call),
                const Location& at);

}  // namespace detail

template <class F>
class Vmap : public detail::Calls<Vmap<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Vmap(F f, VmapOptions options, const Location& at) : f_(std::move(f)), options_(std::move(options)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      using C = typename For::type;
      C c(f_, std::forward<T>(args)...);
      return c.rebuild(detail::run_vmap(c.flat(), c.leaves(), detail::argument_groups(c.skeleton()), options_, &c,
                                        detail::result_groups<C>, at_));
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  VmapOptions options_;
  Location at_;
};
// f, written for one example, for all examples along an axis of its arguments.
template <class F = detail::Elementwise>
[[nodiscard]] auto vmap(F f, VmapOptions options = {}, const Location& at = Location::current()) {
  return Vmap<F>(std::move(f), std::move(options), at);
}
[[nodiscard]] inline auto vmap(detail::ElementwisePair f, VmapOptions options = {},
                               const Location& at = Location::current()) {
  return Vmap<detail::ElementwisePair>(f, std::move(options), at);
}

// ---- Jacobians
namespace detail {

template <std::size_t... I, class... A>
consteval bool check_jacobian(std::index_sequence<I...>, types<A...>, bool one_result) {
  constexpr bool exist = ((I < sizeof...(A)) && ...);
  static_assert(exist, "anew::jacfwd, jacrev, hessian: there is no argument of this number; they count from 0");
  if constexpr (exist) {
    constexpr bool arrays = (holds_arrays<typename nth<I, types<A...>>::type> && ...);
    static_assert(arrays, "anew::jacfwd, jacrev, hessian: the argument to differentiate is static, it holds no array");
    return arrays && (one_result || (std::same_as<typename nth<I, types<A...>>::type, Array> && ...));
  }
  return false;
}
// Blocks with number `first`, `first` + `step`, ...
Arrays every(const Arrays& blocks, std::size_t first, std::size_t step);

}  // namespace detail

template <class F, bool Forward, std::size_t... I>
class Jacobian : public detail::Calls<Jacobian<F, Forward, I...>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Jacobian(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using Free = typename detail::chosen_arguments<I...>::type;
    using For = detail::call_for<F, Free, std::index_sequence_for<T...>, T...>;
    if constexpr (For::valid) {
      using C = typename For::type;
      constexpr bool one = std::same_as<typename C::Result, Array>;
      constexpr bool expressible = detail::check_jacobian(Free{}, typename For::arguments{}, one);
      static_assert(expressible,
                    "anew::jacfwd, jacrev: from Arrays to any tree, or from any tree to one Array; a tree by a tree "
                    "has no type");
      if constexpr (expressible) {
        C c(f_, std::forward<T>(args)...);
        Arrays blocks = Forward ? flat::jacfwd(c.flat(), c.leaves(), at_) : flat::jacrev(c.flat(), c.leaves(), at_);
        if constexpr (one) return detail::rebuild_arguments(c.skeleton(), blocks, Free{});
        else return per_argument(c, blocks, std::make_index_sequence<Free::size()>{});
      }
    }
  }

  const Location& at() const { return at_; }

 private:
  template <class C, std::size_t... K>
  static auto per_argument(const C& c, const Arrays& blocks, std::index_sequence<K...>) {
    if constexpr (sizeof...(K) == 1) return c.rebuild(blocks);
    else return std::tuple(c.rebuild(detail::every(blocks, K, sizeof...(K)))...);
  }
  F f_;
  Location at_;
};
// The matrix of all partial derivatives, of shape output + input; a column at a time: for few inputs.
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto jacfwd(F f, const Location& at = Location::current()) {
  return Jacobian<F, true, I...>(std::move(f), at);
}
// The same, a row at a time: for few outputs.
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto jacrev(F f, const Location& at = Location::current()) {
  return Jacobian<F, false, I...>(std::move(f), at);
}

template <class F, std::size_t... I>
class Hessian : public detail::Calls<Hessian<F, I...>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Hessian(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using Free = typename detail::chosen_arguments<I...>::type;
    using For = detail::call_for<F, Free, std::index_sequence_for<T...>, T...>;
    if constexpr (For::valid) {
      constexpr bool expressible = detail::check_jacobian(Free{}, typename For::arguments{}, false) &&
                                   std::same_as<typename For::type::Result, Array>;
      static_assert(expressible, "anew::hessian: from Arrays to one Array; for trees use hvp");
      if constexpr (expressible) {
        typename For::type c(f_, std::forward<T>(args)...);
        return rows(flat::hessian(c.flat(), c.leaves(), at_), std::make_index_sequence<Free::size()>{});
      }
    }
  }

  const Location& at() const { return at_; }

 private:
  template <std::size_t... K>
  static auto rows(const Arrays& blocks, std::index_sequence<K...> all) {
    if constexpr (sizeof...(K) == 1) return blocks[0];
    else return std::tuple(row(blocks, K * sizeof...(K), all)...);
  }
  template <std::size_t... K>
  static auto row(const Arrays& blocks, std::size_t first, std::index_sequence<K...>) {
    return std::tuple(blocks[first + K]...);
  }
  F f_;
  Location at_;
};
// Second derivatives, of shape output + input + input; of several arguments in a tuple of tuples.
template <std::size_t... I, class F = detail::Elementwise>
[[nodiscard]] auto hessian(F f, const Location& at = Location::current()) {
  return Hessian<F, I...>(std::move(f), at);
}
template <class F, detail::ArgumentNumbers N = std::initializer_list<int>>
auto jacfwd(F, N) {
  detail::refuse_argument_numbers<F>();
}
template <class F, detail::ArgumentNumbers N = std::initializer_list<int>>
auto jacrev(F, N) {
  detail::refuse_argument_numbers<F>();
}
template <class F, detail::ArgumentNumbers N = std::initializer_list<int>>
auto hessian(F, N) {
  detail::refuse_argument_numbers<F>();
}

namespace detail {
template <class Ps>
struct twice {
  using type = unknown;
};
template <class P>
struct twice<types<P>> {
  using type = types<P, P>;
};
}  // namespace detail

template <class F>
class Hvp : public detail::Calls<Hvp<F>, typename detail::twice<detail::params_t<F>>::type> {
 public:
  using anew_params = typename detail::twice<detail::params_t<F>>::type;
  Hvp(F f, const Location& at) : f_(std::move(f)), at_(at) {}

  template <class X, class V>
  auto apply(const X& x, const V& v) const {
    auto xs = detail::per_argument<F>(x);
    return apply_to(xs, detail::per_argument<F>(v), std::make_index_sequence<std::tuple_size_v<decltype(xs)>>{});
  }

  const Location& at() const { return at_; }

 private:
  template <class... X, class... D, std::size_t... I>
  auto apply_to(const std::tuple<const X&...>& x, const std::tuple<const D&...>& v, std::index_sequence<I...>) const {
    using For = detail::whole_call<F, X...>;
    if constexpr (For::valid && detail::check_tangents(typename For::arguments{}, detail::types<D...>{})) {
      if constexpr (detail::check_loss<typename For::type::Result>()) {
        typename For::type c(f_, std::get<I>(x)...);
        Arrays tangents;
        (detail::add_tangent<typename detail::nth<I, typename For::arguments>::type>(
             tangents, std::get<I>(v), detail::get<I>(c.skeleton()), "hvp", at_),
         ...);
        return detail::rebuild_arguments(c.skeleton(), flat::hvp(c.flat(), c.leaves(), detail::LeafList(tangents), at_),
                                         std::index_sequence_for<X...>{});
      }
    }
  }
  F f_;
  Location at_;
};
// hvp(f)(x, v): the Hessian at x times v, of the type of x; several arguments in std::tuples.
template <class F = detail::Elementwise>
[[nodiscard]] auto hvp(F f, const Location& at = Location::current()) {
  return Hvp<F>(std::move(f), at);
}

// ---- linear functions
namespace detail {
Arrays run_linear_transpose(const FlatFunction& f, std::span<const Array> like, const Arrays& ct, const Location& at);
}
template <class F, class... A>
class LinearTranspose {
 public:
  using Result = detail::result_t<F, A...>;
  LinearTranspose(F f, A... like) : f_(std::move(f)), like_{{std::move(like)}...} {}

  // One cotangent per argument: alone, or in a std::tuple with none for static arguments.
  auto operator()(const Result& ct, const Location& at = Location::current()) const {
    return apply(ct, at, std::index_sequence_for<A...>{});
  }

 private:
  template <std::size_t... I>
  auto apply(const Result& ct, const Location& at, std::index_sequence<I...> all) const {
    present_.check(at);
    detail::Call<F, std::index_sequence<I...>, A...> c(f_, detail::get<I>(like_)...);
    const Arrays cts = detail::run_linear_transpose(c.flat(), c.leaves(), detail::leaves(ct), at);
    detail::check_structure(ct, c.result_skeleton(), "linear_transpose", "cotangent", "result", at);
    return detail::rebuild_arguments(c.skeleton(), cts, all);
  }
  F f_;
  detail::Pack<A...> like_;
  detail::Present present_;
};
namespace detail {
template <class F, class... A, class... T>
auto linear_transpose_of(F f, types<A...>, const T&... like) {
  return LinearTranspose<F, A...>(std::move(f), static_cast<A>(like)...);
}
}  // namespace detail
// The transpose of a linear function of arrays of these types (ShapeDtype, or arrays for their types).
template <class F = detail::Elementwise, class... T>
[[nodiscard]] auto linear_transpose(F f, const T&... types) {
  using For = detail::whole_call<F, T...>;
  if constexpr (For::valid) return detail::linear_transpose_of(std::move(f), typename For::arguments{}, types...);
}

namespace detail {
template <class F, class... X>
void check_grads_of(const F& f, const std::tuple<const X&...>& x, const CheckGradsOptions& options,
                    const Location& at) {
  std::apply(
      [&](const auto&... args) {
        using For = whole_call<F, X...>;
        if constexpr (For::valid) {
          typename For::type c(f, args...);
          flat::check_grads(c.flat(), c.leaves(), options, at);
        }
      },
      x);
}
}  // namespace detail
// Throws, with the worst entry, where derivatives of f at x are not those of differences; several arguments in a tuple.
template <class F = detail::Elementwise, class X>
void check_grads(F f, const X& x, const CheckGradsOptions& options = {}, const Location& at = Location::current()) {
  detail::check_function(f, at);
  detail::check_grads_of(f, detail::per_argument<F>(x), options, at);
}

}  // namespace anew
