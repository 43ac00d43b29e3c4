// Special functions made of others: names of SciPy's that need a formula, but no row.
#include <anew/lax.h>
#include <anew/nn.h>
#include <anew/numpy.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/promote.h"

namespace anew::special {
namespace {

constexpr double boundless_value = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// Sum of y^k / k^2 for |y| <= 0.5.
Array dilogarithm(const Array& y) {
  Array sum = zeros_like(y);
  for (int k = 56; k >= 1; --k) sum = sum * y + 1.0 / (k * k);
  return sum * y;
}

// expm1(lambda log) / lambda, whose limit at lambda = 0 is log. Beside 0 the derivatives of the quotient cancel, so
// they are those of a sum of powers, of which nothing is left in the value.
Array boxcox_of(const Array& log, const Array& lambda) {
  Array none = lambda == 0, z = lambda * log, y = where(none, log, expm1(z) / where(none, 1, lambda));
  Array near = abs(z) < 0.5, small = where(near, z, 0), sum = ones_like(small);
  for (int k = 17; k >= 2; --k) sum = sum * small * (1.0 / k) + 1;
  sum = where(near, log, 0) * sum;
  return where(near, stop_gradient(y) - (stop_gradient(sum) - sum), y);
}

}  // namespace

Array loggamma(const ArrayLike& x) { return anew::lgamma(x); }
Array bessel_i1e(const ArrayLike& x) { return i1e(x); }

Array multigammaln(const ArrayLike& a, int d) {
  constexpr int most = 1000;
  if (d < 1 || d > most) fail("multigammaln", a.at, fmt::format("the dimension is 1 to {}, got {}", most, d));
  Array x = as_float(a);
  PinLine pin(a.at);
  Array y = lgamma(x) + d * (d - 1) / 4.0 * std::log(std::numbers::pi);
  for (int j = 1; j < d; ++j) y = y + lgamma(x - j / 2.0);
  return y;
}
Array poch(const ArrayLike& a, const ArrayLike& m) {
  auto [x, n] = both("poch", a, m, true);
  PinLine pin(a.at);
  const DType d = type_of(strong(x, a.at)).dtype;
  Array wide = astype(x, f64), end = wide + astype(n, f64), size = lgamma(wide);
  Array y = gammasgn(end) * gammasgn(wide) * exp(lgamma(end) - size);
  return astype(where((n == 0) & ~isfinite(size), 1, y), d);  // 1 at poles too
}
Array comb(const ArrayLike& n, const ArrayLike& k) {
  auto [x, m] = both("comb", n, k, true);
  PinLine pin(n.at);
  const DType d = type_of(strong(x, n.at)).dtype;
  Array inside = (m >= 0) & (m <= x), total = where(inside, astype(x, f64), 1), part = where(inside, astype(m, f64), 0);
  Array y = exp(-betaln(1 + total - part, 1 + part)) / (total + 1);
  Array whole = (total == floor(total)) & (part == floor(part)) & (y < 1e15);
  y = y + stop_gradient(where(whole, round(y) - y, 0));  // of whole numbers a whole number
  return astype(where(inside, y, 0), d);
}
Array boxcox(const ArrayLike& x, const ArrayLike& lambda) {
  auto [a, l] = both("boxcox", x, lambda, true);
  PinLine pin(x.at);
  return boxcox_of(log(a), l);
}
Array boxcox1p(const ArrayLike& x, const ArrayLike& lambda) {
  auto [a, l] = both("boxcox1p", x, lambda, true);
  PinLine pin(x.at);
  return boxcox_of(log1p(a), l);
}

// The first terms of the sum of (q + k)^-x, the rest by Euler and Maclaurin.
Array zeta(const ArrayLike& x, const ArrayLike& q) {
  auto [s, a] = both("zeta", x, q, true);
  PinLine pin(x.at);
  const DType d = type_of(strong(s, x.at)).dtype;
  Array good = (s > 1) & (a > 0) & (s < boundless_value), p = where(good, astype(s, f64), 2),
        u = where(good, astype(a, f64), 1);
  constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                  5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  constexpr int terms = 14;
  Array sum = zeros_like(p * u), end = u + static_cast<double>(terms);
  for (int k = terms; k-- > 0;) sum = sum + power(u + static_cast<double>(k), -p);
  Array last = power(end, -p), inverse = 1 / end;
  sum = sum + last * end / (p - 1) + 0.5 * last;
  Array factor = p * inverse;  // p (p + 1) ... (p + 2j - 2) / (2j)! end^(1 - 2j)
  for (int j = 1; j <= 8; ++j) {
    factor = factor / static_cast<double>(j == 1 ? 2 : (2 * j) * (2 * j - 1));
    sum = sum + bernoulli[j - 1] * factor * last;
    factor = factor * (p + (2.0 * j - 1)) * (p + 2.0 * j) * (inverse * inverse);
  }
  // A pole at 1 and at every q that is 0, -1, -2, ...; elsewhere below them no real number.
  Array pole = (s == 1) | ((s > 1) & (a <= 0) & (a == floor(a)));
  Array other =
      where(pole, boundless_value,
            where((s == boundless_value) & (a > 1), 0, where((s == boundless_value) & (a == 1), 1, undefined)));
  return astype(where(good, sum, other), d);
}

// Brought between 1/2 and 3/2 by 1/x and by 1 - x.
Array spence(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  const DType d = type_of(a).dtype;
  Array good = (a > 0) & (a < boundless_value), z = where(good, astype(a, f64), 1);
  Array large = z > 1.5, w = where(large, 1 / z, z), small = w < 0.5, v = where(small, 1 - w, w);
  Array y = dilogarithm(1 - v);
  Array edge = where(small, 1 - w, 0.5);
  y = where(small, std::numbers::pi * std::numbers::pi / 6 - log(where(small, w, 0.5)) * log(edge) - y, y);
  Array l = log(where(large, z, 1));
  y = where(large, -0.5 * l * l - y, y);
  Array ends =
      where(a == 0, std::numbers::pi * std::numbers::pi / 6, where(a == boundless_value, -boundless_value, undefined));
  return astype(where(good, y, ends), d);
}

}  // namespace anew::special

namespace anew::lax {
Array zeta(const ArrayLike& x, const ArrayLike& q) { return special::zeta(x, q); }
Array bessel_i0e(const ArrayLike& x) { return special::i0e(x); }
Array bessel_i1e(const ArrayLike& x) { return special::i1e(x); }
}  // namespace anew::lax
