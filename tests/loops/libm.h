// The C library's functions by Math id: the reference of f32 functions, whose results differ from these by much more
// than libm errs, and of special values. digamma and trigamma, which it lacks, come from our f64 functions, which are
// compared with MPFR.
#pragma once
#include <cmath>

#include "loops/math_function.h"

namespace anew::loops::test {

inline double libm_function(Math m, double x, double y) {
  switch (m) {
    case Math::exp: return std::exp(x);
    case Math::exp2: return std::exp2(x);
    case Math::expm1: return std::expm1(x);
    case Math::log: return std::log(x);
    case Math::log2: return std::log2(x);
    case Math::log10: return std::log10(x);
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
    case Math::lgamma: {
      int sign = 0;
      return lgamma_r(x, &sign);
    }
    case Math::digamma:
    case Math::trigamma: return math_function<true>(m, x, y);
    case Math::atan2: return std::atan2(x, y);
    case Math::pow: return std::pow(x, y);
    case Math::hypot: return std::hypot(x, y);
  }
  return x;
}

}  // namespace anew::loops::test
