// Bit equality of arrays.
#pragma once
#include <anew/anew.h>

#include <bit>
#include <cstdint>

namespace anew::test {

// The same type and the same bits; a NaN equals a NaN.
inline bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == f32) {
    auto x = a.data<float>(), y = b.data<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::bit_cast<std::uint32_t>(x[i]) != std::bit_cast<std::uint32_t>(y[i]) && !(x[i] != x[i] && y[i] != y[i]))
        return false;
    return true;
  }
  if (a.dtype() == f64) {
    auto x = a.data<double>(), y = b.data<double>();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i]) && !(x[i] != x[i] && y[i] != y[i]))
        return false;
    return true;
  }
  return a.to_vector<std::int64_t>() == b.to_vector<std::int64_t>();
}
inline bool same_bits(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

}  // namespace anew::test
