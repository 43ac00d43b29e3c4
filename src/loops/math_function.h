// Which template of the math headers a Math id names: the one list that native instructions, expansion and the reference
// share. f32 functions are those of namespace math, f64 functions those of math64; what f32 does not have of its own it
// takes from f64 and rounds.
#pragma once
#include "loops/kernel.h"
#include "loops/math_special64.h"
#include "loops/math_trig.h"

namespace anew::loops {

namespace math {
template <class V>
V lgamma(V x) {
  return to_f32(math64::lgamma(to_f64(x)));
}
template <class V>
V digamma(V x) {
  return to_f32(math64::digamma(to_f64(x)));
}
template <class V>
V trigamma(V x) {
  return to_f32(math64::trigamma(to_f64(x)));
}
}  // namespace math

// `wide`: x and y are f64. y is read by functions of two arguments only.
template <bool wide, class V>
V math_function(Math m, const V& x, const V& y) {
#define ANEW_LOOPS_MATH(name, ...)                        \
  case Math::name:                                        \
    if constexpr (wide) return math64::name(__VA_ARGS__); \
    else return math::name(__VA_ARGS__);
  switch (m) {
    ANEW_LOOPS_MATH(exp, x)
    ANEW_LOOPS_MATH(exp2, x)
    ANEW_LOOPS_MATH(expm1, x)
    ANEW_LOOPS_MATH(log, x)
    ANEW_LOOPS_MATH(log2, x)
    ANEW_LOOPS_MATH(log10, x)
    ANEW_LOOPS_MATH(log1p, x)
    ANEW_LOOPS_MATH(sin, x)
    ANEW_LOOPS_MATH(cos, x)
    ANEW_LOOPS_MATH(tan, x)
    ANEW_LOOPS_MATH(asin, x)
    ANEW_LOOPS_MATH(acos, x)
    ANEW_LOOPS_MATH(atan, x)
    ANEW_LOOPS_MATH(sinh, x)
    ANEW_LOOPS_MATH(cosh, x)
    ANEW_LOOPS_MATH(tanh, x)
    ANEW_LOOPS_MATH(asinh, x)
    ANEW_LOOPS_MATH(acosh, x)
    ANEW_LOOPS_MATH(atanh, x)
    ANEW_LOOPS_MATH(logistic, x)
    ANEW_LOOPS_MATH(erf, x)
    ANEW_LOOPS_MATH(erfc, x)
    ANEW_LOOPS_MATH(cbrt, x)
    ANEW_LOOPS_MATH(rsqrt, x)
    ANEW_LOOPS_MATH(lgamma, x)
    ANEW_LOOPS_MATH(digamma, x)
    ANEW_LOOPS_MATH(trigamma, x)
    ANEW_LOOPS_MATH(atan2, x, y)
    ANEW_LOOPS_MATH(pow, x, y)
    ANEW_LOOPS_MATH(hypot, x, y)
  }
#undef ANEW_LOOPS_MATH
  return x;
}

}  // namespace anew::loops
