// lbfgs and nonlinear_cg: directions of descent, with a line search along each.
#include <anew/minimize.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "optim/line_search.h"
#include "optim/start.h"

namespace anew::optim {

double rounding_of(DType dtype) {
  return dtype == f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Array checked_start(std::string_view op, const Array& x0, const Location& at) {
  const Type t = type_of(x0);
  if (t.dtype != f32 && t.dtype != f64)
    fail(op, at, fmt::format("x0 is of {}", name_of(t.dtype)),
         "minimizers compute in f32 or f64: convert it with astype(x, f64)");
  if (!x0.value()->concrete() && !x0.value()->literal)
    fail(op, at, "x0 is traced: a minimizer is a loop of C++ that looks at values",
         "call it outside of jit, grad and vmap");
  if (current_trace()) fail(op, at, "is called while a function is traced", "call it outside of jit, grad and vmap");
  if (t.shape.size() == 0) fail(op, at, "x0 has no elements");
  return x0;
}

double largest_entry(const Array& g) { return max(abs(g)).item(); }

namespace {

double inner_product(const Array& a, const Array& b) { return vdot(a, b).item(); }

// The last steps and how the gradient changed along them.
class Pairs {
 public:
  explicit Pairs(int most) : most_(static_cast<std::size_t>(most)) {}
  void add(const Point& from, const Point& to, double rounding) {
    Pair p{to.x - from.x, to.gradient - from.gradient, 0};
    p.product = inner_product(p.s, p.y);
    const double size = std::sqrt(inner_product(p.s, p.s) * inner_product(p.y, p.y));
    if (!(p.product > rounding * size)) return;  // no curvature that could be trusted
    scale_ = p.product / inner_product(p.y, p.y);
    pairs_.push_back(std::move(p));
    if (pairs_.size() > most_) pairs_.pop_front();
  }
  void clear() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }
  // The inverse Hessian times g, by two loops over the pairs.
  Array times(Array g) const {
    std::vector<double> a(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      a[i] = inner_product(pairs_[i].s, g) / pairs_[i].product;
      g = g - a[i] * pairs_[i].y;
    }
    if (!pairs_.empty()) g = scale_ * g;
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      g = g + (a[i] - inner_product(pairs_[i].y, g) / pairs_[i].product) * pairs_[i].s;
    return g;
  }

 private:
  struct Pair {
    Array s, y;
    double product;
  };
  std::deque<Pair> pairs_;
  std::size_t most_;
  double scale_ = 1;
};

// Where to go from a point: the slope there along the direction, and the step to try first.
class Course {
 public:
  Course(bool conjugate, int history, const Point& from) : pairs_(history), conjugate_(conjugate) {
    straight_down(from);
  }
  const Array& direction() const { return direction_; }
  double slope() const { return slope_; }
  double step() const { return step_; }
  // Nothing is known of former steps: going straight down again would change nothing.
  bool fresh() const { return conjugate_ ? step_ == 0 : pairs_.empty(); }
  double guess() const {
    if (!fresh()) return conjugate_ ? step_ : 1;
    return std::min(1.0, 1 / std::sqrt(inner_product(direction_, direction_)));
  }
  void straight_down(const Point& at) {
    pairs_.clear();
    direction_ = -at.gradient;
    slope_ = inner_product(at.gradient, direction_);
    step_ = 0;
  }
  // After a step of this length.
  void turn(const Point& before, const Point& now, double taken, double rounding) {
    if (conjugate_) {
      const double squares = inner_product(before.gradient, before.gradient);
      const double beta = std::max(0.0, inner_product(now.gradient, now.gradient - before.gradient) / squares);
      direction_ = beta * direction_ - now.gradient;
    } else {
      pairs_.add(before, now, rounding);
      direction_ = -pairs_.times(now.gradient);
    }
    const double former = std::exchange(slope_, inner_product(now.gradient, direction_));
    step_ = conjugate_ ? std::min(10 * taken, taken * former / slope_) : taken;
    if (!(slope_ < 0)) straight_down(now);  // no direction of descent
  }

 private:
  Pairs pairs_;
  bool conjugate_;
  Array direction_;
  double slope_ = 0, step_ = 0;
};

constexpr const char* falls_for_ever = "the value falls without bound";
constexpr const char* level_value = "the value no longer decreases";

void check_options(std::string_view op, const MinimizeOptions& o, double c2, const Location& at) {
  if (o.maxiter < 0 || o.history < 1 || o.max_line_search < 1)
    fail(op, at, fmt::format("maxiter is {}, history {}, max_line_search {}", o.maxiter, o.history, o.max_line_search));
  if (!(o.c1 > 0 && o.c1 < c2 && c2 < 1))
    fail(op, at, fmt::format("c1 is {} and c2 is {}", o.c1, c2), "0 < c1 < c2 < 1");
}

}  // namespace

namespace detail {

Minimum<Array> minimize(Method method, const FlatFunction& f, const Array& given, const MinimizeOptions& o,
                        const Location& at) {
  const bool conjugate = method == Method::nonlinear_cg;
  const std::string_view op = conjugate ? "nonlinear_cg" : "lbfgs";
  const double c2 = o.c2.value_or(conjugate ? 0.1 : 0.9);
  check_options(op, o, c2, at);
  const Array x0 = checked_start(op, given, at);
  PinLine pin(at, op);
  const DType dtype = type_of(x0).dtype;
  const double rounding = rounding_of(dtype), gtol = o.gtol.value_or(dtype == f64 ? 1e-8 : 1e-5),
               ftol = o.ftol.value_or(10 * rounding);
  Objective objective(f, x0, op, at);
  Point now = objective(x0);
  if (!std::isfinite(now.value)) fail(op, at, fmt::format("the function is {} at x0", now.value), "start elsewhere");
  Course course(conjugate, o.history, now);
  const double first_value = now.value, first_size = largest_entry(now.gradient);
  int flat_steps = 0, endless_steps = 0;
  Minimum<Array> result;
  auto ended = [&](bool converged, const char* reason) {
    std::tie(result.converged, result.reason) = std::tuple(converged, reason);
    return true;
  };
  for (;;) {
    const double size = largest_entry(now.gradient);
    if (o.callback) o.callback({result.iterations, now.value, size, course.step()});
    if (size <= gtol && ended(true, "the gradient vanishes")) break;
    // Far below its start a value hides steps in its rounding; a gradient as large as ever tells of them.
    const bool hidden =
        (first_value - now.value) * ftol > std::max(1.0, std::abs(first_value)) && size > 0.1 * first_size;
    if (flat_steps == 3 && ended(!hidden, hidden ? falls_for_ever : level_value)) break;
    if (result.iterations == o.maxiter && ended(false, "maxiter")) break;
    const double guess = course.guess();
    Found found = search_line(objective, now, course.direction(), course.slope(), guess,
                              {.c1 = o.c1, .c2 = c2, .evaluations = o.max_line_search, .rounding = rounding});
    endless_steps = found.endless ? endless_steps + 1 : 0;
    if ((endless_steps == 2 || (endless_steps == 1 && !found.ok)) && ended(false, falls_for_ever)) break;
    if (!found.ok) {
      const bool nothing_left = -course.slope() * std::max(guess, 1.0) <= ftol * std::max(1.0, std::abs(now.value));
      if (nothing_left && ended(!hidden, hidden ? falls_for_ever : level_value)) break;
      if (course.fresh() && ended(false, "the line search found no smaller value")) break;
      course.straight_down(now);
      continue;
    }
    ++result.iterations;
    const double decrease = now.value - found.point.value;
    const Point before = std::exchange(now, std::move(found.point));
    course.turn(before, now, found.step, rounding);
    // One short step happens on the way: a line search may come back early.
    flat_steps = decrease <= ftol * std::max({1.0, std::abs(before.value), std::abs(now.value)}) ? flat_steps + 1 : 0;
  }
  result.x = now.x;
  result.value = now.value;
  result.evaluations = objective.evaluations();
  return result;
}

}  // namespace detail
}  // namespace anew::optim
