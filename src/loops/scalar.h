// The vocabulary of math.h for plain numbers, so that a function can be evaluated for one element at a time: the
// reference in tests, and tails of blocks. Same names and same bits as Vec.
#pragma once
#include "loops/integer_division.h"

namespace anew::loops {

inline bool any(bool x) { return x; }
inline bool both(bool x, bool y) { return x && y; }
inline bool either(bool x, bool y) { return x || y; }
template <class T>
T select(bool c, T a, T b) {
  return c ? a : b;
}
template <class T>
T rarely(bool c, T a, T b) {
  return c ? a : b;
}
inline float like(float, double value) { return static_cast<float>(value); }
inline double like(double, double value) { return value; }
inline std::int32_t like(std::int32_t, double value) { return static_cast<std::int32_t>(value); }
inline std::int64_t like(std::int64_t, double value) { return static_cast<std::int64_t>(value); }

inline float fma(float x, float y, float z) { return std::fma(x, y, z); }
inline double fma(double x, double y, double z) { return std::fma(x, y, z); }
inline float sqrt(float x) { return std::sqrt(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline float abs(float x) { return std::fabs(x); }
inline double abs(double x) { return std::fabs(x); }
inline float trunc(float x) { return std::trunc(x); }
inline double trunc(double x) { return std::trunc(x); }
inline double floor(double x) { return std::floor(x); }
inline double round_even(double x) { return std::nearbyint(x); }
inline std::int32_t bits(float x) { return std::bit_cast<std::int32_t>(x); }
inline std::int64_t bits(double x) { return std::bit_cast<std::int64_t>(x); }
inline float real(std::int32_t x) { return std::bit_cast<float>(x); }
inline double real(std::int64_t x) { return std::bit_cast<double>(x); }
inline double to_f64(float x) { return x; }
inline float to_f32(double x) { return static_cast<float>(x); }
inline float to_f32(std::int32_t x) { return static_cast<float>(x); }
inline std::int32_t to_i32(std::int64_t x) { return static_cast<std::int32_t>(x); }
template <std::signed_integral T>
T shl(T x, int n) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << n);
}
template <std::signed_integral T>
T shr_logical(T x, int n) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> n);
}
template <std::signed_integral T>
T shr_arith(T x, int n) {
  return x >> n;
}
// Integer sums of math.h wrap; plain + would be undefined.
template <std::signed_integral T>
T add_bits(T x, T y) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + static_cast<std::make_unsigned_t<T>>(y));
}

}  // namespace anew::loops
