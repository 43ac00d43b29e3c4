// A step along a direction that satisfies the strong Wolfe conditions.
#pragma once
#include <anew/flat.h>

namespace anew::optim {

// A point, with the value and the gradient there.
struct Point {
  Array x;
  double value = 0;
  Array gradient;
};
// Compiled; counts its calls.
class Objective {
 public:
  Objective(const FlatFunction& f, const Array& x0, std::string_view op, const Location& at);
  Point operator()(const Array& x);
  int evaluations() const { return evaluations_; }

 private:
  std::function<Arrays(std::span<const Array>)> compiled_;
  int evaluations_ = 0;
};

struct LineSearch {
  double c1 = 1e-4, c2 = 0.9;
  int evaluations = 30;
  // How much values may differ by rounding, relative to themselves: below that, slopes decide.
  double rounding = 0;
};
struct Found {
  Point point;
  double step = 0;
  bool ok = false;
  bool endless = false;  // the value was -inf, or went on falling over a step that had grown without measure
};
// From `start` along `direction`, where the slope is negative, with a first guess of the step.
Found search_line(Objective& f, const Point& start, const Array& direction, double slope, double guess,
                  const LineSearch& options);

}  // namespace anew::optim
