// The functions of anew::special that are made of rows; each pins its caller's line.
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/special.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/promote.h"

namespace anew::special {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Array gammaln(const ArrayLike& x) { return anew::lgamma(x); }
Array digamma(const ArrayLike& x) { return anew::digamma(x); }

Array gammasgn(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x), whole = floor(a), negative = signbit(a);
  Array sign = where(negative & (lax::rem(whole, 2) != 0), -1, ones_like(a));
  sign = where((a == 0) & negative, -1, sign);
  return where(isnan(a) | (negative & (a == whole) & (a != 0)), nan, sign);
}
// exp turns an absolute error of lgamma into a relative one, so both are taken in f64.
Array gamma(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return gammasgn(a) * astype(exp(lgamma(astype(a, f64))), type_of(a).dtype);
}
Array factorial(const ArrayLike& n) {
  PinLine pin(n.at);
  Array a = as_float(n), negative = a < 0;
  Array size = exp(lgamma(astype(where(negative, 1, a + 1), f64)));
  return where(negative, 0, astype(size, type_of(a).dtype));
}
// What Stirling's formula leaves of lgamma(x): 1/(12 x) - 1/(360 x^3) + ..., x >= 8.
static Array stirling_rest(const Array& x) {
  constexpr double c[] = {1.0 / 12,        -1.0 / 360, 1.0 / 1260,       -1.0 / 1680,     1.0 / 1188,
                          -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400, 43867.0 / 244188};
  Array u = 1 / x, square = u * u, y = c[8] * square;
  for (int k = 7; k > 0; --k) y = (y + c[k]) * square;
  return (y + c[0]) * u;
}
// lgamma(x) - lgamma(x + s) for x >= 8, by Stirling's formula: the large terms cancel before they are computed.
static Array lgamma_difference(const Array& x, const Array& s) {
  return stirling_rest(x) - stirling_rest(x + s) - (s * log(x) + ((x + s - 0.5) * log1p(s / x) - s));
}
// The smaller operand apart, so that the two large terms cancel first.
Array betaln(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("betaln", a, b, true);
  PinLine pin(a.at);
  Array first = x >= y, large = where(first, x, y), small = where(first, y, x);
  Array far = (large >= 8) & (small > 0), near = where(far, 1, large), beside = where(far, 1, small);
  Array difference =
      where(far, lgamma_difference(where(far, large, 8), where(far, small, 1)), lgamma(near) - lgamma(near + beside));
  return lgamma(small) + difference;
}
Array beta(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("beta", a, b, true);
  PinLine pin(a.at);
  return gammasgn(x) * gammasgn(y) * gammasgn(x + y) * exp(betaln(x, y));
}

Array erf(const ArrayLike& x) { return anew::erf(x); }
Array erfc(const ArrayLike& x) { return anew::erfc(x); }
Array erfinv(const ArrayLike& x) { return anew::erf_inv(x); }
Array ndtr(const ArrayLike& x) {
  PinLine pin(x.at);
  return 0.5 * anew::erfc(as_float(x) * -(1 / std::numbers::sqrt2));
}

// The scaled function by its scale: where that overflows, so does the product, but not where it is 0. The slope of |x|
// at 0 must be the one of the row's rule, 0, and not that of abs, 1: else the two corners do not cancel.
static Array unscaled(const Array& x, const Array& scaled) { return exp(x * sign(x)) * scaled; }
Array i0(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return where(abs(a) == infinity, infinity, unscaled(a, i0e(a)));
}
Array i1(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return where(abs(a) == infinity, a, unscaled(a, i1e(a)));
}
Array bessel_i0e(const ArrayLike& x) { return i0e(x); }

Array expit(const ArrayLike& x) { return nn::sigmoid(x); }
Array logit(const ArrayLike& p) {
  PinLine pin(p.at);
  Array a = as_float(p);
  return log(a) - log1p(-a);
}
Array xlogy(const ArrayLike& x, const ArrayLike& y) { return anew::xlogy(x, y); }
Array xlog1py(const ArrayLike& x, const ArrayLike& y) { return anew::xlog1py(x, y); }
Array logsumexp(const ArrayLike& x, const Axes& axis, bool keepdims) { return anew::logsumexp(x, axis, keepdims); }

// Masked operands are replaced before log and division, so that no nan reaches a derivative.
Array rel_entr(const ArrayLike& x, const ArrayLike& y) {
  auto [p, q] = both("rel_entr", x, y, true);
  PinLine pin(x.at);
  Array inside = (p > 0) & (q > 0), safe_p = where(inside, p, 1), safe_q = where(inside, q, 1);
  Array edge = where(isnan(p) | isnan(q), nan, where((p == 0) & (q >= 0), 0, infinity));
  return where(inside, safe_p * log(safe_p / safe_q), astype(edge, type_of(safe_p).dtype));
}
Array kl_div(const ArrayLike& x, const ArrayLike& y) {
  auto [p, q] = both("kl_div", x, y, true);
  PinLine pin(x.at);
  return rel_entr(p, q) - p + q;
}

}  // namespace anew::special
