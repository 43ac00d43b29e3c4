// Equations solved for arrays and trees: linear ones by Krylov methods (cg, bicgstab, gmres), others by newton and
// fixed_point, and any way of the user's (custom_linear_solve, custom_root). Derivatives follow from the equation, not
// from the steps that solved it: of every order, in both modes, by everything that the functions capture.
#pragma once
#include <anew/control.h>

namespace anew {

namespace flat {

// solve(matvec, b) -> x of matvec(x) = b, and arrays besides, which have no derivative.
using LinearSolve = std::function<Arrays(const FlatFunction& matvec, std::span<const Array> b)>;
struct LinearSolveRules {
  LinearSolve solve;
  LinearSolve transpose_solve = {};  // transpose_solve(vecmat, b); without it there is no reverse mode,
  bool symmetric = false;            // unless matvec is its own transpose: then it is solve
  LinearSolve tangent_solve = {};    // in place of solve where derivatives are solved for
};
Arrays custom_linear_solve(const FlatFunction& matvec, std::span<const Array> b, const LinearSolveRules& rules,
                           const Location& at = Location::current());
struct RootRules {
  FlatFunction solve;         // of the guess: x of f(x) = 0, and arrays besides
  LinearSolve tangent_solve;  // of the linear function f'(x)
};
Arrays custom_root(const FlatFunction& f, std::span<const Array> guess, const RootRules& rules,
                   const Location& at = Location::current());

enum class Krylov : std::uint8_t { cg, bicgstab, gmres };
struct KrylovOptions {
  double tol = 1e-5, atol = 0;
  int restart = 20;
  std::optional<int> maxiter = {};
  Arrays x0 = {};       // empty: zeros
  FlatFunction M = {};  // empty: the identity
};
// x, then iterations, residual and converged.
Arrays krylov(Krylov method, const FlatFunction& matvec, std::span<const Array> b, const KrylovOptions& options,
              const Location& at = Location::current());

}  // namespace flat

// How an iteration went: arrays, so that a jitted function may return them. `residual` is the norm of b - A x, of f(x),
// or of f(x) - x, computed from the x that is returned. None of them has a derivative.
struct SolveInfo {
  Array iterations;  // i32
  Array residual;
  Array converged;  // bool
};

// `tol`: the last step is at most tol times the norm of x, plus atol; absent: 1e-6 in f32, 1e-10 in f64. `ftol`: or the
// norm of f(x), of a fixed point f(x) - x, is at most that. `linear_solver`: "dense" makes the Jacobian, "gmres" only
// multiplies by it, "auto" is dense up to 256 unknowns; fixed points need it for their derivatives alone.
struct RootOptions {
  std::optional<double> tol = {};
  double atol = 0, ftol = 0;
  std::optional<int> maxiter = {};  // 50; of a fixed point 1000
  std::string linear_solver = "auto";
};
namespace flat {
Arrays newton(const FlatFunction& f, std::span<const Array> x0, const RootOptions& options,
              const Location& at = Location::current());
Arrays fixed_point(const FlatFunction& f, std::span<const Array> x0, const RootOptions& options,
                   const Location& at = Location::current());
}  // namespace flat

namespace detail {

// ---- functions of one tree that give a tree of its kind
template <class F, class X>
struct TreeFunction {
  const F& f;
  const Carry<X>& like;
  FlatFunction flat() { return flat_function(this, run); }
  static Arrays run(void* self, std::span<const Array> xs) {
    auto& s = *static_cast<TreeFunction*>(self);
    return s.like.flatten(static_cast<X>(detail::call(s.f, s.like.with(xs))));
  }
};
template <class F, class X>
consteval bool check_equation() {
  if constexpr (check_tree<X>()) {
    static_assert(holds_arrays<X>, "anew: there is nothing to solve for: the tree holds no array");
    constexpr bool callable = std::is_invocable_v<const F&, const X&>;
    static_assert(callable, "anew: the function of an equation must be callable with the unknown, f(x)");
    if constexpr (holds_arrays<X> && callable) {
      constexpr bool same = std::convertible_to<result_t<F, X>, X>;
      static_assert(same, "anew: the function of an equation must return the type of the unknown");
      return same;
    }
  }
  return false;
}
template <class T>
concept NotNumber = !Number<T>;
// What is solved for: the type of f's parameter where that is known.
template <class F, class T>
using unknown_t = argument_t<F, 0, T, traced_numbers>;
FlatFunction matrix_function(const Array& a, std::string_view op, const Location& at);
template <class A>
inline constexpr bool is_matrix = std::convertible_to<A, Array>;
template <class A, class B>
struct solved {
  using type = unknown_t<A, B>;
};
template <class A, class B>
  requires is_matrix<A>
struct solved<A, B> {
  using type = Array;
};
template <class A, class B>
using solved_t = typename solved<A, B>::type;

}  // namespace detail

// A linear function of trees, as solve and tangent_solve are given it.
template <class X>
class LinearFunction {
 public:
  using anew_params = detail::types<X>;
  LinearFunction(FlatFunction f, const detail::Carry<X>& like) : f_(std::move(f)), like_(&like) {}
  // There is no moving: what was moved from is still the same.
  LinearFunction(const LinearFunction&) = default;
  LinearFunction& operator=(const LinearFunction&) = default;
  X operator()(X x) const { return like_->with(f_(like_->flatten(std::move(x)))); }

 private:
  FlatFunction f_;
  const detail::Carry<X>* like_;  // of the call that solves
};

// A matrix, or a function that multiplies by one; none: the identity.
template <class X>
class LinearOperator {
 public:
  LinearOperator() = default;
  template <class T>
    requires(std::same_as<X, Array> && std::convertible_to<const T&, Array> && !std::is_arithmetic_v<T>)
  LinearOperator(const T& matrix) : matrix_(matrix) {}
  template <class F>
    requires std::is_invocable_r_v<X, const F&, const X&>
  LinearOperator(F f) : f_(std::move(f)) {}
  // There is no moving: what was moved from is still the same.
  LinearOperator(const LinearOperator&) = default;
  LinearOperator& operator=(const LinearOperator&) = default;
  const std::optional<Array>& matrix() const { return matrix_; }
  const std::function<X(const X&)>& function() const { return f_; }

 private:
  std::optional<Array> matrix_;
  std::function<X(const X&)> f_;
};

// Stops where the norm of the residual is at most max(tol |b|, atol). `restart`: vectors that gmres keeps. `maxiter`:
// 10 times the number of unknowns; gmres counts restarts. `x0`: where to begin, zeros. `M`: about the inverse of A.
template <class X>
struct KrylovOptions {
  double tol = 1e-5, atol = 0;
  int restart = 20;
  std::optional<int> maxiter = {};
  std::optional<X> x0 = {};
  LinearOperator<X> M = {};
};

namespace detail {

template <class A, class X>
std::pair<X, SolveInfo> run_krylov(flat::Krylov method, std::string_view op, const A& a, X b, const KrylovOptions<X>& o,
                                   const Location& at) {
  Carry<X> like(std::move(b), op, at);
  flat::KrylovOptions options{.tol = o.tol, .atol = o.atol, .restart = o.restart, .maxiter = o.maxiter};
  if (o.x0) options.x0 = like.flatten(*o.x0);
  TreeFunction<std::function<X(const X&)>, X> m{o.M.function(), like};
  if (o.M.matrix()) options.M = matrix_function(*o.M.matrix(), op, at);
  else if (o.M.function()) options.M = m.flat();
  Arrays out;
  if constexpr (is_matrix<A>) {
    out = flat::krylov(method, matrix_function(a, op, at), like.start(), options, at);
  } else {
    check_function(a, at);
    TreeFunction<A, X> f{a, like};
    out = flat::krylov(method, f.flat(), like.start(), options, at);
  }
  const std::size_t n = like.start().size();
  return {like.with(LeafList(std::span<const Array>(out).first(n))), SolveInfo{out[n], out[n + 1], out[n + 2]}};
}
template <class A, class X>
consteval bool check_system() {
  if constexpr (is_matrix<A>) return true;
  else return check_equation<A, X>();
}

}  // namespace detail

// x of A x = b and how it went; A is a matrix or a function v -> A v of trees. cg: A symmetric, positive definite.
template <class A, class B>
[[nodiscard]] auto cg(const A& a, const B& b, const KrylovOptions<detail::solved_t<A, B>>& options = {},
                      const Location& at = Location::current()) {
  using X = detail::solved_t<A, B>;
  if constexpr (detail::check_system<A, X>())
    return detail::run_krylov<A, X>(flat::Krylov::cg, "cg", a, static_cast<X>(b), options, at);
}
template <class A, class B>
[[nodiscard]] auto bicgstab(const A& a, const B& b, const KrylovOptions<detail::solved_t<A, B>>& options = {},
                            const Location& at = Location::current()) {
  using X = detail::solved_t<A, B>;
  if constexpr (detail::check_system<A, X>())
    return detail::run_krylov<A, X>(flat::Krylov::bicgstab, "bicgstab", a, static_cast<X>(b), options, at);
}
template <class A, class B>
[[nodiscard]] auto gmres(const A& a, const B& b, const KrylovOptions<detail::solved_t<A, B>>& options = {},
                         const Location& at = Location::current()) {
  using X = detail::solved_t<A, B>;
  if constexpr (detail::check_system<A, X>())
    return detail::run_krylov<A, X>(flat::Krylov::gmres, "gmres", a, static_cast<X>(b), options, at);
}

namespace detail {

// What a user's solve returns: x, or a pair of x and something that has no derivative.
template <class R, class X>
inline constexpr bool gives_more = false;
template <class A, class B, class X>
inline constexpr bool gives_more<std::pair<A, B>, X> = !std::convertible_to<std::pair<A, B>, X>;
template <class More>
struct more_shape {
  using type = ResultShape<typename traced_numbers<More>::type>;
};
struct NoMore {};

template <class R, class X>
class Solved {
 public:
  explicit Solved(const Carry<X>& like) : like_(like) {}
  Arrays flatten(R r) {
    if constexpr (gives_more<R, X>) {
      Arrays out = like_.flatten(static_cast<X>(std::move(r.first)));
      Arrays more = more_.flatten(static_cast<More>(std::move(r.second)));
      out.insert(out.end(), more.begin(), more.end());
      return out;
    } else {
      return like_.flatten(static_cast<X>(std::move(r)));
    }
  }
  auto rebuild(const Arrays& out) const {
    const std::span<const Array> all(out);
    const std::size_t n = like_.start().size();
    if constexpr (gives_more<R, X>)
      return std::pair<X, More>(like_.with(LeafList(all.first(n))), more_.rebuild(LeafList(all.subspan(n))));
    else return like_.with(LeafList(all.first(n)));
  }

 private:
  template <class T>
  struct more_of {
    using type = NoMore;
  };
  template <class A, class B>
  struct more_of<std::pair<A, B>> {
    using type = typename traced_numbers<B>::type;
  };
  using More = typename more_of<R>::type;
  const Carry<X>& like_;
  std::conditional_t<gives_more<R, X>, ResultShape<More>, NoMore> more_;
};

template <class S, class F, class X>
consteval bool check_solve() {
  constexpr bool callable = std::is_invocable_v<const S&, const F&, const X&>;
  static_assert(callable, "anew: solve must be callable as solve(f, x), tangent_solve as tangent_solve(g, y)");
  if constexpr (callable) {
    using R = std::remove_cvref_t<std::invoke_result_t<const S&, const F&, const X&>>;
    constexpr bool same = std::convertible_to<R, X> || gives_more<R, X>;
    static_assert(same, "anew: solve must return the type of the unknown, or a std::pair of it and something besides");
    return same;
  }
  return false;
}
template <class S, class X>
flat::LinearSolve linear_solve_rule(const S& solve, const Carry<X>& like) {
  using R = std::remove_cvref_t<std::invoke_result_t<const S&, const LinearFunction<X>&, const X&>>;
  return [&solve, &like](const FlatFunction& matvec, std::span<const Array> b) {
    return Solved<R, X>(like).flatten(solve(LinearFunction<X>(matvec, like), like.with(b)));
  };
}

}  // namespace detail

// x of matvec(x) = b, found by solve(matvec, b); the cotangent of b by transpose_solve(vecmat, ct), or, where matvec is
// symmetric, by solve. Where solve returns std::pair(x, more), so does this; only x has a derivative.
template <class A, class B, class S, class T = none_t>
[[nodiscard]] auto custom_linear_solve(const A& matvec, const B& b, const S& solve, const T& transpose_solve = {},
                                       bool symmetric = false, const Location& at = Location::current()) {
  using X = detail::unknown_t<A, B>;
  if constexpr (detail::check_equation<A, X>()) {
    if constexpr (detail::check_solve<S, LinearFunction<X>, X>()) {
      using R = std::remove_cvref_t<std::invoke_result_t<const S&, const LinearFunction<X>&, const X&>>;
      const detail::Carry<X> like(static_cast<X>(b), "custom_linear_solve", at);
      detail::TreeFunction<A, X> f{matvec, like};
      detail::Solved<R, X> solved(like);
      flat::LinearSolveRules rules;
      rules.solve = [&](const FlatFunction& g, std::span<const Array> y) {
        return solved.flatten(solve(LinearFunction<X>(g, like), like.with(y)));
      };
      if constexpr (!std::same_as<T, none_t>)
        if constexpr (detail::check_solve<T, LinearFunction<X>, X>())
          rules.transpose_solve = detail::linear_solve_rule<T, X>(transpose_solve, like);
      rules.symmetric = symmetric;
      return solved.rebuild(flat::custom_linear_solve(f.flat(), like.start(), rules, at));
    }
  }
}

// x of f(x) = 0, found by solve(f, x0). Its derivative needs tangent_solve(g, y), which gives x of g(x) = y for g, the
// linear f'(x): of one number y / g(1.0). Where solve returns std::pair(x, more), so does this.
template <class F, class T, class S, class L>
[[nodiscard]] auto custom_root(const F& f, const T& x0, const S& solve, const L& tangent_solve,
                               const Location& at = Location::current()) {
  using X = detail::unknown_t<F, T>;
  if constexpr (detail::check_equation<F, X>()) {
    if constexpr (detail::check_solve<S, F, X>() && detail::check_solve<L, LinearFunction<X>, X>()) {
      using R = std::remove_cvref_t<std::invoke_result_t<const S&, const F&, const X&>>;
      const detail::Carry<X> like(static_cast<X>(x0), "custom_root", at);
      detail::TreeFunction<F, X> function{f, like};
      detail::Solved<R, X> solved(like);
      flat::RootRules rules;
      rules.solve = [&](std::span<const Array> x) { return solved.flatten(solve(f, like.with(x))); };
      rules.tangent_solve = detail::linear_solve_rule<L, X>(tangent_solve, like);
      return solved.rebuild(flat::custom_root(function.flat(), like.start(), rules, at));
    }
  }
}

namespace detail {

template <class F, class X>
std::pair<X, SolveInfo> run_root(bool fixed, const F& f, X x0, const RootOptions& options, const Location& at) {
  check_function(f, at);
  const Carry<X> like(std::move(x0), fixed ? "fixed_point" : "newton", at);
  TreeFunction<F, X> function{f, like};
  const Arrays out = fixed ? flat::fixed_point(function.flat(), like.start(), options, at)
                           : flat::newton(function.flat(), like.start(), options, at);
  const std::size_t n = like.start().size();
  return {like.with(LeafList(std::span<const Array>(out).first(n))), SolveInfo{out[n], out[n + 1], out[n + 2]}};
}

}  // namespace detail

// x of f(x) = 0 near x0, an array or a tree, by Newton's method, and how it went. Of a plain number it would hide a
// newton(f, Array) of the user's own: write array(x0).
template <class F = detail::Elementwise, class T>
  requires detail::NotNumber<T>
[[nodiscard]] auto newton(const F& f, const T& x0, const RootOptions& options = {},
                          const Location& at = Location::current()) {
  using X = detail::unknown_t<F, T>;
  if constexpr (detail::check_equation<F, X>())
    return detail::run_root<F, X>(false, f, static_cast<X>(x0), options, at);
}
// A plain number arrives here only where nobody has a newton that takes it.
template <class F>
std::pair<Array, SolveInfo> newton(const F&, ...) {
  static_assert(!sizeof(F), "anew::newton: x0 is an array or a tree; for a number, write newton(f, array(x0))");
  return {};
}
// x of x = f(x), by x0, f(x0), f(f(x0)) and so on, and how it went.
template <class F = detail::Elementwise, class T>
[[nodiscard]] auto fixed_point(const F& f, const T& x0, const RootOptions& options = {},
                               const Location& at = Location::current()) {
  using X = detail::unknown_t<F, T>;
  if constexpr (detail::check_equation<F, X>()) return detail::run_root<F, X>(true, f, static_cast<X>(x0), options, at);
}

}  // namespace anew
