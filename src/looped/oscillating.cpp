// Special functions that oscillate: sine and cosine integrals, Fresnel integrals, Bessel functions of whole orders. All
// are computed in f64.
#include <anew/flat.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "ops/promote.h"

namespace anew::special {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double turn = 4;  // below it by series, from there on by a continued fraction

// A complex number.
struct Pair {
  Array re, im;
};
Pair times(const Pair& a, const Pair& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// 1 / (w + 1 - a - 1 (1 - a) / (w + 3 - a - 2 (2 - a) / (w + 5 - a - ...))), w = i t with t >= turn: the incomplete
// gamma function of a above w, without its factor exp(-w) w^a. From the back, with as many terms as t = turn needs.
Pair fraction(double a, const Array& t) {
  constexpr int terms = 48;
  Pair f{zeros_like(t) + (2 * terms + 1 - a), t};
  auto inverse = [](const Pair& z) {
    Array square = z.re * z.re + z.im * z.im;
    return Pair{z.re / square, -z.im / square};
  };
  for (int k = terms; k >= 1; --k) {
    const Pair g = inverse(f);
    f = {2 * k - 1 - a - k * (k - a) * g.re, t - k * (k - a) * g.im};
  }
  return inverse(f);
}

// The sum of c_k u^k, with c_k / c_(k - 1) = ratio(k), c_0 = first.
template <class Ratio>
Array series(const Array& u, double first, Ratio ratio) {
  constexpr int terms = 24;
  double c[terms];
  c[0] = first;
  for (int k = 1; k < terms; ++k) c[k] = c[k - 1] * ratio(k);
  Array sum = zeros_like(u);
  for (int k = terms; k-- > 0;) sum = sum * u + c[k];
  return sum;
}

// Of x >= 0: si and ci, the latter without log(x) below `turn`.
Arrays sine_and_cosine(const Array& x) {
  Array far = x >= turn, near = where(far, 0, x), u = -near * near;
  auto whole = [](int k) { return static_cast<double>(k); };
  Array s = near * series(u, 1, [&](int k) {
              return (2 * whole(k) - 1) / ((2 * whole(k)) * (2 * whole(k) + 1) * (2 * whole(k) + 1));
            });
  Array c = u * series(u, 0.25, [&](int k) {
              return 2 * whole(k) / ((2 * whole(k) + 1) * (2 * whole(k) + 2) * (2 * whole(k) + 2));
            });
  Array t = where(far & (x < unbounded), x, turn);
  const Pair e = times({cos(t), -sin(t)}, fraction(0, t));  // -ci + i (si - pi / 2)
  Array si = where(x == unbounded, std::numbers::pi / 2, std::numbers::pi / 2 + e.im);
  Array ci = where(x == unbounded, 0, -e.re);
  return {where(far, si, s), where(far, ci, c + std::numbers::egamma + log(where(far, 1, near)))};
}

// Of x >= 0: s and c, where s' = sin(pi x^2 / 2).
Arrays fresnel_values(const Array& x) {
  Array t = x * x * (std::numbers::pi / 2), far = t >= turn, near = where(far, 0, t), u = -near * near;
  Array small = where(far, 0, x);
  auto whole = [](int k) { return static_cast<double>(k); };
  Array s = small * near * series(u, 1.0 / 3, [&](int k) {
              return (4 * whole(k) - 1) / ((2 * whole(k)) * (2 * whole(k) + 1) * (4 * whole(k) + 3));
            });
  Array c = small * series(u, 1, [&](int k) {
              return (4 * whole(k) - 3) / ((2 * whole(k) - 1) * (2 * whole(k)) * (4 * whole(k) + 1));
            });
  // erfc(sqrt(i t)) = exp(-i t) sqrt(i t / pi) times the fraction, and c - i s = (1 - i) / 2 (1 - erfc)
  Array bounded = far & (x < 1e8), v = where(bounded, x, 2), w = v * v * (std::numbers::pi / 2);
  // sin and cos of pi v^2 / 2 without the rounding of the product: v^2 modulo 4.
  Array half = floor(v), part = v - half;  // v^2 = half^2 + (2 half + part) part
  Array rest = lax::rem(lax::rem(half * half, 4) + (2 * half + part) * part, 4) * (std::numbers::pi / 2);
  const Pair f = fraction(0.5, w);
  const Pair turned = times({cos(rest), -sin(rest)}, f);
  Array size =
      v * std::numbers::sqrt2 / 2 * (1 / std::numbers::sqrt2);  // |sqrt(i t / pi)| / sqrt(2), i t / pi = i v^2 / 2
  const Pair e = times({size, size}, turned);
  const Pair y = times({zeros_like(v) + 0.5, zeros_like(v) - 0.5}, {1 - e.re, -e.im});
  return {where(far, where(bounded, -y.im, 0.5), s), where(far, where(bounded, y.re, 0.5), c)};
}

// f(x) with a rule of its own: its results have these slopes.
template <class F, class Slopes>
Arrays with_slopes(F f, Slopes slopes, const Array& x, const Location& at) {
  flat::JvpRule rule = [=](std::span<const Array> in, std::span<const Array> t) {
    Arrays y = with_slopes(f, slopes, in[0], at), dy = slopes(in[0]);
    for (Array& d : dy) d = d * t[0];
    return std::pair(y, dy);
  };
  return flat::custom_jvp([=](std::span<const Array> in) { return f(in[0]); }, rule, Arrays{x}, {}, at);
}

}  // namespace

std::pair<Array, Array> sici(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  auto values = [](const Array& z) {
    Arrays y = sine_and_cosine(abs(z));
    const double undefined = std::numeric_limits<double>::quiet_NaN();
    Array ci = where(z == 0, -unbounded, where(z < 0, undefined, y[1]));
    return Arrays{where(isnan(z), z, where(z < 0, -y[0], y[0])), where(isnan(z), z, ci)};
  };
  auto slopes = [](const Array& z) { return Arrays{sinc(z / std::numbers::pi), cos(z) / z}; };
  Arrays y = with_slopes(values, slopes, astype(a, f64), x.at);
  return {astype(y[0], type_of(a).dtype), astype(y[1], type_of(a).dtype)};
}

std::pair<Array, Array> fresnel(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  auto values = [](const Array& z) {
    Arrays y = fresnel_values(abs(z));
    for (Array& v : y) v = where(isnan(z), z, where(z < 0, -v, v));
    return y;
  };
  auto slopes = [](const Array& z) {
    Array t = z * z * (std::numbers::pi / 2);
    return Arrays{sin(t), cos(t)};
  };
  Arrays y = with_slopes(values, slopes, astype(a, f64), x.at);
  return {astype(y[0], type_of(a).dtype), astype(y[1], type_of(a).dtype)};
}

// By ratios r_k = J_k / J_(k-1) = x / (2 k - x r_(k+1)), from the back; J_0 + 2 J_2 + 2 J_4 + ... = 1 gives J_0.
Array bessel_jn(const ArrayLike& x, int v, int n_iter) {
  constexpr int most = 1000;
  if (v < 0) fail("bessel_jn", x.at, fmt::format("the order is at least 0, got {}", v));
  if (n_iter <= v || n_iter > most)
    fail("bessel_jn", x.at, fmt::format("n_iter is more than the order {} and at most {}, got {}", v, most, n_iter));
  Array a = float_array(x);
  PinLine pin(x.at);
  Array z = astype(a, f64), r = zeros_like(z), h = zeros_like(z);
  Arrays ratios(static_cast<std::size_t>(v) + 1);
  for (int k = n_iter; k >= 1; --k) {
    r = z / (2.0 * k - z * r);
    h = (h + (k % 2 == 0 ? 2.0 : 0.0)) * r;
    if (k <= v) ratios[static_cast<std::size_t>(k)] = r;
  }
  // Too few ratios for a larger x: nothing rather than a wrong number.
  Array known = abs(z) <= std::max(n_iter - 20, 1);
  Arrays out{where(known, 1 / (1 + h), std::numeric_limits<double>::quiet_NaN())};
  for (int k = 1; k <= v; ++k) out.push_back(out.back() * ratios[static_cast<std::size_t>(k)]);
  return astype(stack(out), type_of(a).dtype);
}

}  // namespace anew::special
