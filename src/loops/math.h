// The f32 math functions, each one template over a value type V: float, Vec<float> (block instructions) or Expr (code
// generation). Only IEEE operations, selects and bit operations, in one written order, so all three give equal bits.
// Polynomials are minimax (relative error of the result), fitted for these intervals; a function that needs more than
// f32 on its way goes through f64. `any` lets vectors skip work whose result no lane selects; what is chosen by
// `rarely` machine code skips likewise. Exponentials, logarithms and what is made of them are here, the circle
// functions in math_trig.h.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "loops/scalar.h"
#include "loops/vec.h"

namespace anew::loops {

// Integer sums that wrap; named because plain numbers would overflow.
template <std::integral T>
Vec<T> add_bits(Vec<T> x, Vec<T> y) {
  return x + y;
}

namespace math {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Horner, highest coefficient first.
template <class V, class... C>
V poly(V x, double highest, C... lower) {
  V p = like(x, highest);
  ((p = fma(p, x, like(x, lower))), ...);
  return p;
}

// y >= 0 with the sign of x.
template <class V>
V with_sign(V y, V x) {
  return real(bits(y) | (bits(x) & like(bits(x), -2147483648.0)));
}
template <class V>
V at_most(V x, double limit) {
  return select(x > like(x, limit), like(x, limit), x);
}
template <class V>
V at_least(V x, double limit) {
  return select(x < like(x, limit), like(x, limit), x);
}

// ---- f64 steps of f32 functions: about 2^-37 relative, for finite values of the f32 range

// exp(x) - 1 = 2^n (1 + p) - 1 with |n| < 1000.
template <class D>
struct Exp64 {
  D shifted, p;  // the low bits of `shifted` hold n
};
template <class D>
Exp64<D> reduce_exp64(D x) {
  const D magic = like(x, 0x1.8p52);
  const D shifted = fma(x, like(x, std::numbers::log2e), magic);
  const D r = fma(shifted - magic, like(x, -std::numbers::ln2), x);
  const D q = poly(r, 2.4882828433493037e-5, 0.00019905201802392521, 0.0013888808652458139, 0.0083332886185280416,
                   0.04166666695878735, 0.16666666755548468, 0.49999999999731542);
  return {shifted, fma(q * r, r, r)};
}
template <class D>
D scale_by_n(D y, D shifted) {
  return real(add_bits(bits(y), shl(bits(shifted), 52)));
}
template <class D>
D exp64(D x) {
  const auto e = reduce_exp64(x);
  return scale_by_n(e.p + like(x, 1), e.shifted);
}
template <class D>
D expm1_64(D x) {
  const auto e = reduce_exp64(x);
  const D s = scale_by_n(like(x, 1), e.shifted);
  return fma(s, e.p, s - like(x, 1));
}
// x positive and finite. x = 2^e m with m in [sqrt 1/2, sqrt 2); log m = 2 atanh((m - 1) / (m + 1)).
template <class D>
D log64(D x) {
  const auto i = bits(x);
  const auto shifted = add_bits(i, like(i, 0x00095f6200000000));
  const auto biased = shr_logical(shifted, 52) | bits(like(x, 0x1p52));
  const D e = real(biased) - like(x, 0x1p52 + 1023);
  const D m = real(add_bits(shifted & like(i, 0x000fffffffffffff), like(i, 0x3fe6a09e00000000)));
  const D s = (m - like(x, 1)) / (m + like(x, 1));
  const D z = s * s, twice = s + s;
  const D r = poly(z, 0.084102453841821453, 0.090617946338747809, 0.11111686625275499, 0.14285708554538092,
                   0.2000000002619587, 0.33333333333293497);
  return fma(e, like(x, std::numbers::ln2), fma(twice * z, r, twice));
}
// x > -1 and finite.
template <class D>
D log1p64(D x) {
  const D near_zero = x * fma(x, fma(x, like(x, 1.0 / 3), like(x, -0.5)), like(x, 1));
  return select(abs(x) < like(x, 0x1p-12), near_zero, log64(x + like(x, 1)));
}

// ---- exponentials

// exp(x) = 2^n (1 + p), n a whole number, |n| <= 151.
template <class V, class I>
struct Exp32 {
  V p, n;
  I integer;  // n
};
template <class V>
auto reduce_exp(V x) {
  const V magic = like(x, 0x1.8p23);
  const V shifted = fma(x, like(x, std::numbers::log2e), magic);
  const V n = shifted - magic;
  const V r = fma(n, like(x, -1.42860682e-6), fma(n, like(x, -0.693145751953125), x));
  const V q = poly(r, 0.00139466792, 0.00836671069, 0.0416662789, 0.16666542, 0.500000006);
  using I = decltype(bits(x));
  return Exp32<V, I>{fma(q, r * r, r), n, add_bits(bits(shifted), like(bits(shifted), -0x4b400000))};
}
template <class V, class I>
V power_of_two(V, I n) {
  return real(shl(add_bits(n, like(n, 127)), 23));
}
// y 2^n in two steps, which reach subnormals and infinity.
template <class V, class I>
V scale_twice(V y, I n) {
  const I half = shr_arith(n, 1);
  return (y * power_of_two(y, half)) * power_of_two(y, n - half);
}
// y 2^n, where n is given as an integer too; `scale_normal`: where that is a normal number. Machine code may have an
// instruction for both (Op::scale).
template <class V, class I>
V scale(V y, V, I n) {
  return scale_twice(y, n);
}
template <class V, class I>
V scale_normal(V y, V, I n) {
  return y * power_of_two(y, n);
}
// y(x), where it is zero for every x below `limit`. What vanishes there is not computed: the machine takes a hundred
// cycles for a result that underflows, and masks, distances and weights make many.
template <class V, class Y>
V zero_below(V x, double limit, Y y) {
  const auto gone = x < like(x, limit);
  return select(gone, like(x, 0), y(select(gone, like(x, 0), x)));
}
// exp for |x| < 87, where the result is a normal number.
template <class V>
V exp_normal(V x) {
  const auto e = reduce_exp(x);
  return scale_normal(e.p + like(x, 1), e.n, e.integer);
}

template <class V>
V exp(V x) {
  return zero_below(x, -104, [](V c) {
    const auto e = reduce_exp(at_most(c, 89));
    return scale(e.p + like(c, 1), e.n, e.integer);
  });
}

template <class V>
V exp2(V x) {
  return zero_below(x, -151, [](V below) {
    const V c = at_most(below, 129), magic = like(c, 0x1.8p23);
    const V shifted = c + magic;
    const V n = shifted - magic, r = (c - n) * like(c, std::numbers::ln2);
    const V q = poly(r, 0.0013814325, 0.00836885134, 0.041668401, 0.166665195, 0.499999934);
    return scale(fma(q, r * r, r) + like(c, 1), n, add_bits(bits(shifted), like(bits(shifted), -0x4b400000)));
  });
}

template <class V>
V expm1(V x) {
  // Half of the result, so that 2^n stays finite to the end of the range; -1 from -18 on.
  const auto e = reduce_exp(at_least(at_most(x, 89), -20));
  const V s = power_of_two(x, add_bits(e.integer, like(e.integer, -1)));
  const V half = fma(s, e.p, s - like(x, 0.5));
  return select(abs(x) < like(x, 0x1p-25), x, half + half);
}

template <class V>
V logistic(V x) {
  // The quotient by 1 + t is corrected for its own remainder and for what the rounded sum lost.
  const V t = math::exp(-abs(x)), one = like(x, 1);
  const V above = select(x < like(x, 0), t, one), below = t + one, lost = t - (below - one);
  const V q = above / below;
  return q + fma(-q, lost, fma(-q, below, above)) / below;
}

template <class V>
V tanh(V x) {
  const V a = at_most(abs(x), 10);
  const V z = a * a;
  const V t = poly(z, -0.00570949539, 0.0206441346, -0.0537416224, 0.133314702, -0.333332832);
  const V near_zero = fma(t * z, a, a);
  const V far = like(x, 1) - like(x, 2) / (exp_normal(a + a) + like(x, 1));
  return with_sign(select(a < like(x, 0.625), near_zero, far), x);
}

template <class V>
V sinh(V x) {
  const auto p = expm1_64(to_f64(at_most(abs(x), 100)));
  return with_sign(to_f32((p + p / (p + like(p, 1))) * like(p, 0.5)), x);
}
template <class V>
V cosh(V x) {
  const auto e = exp64(to_f64(at_most(abs(x), 100)));
  return to_f32((e + like(e, 1) / e) * like(e, 0.5));
}

// ---- logarithms

// y for x > 0, else the logarithm's answer for 0, negative numbers and nan; infinity stays.
template <class V>
V log_domain(V x, V y) {
  const V outside = select(x == like(x, 0), like(x, -infinity), like(x, nan));
  return select(x > like(x, 0), select(x == like(x, infinity), x, y), outside);
}

// log(2^n (1 + f + rest)) for 1 + f in [sqrt 1/2, sqrt 2) and a rest far below f.
template <class V>
V log_near_one(V f, V rest, V n) {
  const V z = f * f;
  const V p = poly(f, 0.0674663756, -0.116756507, 0.118881629, -0.124055896, 0.142195525, -0.166679958, 0.200021186,
                   -0.250000096, 0.333333126);
  const V tail = fma(like(f, -0.5), z, fma(p * f, z, fma(n, like(f, 1.42860682e-6), rest)));
  return fma(n, like(f, 0.693145751953125), f + tail);
}
// n of a positive normal number x, given as bits.
template <class I>
I log_exponent(I x) {
  return shr_arith(add_bits(x, like(x, -0x3f3504f3)), 23);
}

template <class V>
V log(V x) {
  const auto tiny = x < like(x, 0x1p-126);
  const auto i = bits(select(tiny, x * like(x, 0x1p23), x));
  const auto e = log_exponent(i);
  const V f = real(add_bits(i, shl(like(i, 0) - e, 23))) - like(x, 1);
  return log_domain(x, log_near_one(f, like(x, 0), to_f32(e) + select(tiny, like(x, -23), like(x, 0))));
}

// Selects 1 where f64 steps would meet a value they are not made for.
template <class V>
V positive_or_one(V x) {
  const auto fine = both(x > like(x, 0), x < like(x, infinity));
  return select(fine, x, like(x, 1));
}

template <class V>
V log2(V x) {
  const auto y = log64(to_f64(positive_or_one(x)));
  return log_domain(x, to_f32(y * like(y, std::numbers::log2e)));
}

template <class V>
V log10(V x) {
  const auto y = log64(to_f64(positive_or_one(x)));
  return log_domain(x, to_f32(y * like(y, std::numbers::log10e)));
}

template <class V>
V log1p(V x) {
  // 1 + x = 2^e (1 + f), where f makes up for what the rounded sum lost; that matters below 2^25 only.
  const auto tiny = abs(x) < like(x, 0x1p-25);
  const V c = select(tiny, like(x, 1), x), one = like(x, 1), above = c + one;
  const auto i = bits(above);
  const auto e = log_exponent(i);
  const V near = real(add_bits(i, shl(like(i, 0) - e, 23))) - one;
  const V scale = select(c < like(x, 0x1p100), power_of_two(x, like(i, 0) - e), like(x, 0));
  const V lost = c - (above - one), f = fma(lost, scale, near);
  const V y = log_near_one(f, fma(lost, scale, near - f), to_f32(e));
  return select(tiny, x, log_domain(above, y));
}

template <class V>
V asinh(V x) {
  const auto a = to_f64(abs(x));
  const auto fine = a < like(a, infinity);
  const auto b = select(fine, a, like(a, 0));
  const auto root = sqrt(fma(b, b, like(b, 1)));
  const V y = to_f32(log1p64(b + b * b / (root + like(b, 1))));
  return select(abs(x) < like(x, infinity), with_sign(y, x), x);
}

template <class V>
V acosh(V x) {
  const auto fine = both(x >= like(x, 1), x < like(x, infinity));
  const auto d = to_f64(select(fine, x, like(x, 1)));
  const auto below = d - like(d, 1);
  const V y = to_f32(log1p64(below + sqrt(below * (d + like(d, 1)))));
  return select(fine, y, select(x == like(x, infinity), x, like(x, nan)));
}

template <class V>
V atanh(V x) {
  const V a = abs(x);
  const auto d = to_f64(select(a < like(x, 1), a, like(x, 0)));
  const V y = to_f32(log1p64((d + d) / (like(d, 1) - d)) * like(d, 0.5));
  const V edge = select(a == like(x, 1), like(x, infinity), like(x, nan));
  return with_sign(select(a < like(x, 1), y, edge), x);
}

// ---- powers and roots

template <class V>
V rsqrt(V x) {
  return like(x, 1) / sqrt(x);
}

template <class V>
V cbrt(V x) {
  const V a = abs(x);
  const auto fine = both(a > like(x, 0), a < like(x, infinity));
  const auto l = log64(to_f64(select(fine, a, like(x, 1))));
  return select(fine, with_sign(to_f32(exp64(l * like(l, 1.0 / 3))), x), x);
}

template <class V>
V hypot(V x, V y) {
  const auto a = to_f64(x), b = to_f64(y);
  const V r = to_f32(sqrt(fma(a, a, b * b)));
  const auto infinite = either(abs(x) == like(x, infinity), abs(y) == like(x, infinity));
  return select(infinite, like(x, infinity), r);
}

template <class V>
V pow(V x, V y) {
  const V a = abs(x);
  const V zero = like(x, 0), one = like(x, 1);
  const auto inside = both(a > zero, a < like(x, infinity));
  const V outside = select(a == zero, like(x, -infinity), a);  // log of 0, inf, nan
  const auto l = log64(to_f64(select(inside, a, one)));
  const auto product = to_f64(y) * select(inside, l, to_f64(outside));
  using D = decltype(to_f64(x));
  const V size = to_f32(zero_below(product, -104, [](D c) { return exp64(at_most(c, 120)); }));
  // 0 * inf is the only nan not made of one: |x| = 1, or y = 0.
  const V magnitude = select(either(y == zero, both(a == one, y == y)), one, size);
  const V half = y * like(y, 0.5);
  const auto integral = trunc(y) == y;
  const auto odd = both(integral, trunc(half) != half);
  const auto negative = bits(x) < like(bits(x), 0);
  const V r = select(both(negative, odd), -magnitude, magnitude);
  const auto undefined = both(both(x < zero, inside), trunc(y) != y);
  return select(either(x == one, y == zero), one, select(undefined, like(x, nan), r));
}

// ---- error function

template <class V>
V erf(V x) {
  const V a = at_most(abs(x), 4);
  const V z = x * x;
  const V p =
      poly(z, 8.40346314e-5, -0.000815112672, 0.0052018305, -0.0268597475, 0.112837024, -0.376126342, 0.128379167);
  const V near_zero = fma(p, x, x);
  const V log_erfc = poly(a, -2.10822864e-5, 0.000434315146, -0.00417034907, 0.025117549, -0.108277188, -0.63334954,
                          -1.12951363, 0.000174414102);
  const V far = like(x, 1) - exp_normal(log_erfc);
  return select(a < like(x, 0.92), near_zero, with_sign(far, x));
}

template <class V>
V erfc(V x) {
  // erfc(a) = exp(-a^2) / (1 + 2a) times a polynomial in (a - 4) / (a + 4), 0 beyond 10.2
  const auto gone = abs(x) > like(x, 10.2);
  const auto a = to_f64(select(gone, like(x, 1), abs(x)));
  const auto t = (a - like(a, 4)) / (a + like(a, 4));
  const auto p =
      poly(t, 4.5570193891501329e-5, 0.00024689464592446322, -0.00016858834934345634, -0.00079471748345846442,
           0.0050030112751011278, -0.016195940515203184, 0.03717405193852308, -0.06632962742463465, 0.09373221409719174,
           -0.10103916166919947, 0.068097079373713168, 0.015379655227166853, -0.13962111715378757, 1.2329951186113552);
  const auto y = exp64(-(a * a)) * p / (a + a + like(a, 1));
  return select(gone, select(x < like(x, 0), like(x, 2), like(x, 0)),
                to_f32(select(x < like(x, 0), like(a, 2) - y, y)));
}

}  // namespace math
}  // namespace anew::loops
