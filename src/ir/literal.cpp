// Literals: a scalar as the bits of its dtype, so that equality is equality of bits (-0.0 is not 0.0, a nan is itself).
// Conversions are those of the library's `convert`: floats to integers saturate, a nan gives 0, to bool is != 0.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/float_mode.h"
#include "ir/decimal.h"
#include "ir/program.h"
#include "loops/number.h"

namespace anew::ir {
namespace {

template <class T>
std::uint64_t to_bits(DType dtype, T v) {
  const FloatMode mode;
  switch (dtype) {
    case bool_: return v != T{0};
    case i32: return static_cast<std::uint32_t>(loops::convert_number<std::int32_t>(v));
    case u32: return loops::convert_number<std::uint32_t>(v);
    case i64: return static_cast<std::uint64_t>(loops::convert_number<std::int64_t>(v));
    case bf16: return loops::bf16_of_float(static_cast<float>(v));
    case f16: return loops::f16_of_float(static_cast<float>(v));
    case f32: return std::bit_cast<std::uint32_t>(static_cast<float>(v));
    case f64: return std::bit_cast<std::uint64_t>(static_cast<double>(v));
  }
  return 0;
}

}  // namespace

// There is one nan, so that programs that print alike are equal.
Literal Literal::of(DType dtype, double v) {
  return {dtype, to_bits(dtype, std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v)};
}
Literal Literal::of(DType dtype, std::int64_t v) { return {dtype, to_bits(dtype, v)}; }

std::int64_t Literal::as_integer() const {
  switch (dtype) {
    case bool_: return bits != 0;
    case i32: return static_cast<std::int32_t>(bits);
    case u32: return static_cast<std::uint32_t>(bits);
    case i64: return static_cast<std::int64_t>(bits);
    default: return loops::convert_number<std::int64_t>(as_double());
  }
}

double Literal::as_double() const {
  if (dtype == f64) return std::bit_cast<double>(bits);
  return is_float(dtype) ? loops::float_of_bits(dtype, bits) : static_cast<double>(as_integer());
}

std::string Literal::str() const {
  if (dtype == bool_) return bits ? "True:bool[]" : "False:bool[]";
  if (is_float(dtype)) return fmt::format("{}:{}[]", float_text(as_double(), dtype), name_of(dtype));
  return fmt::format("{}:{}[]", as_integer(), name_of(dtype));
}

}  // namespace anew::ir
