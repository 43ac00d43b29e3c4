// What the other folders need of base beyond the public vocabulary: overflow-safe sizes, warnings, hashes.
#pragma once
#include <anew/base.h>

#include <optional>

namespace anew {

// Bytes of an array of this type, or nothing if sizes are negative or the number does not fit.
std::optional<std::size_t> checked_bytes(const Shape& shape, DType dtype);

void warn(const std::string& text, const Location& at);

inline void hash_combine(std::size_t& h, std::size_t v) { h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); }
std::size_t hash_value(const Shape& s);
inline std::size_t hash_value(const ShapeDtype& t) {
  std::size_t h = hash_value(t.shape);
  hash_combine(h, static_cast<std::size_t>(t.dtype));
  return h;
}

}  // namespace anew
