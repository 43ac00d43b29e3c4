// Special functions: values by arbitrary precision arithmetic, the edges of their domains, identities, errors word by
// word.
#include <anew/special.h>

#include <limits>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::inf;
using test::nan;

const std::vector<double> points = {0.1, 0.75, 1.5, 3.25, 20.0, -0.5, -1.25, -3.75};

Array at(const std::vector<double>& x, DType dtype = f64) {
  return array(x, {static_cast<std::int64_t>(x.size())}, dtype);
}

TEST(Special, LogarithmOfGamma) {
  const std::vector<double> want = {2.252712651734206,  0.20328095143129538, -0.12078223763524522, 0.9358019311087253,
                                    39.339884187199495, 1.2655121234846454,  1.3664317612369763,   -1.3172679424463636};
  expect_values(lgamma(at(points)), want, 1e-14);
  expect_values(lgamma(at(points, f32)), want, 1e-6);
  expect_values(special::gammaln(at({0.0, -0.0, -1, -7, inf, -inf, nan, 1, 2})),
                {inf, inf, inf, inf, inf, inf, nan, 0, 0});
  EXPECT_EQ(lgamma(array({3, 4})).dtype(), f32);
  EXPECT_EQ(lgamma(at({0.5}, bf16)).dtype(), bf16);
}
TEST(Special, Gamma) {
  expect_values(special::gamma(at(points)),
                {9.51350769866873, 1.2254167024651776, 0.886226925452758, 2.5492569667185294, 1.21645100408832e+17,
                 -3.544907701811032, 3.9213334478885686, 0.2678661288614166},
                1e-12);
  expect_values(special::gamma(at({0.0, -0.0, -2, inf, nan, 5})), {inf, -inf, nan, inf, nan, 24}, 1e-13);
  expect_values(special::gammasgn(at({0.0, -0.0, 2.5, -0.5, -1.5, -2.5, -3.5, -3, inf, nan})),
                {1, -1, 1, -1, 1, -1, 1, nan, 1, nan});
  expect_values(special::factorial(array({0, 1, 2, 5, 10, -1})), {1, 1, 2, 120, 3628800, 0});
}
TEST(Special, Polygamma) {
  expect_values(digamma(at(points)),
                {-10.423754940411076, -1.0858608797864722, 0.03648997397857652, 1.016990911068179, 2.970523992242149,
                 0.03648997397857652, 3.714139120213528, -1.6923885983113303},
                1e-14);
  expect_values(special::polygamma(0, at(points)),
                {-10.423754940411076, -1.0858608797864722, 0.03648997397857652, 1.016990911068179, 2.970523992242149,
                 0.03648997397857652, 3.714139120213528, -1.6923885983113303},
                1e-14);
  expect_values(special::polygamma(1, at(points)),
                {101.43329915079275, 2.5418796476716063, 0.9348022005446793, 0.3597982903095799, 0.05127082293520312,
                 8.934802200544679, 19.181879647671607, 19.504980060599575},
                1e-13);
  expect_values(special::polygamma(2, at(points)),
                {-2001.8614573783436, -5.3026332163376395, -0.82879664423432, -0.12815694713911513,
                 -0.0026281224023146548, -0.82879664423432, 123.72136678366236, -124.07972713378925},
                1e-13);
  expect_values(special::polygamma(3, at(points)),
                {60004.51287679026, 19.7633125348506, 1.4090910340024372, 0.09043335532465574, 0.0002693742213396389,
                 193.40909103400244, 1558.2209125348506, 1558.5200920240343},
                1e-13);
  expect_values(special::polygamma(6, at(points)),
                {-7200000373.781803, -5408.926503095375, -43.457923803023284, -0.22644877024324592,
                 -2.17260735041449e-06, -43.457923803023284, 11791222.068440905, -11791224.779829886},
                1e-12);
  expect_values(special::polygamma(2, at(points, f32)),
                {-2001.8614573783436, -5.3026332163376395, -0.82879664423432, -0.12815694713911513,
                 -0.0026281224023146548, -0.82879664423432, 123.72136678366236, -124.07972713378925},
                1e-5);
  expect_values(digamma(at({0.0, -0.0, -1, inf, -inf, nan})), {nan, nan, nan, inf, nan, nan});
  expect_values(special::polygamma(1, at({0.0, -1})), {inf, inf});
}
TEST(Special, TheOrderOfPolygammaIsNotNegative) {
  EXPECT_EQ(error_of([] { special::polygamma(-1, 2.0); }), "[polygamma] the order must not be negative, got -1");
}
TEST(Special, Beta) {
  const Array a = at({0.5, 2, 100, 3.5}), b = at({0.5, 3, 1e-3, -0.5});
  expect_values(special::beta(a, b), {3.141592653589793, 0.08333333333333333, 994.8368148237694, -5.8904862254808625},
                1e-12);
  expect_values(special::betaln(a, b), {1.1447298858494002, -2.4849066497880004, 6.902578718506027, 1.7733385452717743},
                1e-12);
  EXPECT_EQ(special::betaln(a, 1).type(), a.type());
}
TEST(Special, NormalDistribution) {
  expect_values(special::ndtr(at({0, 1, -1, 8, -8})),
                {0.5, 0.8413447460685429, 0.15865525393145705, 0.9999999999999993, 6.220960574271784e-16}, 1e-15);
  expect_values(special::erfinv(special::erf(at({0.3, -0.7}))), {0.3, -0.7}, 1e-13);
  expect_values(special::erf(at({0.5})) + special::erfc(at({0.5})), {1}, 1e-15);
}
TEST(Special, LogisticFunctions) {
  expect_values(special::expit(at({0, 2, -800, 800})), {0.5, 1 / (1 + std::exp(-2.0)), 0, 1}, 1e-15);
  expect_values(special::logit(at({0.5, 0.25, 0, 1, 2})), {0, -std::log(3.0), -inf, inf, nan}, 1e-15);
  expect_values(special::xlogy(at({0, 2}), at({0, 3})), {0, 2 * std::log(3.0)}, 1e-15);
  expect_values(special::xlog1py(at({0, 2}), at({-1, 2})), {0, 2 * std::log(3.0)}, 1e-15);
  expect_values(special::logsumexp(at({1, 1})), {1 + std::log(2.0)}, 1e-15);
}
TEST(Special, Entropies) {
  expect_values(special::entr(at({0, 1, 0.5, -1, nan})), {0, 0, 0.5 * std::log(2.0), -inf, nan}, 1e-15);
  const Array x = at({0, 1, 2, -1, 1, 0, nan}), y = at({1, 2, 1, 1, 0, 0, 1});
  expect_values(special::rel_entr(x, y), {0, -std::log(2.0), 2 * std::log(2.0), inf, inf, 0, nan}, 1e-15);
  expect_values(special::kl_div(x, y), {1, 1 - std::log(2.0), 2 * std::log(2.0) - 1, inf, inf, 0, nan}, 1e-15);
}
TEST(Special, RoundingAwayFromZero) {
  const Array x = at({0.5, 1.5, -0.5, -1.5, 2.4, -2.6, 0.0, -0.0, 0.49999999999999994, inf, nan, -0.25});
  const Array y = lax::round(x, lax::Rounding::away_from_zero);
  expect_values(y, {1, 2, -1, -2, 2, -3, 0, 0, 0, inf, nan, 0});
  expect_values(signbit(y), {0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1});
  expect_values(lax::round(at({0.5, 1.5}), lax::Rounding::to_nearest_even), {0, 2});
  EXPECT_EQ(lax::round(array({1, 2}), lax::Rounding::away_from_zero).dtype(), i32);
}
TEST(Special, LogarithmsOfOtherBases) {
  expect_values(log2(at({8, 0.25, 0, -1, inf})), {3, -2, -inf, nan, inf});
  expect_values(log10(at({1000, 1, 0, -1, inf})), {3, 0, -inf, nan, inf});
}

}  // namespace
}  // namespace anew
