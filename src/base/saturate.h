// Sums and products that stop at the ends of i64: sizes made of a user's numbers are too large there, never others.
#pragma once
#include <cstdint>
#include <limits>

namespace anew {

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a > 0) == (b > 0) ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
constexpr std::int64_t saturating_abs(std::int64_t a) { return a < 0 ? saturating_mul(a, -1) : a; }

}  // namespace anew
