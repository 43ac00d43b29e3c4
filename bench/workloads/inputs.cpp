// The counter hash and what is made of it. Products and sums are rounded one by one (the flags forbid contraction).
#include "inputs.h"

#include <algorithm>
#include <vector>

namespace workloads {
namespace {

std::uint32_t hash(std::uint32_t seed, std::uint32_t i) {
  std::uint32_t x = i + seed * 0x9E3779B9u;
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  x ^= x >> 16;
  return x;
}

template <class T>
Array filled(std::uint32_t seed, const Shape& shape, double scale, double shift, DType dtype) {
  std::vector<T> x(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(hash(seed, static_cast<std::uint32_t>(i)) >> 8) * static_cast<T>(0x1p-23) - T(1);
    x[i] = x[i] * static_cast<T>(scale);
    if (shift != 0) x[i] = x[i] + static_cast<T>(shift);
  }
  return anew::array(x, shape, dtype);
}

}  // namespace

Array fill(std::uint32_t seed, const Shape& shape, double scale, double shift, DType dtype) {
  return dtype == anew::f64 ? filled<double>(seed, shape, scale, shift, dtype)
                            : filled<float>(seed, shape, scale, shift, dtype);
}

Array ints(std::uint32_t seed, const Shape& shape, std::uint32_t modulus) {
  std::vector<std::int32_t> x(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<std::int32_t>(hash(seed, static_cast<std::uint32_t>(i)) % modulus);
  return anew::array(x, shape, anew::i32);
}

Array bump(std::int64_t side, double row, double column, double width) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j) {
      const double di = static_cast<double>(i) - row, dj = static_cast<double>(j) - column;
      const double q = std::max(0.0, 1.0 - (di * di + dj * dj) / width);
      x.push_back(static_cast<float>(q * q));
    }
  return anew::array(x, Shape{side, side}, anew::f32);
}

}  // namespace workloads
