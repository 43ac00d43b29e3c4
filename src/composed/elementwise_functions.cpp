// Elementwise functions made of rows. Each pins its caller's line, so that what it binds is reported there.
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/promote.h"

namespace anew {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_float(const Array& x) { return anew::is_float(type_of(x).dtype); }

// The greatest finite number.
double largest(DType d) {
  if (d == f64) return std::numeric_limits<double>::max();
  return number_of_bits<double>(d, extreme_bits(d, false) - 1);
}

}  // namespace

Array reciprocal(const ArrayLike& x) {
  PinLine pin(x.at);
  return 1.0 / as_float(x);
}
Array trunc(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = x.value;
  return is_float(a) ? where(a < 0, ceil(a), floor(a)) : a;
}
Array degrees(const ArrayLike& x) {
  PinLine pin(x.at);
  return as_float(x) * (180 / std::numbers::pi);
}
Array radians(const ArrayLike& x) {
  PinLine pin(x.at);
  return as_float(x) * (std::numbers::pi / 180);
}
Array isnan(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = x.value;
  return is_float(a) ? a != a : full(type_of(a).shape, false);
}
Array isinf(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = x.value;
  return is_float(a) ? abs(a) == infinity : full(type_of(a).shape, false);
}
Array signbit(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = x.value;
  return is_float(a) ? where(a == 0, 1.0 / a, a) < 0 : a < 0;  // 1 / -0 is -inf
}
Array nan_to_num(const ArrayLike& x, double nan) {
  check_operand(x.value, line_or(x.at));
  PinLine pin(x.at);
  Array a = x.value;
  if (!is_float(a)) return a;
  double most = largest(type_of(a).dtype);
  a = where(isnan(a), nan, a);
  return where(a > most, most, where(a < -most, -most, a));
}

Array floor_divide(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("floor_divide", a, b, false);
  PinLine pin(a.at);
  Array r = lax::rem(x, y);
  Array inexact = r != 0;
  if (!is_float(x)) {
    Array q = lax::div(x, y);
    if (!is_signed(type_of(x).dtype)) return q;
    return where((sign(x) != sign(y)) & inexact, q - 1, q);
  }
  Array q = where(y == 0, x, x - r) / y;  // by 0: inf, -inf or nan
  return round(where((sign(y) != sign(r)) & inexact & (y != 0), q - 1, q));
}
Array remainder(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("remainder", a, b, false);
  PinLine pin(a.at);
  Array r = lax::rem(x, y);
  return where(((r < 0) != (y < 0)) & (r != 0), r + y, r);
}
Array mod(const ArrayLike& a, const ArrayLike& b) { return remainder(a, b); }

Array fmax(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("fmax", a, b, false);
  PinLine pin(a.at);
  return where((x > y) | isnan(y), x, y);
}
Array fmin(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("fmin", a, b, false);
  PinLine pin(a.at);
  return where((x < y) | isnan(y), x, y);
}

Array copysign(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("copysign", a, b, true);
  PinLine pin(a.at);
  return where(signbit(x) != signbit(y), -x, x);
}
Array heaviside(const ArrayLike& x, const ArrayLike& at_zero) {
  auto [a, h] = both("heaviside", x, at_zero, true);
  PinLine pin(x.at);
  return where(a < 0, 0, where(a > 0, 1, where(a == 0, h, a)));
}

}  // namespace anew
