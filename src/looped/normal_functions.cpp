// Scaled error functions, the logarithm and the inverse of the normal distribution function.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <anew/special.h>

#include <limits>
#include <numbers>

#include "looped/by_forward.h"
#include "ops/promote.h"

namespace anew::special {
namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();

// Continued fraction of exp(x^2) erfc(x) for x >= 2: from the back, with as many terms as x = 2 needs.
Array erfcx_fraction(const Array& x) {
  Arrays y = flat::fori_loop(
      zeros({}, i32), literal_integer(i32, 120),
      [&](std::span<const Array> s) { return Arrays{astype(120 - s[0], f64) * 0.5 / (x + s[1])}; }, {zeros_like(x)});
  return std::numbers::inv_sqrtpi / (x + y[0]);
}
Array erfcx_value(const Array& x) {
  Array far = x >= 2, near = where(far, 0, x);
  return where(far, erfcx_fraction(where(far, x, 2)), exp(near * near) * anew::erfc(near));
}

// x with ndtr(x) = p: Newton's steps for the logarithm, which has no bend; for the upper half by symmetry.
Array ndtri_value(const Array& p) {
  Array upper = p > 0.5, q = where(upper, 1 - p, p), l = log(q);
  Array t = sqrt(-2 * l);
  Array x = -where(t < 2.5, maximum(t - 1.18, 0) * 1.0, t - log(maximum(2.506628274631 * t, 1)) / maximum(t, 1));
  for (int k = 0; k < 6; ++k) {
    Array y = log_ndtr(x);
    x = minimum(x - (y - l) * exp(y + 0.5 * x * x) * 2.5066282746310002, 0);
  }
  return where(upper, -x, x);
}
Array ndtri_of(const Array& p, const Location& at) {
  flat::JvpRule rule = [at](std::span<const Array> x, std::span<const Array> t) {
    Array y = ndtri_of(x[0], at);
    return std::pair(Arrays{y}, Arrays{t[0] * (exp(0.5 * y * y) * 2.5066282746310002)});
  };
  return flat::custom_jvp([](std::span<const Array> x) { return Arrays{ndtri_value(x[0])}; }, rule, Arrays{p}, {},
                          at)[0];
}

}  // namespace

Array erfcx(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  Array wide = astype(a, f64);
  Array y = elementwise_by_forward([](std::span<const Array> s) { return Arrays{erfcx_value(s[0])}; }, {wide}, x.at);
  return astype(y, type_of(a).dtype);
}

Array log_ndtr(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  Array wide = astype(a, f64), low = wide < -1, high = wide > 1, finite = wide > -1e150;
  Array below = where(low & finite, wide, -1), above = where(high, wide, 1), mid = where(low | high, 0, wide);
  Array y = where(low, log(0.5 * erfcx(below * -(1 / std::numbers::sqrt2))) - 0.5 * below * below,
                  where(high, log1p(-ndtr(-above)), log(ndtr(mid))));
  y = where(low & ~finite, -no_bound, y);
  return astype(where(isnan(wide), wide, y), type_of(a).dtype);
}

Array ndtri(const ArrayLike& p) {
  Array a = float_array(p);
  PinLine pin(p.at);
  Array wide = astype(a, f64), inside = (wide > 0) & (wide < 1);
  Array y = ndtri_of(where(inside, wide, 0.5), p.at);
  Array ends = where(wide == 0, -no_bound, where(wide == 1, no_bound, std::numeric_limits<double>::quiet_NaN()));
  return astype(where(inside, y, ends), type_of(a).dtype);
}

// x M(1, 3/2, -x^2); far out 1/(2x) (1 + 1/(2x^2) + 3/(2x^2)^2 + ...).
Array dawsn(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  Array wide = astype(a, f64), far = abs(wide) > 7, near = where(far, 0, wide);
  Array u = 1 / where(far, wide, 7), v = 0.5 * u * u, tail = ones_like(wide);
  for (int k = 22; k >= 1; --k) tail = tail * v * (2.0 * k - 1) + 1;
  return astype(where(far, 0.5 * u * tail, near * hyp1f1(1.0, 1.5, -near * near)), type_of(a).dtype);
}

}  // namespace anew::special
