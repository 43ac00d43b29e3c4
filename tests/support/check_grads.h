// Numbers, inner products and closeness of arrays, for laws of derivatives; and check_grads, GC of the conformance
// rows: derivatives against central differences, which is the library's own.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "support/random.h"

namespace anew::test {

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
  for (const Array& x : xs) out.push_back(differentiable(x) ? random.array(x.type()) : zeros(x.shape(), x.dtype()));
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

// The library's check_grads, of lists of arrays and of functions of one array; with the same name for both here.
inline void check_grads(const FlatFunction& f, const Arrays& x, const CheckGradsOptions& how = {},
                        const Location& at = Location::current()) {
  flat::check_grads(f, x, how, at);
}
using anew::check_grads;

}  // namespace anew::test
