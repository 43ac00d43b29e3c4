// Reductions against plain loops over every choice of axes, and what is made of them.
#include <limits>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::inf;
using test::nan;
using test::values;

// Joins over the axes in `mask`, by index arithmetic only.
std::vector<double> by_loop(const Array& x, unsigned mask, double start, double (*join)(double, double)) {
  const Shape& s = x.shape();
  std::int64_t size = 1;
  for (int i = 0; i < s.ndim(); ++i)
    if (!(mask >> i & 1)) size *= s[i];
  std::vector<double> out(static_cast<std::size_t>(size), start), v = values(x);
  for (std::int64_t k = 0; k < x.size(); ++k) {
    std::int64_t rest = k, to = 0, step = 1;
    for (int i = s.ndim() - 1; i >= 0; --i) {
      if (!(mask >> i & 1)) to += rest % s[i] * step, step *= s[i];
      rest /= s[i];
    }
    double& o = out[static_cast<std::size_t>(to)];
    o = join(o, v[static_cast<std::size_t>(k)]);
  }
  return out;
}

TEST(Reduce, EveryChoiceOfAxes) {
  Array x = filled({3, 4, 5}, 1), y = transpose(x, {{2, 0, 1}});
  for (const Array& a : {x, y})
    for (unsigned mask = 1; mask < 8; ++mask) {
      std::vector<int> axes;
      Shape kept;
      for (int i = 0; i < 3; ++i) {
        if (mask >> i & 1) axes.push_back(i);
        kept.push_back(mask >> i & 1 ? 1 : a.shape()[i]);
      }
      expect_values(sum(a, axes), by_loop(a, mask, 0, [](double p, double q) { return p + q; }), 1e-13);
      expect_values(prod(a, axes), by_loop(a, mask, 1, [](double p, double q) { return p * q; }), 1e-13);
      expect_values(max(a, axes), by_loop(a, mask, -inf, [](double p, double q) { return std::max(p, q); }));
      expect_values(min(a, axes), by_loop(a, mask, inf, [](double p, double q) { return std::min(p, q); }));
      EXPECT_EQ(sum(a, axes, true).shape(), kept);
      expect_values(sum(a, axes, true), values(sum(a, axes)));
    }
}

TEST(Reduce, IndicesTakeTheFirstAndNan) {
  Array x = array({{1., 3., 3.}, {5., 2., 2.}});
  expect_values(argmax(x, 1), {1, 0});
  expect_values(argmin(x, 1), {0, 1});
  expect_values(argmax(x, 0), {1, 0, 0});
  expect_values(argmax(x), {3});
  EXPECT_EQ(argmax(x, 1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(argmax(x, {}, true).shape(), (Shape{1, 1}));
  expect_values(argmax(array({1., nan, 2.})), {1});
  expect_values(argmax(array({false, true})), {1});
  expect_values(max(array({1., nan, 2.})), {nan});
}

TEST(Reduce, Statistics) {
  Array x = filled({4, 6}, 3);
  std::vector<double> v = values(x);
  double mean_of = 0, square_of = 0;
  for (double e : v) mean_of += e / 24;
  for (double e : v) square_of += (e - mean_of) * (e - mean_of) / 24;
  expect_values(mean(x), {mean_of}, 1e-14);
  expect_values(var(x), {square_of}, 1e-14);
  expect_values(std(x, {}, false, 1), {std::sqrt(square_of * 24 / 23)}, 1e-14);
  expect_values(mean(array({1, 2})), {1.5});
  expect_values(norm(array({3., 4.})), {5}, 1e-6);
  expect_values(norm(array({3., -4.}), 0, false, 1), {7});
  expect_values(norm(array({3., -4.}), 0, false, inf), {4});
  expect_values(norm(array({3., -4.}), 0, false, -inf), {3});
  expect_values(norm(array({3., 0.}), 0, false, 0), {1});
  expect_values(norm(array({3., -4.}), 0, false, 3), {std::cbrt(91.0)}, 1e-6);
  expect_values(logsumexp(array({1000., 1000.})), {1000 + std::log(2.0)}, 1e-6);
  expect_values(logsumexp(array({-inf, -inf}, f64)), {-inf});
  EXPECT_EQ(logsumexp(x, 1, true).shape(), (Shape{4, 1}));
  expect_values(count_nonzero(array({0, 3, 0, 1})), {2});
  expect_values(all(array({1, 2, 0})), {0});
  expect_values(any(array({{1, 0}, {0, 0}}), 1), {1, 0});
  expect_values(sum(array({true, true, false})), {2});
}

TEST(Reduce, OfNothing) {
  Array x = zeros({0, 3});
  expect_values(sum(x, 0), {0, 0, 0});
  expect_values(prod(x, 0), {1, 1, 1});
  expect_values(all(x, 0), {1, 1, 1});
  expect_values(any(x, 0), {0, 0, 0});
  EXPECT_EQ(max(x, 1).shape(), Shape{0});
  EXPECT_EQ(sum(3.0).shape(), Shape{});
  expect_values(sum(ones({2, 2}), Axes(std::vector<int>{})), {1, 1, 1, 1});
}

TEST(Reduce, WholeArrays) {
  Array x = array({1., 2.});
  EXPECT_TRUE(allclose(x, x + 1e-7));
  EXPECT_FALSE(allclose(x, x + 0.1));
  EXPECT_TRUE(allclose(array({inf}, f64), array({inf}, f64)));
  EXPECT_FALSE(allclose(array({inf}, f64), array({1.0}, f64)));
  EXPECT_FALSE(allclose(array({nan}, f64), array({nan}, f64)));
  EXPECT_TRUE(array_equal(x, array({1., 2.})));
  EXPECT_FALSE(array_equal(x, array({1., 2., 3.})));
  EXPECT_FALSE(array_equal(x, array({1., 3.})));
}

TEST(Reduce, Errors) {
  Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { (void)sum(x, 2); }), "[sum] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)sum(x, {0, -2}); }), "[sum] axis 0 is given twice for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)max(zeros({0, 3}), 0); }), "[max] of no elements: f32[0,3] along axes of size 0");
  EXPECT_EQ(error_of([&] { (void)argmax(zeros({0})); }), "[argmax] of no elements: f32[0] along an axis of size 0");
  EXPECT_EQ(error_of([&] { (void)argmin(x, 2); }), "[argmin] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)norm(x, {}, false, 1); }),
            "[norm] of order 1 is of vectors: give one axis of f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)mean(x, -3); }), "[mean] axis -3 is out of range for f32[2,3]");
}

}  // namespace
}  // namespace anew
