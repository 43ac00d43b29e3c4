// f64 sin, cos, tan and their inverses. Below 2^30 quarter turns are taken away with pi/2 in three parts; beyond, the
// argument is multiplied by the part of 2/pi that matters: of its bits, in chunks of 48, those are chosen that neither
// give multiples of four quarter turns nor vanish (after Payne and Hanek). The reduced angle is a pair in both cases.
#pragma once
#include <array>
#include <utility>

#include "loops/math_log64.h"

namespace anew::loops::math64 {

// |x| = n pi/2 + hi + lo, |hi| <= pi/4 or hardly more; n is an integer, right modulo 4.
template <class D>
struct Reduced {
  Pair<D> r;
  D n;
};

template <class D, std::size_t... i>
auto table_of(D x, const double* values, std::index_sequence<i...>) {
  return std::array<D, sizeof...(i)>{like(x, values[i])...};
}
// The first sizeof...(i) of `w`, or where `moved` those `by` further on (as far as there are any).
template <class M, class D, std::size_t n, std::size_t... i>
auto moved_down(M moved, const std::array<D, n>& w, std::size_t by, std::index_sequence<i...>) {
  return std::array<D, sizeof...(i)>{(i + by < n ? select(moved, w[i + by < n ? i + by : i], w[i]) : w[i])...};
}

// 2/pi times 2^(48 k), in chunks of 48 bits; two empty ones in front.
// clang-format off
inline constexpr double two_over_pi[27] = {
    0, 0, 0xa2f9836e4e44, 0x1529fc2757d1, 0xf534ddc0db62, 0x95993c439041,
    0xfe5163abdebb, 0xc561b7246e3a, 0x424dd2e00649, 0x2eea09d1921c, 0xfe1deb1cb129, 0xa73ee88235f5,
    0x2ebb4484e99c, 0x7026b45f7e41, 0x3991d6398353, 0x39f49c845f8b, 0xbdf9283b1ff8, 0x97ffde05980f,
    0xef2f118b5a0a, 0x6d1f6d367ecf, 0x27cb09b74f46, 0x3f669e5fea2d, 0x7527bac7ebe5, 0xf17b3d0739f7,
    0x8a5292ea6bfb, 0x5fb11f8d5d08, 0x56033046fc7b,
};
// clang-format on

// a >= 2^30 and finite.
template <class D>
Reduced<D> reduce_large(D a) {
  D k = floor((biased_exponent(a) - like(a, 1022.5)) * like(a, 1.0 / 48));
  const D x = shift_exponent(a, k * like(a, -48));  // in [1, 2^48)
  auto step = [&](const auto& w, double size, auto kept) {
    const auto moved = k >= like(a, size);
    k = select(moved, k - like(a, size), k);
    return moved_down(moved, w, static_cast<std::size_t>(size), kept);
  };
  const auto all = table_of(a, two_over_pi, std::make_index_sequence<27>());
  const auto w16 = step(all, 16, std::make_index_sequence<21>());
  const auto w8 = step(w16, 8, std::make_index_sequence<13>());
  const auto w4 = step(w8, 4, std::make_index_sequence<9>());
  const auto w2 = step(w4, 2, std::make_index_sequence<7>());
  const auto w = step(w2, 1, std::make_index_sequence<6>());

  auto part = [&](std::size_t i, double weight) { return exact_product(x, w[i] * like(a, weight)); };
  const Pair<D> p0 = part(0, 0x1p48), p1 = part(1, 1), p2 = part(2, 0x1p-48), p3 = part(3, 0x1p-96);
  const Pair<D> p4 = part(4, 0x1p-144), p5 = part(5, 0x1p-192);
  // Quarters are counted modulo 4; fractions of the first four are multiples of 2^-52, so their sum is exact.
  D n = like(a, 0);
  auto fraction = [&](D v) {
    const D whole = round_even(v);
    n = n + (whole - round_even(whole * like(a, 0.25)) * like(a, 4));
    return v - whole;
  };
  const D a0 = fraction(p0.hi), a1 = fraction(p0.lo), a2 = fraction(p1.hi), a3 = fraction(p1.lo);
  const D exact = (a0 + a1) + (a2 + a3);
  const Pair<D> s1 = exact_sum(exact, fraction(p2.hi));
  const Pair<D> s2 = exact_sum(s1.hi, p3.hi);
  const Pair<D> s3 = exact_sum(s2.hi, p2.lo);
  const Pair<D> s4 = exact_sum(s3.hi, p4.hi);
  const D high = fraction(s4.hi);
  const Pair<D> m1 = exact_sum(s1.lo, s2.lo);
  const Pair<D> m2 = exact_sum(m1.hi, s3.lo);
  const Pair<D> m3 = exact_sum(m2.hi, s4.lo);
  const Pair<D> m4 = exact_sum(m3.hi, p3.lo);
  const Pair<D> f = exact_sum(high, m4.hi);
  const D rest = f.lo + ((m1.lo + m2.lo) + (m3.lo + m4.lo) + (p4.lo + p5.hi));
  const Pair<D> half_pi = constants(a, pi_hi / 2, pi_lo / 2);
  return {times(fast_sum(f.hi, rest), half_pi), n};
}

template <class D>
Reduced<D> reduce(D a) {
  const D n = round_even(a * like(a, 2 / std::numbers::pi));
  const D first = fma(n, like(a, -pi_hi / 2), a);  // exact, being below 1
  const Pair<D> p = exact_product(n, like(a, pi_lo / 2));
  const Pair<D> s = exact_sum(first, -p.hi);
  Reduced<D> out{fast_sum(s.hi, s.lo - fma(n, like(a, -0x1.f1976b7ed8fbcp-110), p.lo)), n};
  const auto large = a >= like(a, 0x1p30);
  if (any(large)) {
    const Reduced<D> far = reduce_large(a);
    out = {{rarely(large, far.r.hi, out.r.hi), rarely(large, far.r.lo, out.r.lo)}, rarely(large, far.n, out.n)};
  }
  return out;
}

// sin and cos of r.hi + r.lo as pairs, |r| <= pi/4.
template <class D>
Pair<D> sin_core(Pair<D> r) {
  const D z = r.hi * r.hi;
  const D p = poly(z, -7.586576588171073e-13, 1.6058529572267877e-10, -2.5052106219521895e-08, 2.755731921930192e-06,
                   -0.00019841269841265017, 0.008333333333333331, -0.16666666666666666);
  return fast_sum(r.hi, fma(r.hi, p * z, fma(r.lo, z * like(z, -0.5), r.lo)));
}
template <class D>
Pair<D> cos_core(Pair<D> r) {
  const Pair<D> z = exact_product(r.hi, r.hi);
  const D half = z.hi * like(r.hi, 0.5), one = like(r.hi, 1);
  const Pair<D> w = fast_sum(one, -half);
  const D p = poly(z.hi, -1.1382456778061306e-11, 2.0876143827993133e-09, -2.7557317260008837e-07,
                   2.480158729874307e-05, -0.0013888888888887382, 0.041666666666666664);
  const D cross = fma(-r.hi, r.lo, z.lo * like(one, -0.5));
  return fast_sum(w.hi, fma(z.hi * z.hi, p, w.lo + cross));
}

// y where x is finite, else nan.
template <class D>
D finite_only(D x, D y) {
  return select(abs(x) < like(x, infinity), y, like(x, nan));
}
template <class D>
D sin(D x) {
  const Reduced<D> t = reduce(abs(x));
  const auto q = low_bits(t.n);
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const D y = select(odd, cos_core(t.r).hi, sin_core(t.r).hi);
  return finite_only(x, real(bits(y) ^ shl(q & like(q, 2), 62) ^ sign_bit(x)));
}
template <class D>
D cos(D x) {
  const Reduced<D> t = reduce(abs(x));
  const auto q = low_bits(t.n + like(x, 1));
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const D y = select(odd, cos_core(t.r).hi, sin_core(t.r).hi);
  return finite_only(x, real(bits(y) ^ shl(q & like(q, 2), 62)));
}
template <class D>
D tan(D x) {
  const Reduced<D> t = reduce(abs(x));
  const auto q = low_bits(t.n);
  const auto odd = (q & like(q, 1)) != like(q, 0);
  const Pair<D> s = sin_core(t.r), c = cos_core(t.r);
  const Pair<D> above{select(odd, -c.hi, s.hi), select(odd, -c.lo, s.lo)};
  const Pair<D> below{select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)};
  const D r = above.hi / below.hi;
  const D y = r + (fma(-r, below.hi, above.hi) + fma(-r, below.lo, above.lo)) / below.hi;
  return finite_only(x, real(bits(y) ^ sign_bit(x)));
}

// ---- inverses

// The angle of (x, y) for finite x, y >= 0, not both zero.
template <class D>
Pair<D> first_quadrant(D y, D x) {
  const auto steep = y > x;
  const D most = select(steep, y, x), one = like(x, 1), zero = like(x, 0);
  // Keeps the reciprocal normal; what this makes of the smaller one no longer matters, or is exact.
  const D scale =
      select(most > like(x, 0x1p900), like(x, 0x1p-200), select(most < like(x, 0x1p-800), like(x, 0x1p200), one));
  const D hi = most * scale, lo = select(steep, x, y) * scale;
  const auto wide = lo > hi * like(x, 0.41421356237309503);  // beyond pi/8: turn back by pi/4
  const Pair<D> difference = fast_sum(-hi, lo), total = fast_sum(hi, lo);
  const Pair<D> t = quotient(Pair<D>{select(wide, difference.hi, lo), select(wide, difference.lo, zero)},
                             Pair<D>{select(wide, total.hi, hi), select(wide, total.lo, zero)});
  const D z = t.hi * t.hi;
  const D p = poly(z, -0.01917688711906226, 0.03923165829558719, -0.0508544973794026, 0.0585814891280221,
                   -0.06664511447381948, 0.07692183190826087, -0.09090904578123903, 0.11111111015256361,
                   -0.14285714284666542, 0.1999999999999552, -0.3333333333333333);
  const D rest = fma(p * z, t.hi, fma(-t.lo, z, t.lo));
  const D turns = select(wide, one, select(steep, like(x, 2), zero));
  const Pair<D> base{turns * like(x, pi_hi / 4), turns * like(x, pi_lo / 4)};
  const Pair<D> s = fast_sum(base.hi, select(steep, -t.hi, t.hi));
  return fast_sum(s.hi, s.lo + (base.lo + select(steep, -rest, rest)));
}

template <class D>
D atan(D x) {
  return with_sign(first_quadrant(at_most(abs(x), 0x1p1000), like(x, 1)).hi, x);
}

template <class D>
D atan2(D y, D x) {
  const D one = like(x, 1), zero = like(x, 0);
  const auto x_infinite = abs(x) == like(x, infinity), y_infinite = abs(y) == like(x, infinity);
  const auto infinite = either(x_infinite, y_infinite), both_zero = both(x == zero, y == zero);
  const D a = select(infinite, select(x_infinite, one, zero), select(both_zero, one, abs(x)));
  const D b = select(infinite, select(y_infinite, one, zero), abs(y));
  const Pair<D> angle = first_quadrant(b, a);
  const Pair<D> turned = fast_sum(like(x, pi_hi), -angle.hi);
  const auto left = bits(x) < like(bits(x), 0);
  const D r = select(left, turned.hi + (turned.lo + (like(x, pi_lo) - angle.lo)), angle.hi);
  return select(both(x == x, y == y), with_sign(r, y), like(x, nan));
}

// asin(s) = s + s z p(z), z = s^2 <= 1/4; beyond, with s = sqrt((1 - a) / 2), asin(a) = pi/2 - 2 asin(s).
template <class D>
struct Arc {
  D s, rest;
};
template <class D, class M>
Arc<D> arc(D a, M outer) {
  const D half = like(a, 0.5), z = select(outer, (like(a, 1) - a) * half, a * a);
  const D root = sqrt(z);
  const D lost = fma(-root, root, z) * half / select(root > like(a, 0), root, like(a, 1));
  const D s = select(outer, root, a);
  const D p =
      poly(z, 0.028757851367421566, -0.014851887071247204, 0.01740087944269402, 0.005457506718640358,
           0.01032281435018578, 0.011479177415184906, 0.013971212973552933, 0.017352392720869973, 0.02237217294214989,
           0.030381944138531247, 0.04464285714635543, 0.07499999999998433, 0.16666666666666669);
  return {s, fma(s * z, p, select(outer, lost, like(a, 0)))};
}
template <class D>
D asin(D x) {
  const D a = abs(x);
  const auto outer = a > like(x, 0.5);
  const Arc<D> t = arc(a, outer);
  const Pair<D> h = fast_sum(like(x, pi_hi / 2), -(t.s + t.s));
  const D far = h.hi + (h.lo + (like(x, pi_lo / 2) - (t.rest + t.rest)));
  return with_sign(select(outer, far, t.s + t.rest), x);
}
template <class D>
D acos(D x) {
  const D a = abs(x);
  const auto outer = a > like(x, 0.5), negative = x < like(x, 0);
  const Arc<D> t = arc(a, outer);
  const D twice = t.s + t.s, twice_rest = t.rest + t.rest;
  const Pair<D> left = fast_sum(like(x, pi_hi), -twice);
  const D far = select(negative, left.hi + (left.lo + (like(x, pi_lo) - twice_rest)), twice + twice_rest);
  const Pair<D> middle = fast_sum(like(x, pi_hi / 2), select(negative, t.s, -t.s));
  const D near = middle.hi + (middle.lo + (like(x, pi_lo / 2) + select(negative, t.rest, -t.rest)));
  return select(outer, far, near);
}

}  // namespace anew::loops::math64
