// Elementwise functions against the C library, element by element, and the values that rules of IEEE decide.
#include <limits>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::inf;
using test::nan;
using test::numbers;

struct UnaryCase {
  const char* name;
  Array (*f)(const ArrayLike&);
  double (*want)(double);
  double lo, hi;
};

class Unary : public testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, AgreesWithTheCLibrary) {
  const UnaryCase& c = GetParam();
  for (DType d : {f32, f64}) {
    Array x = filled({4, 300}, 11, d, c.lo, c.hi);
    std::vector<double> want;
    for (double v : test::values(x)) want.push_back(c.want(v));
    Array y = c.f(x);
    EXPECT_EQ(y.type(), x.type());
    expect_values(y, want, d == f32 ? 1e-6 : 1e-14);
    expect_values(c.f(x.T()), test::values(transpose(array(want, {4, 300}))), d == f32 ? 1e-6 : 1e-14);  // any layout
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Unary,
    testing::Values(UnaryCase{"sin", sin, std::sin, -9, 9}, UnaryCase{"cos", cos, std::cos, -9, 9},
                    UnaryCase{"tan", tan, std::tan, -1, 1}, UnaryCase{"asin", asin, std::asin, -1, 1},
                    UnaryCase{"acos", acos, std::acos, -1, 1}, UnaryCase{"atan", atan, std::atan, -5, 5},
                    UnaryCase{"sinh", sinh, std::sinh, -3, 3}, UnaryCase{"cosh", cosh, std::cosh, -3, 3},
                    UnaryCase{"tanh", tanh, std::tanh, -5, 5}, UnaryCase{"asinh", asinh, std::asinh, -5, 5},
                    UnaryCase{"acosh", acosh, std::acosh, 1, 9}, UnaryCase{"atanh", atanh, std::atanh, -0.9, 0.9},
                    UnaryCase{"exp", exp, std::exp, -5, 3}, UnaryCase{"exp2", exp2, std::exp2, -5, 3},
                    UnaryCase{"expm1", expm1, std::expm1, -2, 2}, UnaryCase{"log", log, std::log, 0.1, 9},
                    UnaryCase{"log2", log2, std::log2, 0.1, 9}, UnaryCase{"log10", log10, std::log10, 0.1, 9},
                    UnaryCase{"log1p", log1p, std::log1p, -0.9, 9}, UnaryCase{"sqrt", sqrt, std::sqrt, 0, 9},
                    UnaryCase{"cbrt", cbrt, std::cbrt, -9, 9}, UnaryCase{"erf", erf, std::erf, -3, 3},
                    UnaryCase{"erfc", erfc, std::erfc, -2, 2}, UnaryCase{"floor", floor, std::floor, -9, 9},
                    UnaryCase{"ceil", ceil, std::ceil, -9, 9}, UnaryCase{"round", round, std::nearbyint, -9, 9},
                    UnaryCase{"trunc", trunc, std::trunc, -9, 9}, UnaryCase{"abs", abs, std::abs, -9, 9}),
    [](const auto& info) { return info.param.name; });

TEST(Elementwise, SpecialValues) {
  Array x = array({inf, -inf, nan, 0.0, -0.0, -2.0}, f64);
  expect_values(sign(x), {1, -1, nan, 0, -0.0, -1});
  expect_values(nn::relu(x), {inf, 0, nan, 0, 0, 0});
  expect_values(isfinite(x), {0, 0, 0, 1, 1, 1});
  expect_values(isnan(x), {0, 0, 1, 0, 0, 0});
  expect_values(isinf(x), {1, 1, 0, 0, 0, 0});
  expect_values(signbit(x), {0, 1, 0, 0, 1, 1});
  expect_values(maximum(x, 1), {inf, 1, nan, 1, 1, 1});
  expect_values(minimum(1, x), {1, -inf, nan, 0, 0, -2});
  expect_values(fmax(x, 1), {inf, 1, 1, 1, 1, 1});
  expect_values(fmin(x, 1), {1, -inf, 1, 0, 0, -2});
  expect_values(nan_to_num(array({inf, nan}, f64)), {std::numeric_limits<double>::max(), 0});
  expect_values(copysign(array({1., 2., 3.}), array({-1., -0.0, 0.0})), {-1, -2, 3});
  expect_values(round(array({0.5, 1.5, 2.5, -0.5})), {0, 2, 2, 0});
  expect_values(logaddexp(array({-inf, 0.0, 1000.0}, f64), array({-inf, 0.0, 0.0}, f64)), {-inf, std::log(2.0), 1000},
                1e-15);
  expect_values(hypot(array({3e200, 0.0, inf}, f64), array({4e200, 0.0, nan}, f64)), {5e200, 0, inf}, 1e-15);
  expect_values(heaviside(array({-1., 0., 2.}), 0.5), {0, 0.5, 1});
  expect_values(xlogy(array({0., 2.}), array({0., 1.})), {0, 0});
  expect_values(sinc(array({0., 0.5})), {1, 2 / M_PI}, 1e-6);
  expect_values(nextafter(array({1.0, 0.0, 1.0}, f64), array({2.0, -1.0, 1.0}, f64)),
                {std::nextafter(1.0, 2.0), -std::numeric_limits<double>::denorm_min(), 1.0});
}

TEST(Elementwise, Integers) {
  Array a = array({7, -7, 7, -7}), b = array({2, 2, -2, -2});
  expect_values(a % b, {1, 1, -1, -1});
  expect_values(floor_divide(a, b), {3, -4, -4, 3});
  expect_values(fmod(a, b), {1, -1, 1, -1});
  expect_values(lax::div(a, b), {3, -3, -3, 3});
  expect_values(a / b, {3.5, -3.5, -3.5, 3.5});
  expect_values(lax::div(array({5}), array({0})), {-1});
  expect_values(power(a, 2), {49, 49, 49, 49});
  expect_values(power(array({2, -3, 0, -1}), array({10, 3, 0, -3})), {1024, -27, 1, -1});
  expect_values(a & 3, {3, 1, 3, 1});
  expect_values(a | 8, {15, -7, 15, -7});
  expect_values(a ^ a, {0, 0, 0, 0});
  expect_values(~a, {-8, 6, -8, 6});
  expect_values(left_shift(a, 1), {14, -14, 14, -14});
  expect_values(right_shift(a, 1), {3, -4, 3, -4});
  expect_values(lax::shift_right_logical(array({-1}), 28), {15});
  expect_values(lax::population_count(array({7, 8})), {3, 1});
  expect_values(array({true, false}) + array({true, true}), {1, 1});
  expect_values(array({true, false}) * array({true, true}), {1, 0});
  expect_values(logical_xor(array({1, 0}), array({2, 3})), {0, 1});
}

TEST(Elementwise, ComparisonsAndSelection) {
  Array x = array({1., 2., 3.}), y = array({3., 2., 1.});
  expect_values(x < y, {1, 0, 0});
  expect_values(x <= y, {1, 1, 0});
  expect_values(x > y, {0, 0, 1});
  expect_values(x >= y, {0, 1, 1});
  expect_values(x == y, {0, 1, 0});
  expect_values(x != y, {1, 0, 1});
  expect_values(where(x > 1, x, -1), {-1, 2, 3});
  expect_values(clip(x, 1.5, 2.5), {1.5, 2, 2.5});
  expect_values(lax::clamp(1.5, x, 2.5), {1.5, 2, 2.5});
  expect_values(lax::select_n(array({0, 2, 1}), {x, y, 9}), {1, 9, 1});
  expect_values(power(array({2., -2., 0.}), -1), {0.5, -0.5, inf});
  expect_values(power(array({2., 3.}), 0), {1, 1});
  expect_values(pow(array({4., 9.}), 0.5), {2, 3}, 1e-6);
}

TEST(Elementwise, StoredTypesRoundOnce) {
  Array x = array({1.0f, 3.0f}, bf16);
  EXPECT_EQ((x / 3).dtype(), bf16);
  expect_values((x / 3).astype(f32), {0.333984375, 1});
  expect_values(sum(full({1000}, 1, bf16)).astype(f32), {1000});
  expect_values(array({0.1}, f16).astype(f32), {0.0999755859375});
}

TEST(Elementwise, Assignment) {
  Array x = array({1., 2.}), y = x;
  x += 1;
  x *= 2;
  x -= array({1., 1.});
  x /= 2;
  expect_values(x, {1.5, 2.5});
  expect_values(y, {1, 2});
}

TEST(Elementwise, Errors) {
  EXPECT_EQ(error_of([] { (void)-array({true}); }), "[neg] needs numbers, got bool[1]");
  EXPECT_EQ(error_of([] { (void)(array({true}) - array({true})); }), "[sub] needs numbers, got bool[1]");
  EXPECT_EQ(error_of([] { (void)(ones({2}) & ones({2})); }), "[bitwise_and] needs bool or integers, got f32[2]");
  EXPECT_EQ(error_of([] { (void)left_shift(ones({2}), 1); }), "[left_shift] needs integers, got f32[2]");
  EXPECT_EQ(error_of([] { (void)power(ones({2}, i32), -1); }),
            "[power] integers to a negative power: i32[2] to the power -1; hint: convert the base to a float first");
  EXPECT_EQ(error_of([] { (void)lax::select_n(array({0.5}), {1.0, 2.0}); }),
            "[select_n] the selector must be bool or i32, got f32[1]");
  EXPECT_EQ(error_of([] { (void)lax::select_n(true, {1.0, 2.0, 3.0}); }),
            "[select_n] a bool selects among 2 cases, got 3");
  EXPECT_EQ(error_of([] { (void)lax::select_n(true, std::vector<Array>{}); }),
            "[select_n] needs a selector and at least one case");
}

TEST(Elementwise, ErrorsNameTheUsersLine) {
  int line = 0;
  try {
    line = __LINE__ + 1;
    (void)(ones({2}) * ones({3}));
  } catch (const Error& e) {
    EXPECT_EQ(e.line(), line);
    EXPECT_NE(std::string(e.what()).find("elementwise_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace anew
