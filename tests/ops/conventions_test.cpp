// What functions give where a formula does not say: the conventions of docs/reference.md, "Special values", at points
// that were wrong once. The law over all elementwise functions is tests/laws/special_points_test.cpp.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/helpers.h"
#include "support/support.h"

namespace anew::test {
namespace {

using test::inf;
using test::nan;

std::vector<double> numbers_of(const Array& x) { return astype(x, f64).to_vector(); }
void expect_numbers(const Array& x, const std::vector<double>& want, double tolerance = 0) {
  const std::vector<double> got = numbers_of(x);
  ASSERT_EQ(got.size(), want.size()) << x;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << x;
    else if (std::isinf(want[i])) EXPECT_EQ(got[i], want[i]) << x;
    else EXPECT_NEAR(got[i], want[i], tolerance * std::abs(want[i])) << x;
  }
}

TEST(Conventions, PowHasOneMixedDerivative) {
  auto p = [](Array x, Array y) { return pow(x, y); };
  const Array x = array(4.0, f64), y = array(0.0, f64);
  EXPECT_EQ(grad<1>(grad(p))(x, y).item(), 0.25);
  EXPECT_EQ(grad(grad<1>(p))(x, y).item(), 0.25);
  auto by_x = [&](Array y) { return jvp([&](Array x) { return pow(x, y); }, x, ones_like(x)).second; };
  EXPECT_EQ(jvp(by_x, y, ones_like(y)).second.item(), 0.25);
  // 1 whatever the base, so constant in it.
  for (double base : {0.0, inf, nan}) EXPECT_EQ(grad(p)(array(base, f64), y).item(), 0);
  EXPECT_EQ(pow(array(0.0), array(0.0)).item(), 1);
}

TEST(Conventions, SincHasDerivativesAtZero) {
  auto d = [](auto f) { return grad([f](Array x) { return f(x); }); };
  auto f = [](Array x) { return sinc(x); };
  const Array zero = array(0.0, f64);
  EXPECT_NEAR(d(d(f))(zero).item(), -3.289868133696453, 1e-14);
  EXPECT_NEAR(d(d(d(d(f))))(zero).item(), 19.481818206800487, 1e-13);
  EXPECT_NEAR(d(d(f))(array(1e-5, f64)).item(), -3.2898681327223624, 1e-13);  // where a quotient would cancel
  expect_numbers(sinc(array({0.0, 1.0, -3.0, 0.5}, f64)), {1, 0, 0, 2 / std::acos(-1.0)}, 1e-15);
}

TEST(Conventions, BetalnOfLargeNumbers) {
  expect_numbers(special::betaln(array({1e6, 1.0, 1e3, 20.0}), array({1.0, 1e6, 2.0, 30.0})),
                 {-13.815510557964274, -13.815510557964274, -13.816510058297358, -33.96882079197738}, 3e-7);
  const Array large = array(1e15, f64);
  EXPECT_NEAR(special::betaln(large, array(1.0, f64)).item(), -34.538776394910684, 1e-13);
  EXPECT_NEAR(grad([](Array a) { return special::betaln(a, 1.0); })(large).item(), -1e-15, 1e-27);
}

TEST(Conventions, DivisionByZero) {
  const Array x = array({1.0, -1.0, 0.0}), zero = array(0.0);
  expect_numbers(floor_divide(x, zero), {inf, -inf, nan});
  expect_numbers(floor_divide(x, array(-0.0)), {-inf, inf, nan});
  expect_numbers(x % zero, {nan, nan, nan});
  expect_numbers(fmod(x, zero), {nan, nan, nan});
  // Of integers as XLA has it: the quotient is -1, the remainder the dividend; jit agrees.
  const Array i = array({5, -5, 0}), none = array(0);
  auto both = [](Array a, Array b) { return stack({lax::div(a, b), lax::rem(a, b), floor_divide(a, b), a % b}); };
  expect_numbers(both(i, none)[0], {-1, -1, -1});
  expect_numbers(both(i, none)[1], {5, -5, 0});
  EXPECT_TRUE(array_equal(both(i, none), jit(both)(i, none)));
  expect_numbers(i / none, {inf, -inf, nan});
}

TEST(Conventions, EntropyAtZero) {
  auto entropy = [](Array x) { return special::entr(x); };
  EXPECT_EQ(grad(entropy)(0.0).item(), inf);
  EXPECT_EQ(jvp(entropy, array(0.0), array(1.0)).second.item(), inf);
  EXPECT_EQ(grad([&](Array x) { return grad(entropy)(x); })(0.0).item(), -inf);
  auto product = [](Array x, Array y) { return xlogy(x, y); };
  expect_numbers(xlogy(zeros(4), array({0.0, -2.0, inf, nan})), {0, 0, 0, nan});
  EXPECT_EQ(grad(product)(0.0, 0.0).item(), -inf);
  EXPECT_EQ(grad<1>(product)(0.0, 0.0).item(), 0);
  EXPECT_EQ(grad(grad<1>(product))(0.0, -2.0).item(), -0.5);
  EXPECT_EQ(grad<1>(grad(product))(0.0, -2.0).item(), -0.5);
}

TEST(Conventions, InverseFunctionsAtTheEndsOfTheirDomains) {
  auto twice = [](auto f, double x) {
    return grad([f](Array x) { return grad([f](Array x) { return f(x); })(x); })(array(x, f64)).item();
  };
  EXPECT_EQ(twice(anew::asin, 1), inf);
  EXPECT_EQ(twice(anew::asin, -1), -inf);
  EXPECT_EQ(twice(anew::acos, 1), -inf);
  EXPECT_EQ(twice(anew::acos, -1), inf);
  EXPECT_EQ(twice(anew::acosh, 1), -inf);
  EXPECT_EQ(twice(anew::atanh, 1), inf);
}

TEST(Conventions, HypotAtATie) {
  auto f = [](Array x) { return hypot(x, 3.0); };
  EXPECT_NEAR(grad([&](Array x) { return grad(f)(x); })(array(3.0, f64)).item(), 0.11785113019775792, 1e-15);
  EXPECT_EQ(grad(f)(array(0.0, f64)).item(), 0);
  EXPECT_EQ(hypot(array(inf), array(nan)).item(), inf);
}

TEST(Conventions, ReversedAxesAreDistinct) {
  EXPECT_EQ(ERROR_OF(lax::rev(ones({2, 3}), {0, 0})), "[rev] axis 0 of f32[2,3] is given twice");
  EXPECT_EQ(ERROR_OF(lax::rev(ones({2, 3}), {0, 2})), "[rev] axis 2 is out of range for f32[2,3]");
}

TEST(Conventions, LabelsOutOfRange) {
  const Array logits = array({{1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}});
  const Array labels = array({2, 3, 100, -1});
  expect_numbers(nn::softmax_cross_entropy(logits, labels), {0.40760598, nan, nan, nan}, 1e-6);
  for (DType d : {bf16, f16, f32, f64})
    EXPECT_EQ(nn::softmax_cross_entropy(astype(logits, d), labels).dtype(), d) << name_of(d);
  EXPECT_TRUE(array_equal(isnan(jit([](Array a, Array l) { return nn::softmax_cross_entropy(a, l); })(logits, labels)),
                          array({false, true, true, true})));
}

TEST(Conventions, EmbeddingOutOfRange) {
  const Array table = array({{1.0, 2.0}, {3.0, 4.0}});
  expect_numbers(nn::embedding(table, array({1, -1, 2, 0})), {3, 4, nan, nan, nan, nan, 1, 2});
  EXPECT_EQ(nn::embedding(table, zeros({0, 3}, i32)).shape(), (Shape{0, 3, 2}));
  auto total = [](Array table) { return sum(nn::embedding(table, array({1, -1, 1}))); };
  expect_numbers(grad(total)(table), {0, 0, 2, 2});
}

// What x.at(i) says of an integer is what it says of an array that holds it.
TEST(Conventions, IntegersOutOfRangeAreAsTheModeSays) {
  const Array x = arange(10, f32);
  for (std::int64_t i : {11, 10, 9, 0, -1, -10, -11, -25}) {
    const Array index = array({static_cast<int>(i)});
    for (const char* mode : {"clip", "fill", "wrap"}) {
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(i));
      EXPECT_TRUE(same_bits(x.at(i).get(mode), x.at(index).get(mode)[0]));
    }
    for (const char* mode : {"clip", "drop", "wrap"}) {
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(i));
      EXPECT_TRUE(same_bits(x.at(i).set(7.0, mode), x.at(index).set(7.0, mode)));
      EXPECT_TRUE(same_bits(x.at(i).add(7.0, mode), x.at(index).add(7.0, mode)));
      EXPECT_TRUE(same_bits(x.at(i).max(7.0, mode), x.at(index).max(7.0, mode)));
      EXPECT_TRUE(same_bits(x.at(i).divide(7.0, mode), x.at(index).divide(7.0, mode)));
    }
  }
  expect_numbers(x.at(11).get("fill"), {nan});
  expect_numbers(x.at(11).get(), {9});
  EXPECT_TRUE(same_bits(x.at(10).set(5.0), x));
  const Array m = reshape(arange(6, f32), {2, 3});
  expect_numbers(m.at({5, 1}).get("clip"), {4});
  expect_numbers(m.at({slice(), 3}).get("fill"), {nan, nan});
  expect_numbers(m.at({slice(), -4}).set(9.0, "wrap"), {0, 1, 9, 3, 4, 9});
  EXPECT_EQ(ERROR_OF((void)x[11]), "[index] index 11 is out of range for axis 0 of f32[10]");
  EXPECT_EQ(ERROR_OF((void)x.at(3).get("bogus")),
            "[index] no mode \"bogus\"; hint: modes are clip, fill, drop, wrap, promise_in_bounds");
}

TEST(Conventions, IntegersHaveNoTangents) {
  auto f = [](Array n) { return 2.0 * n; };
  const Array n = ones({2}, i32), zero = zeros({2}, i32);
  EXPECT_EQ(ERROR_OF((void)linearize(f, n).second(n)),
            "[linearize] integers have no tangents: argument 0 is i32[2]; hint: give zeros for it, or Array()");
  expect_numbers(linearize(f, n).second(zero), {0, 0});
  expect_numbers(linearize(f, n).second(Array()), {0, 0});
  EXPECT_EQ(ERROR_OF((void)jvp(f, n, n)),
            "[jvp] integers have no tangents: argument 0 is i32[2]; hint: give zeros for it, or Array()");
  expect_numbers(jvp(f, n, zero).second, {0, 0});
  auto rounded = [](Array x) { return astype(x, i32); };
  EXPECT_EQ(ERROR_OF((void)vjp(rounded, ones({2})).second(n)),
            "[vjp] integers have no cotangents: output 0 is i32[2]; hint: give zeros for it, or Array()");
  expect_numbers(vjp(rounded, ones({2})).second(zero), {0, 0});
}

TEST(Conventions, SoftmaxOfNothing) {
  EXPECT_EQ(nn::softmax(zeros({0})).shape(), (Shape{0}));
  EXPECT_EQ(nn::softmax(zeros({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_EQ(grad([](Array x) { return sum(nn::softmax(x)); })(zeros({0})).shape(), (Shape{0}));
}

}  // namespace
}  // namespace anew::test
