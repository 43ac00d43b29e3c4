// GC of the conformance rows: derivatives against central differences with step 1e-4 along one random direction,
// forward (jvp) and reverse (<tangent, vjp(ct)>), to any order; order n + 1 checks the derivative as a function of
// its own. Integer and bool arguments and results are left alone. Tolerances (relative and absolute): f64 1e-5, f32
// 2e-3.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "support/random.h"

namespace anew::test {

struct CheckGrads {
  int order = 2;
  bool forward = true, reverse = true;
  double step = 1e-4, tolerance = 0;  // 0: by dtype
};

inline bool differentiable(const Array& x) { return is_float(x.dtype()); }
inline double default_tolerance(const Arrays& xs, double so_far = 1e-5) {
  for (const Array& x : xs)
    if (differentiable(x) && x.dtype() != f64) so_far = 2e-3;
  return so_far;
}
inline std::vector<double> numbers(const Array& x) { return astype(x, f64).to_vector<double>(); }
// <a, b> over all floating-point leaves, in double.
inline double inner_product(const Arrays& a, const Arrays& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!differentiable(a[i])) continue;
    auto x = numbers(a[i]), y = numbers(b[i]);
    for (std::size_t k = 0; k < x.size(); ++k) s += x[k] * y[k];
  }
  return s;
}
inline double sum_of_sizes(const Arrays& a, const Arrays& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!differentiable(a[i])) continue;
    auto x = numbers(a[i]), y = numbers(b[i]);
    for (std::size_t k = 0; k < x.size(); ++k) s += std::abs(x[k] * y[k]);
  }
  return s;
}
inline Arrays random_like(Random& random, const Arrays& xs) {
  Arrays out;
  for (const Array& x : xs) out.push_back(differentiable(x) ? random.array(x.type()) : x);
  return out;
}
inline Arrays moved(const Arrays& x, const Arrays& t, double step) {
  Arrays out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!differentiable(x[i])) out.push_back(x[i]);
    else out.push_back(astype(astype(x[i], f64) + astype(t[i], f64) * step, x[i].dtype()));
  }
  return out;
}
inline void expect_close(double a, double b, double tolerance, const char* what) {
  EXPECT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << what << ": " << a << " is not " << b;
}
inline void expect_close(const Array& a, const Array& b, double tolerance, const char* what) {
  ASSERT_EQ(a.type().str(), b.type().str()) << what;
  auto x = numbers(a), y = numbers(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != x[i] && y[i] != y[i]) continue;
    EXPECT_LE(std::abs(x[i] - y[i]), tolerance * (1 + std::abs(y[i])))
        << what << ", element " << i << ": " << x[i] << " is not " << y[i];
  }
}

// Relative to the largest element: where sums may be rounded in another order, small elements are as wrong as large
// ones.
inline void expect_close_to_scale(const Array& a, const Array& b, double tolerance, const char* what) {
  double scale = 1;
  for (double v : numbers(b)) scale = std::max(scale, std::abs(v));
  expect_close(a, b, tolerance * scale, what);
}

inline void check_grads(const FlatFunction& f, const Arrays& x, const CheckGrads& how, Random& random) {
  Arrays t = random_like(random, x), y = f(x);
  double tolerance = how.tolerance > 0 ? how.tolerance : default_tolerance(y, default_tolerance(x));
  Arrays above = f(moved(x, t, how.step / 2)), below = f(moved(x, t, -how.step / 2)), slope;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!differentiable(y[i])) slope.push_back(y[i]);
    else slope.push_back((astype(above[i], f64) - astype(below[i], f64)) / how.step);
  }
  if (how.forward) {
    Arrays dy = flat::jvp(f, x, t).second;
    ASSERT_EQ(dy.size(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!differentiable(y[i])) continue;
      EXPECT_EQ(dy[i].type().str(), y[i].type().str());
      expect_close(astype(dy[i], f64), slope[i], tolerance, "jvp against differences");
    }
  }
  Arrays ct = random_like(random, y);
  if (how.reverse) {
    auto [value, linear] = flat::linearize(f, x);
    Arrays back = linear.pullback(ct);
    ASSERT_EQ(back.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(back[i].type().str(), x[i].type().str());
    expect_close(inner_product(t, back), inner_product(slope, ct), tolerance * (1 + sum_of_sizes(slope, ct)),
                 "vjp against differences");
  }
  if (how.order < 2 || testing::Test::HasFailure()) return;
  CheckGrads next = how;
  --next.order;
  if (how.forward) {
    std::size_t n = x.size();
    auto derivative = [&](std::span<const Array> in) { return flat::jvp(f, in.first(n), in.subspan(n)).second; };
    Arrays both = x;
    both.insert(both.end(), t.begin(), t.end());
    check_grads(derivative, both, next, random);
  }
  if (how.reverse) {
    auto derivative = [&](std::span<const Array> in) { return flat::linearize(f, in).second.pullback(ct); };
    check_grads(derivative, x, next, random);
  }
}
inline void check_grads(const FlatFunction& f, const Arrays& x, const CheckGrads& how = {}) {
  Random random(7);
  check_grads(f, x, how, random);
}
// Of a function of one array.
template <class F>
  requires std::convertible_to<std::invoke_result_t<const F&, Array>, Array>
void check_grads(F f, const Array& x, const CheckGrads& how = {}) {
  check_grads(FlatFunction([f](std::span<const Array> in) { return Arrays{f(in[0])}; }), Arrays{x}, how);
}

}  // namespace anew::test
