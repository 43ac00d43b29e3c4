// Minimizers: C++ loops over a compiled step. optim::lbfgs and nonlinear_cg take a scalar function of an Array or of
// any tree, gauss_newton and levenberg_marquardt its residuals. They run now, on concrete arrays: not inside jit, grad
// or vmap. Computed in the dtype of x0, f32 or f64.
#pragma once
#include <anew/tree_functions.h>

namespace anew::optim {

// What a minimizer has got so far, after each iteration.
struct Progress {
  int iteration = 0;
  double value = 0;
  double gradient_norm = 0;  // the largest entry, as .gtol sees it
  double step = 0;           // along the direction; of levenberg_marquardt the damping
};
struct MinimizeOptions {
  int maxiter = 1000;
  // Converged where the largest entry of the gradient is at most gtol; absent: 1e-8, of f32 1e-5.
  std::optional<double> gtol = {};
  // Or where the value no longer decreases, relative to the larger of 1 and itself; absent: 10 roundings.
  std::optional<double> ftol = {};
  int history = 10;               // lbfgs: pairs of steps and gradients that are kept
  int max_line_search = 30;       // evaluations for one step
  double c1 = 1e-4;               // strong Wolfe conditions: decrease, and
  std::optional<double> c2 = {};  // slope; absent: 0.9, of nonlinear_cg 0.1
  std::function<void(const Progress&)> callback = {};
};
struct LeastSquaresOptions {
  int maxiter = 200;
  std::optional<double> gtol = {};  // of the largest entry of J^T r; absent: 1e-10, of f32 1e-5
  std::optional<double> ftol = {};  // as above
  std::optional<double> xtol = {};  // of the step, relative to x; absent: 10 roundings
  double damping = 1e-3;            // levenberg_marquardt: at first, relative to the largest diagonal of J^T J
  std::function<void(const Progress&)> callback = {};
};

template <class X>
struct Minimum {
  X x;
  double value = 0;  // of least squares: half the sum of squares
  int iterations = 0;
  bool converged = false;
  int evaluations = 0;
  std::string reason = {};  // why it ended
};

namespace detail {

enum class Method : std::uint8_t { lbfgs, nonlinear_cg, gauss_newton, levenberg_marquardt };
Minimum<Array> minimize(Method method, const FlatFunction& f, const Array& x0, const MinimizeOptions& options,
                        const Location& at);
Minimum<Array> least_squares(Method method, const FlatFunction& residuals, const Array& x0,
                             const LeastSquaresOptions& options, const Location& at);

// From f of a tree to a function of one vector, and back.
template <class F, class X, class Options>
auto minimize_tree(Method method, const F& f, const X& given, const Options& options, const Location& at) {
  using T = anew::detail::argument_t<F, 0, X>;
  static_assert(anew::detail::holds_arrays<T>, "anew::optim: x0 holds no array");
  if constexpr (anew::detail::check_call<F, T>()) {
    anew::detail::check_function(f, at);
    const T x0(given);
    const auto [v0, unravel] = ravel_tree(x0, at);
    FlatFunction flat = [&f, &unravel = unravel](std::span<const Array> v) {
      return anew::detail::leaves(anew::detail::call(f, unravel(v[0])));
    };
    Minimum<Array> m;
    if constexpr (std::same_as<Options, MinimizeOptions>) {
      static_assert(std::same_as<anew::detail::result_t<F, T>, Array>,
                    "anew::optim: the function to minimize returns a scalar Array");
      m = minimize(method, flat, v0, options, at);
    } else {
      m = least_squares(method, flat, v0, options, at);
    }
    return Minimum<T>{unravel(m.x), m.value, m.iterations, m.converged, m.evaluations, std::move(m.reason)};
  }
}

}  // namespace detail

// L-BFGS: the inverse Hessian from the last steps, and a line search for the strong Wolfe conditions.
template <class F, class X>
auto lbfgs(F f, const X& x0, const MinimizeOptions& options = {}, const Location& at = Location::current()) {
  return detail::minimize_tree(detail::Method::lbfgs, f, x0, options, at);
}
// Conjugate gradients of Polak and Ribiere, restarted where they no longer descend: three vectors of memory.
template <class F, class X>
auto nonlinear_cg(F f, const X& x0, const MinimizeOptions& options = {}, const Location& at = Location::current()) {
  return detail::minimize_tree(detail::Method::nonlinear_cg, f, x0, options, at);
}
// Half the sum of squares of residuals (an array or a tree), each step by least squares with the Jacobian.
template <class F, class X>
auto gauss_newton(F residuals, const X& x0, const LeastSquaresOptions& options = {},
                  const Location& at = Location::current()) {
  return detail::minimize_tree(detail::Method::gauss_newton, residuals, x0, options, at);
}
// The same, damped: from far away, and where the Jacobian has no full rank.
template <class F, class X>
auto levenberg_marquardt(F residuals, const X& x0, const LeastSquaresOptions& options = {},
                         const Location& at = Location::current()) {
  return detail::minimize_tree(detail::Method::levenberg_marquardt, residuals, x0, options, at);
}

}  // namespace anew::optim
