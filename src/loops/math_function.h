// Which template of math.h a Math id names: the one list that native instructions, expansion and the reference share.
#pragma once
#include "loops/kernel.h"
#include "loops/math_trig.h"

namespace anew::loops {

template <class V>
V math_function(Math m, const V& x, const V& y) {
  switch (m) {
    case Math::exp: return math::exp(x);
    case Math::exp2: return math::exp2(x);
    case Math::expm1: return math::expm1(x);
    case Math::log: return math::log(x);
    case Math::log2: return math::log2(x);
    case Math::log1p: return math::log1p(x);
    case Math::sin: return math::sin(x);
    case Math::cos: return math::cos(x);
    case Math::tan: return math::tan(x);
    case Math::asin: return math::asin(x);
    case Math::acos: return math::acos(x);
    case Math::atan: return math::atan(x);
    case Math::sinh: return math::sinh(x);
    case Math::cosh: return math::cosh(x);
    case Math::tanh: return math::tanh(x);
    case Math::asinh: return math::asinh(x);
    case Math::acosh: return math::acosh(x);
    case Math::atanh: return math::atanh(x);
    case Math::logistic: return math::logistic(x);
    case Math::erf: return math::erf(x);
    case Math::erfc: return math::erfc(x);
    case Math::cbrt: return math::cbrt(x);
    case Math::rsqrt: return math::rsqrt(x);
    case Math::atan2: return math::atan2(x, y);
    case Math::pow: return math::pow(x, y);
    case Math::hypot: return math::hypot(x, y);
  }
  return x;
}

// The f64 functions, by libm; y is read by those of two arguments only.
inline double libm_function(Math m, double x, double y) {
  switch (m) {
    case Math::exp: return std::exp(x);
    case Math::exp2: return std::exp2(x);
    case Math::expm1: return std::expm1(x);
    case Math::log: return std::log(x);
    case Math::log2: return std::log2(x);
    case Math::log1p: return std::log1p(x);
    case Math::sin: return std::sin(x);
    case Math::cos: return std::cos(x);
    case Math::tan: return std::tan(x);
    case Math::asin: return std::asin(x);
    case Math::acos: return std::acos(x);
    case Math::atan: return std::atan(x);
    case Math::sinh: return std::sinh(x);
    case Math::cosh: return std::cosh(x);
    case Math::tanh: return std::tanh(x);
    case Math::asinh: return std::asinh(x);
    case Math::acosh: return std::acosh(x);
    case Math::atanh: return std::atanh(x);
    case Math::logistic: {
      const double t = std::exp(-std::fabs(x));
      return (x < 0 ? t : 1.0) / (1.0 + t);
    }
    case Math::erf: return std::erf(x);
    case Math::erfc: return std::erfc(x);
    case Math::cbrt: return std::cbrt(x);
    case Math::rsqrt: return 1.0 / std::sqrt(x);
    case Math::atan2: return std::atan2(x, y);
    case Math::pow: return std::pow(x, y);
    case Math::hypot: return std::hypot(x, y);
  }
  return x;
}

}  // namespace anew::loops
