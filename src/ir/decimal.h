// Floating-point numbers as decimal digits: the fewest that read back as the same number of their dtype.
// Printed programs and printed arrays share it, so that both show a number in the same way.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"

namespace anew::ir {

// 0.d1d2d3... * 10^point; digits has neither leading nor trailing zeros, and is empty for zero. v is finite.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};
Decimal shortest_decimal(double v, DType dtype);

// The number of dtype nearest to the text, nothing if there is none; the inverse of float_text, but for inf and nan.
std::optional<double> read_float(std::string_view text, DType dtype);

// As Python writes a float: 1.0, 0.001, 1e-05, 1e+16, inf, -inf, nan. Exponents below 0.0001 and from `limit` on.
std::string float_text(double v, DType dtype, double limit = 1e16);

}  // namespace anew::ir
