// Which template of the math headers a Math id names, for native instructions, expansion and the reference. f32
// functions are those of namespace math, f64 functions those of math64; what f32 does not have of its own it takes from
// f64 and rounds.
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
  switch (m) {
#define ANEW_MATH(name)                         \
  case Math::name:                              \
    if constexpr (wide) return math64::name(x); \
    else return math::name(x);
    ANEW_MATH_OF_ONE(ANEW_MATH)
#undef ANEW_MATH
#define ANEW_MATH(name)                            \
  case Math::name:                                 \
    if constexpr (wide) return math64::name(x, y); \
    else return math::name(x, y);
    ANEW_MATH_OF_TWO(ANEW_MATH)
#undef ANEW_MATH
  }
  return x;
}

}  // namespace anew::loops
