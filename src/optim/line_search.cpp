// A bracket that is grown, then narrowed by interpolation with cubics (Nocedal and Wright, algorithms 3.5 and 3.6).
// Values that are no numbers count as too large: the step was too long.
#include "optim/line_search.h"

#include <anew/jit.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trace/trace.h"

namespace anew::optim {
namespace {

// A step, with value and slope there.
struct Trial {
  double step = 0, value = 0, slope = 0;
  Point point = {};
};

class Search {
 public:
  Search(Objective& f, const Point& start, const Array& direction, double slope, const LineSearch& o)
      : f_(f), start_(start), direction_(direction), o_(o), first_{0, start.value, slope, start} {}

  Found run(double guess) {
    Trial before = first_, now = at(guess);
    for (int i = 0; left_ > 0; ++i) {
      if (!decreases(now) || (i > 0 && !(now.value < before.value) && !level(now, before))) return zoom(before, now);
      if (flat_enough(now)) return done(now);
      if (now.slope >= 0) return zoom(now, before);
      Trial next = at(farther(before, now));
      before = std::move(now);
      now = std::move(next);
    }
    Found found = give_up(now.value < before.value ? now : before);
    found.endless = found.endless || (found.ok && found.step > without_measure * guess);
    return found;
  }

 private:
  Trial at(double step) {
    --left_;
    Trial t{step, 0, 0, f_(start_.x + step * direction_)};
    t.value = t.point.value;
    t.slope = vdot(t.point.gradient, direction_).item();
    if (t.value == -INFINITY) {
      bottomless_ = true;
      left_ = 0;
    }
    if (!std::isfinite(t.value) || !std::isfinite(t.slope)) t.value = INFINITY;
    return t;
  }
  double allowance() const { return o_.rounding * std::abs(start_.value); }
  // Where differences of values are only rounding, the slope stands for them.
  bool level(const Trial& a, const Trial& b) const { return std::abs(a.value - b.value) <= allowance(); }
  bool decreases(const Trial& t) const {
    if (t.value <= start_.value + o_.c1 * t.step * first_.slope) return true;
    return level(t, first_) && t.slope <= (1 - 2 * o_.c1) * std::abs(first_.slope);
  }
  bool flat_enough(const Trial& t) const { return std::abs(t.slope) <= o_.c2 * std::abs(first_.slope); }

  // Where the cubic through both has its minimum; their middle where it has none in between, or too near to an end.
  static double minimum_of(const Trial& a, const Trial& b) {
    const double middle = 0.5 * (a.step + b.step);
    if (!std::isfinite(a.value) || !std::isfinite(b.value)) return middle;
    const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
    const double square = d1 * d1 - a.slope * b.slope;
    if (!(square >= 0)) return middle;
    const double d2 = std::copysign(std::sqrt(square), b.step - a.step);
    const double at = b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
    return std::isfinite(at) ? at : middle;
  }
  // Beyond `now`, which is still falling; where the cubic falls for ever, by the most.
  static double farther(const Trial& before, const Trial& now) {
    const double step = minimum_of(before, now);
    return step > now.step ? std::clamp(step, 1.1 * now.step, 4 * now.step) : 4 * now.step;
  }
  // `low` decreases enough and has the least value of such; a step between them satisfies both conditions.
  Found zoom(Trial low, Trial high) {
    while (left_ > 0) {
      const double from = std::min(low.step, high.step), to = std::max(low.step, high.step), width = to - from;
      if (!(width > 1e-15 * to)) break;
      double step = minimum_of(low, high);
      if (!(step > from + 0.1 * width && step < to - 0.1 * width)) step = from + 0.5 * width;
      Trial t = at(step);
      if (!decreases(t) || (!(t.value < low.value) && !level(t, low))) {
        high = std::move(t);
        continue;
      }
      if (flat_enough(t)) return done(t);
      if (t.slope * (high.step - low.step) >= 0) high = low;
      low = std::move(t);
    }
    return give_up(low);
  }
  static Found done(Trial& t) { return {std::move(t.point), t.step, true}; }
  // A smaller value is progress, even where the slope is too steep.
  Found give_up(Trial& t) const { return {t.point, t.step, t.step > 0 && t.value < start_.value, bottomless_}; }

  static constexpr double without_measure = 1e8;  // times the first guess

  Objective& f_;
  const Point& start_;
  const Array& direction_;
  LineSearch o_;
  Trial first_;
  int left_ = o_.evaluations;
  bool bottomless_ = false;
};

}  // namespace

Objective::Objective(const FlatFunction& f, const Array& x0, std::string_view op, const Location& at) {
  auto value_and_gradient = [&](std::span<const Array> x) {
    Arrays y, g = flat::grad(f, x, &y, at);
    return Arrays{y[0], g[0]};
  };
  const Arrays x{x0};
  const Arrays y = flat::eval_shape(f, x, at);
  if (y.size() != 1 || type_of(y[0]).shape.ndim() != 0)
    fail(op, at, fmt::format("the function gives {}, not a scalar", y.empty() ? "none" : type_of(y[0]).str()));
  compiled_ = [code = flat::compile(value_and_gradient, x, {}, at)](std::span<const Array> v) { return code(v); };
}

Point Objective::operator()(const Array& x) {
  ++evaluations_;
  const Arrays in{x};
  Arrays out = compiled_(in);
  return {x, out[0].item(), out[1]};
}

Found search_line(Objective& f, const Point& start, const Array& direction, double slope, double guess,
                  const LineSearch& options) {
  return Search(f, start, direction, slope, options).run(guess);
}

}  // namespace anew::optim
