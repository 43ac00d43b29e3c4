// sin, cos, tan and the inverse functions, as in math.h. The argument is reduced as if exactly over the whole f32
// range. Below 2^24 quarter turns are taken away with pi/2 in two parts of f64. Beyond, a float is 24 bits times a
// power of two, so of 2/pi only about 106 bits matter once those that give multiples of four quarter turns are dropped;
// they come in three parts for each range of 24 exponents.
#pragma once
#include "loops/math.h"

namespace anew::loops::math {

// |x| = quarters pi/2 + r with |r| <= pi/4 or hardly more; `quarters` modulo 4 in the low bits of an integer.
template <class D, class I>
struct Quarter {
  D r;
  I quarters;
};

// a >= 2^24
template <class V>
auto reduce_far(V a) {
  const auto d = to_f64(a);
  using D = std::remove_const_t<decltype(d)>;
  D high = like(d, 0x1.45f306c000000p-1), mid = like(d, 0x1.c9c8820000000p-29), low = like(d, 0x1.4a7f09d5f47d5p-54);
  auto from = [&](double limit, double h, double m, double l) {
    const auto beyond = a >= like(a, limit);
    high = select(beyond, like(d, h), high);
    mid = select(beyond, like(d, m), mid);
    low = select(beyond, like(d, l), low);
  };
  from(0x1p48, 0x1.6e4e441000000p-24, 0x1.4a7f080000000p-54, 0x1.d5f47d4d37703p-78);
  from(0x1p72, 0x1.529fc20000000p-52, 0x1.d5f47c0000000p-78, 0x1.4d377036d8a56p-102);
  from(0x1p96, 0x1.3abe8f8000000p-75, 0x1.4d37700000000p-102, 0x1.b6c52b3278872p-129);
  from(0x1p120, 0x1.f534ddc000000p-96, 0x1.b6c5200000000p-129, 0x1.664f10e4107f9p-150);
  // The first two products and their fractions are exact: 24 bits by 29 and by 24.
  const D p = d * high, q = d * mid, r = d * low;
  const D whole_p = round_even(p), whole_q = round_even(q);
  const D fraction = (p - whole_p) + (q - whole_q);
  const D whole = round_even(fraction + r);
  const D f = (fraction - whole) + r;
  const D count = (whole_p + whole_q) + whole + like(d, 0x1.8p52);
  const auto quarters = to_i32(bits(count));
  return Quarter<D, std::remove_const_t<decltype(quarters)>>{f * like(d, std::numbers::pi / 2), quarters};
}

template <class V>
auto reduce_quarter(V a) {
  const auto d = to_f64(a);
  using D = std::remove_const_t<decltype(d)>;
  const D magic = like(d, 0x1.8p52), shifted = fma(d, like(d, 2 / std::numbers::pi), magic), n = shifted - magic;
  const D r = fma(n, like(d, -0x1.1a62633145c07p-54), fma(n, like(d, -std::numbers::pi / 2), d));
  const auto quarters = to_i32(bits(shifted));
  Quarter<D, std::remove_const_t<decltype(quarters)>> out{r, quarters};
  const auto large = a >= like(a, 0x1p24);
  if (any(large)) {
    const auto far = reduce_far(a);
    out = {rarely(large, far.r, r), rarely(large, far.quarters, quarters)};
  }
  return out;
}

template <class V>
V sin_core(V r) {
  const V z = r * r;
  return fma(poly(z, 2.71823731e-6, -0.000198393271, 0.00833332936, -0.166666666) * z, r, r);
}
template <class V>
V cos_core(V r) {
  const V z = r * r;
  const V c = poly(z, -2.72095479e-7, 2.47995118e-5, -0.00138888837, 0.0416666666);
  return fma(c, z * z, fma(z, like(z, -0.5), like(z, 1)));
}

template <class V>
V sin(V x) {
  const auto reduced = reduce_quarter(abs(x));
  const V r = to_f32(reduced.r);
  const auto q = reduced.quarters;
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const V y = select(odd, cos_core(r), sin_core(r));
  return real(bits(y) ^ shl(q & like(q, 2), 30) ^ (bits(x) & like(q, -2147483648.0)));
}

template <class V>
V cos(V x) {
  const auto reduced = reduce_quarter(abs(x));
  const V r = to_f32(reduced.r);
  const auto q = add_bits(reduced.quarters, like(reduced.quarters, 1));
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const V y = select(odd, cos_core(r), sin_core(r));
  return real(bits(y) ^ shl(q & like(q, 2), 30));
}

template <class V>
V tan(V x) {
  const auto reduced = reduce_quarter(abs(x));
  const auto r = reduced.r;
  const auto z = r * r;
  const auto s = fma(poly(z, -2.4761117885892334e-8, 2.7555350534674465e-6, -0.00019841263789785853,
                          0.0083333333252126747, -0.16666666666631273) *
                         z,
                     r, r);
  const auto c = fma(poly(z, 2.0647281408450947e-9, -2.755556012754846e-7, 2.4801580933649182e-5,
                          -0.0013888888878189201, 0.041666666666601611),
                     z * z, fma(z, like(z, -0.5), like(z, 1)));
  const auto q = reduced.quarters;
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const V y = to_f32(select(odd, -c, s) / select(odd, s, c));
  return real(bits(y) ^ (bits(x) & like(q, -2147483648.0)));
}

// The angle of (x, y) for x, y >= 0, not both zero, not both infinite; in f64.
template <class D>
D first_quadrant(D y, D x) {
  const auto steep = y > x;
  const D lo = select(steep, x, y), hi = select(steep, y, x);
  const auto wide = lo > hi * like(hi, 0.41421356237309503);  // beyond pi/8: turn back by pi/4
  const D t = select(wide, lo - hi, lo) / select(wide, lo + hi, hi);
  const D z = t * t;
  const D p = poly(z, -0.037958644456886322, 0.069932522671831375, -0.089973116977529097, 0.11104057626774476,
                   -0.14285426719859328, 0.19999994408424174, -0.33333333296450516);
  const D near = fma(p * z, t, t);
  const D angle = select(wide, near + like(t, std::numbers::pi / 4), near);
  return select(steep, like(t, std::numbers::pi / 2) - angle, angle);
}

template <class V>
V atan(V x) {
  const auto a = to_f64(abs(x));
  return with_sign(to_f32(first_quadrant(a, like(a, 1))), x);
}

template <class V>
V asin(V x) {
  const auto a = to_f64(abs(x));
  const auto other = sqrt((like(a, 1) - a) * (like(a, 1) + a));
  return with_sign(to_f32(first_quadrant(a, other)), x);
}

template <class V>
V acos(V x) {
  const auto a = to_f64(abs(x));
  const auto angle = first_quadrant(sqrt((like(a, 1) - a) * (like(a, 1) + a)), a);
  return to_f32(select(x < like(x, 0), like(a, std::numbers::pi) - angle, angle));
}

template <class V>
V atan2(V y, V x) {
  const V one = like(x, 1), zero = like(x, 0);
  const auto both_infinite = both(abs(x) == like(x, infinity), abs(y) == like(x, infinity));
  const auto both_zero = both(x == zero, y == zero);
  const auto a = to_f64(select(either(both_infinite, both_zero), one, abs(x)));
  const auto b = to_f64(select(both_infinite, one, abs(y)));
  const auto angle = first_quadrant(b, a);
  const auto left = bits(x) < like(bits(x), 0);
  return with_sign(to_f32(select(left, like(a, std::numbers::pi) - angle, angle)), y);
}

}  // namespace anew::loops::math
