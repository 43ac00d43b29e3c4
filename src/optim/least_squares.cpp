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

struct Here {
  Array x, r, jacobian;
  double cost;
};

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
  Here with_jacobian(const Array& x) {
    ++evaluations_;
    const Arrays in{x};
    Arrays out = both_(in);
    return {x, out[0], out[1], cost_of(out[0])};
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

// More after every step that does not help, by twice as much each time; less as far as the linear model was right.
struct Damping {
  double value, growth = 2;
  void more() {
    value *= growth;
    growth *= 2;
  }
  void less(double ratio) {
    value = std::max(value * std::max(1.0 / 3, 1 - std::pow(2 * ratio - 1, 3)), 1e-20);
    growth = 2;
  }
};

// What a step would do, and what a linear model says it does.
struct TriedStep {
  Array x;
  double cost, decrease, expected, slope;
};
struct Tolerances {
  double gradient, value, x;
};
Tolerances tolerances(const LeastSquaresOptions& o, DType dtype) {
  const double few_roundings = 10 * rounding_of(dtype);
  return {o.gtol.value_or(dtype == f64 ? 1e-10 : 1e-5), o.ftol.value_or(few_roundings), o.xtol.value_or(few_roundings)};
}

// `damping_term`: h (damping D) h of a damped step, where D are the squares of the columns' scales.
TriedStep tried(Residuals& residuals, const Here& here, const Array& gradient, const Array& step,
                std::optional<double> damping_term) {
  TriedStep t;
  t.x = here.x + step;
  t.slope = vdot(gradient, step).item();
  t.expected = damping_term ? 0.5 * (*damping_term - t.slope) : -t.slope;
  t.cost = cost_of(residuals(t.x));
  t.decrease = here.cost - t.cost;
  return t;
}

}  // namespace

namespace detail {

Minimum<Array> least_squares(Method method, const FlatFunction& f, const Array& given, const LeastSquaresOptions& o,
                             const Location& at) {
  const bool damped = method == Method::levenberg_marquardt;
  const std::string_view op = damped ? "levenberg_marquardt" : "gauss_newton";
  if (o.maxiter < 0 || !(o.damping > 0)) fail(op, at, fmt::format("maxiter is {}, damping {}", o.maxiter, o.damping));
  const Array x0 = checked_start(op, given, at);
  PinLine pin(at, op);
  const auto [gtol, ftol, xtol] = tolerances(o, type_of(x0).dtype);
  Residuals residuals(f, x0, op, at);
  Here here = residuals.with_jacobian(x0);
  if (!std::isfinite(here.cost))
    fail(op, at, fmt::format("half the sum of squares is {} at x0", here.cost), "start elsewhere");
  Damping damping{o.damping};
  double taken = 0;
  Array sizes = sqrt(sum(square(here.jacobian), 0));  // of the columns, the largest so far
  Minimum<Array> result;
  auto ended = [&](bool converged, const char* reason) {
    std::tie(result.converged, result.reason) = std::tuple(converged, reason);
    return true;
  };
  for (bool end = false; !end;) {
    const Array gradient = dot(transpose(here.jacobian), here.r);
    const double size = largest_entry(gradient);
    if (o.callback) o.callback({result.iterations, here.cost, size, damped ? damping.value : taken});
    if (size <= gtol && ended(true, "the gradient vanishes")) break;
    // Turns until a step is taken: with more damping, or shorter.
    const Array scale = where(sizes > 0, sizes, ones_like(sizes));
    Array h = damped ? Array() : linalg::lstsq(here.jacobian, -here.r);
    double t = 1;
    for (bool stepped = false; !stepped && !end;) {
      if (result.iterations == o.maxiter && (end = ended(false, "maxiter"))) break;
      ++result.iterations;
      if (damped) h = damped_step(here.jacobian, here.r, std::sqrt(damping.value) * scale);
      const Array step = t * h;
      const TriedStep trial =
          tried(residuals, here, gradient, step,
                damped ? std::optional(damping.value * vdot(square(scale) * h, h).item()) : std::nullopt);
      stepped = std::isfinite(trial.cost) &&
                (damped ? trial.decrease > 0 : trial.decrease >= -1e-4 * trial.slope && trial.slope < 0);
      const bool short_step = length_of(step) <= xtol * (length_of(here.x) + xtol);
      const bool level = std::abs(trial.decrease) <= ftol * here.cost && trial.expected <= ftol * here.cost;
      if (stepped) {
        taken = t;
        here = residuals.with_jacobian(trial.x);
        here.cost = trial.cost;
        sizes = maximum(sizes, sqrt(sum(square(here.jacobian), 0)));
        damping.less(trial.expected > 0 ? trial.decrease / trial.expected : 1);
      } else {
        damping.more();
        t /= 2;
      }
      if (level) end = ended(true, "the value no longer decreases");
      else if (short_step) end = ended(true, "the step vanishes");
      else if (!stepped && (damped ? !(damping.value < 1e30) : t < 1e-12))
        end = ended(false, "no step decreases the value");
    }
  }
  std::tie(result.x, result.value, result.evaluations) = std::tuple(here.x, here.cost, residuals.evaluations());
  return result;
}

}  // namespace detail
}  // namespace anew::optim
