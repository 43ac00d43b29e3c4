// The error of a result in units of the last place of the true value, in T: how every test of math functions counts.
// A value beyond the largest number counts as the next power of two; a zero of the wrong sign, and a nan that is alone,
// are infinitely wrong.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "loops/kernel.h"

namespace anew::test {

inline double power_of_two(int exponent) {  // of a normal number
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

template <class T>
double ulps(T got, double want) {
  using Limits = std::numeric_limits<T>;
  if (static_cast<double>(got) == want) return want != 0 || std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  // Large doubles in halves, so that the next power of two exists.
  const int halved = sizeof(T) == 8 && std::max(std::fabs(static_cast<double>(got)), std::fabs(want)) > 1 ? 1 : 0;
  const double most = power_of_two(Limits::max_exponent - halved);
  auto limited = [&](double x) { return std::clamp(halved ? x / 2 : x, -most, most); };
  const double w = limited(want);
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(w) >> 52 & 0x7ff) - 1023 + halved;
  const int unit = std::clamp(exponent, Limits::min_exponent - 1, Limits::max_exponent - 1) - Limits::digits + 1;
  const int scale = halved - unit, part = scale / 2;
  return std::fabs(limited(got) - w) * power_of_two(part) * power_of_two(scale - part);
}

// The bounds of f32 functions, a little above what all 2^32 arguments give (docs/accuracy.md).
inline double f32_bound(loops::Math m) {
  using loops::Math;
  switch (m) {
    case Math::exp:
    case Math::exp2: return 1.05;
    case Math::expm1:
    case Math::sin:
    case Math::cos:
    case Math::rsqrt:
    case Math::logistic: return 1.6;
    case Math::log: return 0.83;
    case Math::log1p: return 0.89;
    case Math::tanh: return 1.4;
    case Math::erf: return 1.12;
    default: return 0.51;  // through f64
  }
}

}  // namespace anew::test
