// Scalar numbers of every dtype: how stored floats are encoded, how values convert, what integer division gives.
// These few functions are the meaning that block instructions, constants and the reference evaluator share.
#pragma once
#include <anew/base.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace anew::loops {

// bf16 and f16 by bits; rounding to nearest even. A nan stays a nan.
inline float float_of_bf16(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }
inline std::uint16_t bf16_of_float(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
  return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
inline float float_of_f16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // 2^112 moves the exponent from bias 15 to 127 and normalises subnormals exactly.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}
inline std::uint16_t f16_of_float(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more
  if (magnitude <
      0x38800000u)  // below 2^-14: the sum aligns the value to the unit of subnormals, rounded by the machine
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) & 0x7ffu));
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}
inline float float_of_bits(DType dtype, std::uint64_t bits) {
  if (dtype == bf16) return float_of_bf16(static_cast<std::uint16_t>(bits));
  if (dtype == f16) return float_of_f16(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
// What a stored type keeps of x.
inline float rounded(DType dtype, float x) {
  if (dtype == bf16) return float_of_bf16(bf16_of_float(x));
  if (dtype == f16) return float_of_f16(f16_of_float(x));
  return x;
}

template <class To, class From>
To convert_number(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    // The largest To may not be a float: compare with the power of two just above it.
    constexpr From below = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
    if (x != x) return 0;
    if (x < below) return std::numeric_limits<To>::min();
    if (x >= above) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <std::integral T>
T divide(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  return x / y;
}
template <std::integral T>
T remainder(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return x % y;
}

}  // namespace anew::loops
