// What the f64 math functions share: sums and products with their rounding errors, and the parts of a number. As in
// math.h every function is a template over a value type (double, Vec<double>, Expr) and uses only IEEE operations,
// selects and bit operations in one written order. A Pair stands for hi + lo, with lo below half a unit of hi.
#pragma once
#include "loops/math.h"

namespace anew::loops::math64 {

using math::at_least;
using math::at_most;
using math::infinity;
using math::nan;
using math::poly;
using math::zero_below;

template <class D>
struct Pair {
  D hi, lo;
};
// Where |a| >= |b|, or a is 0.
template <class D>
Pair<D> fast_sum(D a, D b) {
  const D s = a + b;
  return {s, b - (s - a)};
}
template <class D>
Pair<D> exact_sum(D a, D b) {
  const D s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
template <class D>
Pair<D> exact_product(D a, D b) {
  const D p = a * b;
  return {p, fma(a, b, -p)};
}
// a pair of constants of the kind of x
template <class D>
Pair<D> constants(D x, double hi, double lo) {
  return {like(x, hi), like(x, lo)};
}
// To about 2^-104.
template <class D>
Pair<D> times(Pair<D> a, Pair<D> b) {
  const Pair<D> p = exact_product(a.hi, b.hi);
  return fast_sum(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi));
}

inline constexpr double ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56;
inline constexpr double pi_hi = 0x1.921fb54442d18p+1, pi_lo = 0x1.1a62633145c07p-53;

// The bits of x (or y) as its sign.
template <class D>
auto sign_bit(D x) {
  return bits(x) & like(bits(x), -0x1p63);
}
// y >= 0 with the sign of x.
template <class D>
D with_sign(D y, D x) {
  return real(bits(y) | sign_bit(x));
}

// Adding `integer_magic` to a number below 2^51 rounds it to an integer, which the low bits of the sum then hold.
inline constexpr double integer_magic = 0x1.8p52;
template <class D>
auto low_bits(D x) {
  return bits(x + like(x, integer_magic));
}
// x 2^n for an integer in a double, where neither side leaves the normal range.
template <class D>
D shift_exponent(D x, D n) {
  return real(add_bits(bits(x), shl(low_bits(n), 52)));
}
// y 2^n in two steps, which reach subnormals and infinity; |n| < 2000.
template <class D>
D scale_twice(D y, D n) {
  const D half = round_even(n * like(n, 0.5)), one = like(n, 1);
  return (y * shift_exponent(one, half)) * shift_exponent(one, n - half);
}
template <class D>
D scale(D y, D n) {
  return scale_twice(y, n);
}
// The biased exponent of a positive number as a number.
template <class D>
D biased_exponent(D x) {
  return real(shr_logical(bits(x), 52) | bits(like(x, 0x1p52))) - like(x, 0x1p52);
}

// Where a quotient's remainder matters: (n.hi + n.lo) / (d.hi + d.lo) with one division, to about 2^-100 relative.
template <class D>
Pair<D> quotient(Pair<D> n, Pair<D> d) {
  const D r = like(n.hi, 1) / d.hi;
  const D q = n.hi * r;
  return {q, (fma(-q, d.hi, n.hi) + fma(-q, d.lo, n.lo)) * r};
}

}  // namespace anew::loops::math64
