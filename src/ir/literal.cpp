// Literals: a scalar as the bits of its dtype, so that equality is equality of bits (-0.0 is not 0.0, a nan is itself).
// Conversions are those of the library's `convert`: floats to integers saturate, a nan gives 0, to bool is != 0.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "base/float_mode.h"
#include "ir/decimal.h"
#include "ir/program.h"

namespace anew::ir {
// There is one nan, so that programs that print alike are equal.
Literal Literal::of(DType dtype, double v) {
  const FloatMode mode;
  return {dtype, bits_of(dtype, std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v)};
}
Literal Literal::of(DType dtype, std::int64_t v) {
  const FloatMode mode;
  return {dtype, bits_of(dtype, v)};
}

std::int64_t Literal::as_integer() const { return number_of_bits<std::int64_t>(dtype, bits); }
double Literal::as_double() const { return number_of_bits<double>(dtype, bits); }

std::string Literal::str() const {
  if (dtype == bool_) return bits ? "True:bool[]" : "False:bool[]";
  if (is_float(dtype)) return fmt::format("{}:{}[]", float_text(as_double(), dtype), name_of(dtype));
  if (!is_signed(dtype)) return fmt::format("{}:{}[]", bits, name_of(dtype));
  return fmt::format("{}:{}[]", as_integer(), name_of(dtype));
}

}  // namespace anew::ir
