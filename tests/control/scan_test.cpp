// scan: values, shapes, what is refused (exact texts), and the loops that have corners: none, reverse, numbers in
// carries.
#include "support/support.h"

namespace anew::test {
namespace {

TEST(Scan, CumulativeSum) {
  auto body = [](Array c, Array x) { return std::pair(c + x, c + x); };
  Array xs = array({3., 1., 4., 1., 5., 9.});
  auto [last, sums] = scan(body, 0.0, xs);
  EXPECT_EQ(last.item(), 23.0);
  EXPECT_EQ(sums.to_vector(), (std::vector<double>{3, 4, 8, 9, 14, 23}));
  EXPECT_EQ(scan(body, 0.0, xs, {.reverse = true}).second.to_vector(), (std::vector<double>{23, 20, 19, 15, 14, 9}));
}
TEST(Scan, OfLengthZero) {
  auto body = [](Array c, Array x) { return std::pair(c * x, x + 1); };
  auto [c, ys] = scan(body, 2.0, zeros({0}));
  EXPECT_EQ(c.item(), 2.0);
  EXPECT_EQ(ys.shape(), Shape{0});
  EXPECT_EQ(grad([&](Array c0) { return scan(body, c0, zeros({0})).first; })(2.0).item(), 1.0);
  EXPECT_EQ(grad([&](Array xs) { return sum(scan(body, 1.0, xs).second); })(zeros({0})).shape(), Shape{0});
}
TEST(Scan, NumbersInCarriesTakeTheDtypeOfTheBody) {
  Array xs = array({1., 2.}, f64);
  auto [c, ys] =
      scan([](std::pair<Array, Array> c, Array x) { return std::pair(std::pair(c.first + x, c.second + 1), none); },
           std::pair(0.0, 0), xs);
  EXPECT_EQ(c.first.dtype(), f64);
  EXPECT_EQ(c.second.dtype(), i32);
  EXPECT_EQ(c.first.item(), 3.0);
}
TEST(Scan, CarriesThatDoNotChangeAndYsThatAreXs) {
  auto f = [](Array w, Array xs) {
    auto [c, ys] =
        scan([](std::pair<Array, Array> c,
                Array x) { return std::pair(std::pair(c.first * c.second, c.second), std::pair(x, x * c.second)); },
             std::pair(Array(1.0), w), xs);
    return c.first + sum(ys.first) + sum(ys.second);
  };
  Array xs = array({1., 2., 3.});
  EXPECT_FLOAT_EQ(f(2.0, xs).item<float>(), 8 + 6 + 12);
  EXPECT_FLOAT_EQ(grad(f)(2.0, xs).item<float>(), 12 + 6);
  EXPECT_EQ(grad<1>(f)(2.0, xs).to_vector(), (std::vector<double>{3, 3, 3}));
  Program p = make_program(f)(2.0, xs);
  EXPECT_NE(p.str().find("num_carry=1"), std::string::npos) << p;
}
// Its tangent is a zero after one step, but there is one before it: the loop must carry it.
TEST(Scan, ACarryThatForgetsItsStart) {
  auto f = [](Array start) {
    auto [c, ys] = scan([](Array c, Array x) { return std::pair(x, c * x); }, start, array({2., 3., 5.}));
    return c + sum(ys);
  };
  EXPECT_EQ(f(7.0).item(), 5 + 14 + 6 + 15);
  EXPECT_EQ(jvp(f, 7.0, 1.0).second.item(), 2);
  EXPECT_EQ(grad(f)(7.0).item(), 2);
}
TEST(Scan, InsideScanInsideGrad) {
  auto f = [](Array x) {
    auto outer = [](Array c, none_t) {
      auto inner = [](Array d, none_t) { return std::pair(sin(d) + 0.5 * d, none); };
      return std::pair(scan(inner, c, none, {.length = 3}).first, none);
    };
    return scan(outer, x, none, {.length = 4}).first;
  };
  auto unrolled = [](Array x) {
    for (int i = 0; i < 12; ++i) x = sin(x) + 0.5 * x;
    return x;
  };
  EXPECT_TRUE(same_bits(f(0.3), unrolled(0.3)));
  EXPECT_TRUE(same_bits(grad(f)(0.3), grad(unrolled)(0.3)));
  EXPECT_TRUE(same_bits(grad(grad(f))(array(0.3, f64)), grad(grad(checkpoint(f)))(array(0.3, f64))));
}
TEST(Scan, GradientDescentInsideAndOutside) {  // L15: 75 steps of gradient descent in a scan, differentiated
  auto f = [](Array start) {
    auto loss = [](Array x) { return sum(square(x - 3) + sin(x)); };
    auto step = [&](Array x, none_t) { return std::pair(x - 0.1 * grad(loss)(x), none); };
    return sum(scan(step, start, none, {.length = 75}).first);
  };
  Array g = grad(f)(array({0.5, 1.0}));
  EXPECT_EQ(g.shape(), Shape{2});
}

TEST(ScanErrors, Texts) {
  auto same = [](Array c, Array x) { return std::pair(c + x, none); };
  auto none_x = [](Array c, none_t) { return std::pair(c, none); };
  EXPECT_EQ(ERROR_OF((void)scan(same, 0.0, Array(1.0))),
            "[scan] an array in xs has no leading axis to scan over: f32[]");
  EXPECT_EQ(
      ERROR_OF((void)scan([](Array c, std::pair<Array, Array>) { return std::pair(c, none); }, 0.0,
                          std::pair(ones({3}), ones({4})))),
      "[scan] arrays in xs have different leading axis sizes: f32[3] (leaf 0) has 3, f32[4] (leaf 1) has 4; hint: scan "
      "goes over the first axis of all arrays in xs; what all steps share is captured, or in the carry");
  EXPECT_EQ(ERROR_OF((void)scan(same, 0.0, ones({10}), {.length = 5})),
            "[scan] a length of 5 disagrees with the leading axis size 10");
  EXPECT_EQ(ERROR_OF((void)scan(none_x, 0.0, none)),
            "[scan] got no xs to scan over and no length; hint: give xs, or {.length = n} with xs = none");
  EXPECT_EQ(ERROR_OF((void)scan(none_x, 0.0, none, {.length = -2})), "[scan] the length is negative: -2");
  EXPECT_EQ(ERROR_OF((void)scan(none_x, 0.0, none, {.length = 2, .unroll = -1})), "[scan] unroll is negative: -1");
  EXPECT_EQ(ERROR_OF((void)scan(none_x, 0.0, none, {.length = 2, .checkpoints = 0})),
            "[scan] .checkpoints is 0, but at least one state, the first, is kept");
  EXPECT_EQ(
      ERROR_OF((void)scan([](Array c, Array x) { return std::pair(c + x, none); }, zeros({2}), ones({3, 2}, f64))),
      "[scan] the body must return a carry of the type it takes: carry is f32[2] but the body returns f64[2], so the "
      "dtypes do not match; hint: convert or reshape the initial carry, or what the body returns");
  EXPECT_EQ(ERROR_OF((void)scan([](Array c, Array x) { return std::pair(c + x, none); }, zeros({1}), ones({3, 2}))),
            "[scan] the body must return a carry of the type it takes: carry is f32[1] but the body returns f32[2], so "
            "the shapes do not match; hint: convert or reshape the initial carry, or what the body returns");
}

}  // namespace
}  // namespace anew::test
