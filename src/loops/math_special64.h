// f64 error function, logarithm of the gamma function and its derivatives. Away from their zeros lgamma, digamma and
// trigamma are good to a few units in the last place; near the zeros between negative integers the error is absolute,
// about 2^-52, because the reflection subtracts there.
#pragma once
#include "loops/math_trig64.h"

namespace anew::loops::math64 {

// ---- error function

// erf(x) = x + x p for |x| < 0.84
template <class D>
D erf_slope(D x) {
  return poly(x * x, -8.905151131672966e-10, 1.4215069808219508e-08, -1.63046150641907e-07, 1.6458051806890862e-06,
              -1.4925471268019038e-05, 0.00012055327697362146, -0.0008548326920588401, 0.005223977624171083,
              -0.02686617064503848, 0.11283791670954775, -0.3761263890318375, 0.1283791670955126);
}
// erfc(a) for 0.24 <= a <= 28: exp(-a^2) / (1 + 2a) times a polynomial in (a - 4) / (a + 4).
template <class D>
D erfc_far(D a) {
  const D one = like(a, 1), t = (a - like(a, 4)) / (a + like(a, 4));
  const D p =
      poly(t, -1.084383522578916e-08, -1.2460778225903224e-08, 1.0669083544573254e-07, 6.769945394553993e-08,
           -8.237255026717924e-07, 2.9873537760799485e-07, 5.70937187285816e-06, -1.1224173239390623e-05,
           -2.43992499384975e-05, 0.0001506222635034466, -0.00019925665697127434, -0.0007577733886590085,
           0.0050319699692510335, -0.016197734047845726, 0.037167515538444204, -0.06633036581271756, 0.0937328349982991,
           -0.10103906603629625, 0.06809705425469374, 0.015379652102619825, -0.13962111684056253);
  const Pair<D> above = fast_sum(like(a, 1.2329951186255526), p * t);
  const Pair<D> q = quotient(above, exact_sum(a + a, one));
  const Pair<D> square = exact_product(a, a);
  const Scaled<D> e = exp_scaled(-square.hi, -square.lo);
  return scale(fma(q.hi, e.hi, fma(q.lo, e.hi, q.hi * e.lo)), e.n);
}
template <class D>
D erf(D x) {
  const D a = abs(x), near_zero = fma(erf_slope(x), x, x);
  const D far = like(x, 1) - erfc_far(at_most(a, 6));
  return select(a < like(x, 0.84), near_zero, with_sign(far, x));
}
template <class D>
D erfc(D x) {
  const D a = abs(x);
  const Pair<D> s = fast_sum(like(x, 1), -x);
  const D near_zero = s.hi + fma(-x, erf_slope(x), s.lo);
  const auto gone = a > like(x, 27.5);
  const D far = select(gone, like(x, 0), erfc_far(select(gone, like(x, 1), a)));
  const auto middle = both(x < like(x, 0.25), a < like(x, 0.84));
  return select(middle, near_zero, select(x < like(x, 0), like(x, 2) - far, far));
}

// ---- gamma

// sin(pi a) and cos(pi a) up to a common sign, as pairs; a >= 0.
template <class D>
struct Turn {
  Pair<D> sin, cos;
};
template <class D>
Turn<D> half_turns(D a) {
  const D f = a - round_even(a), size = abs(f);
  const auto steep = size > like(a, 0.25);
  const D g = select(steep, like(a, 0.5) - size, size);
  const Pair<D> r = times(Pair<D>{g, like(a, 0)}, constants(a, pi_hi, pi_lo));
  const Pair<D> s = sin_core(r), c = cos_core(r);
  const auto back = f < like(a, 0);
  const D sin_hi = select(steep, c.hi, s.hi), sin_lo = select(steep, c.lo, s.lo);
  return {{select(back, -sin_hi, sin_hi), select(back, -sin_lo, sin_lo)},
          {select(steep, s.hi, c.hi), select(steep, s.lo, c.lo)}};
}

// x > 0; infinity gives nan.
template <class D>
D lgamma_positive(D x) {
  const D one = like(x, 1), half = like(x, 0.5);
  const auto low = x < like(x, 2.5), below_half = x < half, below = x < like(x, 1.5);
  // Below 2.5: lgamma(2 + t) - log of what leads there.
  const D t = select(below_half, x, select(below, x - one, x - like(x, 2)));
  const D p = poly(t, 6.379047507619774e-08, -1.3412819758517287e-07, 2.0304806751615227e-07, -4.303558760359961e-07,
                   9.578663334114758e-07, -2.0449201467015115e-06, 4.374374916915131e-06, -9.438458716242811e-06,
                   2.050726741605779e-05, -4.4926351103833334e-05, 9.945750909889392e-05, -0.00022315475074520367,
                   0.0005096695248853096, -0.0011927539120010226, 0.002890510330738737, -0.0073855510286681535,
                   0.02058080842778457, -0.06735230105319814, 0.3224670334241132, 0.42278433509846713);
  const D product = select(below_half, fma(x, x, x), select(below, x, one));
  const Pair<D> l = log_pair(select(low, product, x));
  const Pair<D> v = exact_product(t, p), difference = exact_sum(-l.hi, v.hi);
  const D small = difference.hi + (difference.lo + (v.lo - l.lo));
  // Stirling's formula with a polynomial in 1 / x fitted for x >= 2.5.
  const D u = one / x;
  const D w = poly(u, -0.0015262120288303204, 0.006079096914326499, -0.01069935394088128, 0.010554037308733924,
                   -0.00575306650357134, 0.0009504248662361826, 0.000673841445775957, 2.1345223271732198e-05,
                   -0.0005971694963752507, 1.2094590437131778e-07, 0.0007936458015629343, 1.2532031640327357e-10,
                   -0.0027777777794415663, 8.803804263259666e-15, 0.08333333333333333);
  const Pair<D> slope = exact_sum(l.hi, -one);
  const D b = x - half;
  const Pair<D> main = exact_product(b, slope.hi);
  const D rest = fma(b, slope.lo + l.lo, main.lo);
  const Pair<D> s = exact_sum(main.hi, like(x, 0x1.acfe390c97d69p-2));
  const D large = s.hi + (s.lo + fma(u, w, rest));
  return select(low, small, select(x > like(x, 0x1p1000), main.hi, large));
}
template <class D>
D lgamma(D x) {
  const D a = abs(x), one = like(x, 1);
  const auto negative = x < like(x, 0), fine = both(a > like(x, 0), a < like(x, infinity));
  const D inside = select(fine, a, one);
  const D y = lgamma_positive(select(negative, inside + one, inside));
  D r = y;
  if (any(negative)) {
    const D s = abs(half_turns(inside).sin.hi);
    const auto tiny = a < like(x, 0x1p-500);  // where -log(a) is all that counts, and pi a may lose bits
    const Pair<D> l = log_pair(select(s > like(x, 0), select(tiny, inside, s), one));
    const Pair<D> d = exact_sum(select(tiny, like(x, 0), like(x, 0x1.250d048e7a1bdp+0)), -l.hi);  // log pi
    const D reflected = (d.hi - y) + (d.lo + (like(x, 0x1.7abf2ad8d5088p-57) - l.lo));
    r = rarely(negative, select(s > like(x, 0), reflected, like(x, infinity)), y);
  }
  return select(fine, r, select(x == x, like(x, infinity), x));
}

// x >= 1; log for the large ones.
template <class D>
D digamma_from_one(D x) {
  const D u = like(x, 1) / x;
  const D g =
      poly(u, 0.006665358106928796, -0.04628666424061557, 0.1390423871635053, -0.24298749638074094, 0.27465868260640014,
           -0.20599409265927077, 0.0962754621030612, -0.01946751001937001, -0.0038587862381343394,
           -0.0005285173527386357, 0.0042222704021147184, -4.244288777511984e-06, -0.003968026720674291,
           -8.094829824781978e-09, 0.008333333509753663, -2.039558010626772e-12, -0.08333333333332393, -0.5);
  const D large = fma(u, g, math64::log(x));
  // Around the zero at 1.46163...
  const D p =
      poly(x - like(x, 1.5), -8.153978973309418e-05, 0.00012230983055406747, -6.11554261750751e-05,
           9.173383289174792e-05, -0.0002178682145501451, 0.0003268068044141764, -0.0004599625144612576,
           0.0006899717801166841, -0.001042261556504223, 0.0015635679757533885, -0.002344650082351321,
           0.0035180800751066694, -0.00528001782089874, 0.007927024067961237, -0.011908215172584002,
           0.017907248195969127, -0.02697579684427536, 0.04076083394462657, -0.06192213327165706, 0.09498872445283,
           -0.14840492305391761, 0.24054248424078736, -0.42362742128146047, 0.9510558760318328);
  const D small = ((x - like(x, 0x1.762d86356be3fp+0)) - like(x, 0x1.b86a722197829p-54)) * p;
  return select(x < like(x, 2), small, large);
}
template <class D>
D digamma(D x) {
  const D a = abs(x), one = like(x, 1), zero = like(x, 0);
  const auto negative = x < zero, lifted = x < one;
  const D y = digamma_from_one(select(lifted, a + one, x));
  D r = select(lifted, y - one / x, y);
  if (any(negative)) {
    const Turn<D> t = half_turns(a);
    const D cotangent = like(x, pi_hi) * t.cos.hi / t.sin.hi;
    r = rarely(negative, select(t.sin.hi == zero, like(x, nan), y + cotangent), r);
  }
  return select(x == zero, like(x, nan), r);
}

// x >= 2
template <class D>
D trigamma_from_two(D x) {
  const D u = like(x, 1) / x;
  const D p = poly(u, -2.3927750689829193, 13.343328007284335, -34.536487345439866, 54.80771496611923,
                   -59.160669737099845, 45.29644003075699, -24.61885359281649, 9.007521109915965, -1.836097181875446,
                   0.07344543400107209, -0.04457086157916685, 0.08041230648274532, -0.00036705111185259817,
                   -0.03331198916605749, -8.825642692035024e-07, 0.02380954837546786, -4.226983430761053e-10,
                   -0.03333333332943988, -1.4413784448269918e-14, 0.16666666666666669);
  return fma(u * u, fma(u, p, like(x, 0.5)), u);
}
// The limits at the two infinities are those of the zeta function it is made of elsewhere: nan and infinity.
template <class D>
D trigamma(D x) {
  const D a = abs(x), one = like(x, 1), zero = like(x, 0);
  const auto negative = x < zero;
  const D w = select(negative, a + one, x);  // >= 1 by reflection
  const auto once = w < like(x, 2), twice = w < one;
  const D second = select(twice, w + one, w);
  D y = trigamma_from_two(select(once, second + one, second));
  const D first = one / w, next = one / second;  // squared after dividing: the square of a small one is subnormal
  y = y + select(once, next * next, zero);
  y = y + select(twice, first * first, zero);
  if (any(negative)) {
    const D s = half_turns(a).sin.hi, q = like(x, pi_hi) / s;
    y = rarely(negative, select(a == like(x, infinity), a, q * q - y), y);
  }
  return select(x == like(x, infinity), like(x, nan), y);
}

}  // namespace anew::loops::math64
