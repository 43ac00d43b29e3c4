// Sorting, running operations and windows.
#include <anew/anew.h>

#include "ops/helpers.h"
#include "runtime/pool.h"

namespace anew::test {
namespace {

using test::nan;

TEST(Sort, OrderAndTies) {
  Array x = array({3.0, nan, -1.0, 0.0, -0.0, INFINITY}, f64);
  expect_values(argsort(x), {2, 3, 4, 0, 5, 1});
  expect_values(argsort(array({1, 2, 1, 2}), 0, true), {1, 3, 0, 2});
  expect_values(sort(array({{3, 1}, {2, 5}}), 0), {2, 1, 3, 5});
  expect_values(sort(array({true, false, true})), {0, 1, 1});
  expect_values(astype(sort(astype(array({2.0, -3.0, 0.5}), bf16)), f64), {-3, 0.5, 2});
  expect_values(astype(sort(astype(array({2.0, -3.0, 0x1p-20}), f16)), f64), {-3, 0x1p-20, 2});
}

TEST(Sort, Several) {
  auto y = lax::sort({array({2, 1, 2, 1}), array({4, 3, 1, 2}), array({0, 1, 2, 3})}, -1, 2);
  expect_values(y[0], {1, 1, 2, 2});
  expect_values(y[1], {2, 3, 1, 4});
  expect_values(y[2], {3, 1, 2, 0});
}

TEST(Sort, TopK) {
  auto [values, where] = top_k(array({{1, 3, 3}, {5, 4, 6}}), 2);
  expect_values(values, {3, 3, 6, 5});
  expect_values(where, {1, 2, 2, 0});
  auto [columns, rows] = top_k(array({{1, 3, 3}, {5, 4, 6}}), 1, 0);
  expect_values(columns, {5, 4, 6});
}

TEST(Sort, SearchSorted) {
  Array a = array({0, 1, 1, 2}, f64);
  expect_values(searchsorted(a, array({1.0, 5.0, -1.0}, f64)), {1, 4, 0});
  expect_values(searchsorted(a, 1, "right"), {3});
  Array rows = array({{0, 2}, {3, 5}}, f64);
  expect_values(vmap([](const Array& a, const Array& v) { return searchsorted(a, v); })(rows, array({1.0, 6.0}, f64)),
                {1, 2});
}

TEST(Sort, MedianAndQuantile) {
  Array x = array({{4, 1, 3, 2}, {8, 5, 7, 6}}, f64);
  expect_values(median(x, 1), {2.5, 6.5});
  expect_values(median(x), {4.5});
  EXPECT_EQ(median(x, 1, true).type().str(), "f64[2,1]");
  expect_values(quantile(x, 0.25, 1), {1.75, 5.75});
  expect_values(quantile(x, 1.0), {8});
  expect_values(median(array({1.0, nan, 2.0})), {nan});
  expect_values(median(array({1, 2})), {1.5});
}

TEST(Cumulative, Values) {
  Array x = array({{1, 2, 3}, {4, 5, 6}}, f64);
  expect_values(cumsum(x), {1, 3, 6, 10, 15, 21});
  expect_values(cumsum(x, 0), {1, 2, 3, 5, 7, 9});
  expect_values(cumsum(x, -1, true), {6, 5, 3, 15, 11, 6});
  expect_values(cumprod(x, 1), {1, 2, 6, 4, 20, 120});
  expect_values(cummax(array({1.0, 3.0, 2.0, nan, 1.0})), {1, 3, 3, nan, nan});
  expect_values(cummin(array({3, 1, 2})), {3, 1, 1});
  expect_values(cumsum(array({true, true})), {1, 2});
  expect_values(linear_recurrence(array({9, 2, 3}, f64), array({1, 1, 1}, f64)), {1, 3, 10});
  expect_values(linear_recurrence(0.5, array({1, 1, 1}, f64), 0, true), {1.75, 1.5, 1});
}

TEST(Cumulative, LogSumExpAtInfinity) {
  expect_values(cumlogsumexp(array({-INFINITY, -1000.0, -1000.0}, f64)), {-INFINITY, -1000, -1000 + std::log(2)},
                1e-15);
  expect_values(cumlogsumexp(array({0.0, INFINITY, 1.0}, f64)), {0, INFINITY, INFINITY});
  expect_values(cumlogsumexp(array({1000.0, nan, 1.0}, f64)), {1000, nan, nan});
  expect_values(cumlogsumexp(array({-INFINITY, -INFINITY}, f64)), {-INFINITY, -INFINITY});
}

// A running sum of one example is that of a batch, on any number of threads, in any layout.
TEST(Cumulative, BitsDoNotDependOnThreadsOrBatch) {
  const int before = threads();
  Array x = filled({64, 3000}, 5, f32);
  std::vector<float> want;
  for (int n : {1, 2, 4}) {
    set_threads(n);
    Array y = cumsum(x, 1), z = transpose(cumsum(transpose(x), 0));
    if (n == 1) want = y.to_vector<float>();
    EXPECT_EQ(y.to_vector<float>(), want);
    EXPECT_EQ(z.to_vector<float>(), want);
    Array i = astype(filled({20000}, 3, f64, 0, 63.99), i32), v = filled({20000, 40}, 4, f32);
    Array s = segment_sum(v, i, 64);
    static std::vector<float> sums;
    if (n == 1) sums = s.to_vector<float>();
    EXPECT_EQ(s.to_vector<float>(), sums);
    Array column = segment_sum(v[{slice(), 7}], i, 64);
    EXPECT_EQ(column.to_vector<float>(), (s[{slice(), 7}].to_vector<float>()));
  }
  set_threads(before);
}

TEST(Window, Values) {
  Array x = array({1, 5, 2, 4, 3}, f64);
  expect_values(lax::reduce_window_max(x, {2}, {1}, "VALID"), {5, 5, 4, 4});
  expect_values(lax::reduce_window_sum(x, {3}, {2}, "SAME"), {6, 11, 7});
  expect_values(lax::reduce_window_min(x, {2}, {1}, {{1, 0}}), {1, 1, 2, 2, 3});
  expect_values(lax::reduce_window_sum(x, {2}, {1}, "VALID", {.window_dilation = {3}}), {5, 8});
  Shape shape, strides;
  for (int i = 0; i < Shape::max_ndim; ++i) shape.push_back(i < 2 ? 2 : 1), strides.push_back(1);
  EXPECT_EQ(
      error_of([&] { (void)lax::reduce_window_sum(ones(shape), shape, strides, "VALID"); }),
      "[reduce_window_sum] 16 axes and windows along 2 of them, for f32[2,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1]: at most "
      "16 together; hint: reshape axes of one element away");
  // Indices as far out as there are, under the mode that gives nan for them.
  const Array far = array({std::numeric_limits<std::int64_t>::min()}, i64);
  expect_values(isnan(take(ones({2, 2}), far, 0, "fill")), {1, 1});
  expect_values(lax::reduce_window_sum(x, {2}, {1}, "VALID", {.base_dilation = {2}}), {1, 5, 5, 2, 2, 4, 4, 3});
  expect_values(lax::reduce_window_max(array({1, 2}), {2}, {1}, "SAME_LOWER"), {1, 2});
}

TEST(Window, Pools) {
  Array x = astype(arange(16).reshape({1, 4, 4, 1}), f64);
  expect_values(nn::max_pool(x, {2, 2}, {2, 2}), {5, 7, 13, 15});
  expect_values(nn::min_pool(x, {2, 2}, {2, 2}), {0, 2, 8, 10});
  expect_values(nn::avg_pool(x, {2, 2}, {2, 2}), {2.5, 4.5, 10.5, 12.5});
  Array row = array({{{1.0}, {3.0}, {5.0}}}, f64);
  expect_values(nn::avg_pool(row, {2}, {1}, "SAME"), {2, 4, 2.5});
  expect_values(nn::avg_pool(row, {2}, {1}, {{0, 1}}, false), {2, 4, 5});
  // Of equal elements the first gets the derivative.
  expect_values(grad([](const Array& x) { return sum(nn::max_pool(x, {2})); })(ones({1, 3, 1})), {1, 1, 0});
}

TEST(SortErrors, Texts) {
  Array x = zeros({2, 3});
  EXPECT_EQ(error_of([&] { sort(x, 2); }), "[sort] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::sort({x, zeros({3})}); }), "[sort] shapes differ: f32[2,3] and f32[3]");
  EXPECT_EQ(error_of([&] { lax::sort({x}, 0, 2); }), "[sort] 2 keys among 1 operands");
  EXPECT_EQ(error_of([&] { lax::sort(std::vector<Array>{}); }), "[sort] of no arrays");
  EXPECT_EQ(error_of([&] { top_k(x, 4); }),
            "[top_k] of f32[2,3] the 4 largest along axis 1 are asked for, which has 3; hint: k is at least 0 and at "
            "most the size of the axis");
  EXPECT_EQ(error_of([&] { searchsorted(x, 1.0); }), "[searchsorted] needs a sorted vector, got f32[2,3]");
  EXPECT_EQ(error_of([&] { searchsorted(zeros({3}), 1.0, "middle"); }),
            "[searchsorted] side is \"left\" or \"right\", got \"middle\"");
  EXPECT_EQ(error_of([&] { quantile(x, 1.5); }), "[quantile] q must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([&] { median(zeros({0})); }), "[median] of no elements: f32[0] along axes of size 0");
  EXPECT_EQ(error_of([&] { cumsum(x, 2); }), "[cumsum] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { linear_recurrence(x, x, 2); }), "[linear_recurrence] axis 2 is out of range for f32[2,3]");
}

TEST(WindowErrors, Texts) {
  Array x = zeros({2, 3});
  EXPECT_EQ(error_of([&] { lax::reduce_window_sum(x, {2}, {1}, "VALID"); }),
            "[reduce_window_sum] a window of shape [2] with base dilation [1] does not fit f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::reduce_window_sum(x, {2, 0}, {1, 1}, "VALID"); }),
            "[reduce_window_sum] windows of shape [2,0] with strides [1,1] and dilation [1,1] do not fit f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::reduce_window_max(x, {1, 1}, {1, 1}, "FULL"); }),
            "[reduce_window_max] padding is \"SAME\", \"SAME_LOWER\", \"VALID\" or pairs, got \"FULL\"");
  EXPECT_EQ(error_of([&] { lax::reduce_window_max(x, {1, 1}, {1, 1}, {{1, 1}}); }),
            "[reduce_window_max] 1 paddings for 2 axes");
  EXPECT_EQ(
      error_of([&] { nn::max_pool(x, {2, 2}); }),
      "[max_pool] windows of shape [2,2] with strides [2,2] do not fit f32[2,3]; hint: x is [batch..., spatial..., "
      "features]");
}

}  // namespace
}  // namespace anew::test
