// gauss_newton and levenberg_marquardt: residuals and their Jacobian at a point, a step by least squares, and whether
// it is taken.
#include <anew/indexing.h>
#include <anew/jit.h>
#include <anew/linalg.h>
#include <anew/minimize.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optim/start.h"

namespace anew::optim {
namespace {

// Half the sum of squares.
double cost_of(const Array& r) { return 0.5 * vdot(r, r).item(); }
double length_of(const Array& x) { return std::sqrt(vdot(x, x).item()); }

// Residuals as one vector, compiled alone and together with their Jacobian.
class Residuals {
 public:
  Residuals(const FlatFunction& f, const Array& x0, std::string_view op, const Location& at) {
    auto joined = [&](std::span<const Array> x) {
      Arrays parts = f(x);
      for (Array& p : parts) p = ravel(astype(p, type_of(x[0]).dtype));
      return parts.size() == 1 ? parts : Arrays{concatenate(parts)};
    };
    const Arrays x{x0};
    const Arrays y = flat::eval_shape(f, x, at);
    std::int64_t count = 0;
    for (const Array& r : y) {
      if (!is_float(type_of(r).dtype)) fail(op, at, fmt::format("a residual is {}", type_of(r).str()));
      count += type_of(r).shape.size();
    }
    if (count == 0) fail(op, at, "there are no residuals");
    const bool tall = count >= type_of(x0).shape.size();
    auto both = [&](std::span<const Array> v) {
      return Arrays{joined(v)[0], tall ? flat::jacfwd(joined, v, at)[0] : flat::jacrev(joined, v, at)[0]};
    };
    alone_ = [code = flat::compile(joined, x, {}, at)](std::span<const Array> v) { return code(v); };
    both_ = [code = flat::compile(both, x, {}, at)](std::span<const Array> v) { return code(v); };
  }
  Array operator()(const Array& x) {
    ++evaluations_;
    const Arrays in{x};
    return alone_(in)[0];
  }
  std::pair<Array, Array> with_jacobian(const Array& x) {
    ++evaluations_;
    const Arrays in{x};
    Arrays out = both_(in);
    return {out[0], out[1]};
  }
  int evaluations() const { return evaluations_; }

 private:
  std::function<Arrays(std::span<const Array>)> alone_, both_;
  int evaluations_ = 0;
};

// h that minimizes |J h + r|^2 + |weights h|^2.
Array damped_step(const Array& jacobian, const Array& r, const Array& weights) {
  const Array a = concatenate({jacobian, diag(weights)}), b = concatenate({-r, zeros_like(weights)});
  const auto [q, upper] = linalg::qr(a);
  const Array rhs = expand_dims(dot(transpose(q), b), 1);
  return squeeze(linalg::triangular_solve(upper, rhs, {.left_side = true, .lower = false}), 1);
}

}  // namespace

namespace detail {

Minimum<Array> least_squares(Method method, const FlatFunction& f, const Array& given, const LeastSquaresOptions& o,
                             const Location& at) {
  const bool damped = method == Method::levenberg_marquardt;
  const std::string_view op = damped ? "levenberg_marquardt" : "gauss_newton";
  if (o.maxiter < 0 || !(o.damping > 0)) fail(op, at, fmt::format("maxiter is {}, damping {}", o.maxiter, o.damping));
  Array x = checked_start(op, given, at);
  PinLine pin(at);
  const double rounding = rounding_of(type_of(x).dtype);
  const double gtol = o.gtol.value_or(type_of(x).dtype == f64 ? 1e-10 : 1e-5), ftol = o.ftol.value_or(10 * rounding),
               xtol = o.xtol.value_or(10 * rounding);
  Residuals residuals(f, x, op, at);
  auto [r, jacobian] = residuals.with_jacobian(x);
  double cost = cost_of(r), damping = o.damping, growth = 2;
  if (!std::isfinite(cost)) fail(op, at, fmt::format("half the sum of squares is {} at x0", cost), "start elsewhere");
  Array sizes = sqrt(sum(square(jacobian), 0));  // of the columns, the largest so far
  Minimum<Array> result;
  double taken = 0;
  auto ended = [&](bool converged, const char* reason) {
    result.converged = converged;
    result.reason = reason;
    return true;
  };
  for (bool end = false; !end;) {
    const Array gradient = dot(transpose(jacobian), r);
    const double size = largest_entry(gradient);
    if (o.callback) o.callback({result.iterations, cost, size, damped ? damping : taken});
    if (size <= gtol && ended(true, "the gradient vanishes")) break;
    // Turns until a step is taken: with more damping, or shorter.
    Array scale = where(sizes > 0, sizes, ones_like(sizes)), h;
    if (!damped) h = linalg::lstsq(jacobian, -r);
    double t = 1;
    for (bool stepped = false; !stepped && !end;) {
      if (result.iterations == o.maxiter) {
        end = ended(false, "maxiter");
        break;
      }
      ++result.iterations;
      if (damped) h = damped_step(jacobian, r, std::sqrt(damping) * scale);
      const Array step = t * h, there = x + step;
      const double slope = vdot(gradient, step).item();
      const double expected =
          damped ? 0.5 * (damping * vdot(square(scale) * h, h).item() - slope) : -slope;  // of a linear model
      const double next = cost_of(residuals(there)), decrease = cost - next;
      const bool good = std::isfinite(next) && (damped ? decrease > 0 : decrease >= -1e-4 * slope && slope < 0);
      const bool short_step = length_of(step) <= xtol * (length_of(x) + xtol);
      const bool level = std::abs(decrease) <= ftol * cost && expected <= ftol * cost;
      if (good) {
        stepped = true;
        taken = t;
        x = there;
        cost = next;
        std::tie(r, jacobian) = residuals.with_jacobian(x);
        sizes = maximum(sizes, sqrt(sum(square(jacobian), 0)));
        const double ratio = expected > 0 ? decrease / expected : 1;
        damping = std::max(damping * std::max(1.0 / 3, 1 - std::pow(2 * ratio - 1, 3)), 1e-20);
        growth = 2;
      } else {
        damping *= growth;
        growth *= 2;
        t /= 2;
      }
      if (level) end = ended(true, "the value no longer decreases");
      else if (short_step) end = ended(true, "the step vanishes");
      else if (!good && (damped ? !(damping < 1e30) : t < 1e-12)) end = ended(false, "no step decreases the value");
    }
  }
  result.x = x;
  result.value = cost;
  result.evaluations = residuals.evaluations();
  return result;
}

}  // namespace detail
}  // namespace anew::optim
