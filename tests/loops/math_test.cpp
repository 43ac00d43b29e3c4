// Math functions of f32: error in units of the last place against f64 libm over all bit patterns at a stride, special
// values, and equality of the three instantiations (number, vector, expression).
#include "loops/math_function.h"

#include <fmt/format.h>

#include "memory.h"

namespace anew::loops::test {
namespace {

constexpr double inf = INFINITY;

// Distance in units of the last place of the true value, in f32; a value beyond the largest float counts as 2^128.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : inf;
  if (std::isnan(got)) return inf;
  auto limited = [](double x) { return std::fabs(x) > 0x1p128 ? std::copysign(0x1p128, x) : x; };
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : inf;
  const double distance = std::fabs(limited(got) - limited(want));
  if (distance == 0) return 0;
  int exponent = 0;
  std::frexp(limited(want), &exponent);
  return distance / std::ldexp(1.0, std::clamp(exponent, -125, 128) - 24);
}

double bound(Math m) {
  switch (m) {
    case Math::exp:
    case Math::exp2: return 1.05;
    case Math::expm1:
    case Math::sin:
    case Math::cos:
    case Math::rsqrt:
    case Math::logistic: return 1.6;
    case Math::log: return 0.8;
    case Math::tanh: return 1.4;
    case Math::erf: return 1.1;
    default: return 0.51;  // through f64
  }
}

Kernel kernel_of(Math m, std::int64_t n) {
  if (arity(m) == 1) return elementwise({{{n}, f32}}, [m](Expr x) { return call(m, x); });
  return elementwise({{{n}, f32}, {{n}, f32}}, [m](Expr x, Expr y) { return call(m, x, y); });
}

// y = f(x...) by the interpreter.
std::vector<float> interpret(const Kernel& k, std::vector<float> x, std::vector<float> y = {}) {
  std::vector<float> out(x.size());
  std::vector<Operand> operands = {{x.data()}};
  if (!y.empty()) operands.push_back({y.data()});
  operands.push_back({out.data()});
  run(k, operands);
  return out;
}

// A second argument for each first one: near 1 in size, now and then any float.
std::vector<float> partners(const std::vector<float>& x) {
  Random g(5);
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto any = std::bit_cast<float>(static_cast<std::uint32_t>(g()));
    y.push_back(i % 3 == 0   ? any
                : i % 3 == 1 ? std::normal_distribution<float>(0, 20)(g)
                             : static_cast<float>(uniform(g, -9, 9)) / 2);
  }
  return y;
}

std::vector<float> patterns(std::uint64_t stride, std::uint64_t start = 0) {
  std::vector<float> x;
  for (std::uint64_t u = start; u < 1ull << 32; u += stride)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  return x;
}

class EveryFunction : public testing::TestWithParam<int> {
 protected:
  Math m() const { return static_cast<Math>(GetParam()); }
};

TEST_P(EveryFunction, StaysWithinItsUlps) {
  const std::vector<float> x = patterns(1021), y = arity(m()) == 2 ? partners(x) : std::vector<float>{};
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<float> out = interpret(kernel_of(m(), n), x, y);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = ulps(out[i], libm_function(m(), x[i], y.empty() ? 0 : y[i]));
    if (e > worst) worst = e, at = i;
  }
  const std::string where = fmt::format("{:a} ({}), {}", x[at], x[at], y.empty() ? 0 : y[at]);
  RecordProperty("ulps", fmt::format("{:.3f}", worst));
  EXPECT_LE(worst, bound(m())) << name_of(m()) << " at " << where << " gives " << out[at];
}

TEST_P(EveryFunction, InstantiationsAgree) {
  const std::vector<float> x = patterns(4093, 17), y = arity(m()) == 2 ? partners(x) : std::vector<float>{};
  const Kernel k = kernel_of(m(), static_cast<std::int64_t>(x.size())), expanded = expand(k);
  verify(expanded);
  const std::vector<float> native = interpret(k, x, y), nodes = interpret(expanded, x, y);
  auto same = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(same(native[i], nodes[i]))
        << name_of(m()) << "(" << x[i] << ") native " << native[i] << ", expanded " << nodes[i];
    const float number = math_function(m(), x[i], y.empty() ? 0.0f : y[i]);
    ASSERT_TRUE(same(native[i], number)) << name_of(m()) << "(" << x[i] << ") native " << native[i] << ", number "
                                         << number;
  }
}

// libm's f32 functions know every special case of C's Annex F; values in between may differ by rounding.
TEST_P(EveryFunction, SpecialValues) {
  const std::vector<float> special = {0.0f,
                                      -0.0f,
                                      1.0f,
                                      -1.0f,
                                      0.5f,
                                      -0.5f,
                                      2.0f,
                                      -2.0f,
                                      3.0f,
                                      -3.0f,
                                      1e-45f,
                                      -1e-45f,
                                      1e-38f,
                                      -1e-38f,
                                      88.7f,
                                      89.0f,
                                      -103.5f,
                                      -104.5f,
                                      128.0f,
                                      -149.0f,
                                      -150.5f,
                                      1e10f,
                                      -1e10f,
                                      3e38f,
                                      -3e38f,
                                      static_cast<float>(inf),
                                      -static_cast<float>(inf),
                                      NAN};
  std::vector<float> x, y;
  for (float a : special)
    for (float b : arity(m()) == 2 ? special : std::vector<float>{0.0f}) x.push_back(a), y.push_back(b);
  if (arity(m()) == 1) y.clear();
  const std::vector<float> out = interpret(kernel_of(m(), static_cast<std::int64_t>(x.size())), x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = libm_function(m(), x[i], y.empty() ? 0 : y[i]);
    EXPECT_LE(ulps(out[i], want), bound(m()))
        << name_of(m()) << "(" << x[i] << ", " << (y.empty() ? 0 : y[i]) << ") gives " << out[i] << " for " << want;
    if (out[i] == 0) {
      EXPECT_EQ(std::signbit(out[i]), std::signbit(want)) << name_of(m()) << "(" << x[i] << ")";
    }
  }
}

TEST(Math, HugeAnglesAreReducedExactly) {
  // The float nearest to a multiple of pi/2, relative to its size, and the ends of each range of exponents.
  std::vector<float> x = {0x1.47d0fep34f, 0x1.921fb6p1f,   0x1.921fb4p0f,  0x1.fffffep23f, 0x1p24f,
                          0x1.fffffep47f, 0x1p48f,         0x1.fffffep71f, 0x1p72f,        0x1.fffffep95f,
                          0x1p96f,        0x1.fffffep119f, 0x1p120f,       0x1.fffffep127f};
  const auto n = static_cast<std::int64_t>(x.size());
  for (Math m : {Math::sin, Math::cos, Math::tan}) {
    const std::vector<float> out = interpret(kernel_of(m, n), x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(out[i], libm_function(m, x[i], 0)), bound(m)) << name_of(m) << "(" << x[i] << ")";
  }
}

TEST(Math, PowOfExactCases) {
  const std::vector<float> x = {2, 2, 3, 10, -2, -2, 0.5, 9}, y = {10, -149, 4, 3, 3, 2, 2, 0.5};
  EXPECT_EQ(interpret(kernel_of(Math::pow, 8), x, y), (std::vector<float>{1024, 1e-45f, 81, 1000, -8, 4, 0.25, 3}));
}

INSTANTIATE_TEST_SUITE_P(Math, EveryFunction, testing::Range(0, math_count),
                         [](const auto& info) { return std::string(name_of(static_cast<Math>(info.param))); });

}  // namespace
}  // namespace anew::loops::test
