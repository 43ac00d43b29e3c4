// Math functions of f32 and f64: error in units of the last place against libm over all bit patterns at a stride,
// special values, and equality of the three instantiations (number, vector, expression). tests/ulp measures errors with
// MPFR.
#include <fmt/format.h>

#include <cfenv>

#include "libm.h"
#include "memory.h"
#include "support/ulps.h"

namespace anew::loops::test {
namespace {

using anew::test::ulps;

constexpr double inf = INFINITY;

// Of the libm of f64: it errs as much as we do there.
template <class T>
double bound(Math m) {
  if (sizeof(T) == 4) return anew::test::f32_bound(m);
  return m == Math::lgamma ? 6 : m == Math::tanh || m == Math::cbrt ? 4 : 2.5;
}

template <class T>
constexpr DType dtype_of = sizeof(T) == 8 ? f64 : f32;

template <class T>
Kernel kernel_of(Math m, std::int64_t n) {
  const ShapeDtype type{{n}, dtype_of<T>};
  if (arity(m) == 1) return elementwise({type}, [m](Expr x) { return call(m, x); });
  return elementwise({type, type}, [m](Expr x, Expr y) { return call(m, x, y); });
}

// y = f(x...) by the interpreter.
template <class T>
std::vector<T> interpret(const Kernel& k, std::vector<T> x, std::vector<T> y = {}) {
  std::vector<T> out(x.size());
  std::vector<Operand> operands = {{x.data()}};
  if (!y.empty()) operands.push_back({y.data()});
  operands.push_back({out.data()});
  run(k, operands);
  return out;
}

template <class T>
T of_bits(std::uint64_t u) {
  if constexpr (sizeof(T) == 8) return std::bit_cast<double>(u);
  else return std::bit_cast<float>(static_cast<std::uint32_t>(u));
}

// A second argument for each first one: near 1 in size, now and then any number.
template <class T>
std::vector<T> partners(const std::vector<T>& x) {
  Random g(5);
  std::vector<T> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T any = of_bits<T>(g());
    y.push_back(i % 3 == 0   ? any
                : i % 3 == 1 ? std::normal_distribution<T>(0, 20)(g)
                             : static_cast<T>(uniform(g, -9, 9)) / 2);
  }
  return y;
}

// Floats: every stride-th. Doubles: as many, half of them any bits and half of moderate size.
template <class T>
std::vector<T> patterns(std::uint64_t stride, std::uint64_t start = 0) {
  std::vector<T> x;
  Random g(start);
  for (std::uint64_t u = start; u < 1ull << 32; u += stride) {
    if (sizeof(T) == 4) x.push_back(of_bits<T>(u));
    else
      x.push_back(
          u & 1 ? of_bits<T>(g())
                : static_cast<T>(std::ldexp(std::normal_distribution<double>()(g), static_cast<int>(g() % 24) - 12)));
  }
  return x;
}

template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// The reflection subtracts: near its zeros only the absolute error is small.
bool ill_conditioned(Math m, double x) {
  return (m == Math::lgamma || m == Math::digamma || m == Math::trigamma) && x < 0;
}

TEST(Ulps, AreCounted) {
  const double tiny = 0x1p-1074, most = std::numeric_limits<double>::max();
  EXPECT_EQ(ulps(1.0, 1.0), 0);
  EXPECT_EQ(ulps(1.0 + 0x1p-52, 1.0), 1);
  EXPECT_EQ(ulps(1.0 - 0x1p-53, 1.0), 0.5);
  EXPECT_EQ(ulps(3 * tiny, tiny), 2);
  EXPECT_EQ(ulps(inf, most), 1);
  EXPECT_EQ(ulps(-most, -inf), 1);
  EXPECT_EQ(ulps(-0.0, 0.0), inf);
  EXPECT_EQ(ulps(double(NAN), 1.0), inf);
  EXPECT_EQ(ulps(double(NAN), NAN), 0);
  EXPECT_EQ(ulps(1.f, 1 + 0x1p-24), 0.5);
  EXPECT_EQ(ulps(0x1p-149f, 0x1p-150), 0.5);
  EXPECT_EQ(ulps(float(inf), 0x1p128 - 0x1p104), 1);
  EXPECT_EQ(ulps(std::numeric_limits<float>::max(), 1e300), 1);
}

template <class T>
void stays_within_its_ulps(Math m) {
  const std::vector<T> x = patterns<T>(sizeof(T) == 4 ? 1021 : 100003),
                       y = arity(m) == 2 ? partners(x) : std::vector<T>{};
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<T> out = interpret(kernel_of<T>(m, n), x, y);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (ill_conditioned(m, x[i])) continue;
    const double e = ulps(out[i], libm_function(m, x[i], y.empty() ? 0 : y[i]));
    if (e > worst) worst = e, at = i;
  }
  const std::string where = fmt::format("{:a} ({}), {}", x[at], x[at], y.empty() ? 0 : y[at]);
  EXPECT_LE(worst, bound<T>(m)) << name_of(m) << " at " << where << " gives " << out[at];
}

template <class T>
void instantiations_agree(Math m) {
  const std::vector<T> x = patterns<T>(sizeof(T) == 4 ? 4093 : 16381, 17),
                       y = arity(m) == 2 ? partners(x) : std::vector<T>{};
  const Kernel k = kernel_of<T>(m, static_cast<std::int64_t>(x.size())), expanded = expand(k);
  verify(expanded);
  for (const Node& node : expanded.nodes) ASSERT_NE(node.op, Op::call);
  const std::vector<T> native = interpret(k, x, y), nodes = interpret(expanded, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(same(native[i], nodes[i]))
        << name_of(m) << "(" << x[i] << ") native " << native[i] << ", expanded " << nodes[i];
    const T number = math_function < sizeof(T) == 8 > (m, x[i], y.empty() ? T{0} : y[i]);
    ASSERT_TRUE(same(native[i], number)) << name_of(m) << "(" << x[i] << ") native " << native[i] << ", number "
                                         << number;
  }
}

// libm knows every special case of C's Annex F; values in between may differ by rounding.
template <class T>
void special_values(Math m) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special;
  for (T a : {T{0},
              T{0.5},
              T{1},
              T{2},
              T{3},
              Limits::denorm_min(),
              Limits::min() / 3,
              Limits::min(),
              Limits::epsilon(),
              T{88.7},
              T{89},
              T{103.5},
              T{104.5},
              T{128},
              T{149},
              T{150.5},
              T{709.7},
              T{709.8},
              T{745.1},
              T{745.2},
              T{1024},
              T{1074},
              T{1075.5},
              T{1e10},
              T{1e22},
              Limits::max() / 2,
              Limits::max(),
              Limits::infinity()})
    special.insert(special.end(), {a, -a});
  special.push_back(Limits::quiet_NaN());
  for (T a : {T{1}, T{2}}) special.insert(special.end(), {std::nextafter(a, T{0}), std::nextafter(a, T{9})});
  std::vector<T> x, y;
  for (T a : special)
    for (T b : arity(m) == 2 ? special : std::vector<T>{0}) x.push_back(a), y.push_back(b);
  if (arity(m) == 1) y.clear();
  const std::vector<T> out = interpret(kernel_of<T>(m, static_cast<std::int64_t>(x.size())), x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (ill_conditioned(m, x[i]) && std::isfinite(out[i])) continue;
    const double want = libm_function(m, x[i], y.empty() ? 0 : y[i]);
    EXPECT_LE(ulps(out[i], want), bound<T>(m))
        << name_of(m) << "(" << x[i] << ", " << (y.empty() ? 0 : y[i]) << ") gives " << out[i] << " for " << want;
    if (out[i] == 0) {
      EXPECT_EQ(std::signbit(out[i]), std::signbit(want)) << name_of(m) << "(" << x[i] << ")";
    }
  }
}

class EveryFunction : public testing::TestWithParam<int> {
 protected:
  Math m() const { return static_cast<Math>(GetParam()); }
};
TEST_P(EveryFunction, StaysWithinItsUlps) {
  stays_within_its_ulps<float>(m());
  stays_within_its_ulps<double>(m());
}
TEST_P(EveryFunction, InstantiationsAgree) {
  instantiations_agree<float>(m());
  instantiations_agree<double>(m());
}
TEST_P(EveryFunction, SpecialValues) {
  special_values<float>(m());
  special_values<double>(m());
}

// Where a result is zero or a normal number nothing on its way underflows or is subnormal: the machine takes a hundred
// cycles for each such operation, and masks (exp(-1e9)) and distances (exp(-x x)) make arrays of them.
template <class T>
[[gnu::noinline]] T plain(Math m, T x, T y) {
  return math_function < sizeof(T) == 8 > (m, x, y);
}
template <class T>
void is_as_fast_far_out(Math m) {
  std::vector<T> points{0};
  for (double x : {1., 3., 9., 11., 20., 30., 40., 104.5, 120., 151.5, 200., 750., 801., 1100., 1e4, 1e9, 1e30})
    points.push_back(static_cast<T>(x));
  // What divides by infinity or scales it is left out, and -43 to -88 of logistic, whose correction underflows.
  if (m != Math::atan && m != Math::atan2 && m != Math::hypot) points.push_back(std::numeric_limits<T>::infinity());
  const std::size_t n = points.size();
  for (std::size_t i = 0; i < n; ++i) points.push_back(-points[i]);
  // The C library has no bit for subnormal operands; the machine's status register has one beside underflow.
  constexpr int status = FE_UNDERFLOW | 2;
  for (T x : points)
    for (T y : arity(m) == 2 ? points : std::vector<T>{0}) {
      std::feclearexcept(status);
      const T result = plain<T>(m, x, y);
      const int raised = std::fetestexcept(status);
      if (result != result || std::fpclassify(result) == FP_SUBNORMAL) continue;
      EXPECT_EQ(raised, 0) << name_of(m) << "(" << x << ", " << y << ") = " << result << ", " << sizeof(T);
    }
}
TEST_P(EveryFunction, IsAsFastFarOut) {
#if defined(__x86_64__)
  is_as_fast_far_out<float>(m());
  is_as_fast_far_out<double>(m());
#else
  GTEST_SKIP() << "reads the status register of x86";
#endif
}

template <class T>
void reduces_huge_angles(std::vector<T> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  for (Math m : {Math::sin, Math::cos, Math::tan}) {
    const std::vector<T> out = interpret(kernel_of<T>(m, n), x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(out[i], libm_function(m, x[i], 0)), bound<T>(m)) << name_of(m) << "(" << x[i] << ")";
  }
}
TEST(Math, HugeAnglesAreReducedExactly) {
  // The floats nearest to a multiple of pi/2, relative to their size, and the ends of each range of exponents.
  reduces_huge_angles<float>({0x1.47d0fep34f, 0x1.921fb6p1f, 0x1.921fb4p0f, 0x1.fffffep23f, 0x1p24f, 0x1.fffffep47f,
                              0x1p48f, 0x1.fffffep71f, 0x1p72f, 0x1.fffffep95f, 0x1p96f, 0x1.fffffep119f, 0x1p120f,
                              0x1.fffffep127f});
  std::vector<double> x = {0x1.921fb54442d18p0, 0x1.921fb54442d18p1, 0x1.fffffffffffffp1023};
  for (int e = 28; e < 1024; ++e)
    for (double m : {1.0, 1.2345678901234567, 0x1.fffffffffffffp0}) x.push_back(std::ldexp(m, e));
  reduces_huge_angles(x);
}

TEST(Math, TheDoubleNearestToAMultipleOfHalfPi) {
  const std::vector<double> x(1, 0x1.6ac5b262ca1ffp849);
  EXPECT_EQ(interpret(kernel_of<double>(Math::cos, 1), x)[0], -0x1.14ae72e6ba22fp-61);  // by 2000 bits
  EXPECT_EQ(interpret(kernel_of<double>(Math::sin, 1), x)[0], 1.0);
}

TEST(Math, PowOfExactCases) {
  const std::vector<float> x = {2, 2, 3, 10, -2, -2, 0.5, 9}, y = {10, -149, 4, 3, 3, 2, 2, 0.5};
  EXPECT_EQ(interpret(kernel_of<float>(Math::pow, 8), x, y),
            (std::vector<float>{1024, 1e-45f, 81, 1000, -8, 4, 0.25, 3}));
  const std::vector<double> a(x.begin(), x.end()), b = {10, -1074, 4, 3, 3, 2, 2, 0.5};
  EXPECT_EQ(interpret(kernel_of<double>(Math::pow, 8), a, b),
            (std::vector<double>{1024, 0x1p-1074, 81, 1000, -8, 4, 0.25, 3}));
}
TEST(Math, LogarithmsOfPowersAreWhole) {
  std::vector<double> two, ten;
  for (int i = -300; i <= 300; ++i) two.push_back(std::ldexp(1.0, i));
  for (int i = 0; i <= 22; ++i) ten.push_back(std::pow(10.0, i));
  const std::vector<double> of_two = interpret(kernel_of<double>(Math::log2, std::ssize(two)), two);
  const std::vector<double> of_ten = interpret(kernel_of<double>(Math::log10, std::ssize(ten)), ten);
  for (int i = -300; i <= 300; ++i) EXPECT_EQ(of_two[static_cast<std::size_t>(i + 300)], i);
  for (int i = 0; i <= 22; ++i) EXPECT_EQ(of_ten[static_cast<std::size_t>(i)], i);
}

INSTANTIATE_TEST_SUITE_P(Math, EveryFunction, testing::Range(0, math_count),
                         [](const auto& info) { return std::string(name_of(static_cast<Math>(info.param))); });

}  // namespace
}  // namespace anew::loops::test
