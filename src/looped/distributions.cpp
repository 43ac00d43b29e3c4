// Continuous distributions: each logpdf is a formula, the others follow. What is outside of the support is computed at
// a harmless place and replaced, so that no nan reaches a derivative.
#include <anew/linalg.h>
#include <anew/nn.h>
#include <anew/numpy.h>
#include <anew/special.h>
#include <anew/stats.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "looped/distributions.h"

namespace anew::stats {

constexpr double endless = std::numeric_limits<double>::infinity();
constexpr double half_log_two_pi = 0.91893853320467274178;

using L = const ArrayLike&;

#define ANEW_EXP(name, log_name)         \
  Array name(L x, L loc, L scale) {      \
    PinLine pin(x.at);                   \
    return exp(log_name(x, loc, scale)); \
  }
#define ANEW_EXP1(name, log_name)           \
  Array name(L x, L a, L loc, L scale) {    \
    PinLine pin(x.at);                      \
    return exp(log_name(x, a, loc, scale)); \
  }
#define ANEW_EXP2(name, log_name)              \
  Array name(L x, L a, L b, L loc, L scale) {  \
    PinLine pin(x.at);                         \
    return exp(log_name(x, a, b, loc, scale)); \
  }

namespace norm {
Array logpdf(L x, L loc, L scale) {
  Standard s("norm.logpdf", {&x}, loc, scale);
  return -0.5 * s.z * s.z - half_log_two_pi - log(s.scale);
}
ANEW_EXP(pdf, logpdf)
Array cdf(L x, L loc, L scale) { return special::ndtr(Standard("norm.cdf", {&x}, loc, scale).z); }
Array logcdf(L x, L loc, L scale) { return special::log_ndtr(Standard("norm.logcdf", {&x}, loc, scale).z); }
Array sf(L x, L loc, L scale) { return special::ndtr(-Standard("norm.sf", {&x}, loc, scale).z); }
Array logsf(L x, L loc, L scale) { return special::log_ndtr(-Standard("norm.logsf", {&x}, loc, scale).z); }
Array ppf(L q, L loc, L scale) {
  Quantile s("norm.ppf", {&q}, loc, scale);
  return special::ndtri(s.q) * s.scale + s.loc;
}
Array isf(L q, L loc, L scale) {
  Quantile s("norm.isf", {&q}, loc, scale);
  return -special::ndtri(s.q) * s.scale + s.loc;
}
}  // namespace norm

namespace cauchy {
Array logpdf(L x, L loc, L scale) {
  Standard s("cauchy.logpdf", {&x}, loc, scale);
  return -std::log(std::numbers::pi) - log(s.scale) - log1p(s.z * s.z);
}
ANEW_EXP(pdf, logpdf)
// log of the part below z: above 0 by the small part that is left.
static Array log_tail(const Array& z) {
  Array upper = z > 0, part = arctan2(1.0, abs(z)) / std::numbers::pi;
  return where(upper, log1p(-part), log(where(upper, 1, part)));
}
Array cdf(L x, L loc, L scale) { return arctan2(1.0, -Standard("cauchy.cdf", {&x}, loc, scale).z) / std::numbers::pi; }
Array logcdf(L x, L loc, L scale) { return log_tail(Standard("cauchy.logcdf", {&x}, loc, scale).z); }
Array sf(L x, L loc, L scale) { return arctan2(1.0, Standard("cauchy.sf", {&x}, loc, scale).z) / std::numbers::pi; }
Array logsf(L x, L loc, L scale) { return log_tail(-Standard("cauchy.logsf", {&x}, loc, scale).z); }
// tan(pi (q - 1/2)); towards the ends by what is left there, which has more digits.
static Array quantile(const Array& q) {
  Array low = q < 0.25, high = q > 0.75, end = where(low | high, minimum(q, 1 - q), 0.25);
  Array far = 1 / tan(std::numbers::pi * end);
  return where(low, -far, where(high, far, tan(std::numbers::pi * (where(low | high, 0.5, q) - 0.5))));
}
Array ppf(L q, L loc, L scale) {
  Quantile s("cauchy.ppf", {&q}, loc, scale);
  return quantile(s.q) * s.scale + s.loc;
}
Array isf(L q, L loc, L scale) {
  Quantile s("cauchy.isf", {&q}, loc, scale);
  return -quantile(s.q) * s.scale + s.loc;
}
}  // namespace cauchy

namespace laplace {
Array logpdf(L x, L loc, L scale) {
  Standard s("laplace.logpdf", {&x}, loc, scale);
  return -abs(s.z) - std::numbers::ln2 - log(s.scale);
}
ANEW_EXP(pdf, logpdf)
Array cdf(L x, L loc, L scale) {
  Array z = Standard("laplace.cdf", {&x}, loc, scale).z, tail = 0.5 * exp(-abs(z));
  return where(z <= 0, tail, 1 - tail);
}
}  // namespace laplace

namespace logistic {
Array logpdf(L x, L loc, L scale) {
  Standard s("logistic.logpdf", {&x}, loc, scale);
  Array h = 0.5 * s.z;
  return -2 * logaddexp(h, -h) - log(s.scale);
}
ANEW_EXP(pdf, logpdf)
Array cdf(L x, L loc, L scale) { return special::expit(Standard("logistic.cdf", {&x}, loc, scale).z); }
Array sf(L x, L loc, L scale) { return special::expit(-Standard("logistic.sf", {&x}, loc, scale).z); }
Array ppf(L q, L loc, L scale) {
  Quantile s("logistic.ppf", {&q}, loc, scale);
  return special::logit(s.q) * s.scale + s.loc;
}
Array isf(L q, L loc, L scale) {
  Quantile s("logistic.isf", {&q}, loc, scale);
  return -special::logit(s.q) * s.scale + s.loc;
}
}  // namespace logistic

namespace expon {
Array logpdf(L x, L loc, L scale) {
  Standard s("expon.logpdf", {&x}, loc, scale);
  return where(s.z < 0, -endless, -s.z - log(s.scale));
}
ANEW_EXP(pdf, logpdf)
Array cdf(L x, L loc, L scale) {
  Array z = Standard("expon.cdf", {&x}, loc, scale).z;
  return where(z < 0, 0, -expm1(-where(z < 0, 0, z)));
}
Array logcdf(L x, L loc, L scale) {
  Array z = Standard("expon.logcdf", {&x}, loc, scale).z, outside = z <= 0;
  return where(outside, -endless, nn::log1mexp(where(outside, 1, z)));
}
Array sf(L x, L loc, L scale) {
  Array z = Standard("expon.sf", {&x}, loc, scale).z;
  return where(z < 0, 1, exp(-where(z < 0, 0, z)));
}
Array logsf(L x, L loc, L scale) {
  Array z = Standard("expon.logsf", {&x}, loc, scale).z;
  return where(z < 0, 0, -z);
}
Array ppf(L q, L loc, L scale) {
  Quantile s("expon.ppf", {&q}, loc, scale);
  return valid(s.q, -log1p(-s.q)) * s.scale + s.loc;
}
}  // namespace expon

namespace uniform {
Array logpdf(L x, L loc, L scale) {
  Standard s("uniform.logpdf", {&x}, loc, scale);
  return where((s.z < 0) | (s.z > 1), -endless, -log(s.scale));
}
ANEW_EXP(pdf, logpdf)
Array cdf(L x, L loc, L scale) { return clip(Standard("uniform.cdf", {&x}, loc, scale).z, 0, 1); }
Array ppf(L q, L loc, L scale) {
  Quantile s("uniform.ppf", {&q}, loc, scale);
  return valid(s.q, s.q) * s.scale + s.loc;
}
}  // namespace uniform

namespace gumbel_r {
// log(1 - exp(-exp(-z))), which far out is -z.
static Array log_tail(const Array& z) {
  Array far = z > 40;
  return where(far, -z, nn::log1mexp(exp(-where(far, 0, z))));
}
Array logpdf(L x, L loc, L scale) {
  Standard s("gumbel_r.logpdf", {&x}, loc, scale);
  return -(s.z + exp(-s.z)) - log(s.scale);
}
ANEW_EXP(pdf, logpdf)
Array logcdf(L x, L loc, L scale) { return -exp(-Standard("gumbel_r.logcdf", {&x}, loc, scale).z); }
ANEW_EXP(cdf, logcdf)
Array sf(L x, L loc, L scale) { return -expm1(-exp(-Standard("gumbel_r.sf", {&x}, loc, scale).z)); }
Array logsf(L x, L loc, L scale) { return log_tail(Standard("gumbel_r.logsf", {&x}, loc, scale).z); }
Array ppf(L q, L loc, L scale) {
  Quantile s("gumbel_r.ppf", {&q}, loc, scale);
  return -log(-log(s.q)) * s.scale + s.loc;
}
}  // namespace gumbel_r

namespace gumbel_l {
Array logpdf(L x, L loc, L scale) {
  Standard s("gumbel_l.logpdf", {&x}, loc, scale);
  return s.z - exp(s.z) - log(s.scale);
}
ANEW_EXP(pdf, logpdf)
Array logsf(L x, L loc, L scale) { return -exp(Standard("gumbel_l.logsf", {&x}, loc, scale).z); }
ANEW_EXP(sf, logsf)
Array cdf(L x, L loc, L scale) { return -expm1(-exp(Standard("gumbel_l.cdf", {&x}, loc, scale).z)); }
Array logcdf(L x, L loc, L scale) { return gumbel_r::log_tail(-Standard("gumbel_l.logcdf", {&x}, loc, scale).z); }
Array ppf(L q, L loc, L scale) {
  Quantile s("gumbel_l.ppf", {&q}, loc, scale);
  return log(-log1p(-s.q)) * s.scale + s.loc;
}
}  // namespace gumbel_l

namespace t {
Array logpdf(L x, L df, L loc, L scale) {
  Standard s("t.logpdf", {&x, &df}, loc, scale);
  Array h = 0.5 * s.a;
  return -special::betaln(h, 0.5) - 0.5 * log(s.a) - log(s.scale) - (h + 0.5) * log1p(s.z * s.z / s.a);
}
ANEW_EXP1(pdf, logpdf)
}  // namespace t

namespace gamma {
Array logpdf(L x, L a, L loc, L scale) {
  Standard s("gamma.logpdf", {&x, &a}, loc, scale);
  Array inside = s.z >= 0, z = where(s.z < 0, 1, s.z);
  return where(inside | isnan(s.z), xlogy(s.a - 1, z) - z - lgamma(s.a) - log(s.scale), -endless);
}
ANEW_EXP1(pdf, logpdf)
Array cdf(L x, L a, L loc, L scale) {
  Standard s("gamma.cdf", {&x, &a}, loc, scale);
  return special::gammainc(s.a, maximum(s.z, 0));
}
Array sf(L x, L a, L loc, L scale) {
  Standard s("gamma.sf", {&x, &a}, loc, scale);
  return special::gammaincc(s.a, maximum(s.z, 0));
}
Array logcdf(L x, L a, L loc, L scale) {
  PinLine pin(x.at);
  return log(cdf(x, a, loc, scale));
}
Array logsf(L x, L a, L loc, L scale) {
  PinLine pin(x.at);
  return log(sf(x, a, loc, scale));
}
}  // namespace gamma

// Of df / 2, twice as wide.
namespace chi2 {
#define ANEW_CHI2(name)                                                                        \
  Array name(L x, L df, L loc, L scale) {                                                      \
    for (const ArrayLike* v : {&x, &df, &loc, &scale}) check_operand(v->value, line_or(x.at)); \
    PinLine pin(x.at);                                                                         \
    return gamma::name(x, as_float(df) * 0.5, loc, as_float(scale) * 2.0);                     \
  }
ANEW_CHI2(logpdf)
ANEW_CHI2(pdf)
ANEW_CHI2(cdf)
ANEW_CHI2(logcdf)
ANEW_CHI2(sf)
ANEW_CHI2(logsf)
#undef ANEW_CHI2
}  // namespace chi2

namespace beta {
Array logpdf(L x, L a, L b, L loc, L scale) {
  Standard s("beta.logpdf", {&x, &a, &b}, loc, scale);
  Array inside = (s.z >= 0) & (s.z <= 1), z = where((s.z < 0) | (s.z > 1), 0.5, s.z);
  Array y = xlogy(s.a - 1, z) + xlog1py(s.b - 1, -z) - special::betaln(s.a, s.b) - log(s.scale);
  return where(inside | isnan(s.z), y, -endless);
}
ANEW_EXP2(pdf, logpdf)
Array cdf(L x, L a, L b, L loc, L scale) {
  Standard s("beta.cdf", {&x, &a, &b}, loc, scale);
  return special::betainc(s.a, s.b, clip(s.z, 0, 1));
}
Array sf(L x, L a, L b, L loc, L scale) {
  Standard s("beta.sf", {&x, &a, &b}, loc, scale);
  return special::betainc(s.b, s.a, 1 - clip(s.z, 0, 1));
}
Array logcdf(L x, L a, L b, L loc, L scale) {
  PinLine pin(x.at);
  return log(cdf(x, a, b, loc, scale));
}
Array logsf(L x, L a, L b, L loc, L scale) {
  PinLine pin(x.at);
  return log(sf(x, a, b, loc, scale));
}
}  // namespace beta

namespace pareto {
Array logpdf(L x, L b, L loc, L scale) {
  Standard s("pareto.logpdf", {&x, &b}, loc, scale);
  Array inside = s.z >= 1;
  return where(inside | isnan(s.z), log(s.a) - (s.a + 1) * log(where(s.z < 1, 1, s.z)) - log(s.scale), -endless);
}
ANEW_EXP1(pdf, logpdf)
Array logsf(L x, L b, L loc, L scale) {
  Standard s("pareto.logsf", {&x, &b}, loc, scale);
  return -s.a * log(maximum(s.z, 1));
}
ANEW_EXP1(sf, logsf)
Array cdf(L x, L b, L loc, L scale) {
  PinLine pin(x.at);
  return -expm1(logsf(x, b, loc, scale));
}
Array logcdf(L x, L b, L loc, L scale) {
  PinLine pin(x.at);
  Array y = -logsf(x, b, loc, scale);
  return where(y == 0, -endless, nn::log1mexp(where(y == 0, 1, y)));
}
Array ppf(L q, L b, L loc, L scale) {
  Quantile s("pareto.ppf", {&q, &b}, loc, scale);
  return valid(s.q, exp(-log1p(-s.q) / s.a)) * s.scale + s.loc;
}
}  // namespace pareto

// log(Phi(b) - Phi(a)): both in the lower tail, where they have digits.
static Array log_normal_part(const Array& a, const Array& b) {
  Array swap = a > 0, lo = where(swap, -b, a), hi = where(swap, -a, b);
  Array top = special::log_ndtr(hi), low = special::log_ndtr(lo), gap = low - top;
  return top + log1p(-exp(where(top == -endless, -1, gap)));
}
namespace truncnorm {
Array logpdf(L x, L a, L b, L loc, L scale) {
  Standard s("truncnorm.logpdf", {&x, &a, &b}, loc, scale);
  Array inside = (s.z >= s.a) & (s.z <= s.b);
  Array y = -0.5 * s.z * s.z - half_log_two_pi - log_normal_part(s.a, s.b) - log(s.scale);
  return where(inside | isnan(s.z), y, -endless);
}
ANEW_EXP2(pdf, logpdf)
static Array part(std::string_view op, L x, L a, L b, L loc, L scale, bool upper) {
  Standard s(op, {&x, &a, &b}, loc, scale);
  Array none = upper ? s.z >= s.b : s.z <= s.a, whole = upper ? s.z <= s.a : s.z >= s.b;
  Array mid = where(none | whole, 0.5 * (clip(s.a, -1e3, 1e3) + clip(s.b, -1e3, 1e3)), s.z);
  Array all = log_normal_part(s.a, s.b), below = log_normal_part(s.a, mid) - all,
        above = log_normal_part(mid, s.b) - all;
  Array y = upper ? above : below, rest = upper ? below : above;
  y = where(y < -std::numbers::ln2, y, log1p(-exp(minimum(rest, 0))));  // near 1 by what is left
  return where(none, -endless, where(whole, 0, y));
}
Array logcdf(L x, L a, L b, L loc, L scale) { return part("truncnorm.logcdf", x, a, b, loc, scale, false); }
ANEW_EXP2(cdf, logcdf)
Array logsf(L x, L a, L b, L loc, L scale) { return part("truncnorm.logsf", x, a, b, loc, scale, true); }
ANEW_EXP2(sf, logsf)
}  // namespace truncnorm

namespace gennorm {
Array logpdf(L x, L p) {
  auto [z, a] = both("gennorm.logpdf", x, p, true);
  PinLine pin(x.at);
  return log(0.5 * a) - lgamma(1 / a) - power(abs(z), a);
}
Array pdf(L x, L p) {
  PinLine pin(x.at);
  return exp(logpdf(x, p));
}
Array cdf(L x, L p) {
  auto [z, a] = both("gennorm.cdf", x, p, true);
  PinLine pin(x.at);
  return 0.5 * (1 + sign(z) * special::gammainc(1 / a, power(abs(z), a)));
}
}  // namespace gennorm
namespace wrapcauchy {
Array logpdf(L x, L c) {
  auto [z, a] = both("wrapcauchy.logpdf", x, c, true);
  PinLine pin(x.at);
  Array inside = (a > 0) & (a < 1) & (z >= 0) & (z <= 2 * std::numbers::pi);
  Array s = where(inside, a, 0.5), at = where(inside, z, 0);
  Array y = log1p(-s * s) - std::log(2 * std::numbers::pi) - log(1 + s * s - 2 * s * cos(at));
  Array good = (a > 0) & (a < 1);
  return where(inside, y, where(good & ~isnan(z), -endless, std::numeric_limits<double>::quiet_NaN()));
}
Array pdf(L x, L c) {
  PinLine pin(x.at);
  return exp(logpdf(x, c));
}
}  // namespace wrapcauchy
namespace vonmises {
Array logpdf(L x, L kappa) {
  auto [z, k] = both("vonmises.logpdf", x, kappa, true);
  PinLine pin(x.at);
  Array safe = where(k > 0, k, 1);
  Array y = safe * (cos(z) - 1) - (std::log(2 * std::numbers::pi) + log(special::i0e(safe)));
  return where(k > 0, y, std::numeric_limits<double>::quiet_NaN());
}
Array pdf(L x, L kappa) {
  PinLine pin(x.at);
  return exp(logpdf(x, kappa));
}
}  // namespace vonmises

namespace multivariate_normal {
Array logpdf(L x, L mean, L cov) {
  for (const ArrayLike* v : {&x, &mean, &cov}) check_operand(v->value, line_or(x.at));
  std::array<Array, 3> all{x.value, mean.value, cov.value};
  const DType d = floating(common_dtype(all));
  Array z = coerce(x.value, d, x.at), m = coerce(mean.value, d, x.at), c = coerce(cov.value, d, x.at);
  PinLine pin(x.at);
  if (type_of(m).shape.ndim() == 0) {  // of numbers, all alike
    Array n = z - m;
    if (type_of(c).shape.ndim() != 0)
      fail("multivariate_normal.logpdf", x.at, fmt::format("the covariance is {}", type_of(c).str()));
    return -0.5 * n * n / c - 0.5 * (std::log(2 * std::numbers::pi) + log(c));
  }
  const std::int64_t n = type_of(m).shape[-1];
  if (type_of(c).shape.ndim() < 2 || type_of(c).shape[-1] != n || type_of(c).shape[-2] != n)
    fail("multivariate_normal.logpdf", x.at, fmt::format("the covariance of {} numbers is {}", n, type_of(c).str()));
  Array factor = linalg::cholesky(c), away = z - m;
  Shape lead = type_of(away).shape;
  if (lead[-1] != n)
    fail("multivariate_normal.logpdf", x.at, fmt::format("points {} of {} numbers", type_of(z).str(), n));
  Array scaled;
  if (type_of(c).shape.ndim() == 2) {
    lead.erase(lead.ndim() - 1);
    Array rows = reshape(away, {lead.size(), n});
    scaled = linalg::triangular_solve(factor, transpose(rows), {.left_side = true, .lower = true});
    scaled = reshape(sum(scaled * scaled, 0), lead);
  } else {
    scaled = linalg::triangular_solve(factor, expand_dims(away, -1), {.left_side = true, .lower = true});
    scaled = sum(scaled * scaled, {-2, -1});
  }
  Array logs = log(moveaxis(diagonal(moveaxis(factor, {-2, -1}, {0, 1})), -1, 0));
  return -0.5 * scaled - 0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi) - sum(logs, 0);
}
Array pdf(L x, L mean, L cov) {
  PinLine pin(x.at);
  return exp(logpdf(x, mean, cov));
}
}  // namespace multivariate_normal

namespace dirichlet {
Array logpdf(L x, L alpha) {
  for (const ArrayLike* v : {&x, &alpha}) check_operand(v->value, line_or(x.at));
  std::array<Array, 2> all{x.value, alpha.value};
  const DType d = floating(common_dtype(all));
  Array z = coerce(x.value, d, x.at), a = coerce(alpha.value, d, x.at);
  const Type type = type_of(a);
  if (type.shape.ndim() != 1) fail("dirichlet.logpdf", x.at, fmt::format("alpha is a vector, got {}", type.str()));
  const std::int64_t n = type.shape[0];
  if (type_of(z).shape.ndim() == 0 || (type_of(z).shape[0] != n && type_of(z).shape[0] + 1 != n))
    fail("dirichlet.logpdf", x.at, fmt::format("{} for {} parameters", type_of(z).str(), n));
  PinLine pin(x.at);
  if (type_of(z).shape[0] + 1 == n) z = concatenate({z, expand_dims(1 - sum(z, 0), 0)});  // the last is what is left
  Shape column{n};
  for (int i = 1; i < type_of(z).shape.ndim(); ++i) column.push_back(1);
  Array y = sum(xlogy(reshape(a, column) - 1, z), 0) + lgamma(sum(a)) - sum(lgamma(a));
  Array inside = (abs(sum(z, 0) - 1) < 1e-6) & all_positive(z);
  return where(inside, y, -endless);
}
Array pdf(L x, L alpha) {
  PinLine pin(x.at);
  return exp(logpdf(x, alpha));
}
}  // namespace dirichlet

}  // namespace anew::stats
