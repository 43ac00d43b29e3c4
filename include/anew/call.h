// How a transformation calls a user's function: what the function takes and gives, which arguments are traced and which
// are static, and a Call, which carries one call between C++ types and lists of arrays. A Call lives on the stack of
// one call and is its only state, so that transformed functions may be called by several threads and by themselves.
#pragma once
#include <anew/tree.h>

extern template class std::function<anew::Arrays(std::span<const anew::Array>)>;

namespace anew::detail {

// ---- parameters: known for functions, plain lambdas, functors, std::function, member functions and our own wrappers
struct unknown {};  // of generic and overloaded callables
template <class F>
struct params_of {
  using type = unknown;
};
template <class R, class... P>
struct params_of<R (*)(P...)> {
  using type = types<P...>;
};
template <class R, class... P>
struct params_of<R (*)(P...) noexcept> {
  using type = types<P...>;
};
template <class R, class C, class... P>
struct params_of<R (C::*)(P...) const> {
  using type = types<const C&, P...>;
};
template <class R, class C, class... P>
struct params_of<R (C::*)(P...) const noexcept> {
  using type = types<const C&, P...>;
};
template <class M>
struct call_operator_params;
template <class R, class C, class... P>
struct call_operator_params<R (C::*)(P...)> {
  using type = types<P...>;
};
template <class R, class C, class... P>
struct call_operator_params<R (C::*)(P...) const> {
  using type = types<P...>;
};
template <class R, class C, class... P>
struct call_operator_params<R (C::*)(P...) noexcept> {
  using type = types<P...>;
};
template <class R, class C, class... P>
struct call_operator_params<R (C::*)(P...) const noexcept> {
  using type = types<P...>;
};
template <class F>
concept Wrapper = requires { typename F::anew_params; };
template <class F>
  requires(!Wrapper<F> && requires { typename call_operator_params<decltype(&F::operator())>::type; })
struct params_of<F> {
  using type = typename call_operator_params<decltype(&F::operator())>::type;
};
template <Wrapper F>
struct params_of<F> {
  using type = typename F::anew_params;
};
template <class F>
using params_t = typename params_of<F>::type;

template <std::size_t I, class Ps>
struct nth {
  using type = unknown;
};
template <std::size_t I, class P, class... Ps>
struct nth<I, types<P, Ps...>> : nth<I - 1, types<Ps...>> {};
template <class P, class... Ps>
struct nth<0, types<P, Ps...>> {
  using type = P;
};

// ---- arguments: the type that a Call keeps for a parameter P and a given T
// For an `auto` parameter a floating-point number is traced and an integer is static.
template <class T>
struct traced_floats {
  using type = std::conditional_t<std::is_floating_point_v<T>, Array, T>;
};
template <>
struct traced_floats<ShapeDtype> {
  using type = Array;
};
template <class... T>
struct traced_floats<std::tuple<T...>> {
  using type = std::tuple<typename traced_floats<T>::type...>;
};
template <class A, class B>
struct traced_floats<std::pair<A, B>> {
  using type = std::pair<typename traced_floats<A>::type, typename traced_floats<B>::type>;
};
// In a loop every number is an array.
template <class T>
struct traced_numbers {
  using type = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;
};
template <>
struct traced_numbers<ShapeDtype> {
  using type = Array;
};
template <class... T>
struct traced_numbers<std::tuple<T...>> {
  using type = std::tuple<typename traced_numbers<T>::type...>;
};
template <class A, class B>
struct traced_numbers<std::pair<A, B>> {
  using type = std::pair<typename traced_numbers<A>::type, typename traced_numbers<B>::type>;
};

template <class P>
struct stored {
  using type = P;
};
template <>
struct stored<ArrayLike> {
  using type = Array;
};
template <class T, std::size_t N>
struct stored<std::span<const T, N>> {
  using type = std::vector<T>;
};
template <class P>
using stored_t = typename stored<std::decay_t<P>>::type;

template <class P, class T, template <class> class Numbers>
struct chosen {
  static_assert(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>,
                "anew: a transformed function takes values or const references, not Type&: return what it changes");
  using S = stored_t<P>;
  using type = std::conditional_t<std::convertible_to<T, S> && (holds_arrays<S> || std::is_arithmetic_v<S>), S, T>;
};
template <class T, template <class> class Numbers>
struct chosen<unknown, T, Numbers> {
  using type = typename Numbers<T>::type;
};
// Of a `const T&`: the const makes a string literal a const char*, which is all that it converts to.
template <class F, std::size_t I, class T, template <class> class Numbers = traced_floats>
using argument_t = typename chosen<typename nth<I, params_t<F>>::type, std::decay_t<const T>, Numbers>::type;

// ---- results
template <class R>
struct result {
  using type = R;
};
template <>
struct result<void> {
  using type = none_t;
};
template <Number R>
struct result<R> {
  using type = Array;
};
template <class F, class... A>
using result_t = typename result<std::remove_cvref_t<std::invoke_result_t<const F&, const A&...>>>::type;

template <class F, class... A>
result_t<F, A...> call(const F& f, const A&... args) {
  check_function(f);
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, const A&...>>) {
    std::invoke(f, args...);
    return none;
  } else if constexpr (std::is_member_pointer_v<F>) {
    return std::invoke(f, args...);
  } else {
    return f(args...);
  }
}

// False after a readable error, so that nothing else is instantiated.
template <class F, class... A>
consteval bool check_callable() {
  constexpr bool callable = std::is_invocable_v<const F&, const A&...>;
  static_assert(
      callable,
      "anew: the function cannot be called with these arguments (listed in the compiler's notes as "
      "check_callable<function, arguments...>); a function changed by its call (a mutable lambda) cannot either");
  return callable;
}
template <class F, class... A>
consteval bool check_call() {
  if constexpr ((check_tree<A>() && ...) && check_callable<F, A...>()) return check_tree<result_t<F, A...>>();
  else return false;
}

// ---- values side by side; lighter for the compiler than std::tuple
template <std::size_t I, class T>
struct Slot {
  T value;
};
template <class Seq, class... T>
struct Slots;
template <std::size_t... I, class... T>
struct Slots<std::index_sequence<I...>, T...> : Slot<I, T>... {};
template <class... T>
using Pack = Slots<std::index_sequence_for<T...>, T...>;
template <std::size_t I, class T>
T& get(Slot<I, T>& s) {
  return s.value;
}
template <std::size_t I, class T>
const T& get(const Slot<I, T>& s) {
  return s.value;
}

// A result without its leaves, from the call of the function to the rebuilding of what the transformation gives.
[[noreturn]] void never_called();
[[noreturn]] void wrong_number_of_results(std::size_t given);
template <class R>
class ResultShape {
 public:
  ResultShape() = default;
  ResultShape(const ResultShape& other) : like_(other.like_ ? new R(*other.like_) : nullptr) {}
  ResultShape(ResultShape&& other) noexcept : like_(std::exchange(other.like_, nullptr)) {}
  ResultShape& operator=(ResultShape other) noexcept {
    std::swap(like_, other.like_);
    return *this;
  }
  ~ResultShape() { delete like_; }
  Arrays flatten(R r) {
    Arrays out = take_leaves(r);
    *this = ResultShape(std::move(r));
    return out;
  }
  R rebuild(LeafList xs) const { return with_leaves(skeleton(), xs); }
  const R& skeleton() const {
    if (!like_) never_called();
    return *like_;
  }

 private:
  explicit ResultShape(R like) : like_(new R(std::move(like))) {}
  const R* like_ = nullptr;  // owned; lighter for the compiler than std::optional
};
template <>
class ResultShape<Array> {
 public:
  Arrays flatten(Array r) { return one(std::move(r)); }
  Array rebuild(LeafList xs) const {
    if (xs.size() != 1) wrong_number_of_results(xs.size());
    return xs[0];
  }
  Array skeleton() const { return {}; }

 private:
  static Arrays one(Array r);
};

// The leaves of a call, as long as it is there: an error about one of them, known by its address, finds its name.
class NamedLeaves {
 public:
  using Paths = std::vector<std::string> (*)(const void* call);  // "0.layers[1].w": the number of the argument first
  NamedLeaves(const Arrays& leaves, const void* call, Paths paths);
  NamedLeaves(const NamedLeaves&) = delete;
  NamedLeaves& operator=(const NamedLeaves&) = delete;
  ~NamedLeaves();
  // "argument 0, layers[1].w"; "" where x is no leaf of a call of this thread.
  static std::string name_of(const Array& x);

 private:
  const Arrays& leaves_;
  const void* call_;
  Paths paths_;
  const NamedLeaves* outer_;
};
template <class T>
void name_argument(std::size_t number, const T& argument, std::vector<std::string>& out) {
  PathPass pass(out, std::to_string(number));
  name_leaves(argument, pass);
}

// ---- one call of f. `Free` are the numbers of the arguments whose leaves the transformation varies; the others keep
// their arrays, as constants.
using RunCall = Arrays (*)(void* call, std::span<const Array> leaves);
FlatFunction flat_function(void* call, RunCall run);

template <class F, class Free, class... A>
class Call;
template <class F, std::size_t... Free, class... A>
class Call<F, std::index_sequence<Free...>, A...> {
 public:
  using Result = result_t<F, A...>;
  template <class... U>
  explicit Call(const F& f, U&&... args) : f_(f), args_{{static_cast<A>(std::forward<U>(args))}...} {
    LeafPass pass(LeafPass::Action::take, leaves_);
    (walk(get<Free>(args_), pass), ...);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::span<const Array> leaves() const { return LeafList(leaves_); }
  FlatFunction flat() { return flat_function(this, run); }
  Result rebuild(LeafList xs) const { return result_.rebuild(xs); }
  const Pack<A...>& skeleton() const { return args_; }
  decltype(auto) result_skeleton() const { return result_.skeleton(); }
  const ResultShape<Result>& result_shape() const { return result_; }

 private:
  static Arrays run(void* self, std::span<const Array> xs) {
    return static_cast<Call*>(self)->run_with(xs, std::index_sequence_for<A...>{});
  }
  static std::vector<std::string> paths([[maybe_unused]] const void* self) {
    std::vector<std::string> out;
    (name_argument(Free, get<Free>(static_cast<const Call*>(self)->args_), out), ...);
    return out;
  }
  template <std::size_t... I>
  Arrays run_with(std::span<const Array> xs, std::index_sequence<I...>) {
    [[maybe_unused]] Pack<A...> args = args_;  // a function may have no argument
    LeafPass pass(xs);
    (walk(get<Free>(args), pass), ...);
    pass.finish();
    return result_.flatten(detail::call(f_, std::as_const(get<I>(args))...));
  }

  const F& f_;
  Pack<A...> args_;
  Arrays leaves_;
  NamedLeaves names_{leaves_, this, paths};
  ResultShape<Result> result_;
};

template <class F, class Free, class Seq, class... T>
struct call_for;
template <class F, class Free, std::size_t... I, class... T>
struct call_for<F, Free, std::index_sequence<I...>, T...> {
  using type = Call<F, Free, argument_t<F, I, T>...>;
  using arguments = types<argument_t<F, I, T>...>;
  static constexpr bool valid = check_call<F, argument_t<F, I, T>...>();
};
template <class F, class... T>
using whole_call = call_for<F, std::index_sequence_for<T...>, std::index_sequence_for<T...>, T...>;

// Results of one argument alone, of several in a std::tuple; an argument without arrays gives none.
template <class T>
auto filled(const T& like, LeafPass& pass) {
  if constexpr (!holds_arrays<T>) {
    return none;
  } else {
    T t = like;
    walk(t, pass);
    return t;
  }
}
template <std::size_t... I, class... A>
auto rebuild_arguments(const Pack<A...>& like, LeafList xs, std::index_sequence<I...>) {
  LeafPass pass(xs);
  if constexpr (sizeof...(I) == 1) {
    auto out = (filled(get<I>(like), pass), ...);
    pass.finish();
    return out;
  } else {
    std::tuple<decltype(filled(get<I>(like), pass))...> out{filled(get<I>(like), pass)...};
    pass.finish();
    return out;
  }
}

// ---- what was moved from is not there any more, and says so
class Present {
 public:
  Present() = default;
  Present(const Present&) = default;
  Present(Present&& other) noexcept : present_(std::exchange(other.present_, false)) {}
  Present& operator=(const Present&) = default;
  Present& operator=(Present&& other) noexcept {
    present_ = std::exchange(other.present_, false);
    return *this;
  }
  ~Present() = default;
  void check(const Location& at) const {
    if (!present_) moved_from(at);
  }

 private:
  bool present_ = true;
};

// ---- the call operator of a transformed function W, which calls W::apply. Where the parameters are known it takes
// exactly them, so that braces and conversions work as in a plain call and errors are short; otherwise it takes
// anything.
template <class W>
class Wrapped {
 protected:
  const W& wrapper() const {
    const W& w = static_cast<const W&>(*this);
    present_.check(w.at());
    return w;
  }

 private:
  Present present_;
};
template <class W, class Ps>
struct Calls : Wrapped<W> {
  template <class... T>
  auto operator()(T&&... args) const {
    return this->wrapper().apply(std::forward<T>(args)...);
  }
};
template <class W, class... P>
struct Calls<W, types<P...>> : Wrapped<W> {
  auto operator()(stored_t<P>... args) const { return this->wrapper().apply(std::move(args)...); }
  // With defaults of f for the last parameters.
  template <class... T>
    requires(sizeof...(T) < sizeof...(P))
  auto operator()(T&&... args) const {
    return this->wrapper().apply(std::forward<T>(args)...);
  }
};

// The same for a W that looks at its arguments where they are.
template <class W, class Ps>
struct CallsInPlace : Calls<W, Ps> {};
template <class W, class... P>
struct CallsInPlace<W, types<P...>> : Wrapped<W> {
  auto operator()(const stored_t<P>&... args) const { return this->wrapper().apply(args...); }
  template <class... T>
    requires(sizeof...(T) < sizeof...(P))
  auto operator()(const T&... args) const {
    return this->wrapper().apply(args...);
  }
};

}  // namespace anew::detail
