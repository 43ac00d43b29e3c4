// The inputs of all workloads: one counter hash, so that every library and language makes the same numbers, bit for
// bit.
#pragma once
#include <anew/anew.h>

#include <cstdint>

namespace workloads {

using anew::Array;
using anew::DType;
using anew::Shape;

// u * scale + shift with u in [-1, 1), a function of seed and row-major index; the addition is left out where shift is
// 0.
Array fill(std::uint32_t seed, const Shape& shape, double scale = 1, double shift = 0, DType dtype = anew::f32);
// Integers in [0, modulus), i32.
Array ints(std::uint32_t seed, const Shape& shape, std::uint32_t modulus);
// q * q with q = max(0, 1 - ((i - row)^2 + (j - column)^2) / width), in f64, rounded to f32.
Array bump(std::int64_t side, double row, double column, double width);

}  // namespace workloads
