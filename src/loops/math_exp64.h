// f64 exponentials and what is made of them: exp, exp2, expm1, logistic, sinh, cosh, tanh. exp(x) = 2^n exp(r) with
// |r| <= ln2 / 2, and exp(r) = 1 + r + r^2 q(r) is kept as a pair, so that only the last operation rounds.
#pragma once
#include "loops/math_double.h"

namespace anew::loops::math64 {

// (hi + lo) 2^n, n an integer.
template <class D>
struct Scaled {
  D hi, lo, n;
};

// exp(r + rest) = hi + lo for |r| <= 0.35 and a rest far below it.
template <class D>
Pair<D> exp_near_zero(D r, D rest) {
  const D q = poly(r, 2.5100424157005067e-08, 2.7620138719733994e-07, 2.7557268378684192e-06, 2.480152119021773e-05,
                   0.00019841269863105968, 0.0013888888917281794, 0.008333333333330051, 0.04166666666662399,
                   0.16666666666666669, 0.5000000000000001);
  const Pair<D> s = fast_sum(like(r, 1), r);
  return fast_sum(s.hi, s.lo + fma(r * r, q, fma(rest, r, rest)));
}
// exp(x + rest), |x| < 2000.
template <class D>
Scaled<D> exp_scaled(D x, D rest) {
  const D magic = like(x, integer_magic);
  const D n = fma(x, like(x, std::numbers::log2e), magic) - magic;
  const D first = fma(n, like(x, -ln2_hi), x);  // exact
  const Pair<D> r = fast_sum(first, fma(n, like(x, -ln2_lo), rest));
  const Pair<D> e = exp_near_zero(r.hi, r.lo);
  return {e.hi, e.lo, n};
}

template <class D>
D exp(D x) {
  return zero_below(x, -746, [](D c) {
    const Scaled<D> e = exp_scaled(at_most(c, 710), like(c, 0));
    return scale(e.hi, e.n);
  });
}

template <class D>
D exp2(D x) {
  return zero_below(x, -1076, [](D below) {
    const D c = at_most(below, 1025), magic = like(c, integer_magic);
    const D n = (c + magic) - magic, f = c - n;
    const Pair<D> r = exact_product(f, like(c, ln2_hi));
    const Pair<D> e = exp_near_zero(r.hi, fma(f, like(c, ln2_lo), r.lo));
    return scale(e.hi, n);
  });
}

template <class D>
D expm1(D x) {
  // Half of the result, so that 2^n stays finite to the end of the range; -1 from -38 on.
  const Scaled<D> e = exp_scaled(at_least(at_most(x, 710), -40), like(x, 0));
  const D s = shift_exponent(like(x, 0.5), e.n);
  const D half = fma(s, e.lo, fma(s, e.hi, like(x, -0.5)));
  return select(abs(x) < like(x, 0x1p-54), x, half + half);
}

template <class D>
D logistic(D x) {
  // The quotient by 1 + t is corrected for its own remainder and for what the rounded sum lost.
  const D t = math64::exp(-abs(x)), one = like(x, 1);
  const D above = select(x < like(x, 0), t, one), below = t + one, lost = t - (below - one);
  const D q = above / below;
  return q + fma(-q, lost, fma(-q, below, above)) / below;
}

// exp(a) = 2^n e; what exp(-a) adds to or takes from e beside 2^(n - 1).
template <class D>
D mirrored(Scaled<D> e) {
  return shift_exponent(like(e.n, 1), at_most(e.n, 100) * like(e.n, -2)) / e.hi;
}
template <class D>
D sinh(D x) {
  const D a = abs(x), z = a * a;
  const D p = poly(z, 7.746178593018827e-13, 1.6057679623801638e-10, 2.5052117695907823e-08, 2.7557319191381816e-06,
                   0.00019841269841324198, 0.008333333333333299, 0.16666666666666666);
  const D near_zero = fma(p * z, a, a);
  const Scaled<D> e = exp_scaled(at_most(a, 720), like(x, 0));
  const D far = scale(e.hi + (e.lo - mirrored(e)), e.n - like(x, 1));
  return with_sign(select(a < like(x, 1), near_zero, far), x);
}
template <class D>
D cosh(D x) {
  const Scaled<D> e = exp_scaled(at_most(abs(x), 720), like(x, 0));
  return scale(e.hi + (e.lo + mirrored(e)), e.n - like(x, 1));
}

template <class D>
D tanh(D x) {
  const D a = at_most(abs(x), 22), z = a * a, one = like(x, 1);
  const D p = poly(z, 5.946956589774769e-05, -0.00022107222975864633, 0.0005849653729022644, -0.001454959384380466,
                   0.0035920334653723926, -0.008863229270067843, 0.021869488297234514, -0.05396825396361009,
                   0.13333333333329825, -0.3333333333333333);
  const D near_zero = fma(p * z, a, a);
  const Scaled<D> e = exp_scaled(a + a, like(x, 0));
  const D s = shift_exponent(one, e.n);
  const Pair<D> d = exact_sum(e.hi * s, one);
  const D q = like(x, 2) / d.hi;
  const D far = (one - q) + q * (fma(e.lo, s, d.lo) / d.hi);
  return with_sign(select(a < like(x, 0.5), near_zero, far), x);
}

}  // namespace anew::loops::math64
