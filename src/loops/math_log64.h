// f64 logarithms and what is made of them: log, log2, log10, log1p, asinh, acosh, atanh, pow, cbrt, hypot, rsqrt.
// x = 2^e m with m in [sqrt 1/2, sqrt 2) and s = (m - 1) / (m + 1): log m = 2 atanh s. `log_pair` has about 2^-65
// relative error, which powers and other bases need; `log_sum` takes an argument with its rounding error.
#pragma once
#include "loops/math_exp64.h"

namespace anew::loops::math64 {

template <class D>
struct Split {
  D m, e;
};
// x positive and normal.
template <class D>
Split<D> split(D x) {
  const auto i = bits(x);
  const auto shifted = add_bits(i, like(i, 0x00095f6200000000));
  const auto biased = shr_logical(shifted, 52) | bits(like(x, 0x1p52));
  return {real(add_bits(shifted & like(i, 0x000fffffffffffff), like(i, 0x3fe6a09e00000000))),
          real(biased) - like(x, 0x1p52 + 1023)};
}
// x positive; subnormal numbers as well.
template <class D>
Split<D> split_any(D x) {
  const auto tiny = x < like(x, 0x1p-1022);
  const Split<D> s = split(select(tiny, x * like(x, 0x1p54), x));
  return {s.m, s.e + select(tiny, like(x, -54), like(x, 0))};
}

// e ln2 + log(1 + f) + rest for f in the interval of m - 1.
template <class D>
D log_reduced(D f, D e, D rest) {
  const D s = f / (f + like(f, 2)), z = s * s, half_square = like(f, 0.5) * f * f;
  const D r = z * poly(z, 0.13088034850927555, 0.13268638369266825, 0.15386244737621665, 0.18181795547521137,
                       0.22222222392581045, 0.28571428570799784, 0.40000000000000885, 0.6666666666666666);
  const D inner = fma(s, half_square + r, fma(e, like(f, ln2_lo), rest));
  const Pair<D> t = fast_sum(f, inner - half_square);
  const D high = e * like(f, ln2_hi), high_lost = fma(e, like(f, ln2_hi), -high);
  const Pair<D> total = fast_sum(high, t.hi);
  return total.hi + (total.lo + (t.lo + high_lost));
}
// log(2^k (u + c)) for a positive normal u and a c below half a unit of it.
template <class D>
D log_sum(D u, D c, D k) {
  const Split<D> s = split(u);
  const D scaled = select(u > like(u, 0x1p100), like(u, 0), c * shift_exponent(like(u, 1), -at_most(s.e, 200)));
  const Pair<D> f = fast_sum(s.m - like(u, 1), scaled);
  return log_reduced(f.hi, s.e + k, f.lo * (like(u, 2) - s.m));
}

// log m, and e apart from it.
template <class D>
struct LogParts {
  Pair<D> m;
  D e;
};
template <class D>
LogParts<D> log_parts(D x) {
  const Split<D> part = split_any(x);
  const D f = part.m - like(x, 1);
  const Pair<D> s = quotient(Pair<D>{f, like(x, 0)}, fast_sum(like(x, 2), f));
  Pair<D> z = exact_product(s.hi, s.hi);
  z.lo = fma(s.hi + s.hi, s.lo, z.lo);
  const D p = poly(z.hi, 0.058621635304233734, 0.05853063232281699, 0.0666740439940617, 0.0769229744350359,
                   0.09090909168049924, 0.11111111110826383, 0.14285714285714685, 0.2);
  const Pair<D> third = constants(x, 0x1.5555555555555p-2, 0x1.5555555555555p-56);
  Pair<D> r = fast_sum(third.hi, z.hi * p);
  r.lo = r.lo + third.lo;
  const Pair<D> twice{s.hi + s.hi, s.lo + s.lo};
  const Pair<D> v = times(twice, times(z, r));
  const Pair<D> y = fast_sum(twice.hi, v.hi);
  return {fast_sum(y.hi, y.lo + (v.lo + twice.lo)), part.e};
}
// a e + b log(m), where a and b are pairs.
template <class D>
Pair<D> log_combined(LogParts<D> l, Pair<D> a, Pair<D> b) {
  const Pair<D> p = times(l.m, b), q = exact_product(l.e, a.hi);
  const Pair<D> s = fast_sum(q.hi, p.hi);
  return fast_sum(s.hi, s.lo + (p.lo + fma(l.e, a.lo, q.lo)));
}
template <class D>
Pair<D> log_pair(D x) {
  return log_combined(log_parts(x), constants(x, ln2_hi, ln2_lo), constants(x, 1, 0));
}

template <class D>
D log(D x) {
  const Split<D> s = split_any(x);
  return math::log_domain(x, log_reduced(s.m - like(x, 1), s.e, like(x, 0)));
}
template <class D>
D log2(D x) {
  const Pair<D> y =
      log_combined(log_parts(x), constants(x, 1, 0), constants(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56));
  return math::log_domain(x, y.hi);
}
template <class D>
D log10(D x) {
  const Pair<D> y = log_combined(log_parts(x), constants(x, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59),
                                 constants(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57));
  return math::log_domain(x, y.hi);
}

template <class D>
D log1p(D x) {
  const auto fine = both(x > like(x, -1), x < like(x, infinity));
  const Pair<D> s = exact_sum(like(x, 1), select(fine, x, like(x, 0)));
  const D y = log_sum(s.hi, s.lo, like(x, 0));
  return select(fine, select(x == like(x, 0), x, y), math::log_domain(x + like(x, 1), x));
}
// log(1 + w), or log(2 a) where a is so large that this is the same.
template <class D>
D log1p_or_twice(Pair<D> w, D a) {
  const auto large = a > like(a, 0x1p28);
  const Pair<D> s = exact_sum(like(a, 1), w.hi);
  const D zero = like(a, 0);
  return log_sum(select(large, a, s.hi), select(large, zero, s.lo + w.lo), select(large, like(a, 1), zero));
}

template <class D>
D asinh(D x) {
  const D a = abs(x), b = at_most(a, 0x1p28);
  const D q = b * b / (sqrt(fma(b, b, like(x, 1))) + like(x, 1));
  const D y = log1p_or_twice(fast_sum(b, q), a);
  return select(a < like(x, infinity), select(a < like(x, 0x1p-28), x, with_sign(y, x)), x);
}
template <class D>
D acosh(D x) {
  const auto fine = both(x >= like(x, 1), x < like(x, infinity));
  const D one = like(x, 1), t = at_most(select(fine, x, one), 0x1p28) - one;
  const Pair<D> square = exact_product(t, t), inside = exact_sum(t + t, square.hi);
  const D root = sqrt(inside.hi);
  const D lost =
      (fma(-root, root, inside.hi) + (inside.lo + square.lo)) * like(x, 0.5) / select(t > like(x, 0), root, one);
  Pair<D> w = fast_sum(root, t);
  w.lo = w.lo + lost;
  return select(fine, log1p_or_twice(w, select(fine, x, one)), select(x == like(x, infinity), x, like(x, nan)));
}
template <class D>
D atanh(D x) {
  const D a = abs(x), one = like(x, 1), zero = like(x, 0);
  const D inside = select(a < one, a, zero);
  const Pair<D> q = quotient(Pair<D>{inside + inside, zero}, fast_sum(one, -inside));
  const Pair<D> s = exact_sum(one, q.hi);
  const D y = log_sum(s.hi, s.lo + q.lo, zero) * like(x, 0.5);
  const D edge = select(a == one, like(x, infinity), like(x, nan));
  return with_sign(select(a < like(x, 0x1p-28), a, select(a < one, y, edge)), x);
}

template <class D>
D rsqrt(D x) {
  return like(x, 1) / sqrt(x);
}

// x^(-1/3) by two steps from a polynomial on [1, 8), then one corrected step for x^(1/3).
template <class D>
D cbrt(D x) {
  const D a = abs(x), one = like(x, 1);
  const auto fine = both(a > like(x, 0), a < like(x, infinity));
  const auto tiny = a < like(x, 0x1p-1022);
  const D scaled = select(fine, select(tiny, a * like(x, 0x1p54), a), one);
  const D k = floor((biased_exponent(scaled) + like(x, 0.5)) * like(x, 1.0 / 3)) - like(x, 341);
  const D m = shift_exponent(scaled, k * like(x, -3));
  D y = poly(m, 0.00045942136455115094, -0.010640392770391005, 0.0936043080060108, -0.4040736946117903,
             1.3097655708093416);
  for (int i = 0; i < 2; ++i) {
    const D h = fma(-(m * y), y * y, one);
    y = fma(y * h, poly(h, 14.0 / 81, 2.0 / 9, 1.0 / 3), y);
  }
  const D r = m * (y * y);
  const Pair<D> square = exact_product(r, r);
  const D rest = fma(-r, square.lo, fma(-r, square.hi, m));
  const D root = fma(rest * like(x, 1.0 / 3), y * y, r);
  const D size = shift_exponent(root, k - select(tiny, like(x, 18), like(x, 0)));
  return select(fine, with_sign(size, x), x);
}

template <class D>
D hypot(D x, D y) {
  const D a = abs(x), b = abs(y);
  const auto second = b > a;
  const D hi = select(second, b, a), lo = select(second, a, b), one = like(x, 1);
  const auto large = hi > like(x, 0x1p500), small = hi < like(x, 0x1p-500);
  const D scale = select(large, like(x, 0x1p-600), select(small, like(x, 0x1p600), one));
  const D back = select(large, like(x, 0x1p600), select(small, like(x, 0x1p-600), one));
  const D s = hi * scale, t = lo * scale;
  const D r = sqrt(fma(s, s, t * t)) * back;
  const auto infinite = either(a == like(x, infinity), b == like(x, infinity));
  return select(infinite, like(x, infinity), r);
}

template <class D>
D pow(D x, D y) {
  const D a = abs(x);
  const D zero = like(x, 0), one = like(x, 1);
  const auto inside = both(a > zero, a < like(x, infinity));
  const D outside = select(a == zero, like(x, -infinity), a);  // log of 0, inf, nan
  const Pair<D> l = log_pair(select(inside, a, one));
  const D product = y * select(inside, l.hi, outside);
  const D rest = fma(y, l.lo, fma(y, l.hi, -product));
  const D size = zero_below(product, -746, [&](D below) {
    const D c = at_most(below, 800);
    const Scaled<D> e = exp_scaled(c, select(c == product, rest, zero));
    return scale(e.hi, e.n);
  });
  // 0 * inf is the only nan not made of one: |x| = 1, or y = 0.
  const D magnitude = select(either(y == zero, both(a == one, y == y)), one, size);
  const D half = y * like(y, 0.5);
  const auto integral = trunc(y) == y;
  const auto odd = both(integral, trunc(half) != half);
  const auto negative = bits(x) < like(bits(x), 0);
  const D r = select(both(negative, odd), -magnitude, magnitude);
  const auto undefined = both(both(x < zero, inside), trunc(y) != y);
  return select(either(x == one, y == zero), one, select(undefined, like(x, nan), r));
}

}  // namespace anew::loops::math64
