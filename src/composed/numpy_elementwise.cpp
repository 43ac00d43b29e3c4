// Other names of NumPy's, and elementwise functions of <anew/numpy.h>.
#include <anew/numpy.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/promote.h"

namespace anew {
namespace {

constexpr double boundless = std::numeric_limits<double>::infinity();

Array cumulative(std::string_view op, const ArrayLike& x, std::optional<int> axis, bool include_initial, bool product) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (!axis && type.shape.ndim() != 1)
    fail(op, x.at, fmt::format("needs an axis for {}", type.str()), "only of vectors it is known");
  const int i = checked_axis(op, axis.value_or(0), type.shape.ndim(), type, x.at);
  PinLine pin(x.at, op);
  Array y = product ? cumprod(a, i) : cumsum(a, i);
  if (!include_initial) return y;
  Shape first = type.shape;
  first[i] = 1;
  return concatenate({full(first, product ? 1 : 0, type_of(y).dtype), y}, i);
}

}  // namespace

Array absolute(const ArrayLike& x) { return abs(x); }
Array fabs(const ArrayLike& x) {
  PinLine pin(x.at);
  return abs(as_float(x));
}
Array arcsinh(const ArrayLike& x) { return asinh(x); }
Array arccosh(const ArrayLike& x) { return acosh(x); }
Array arctanh(const ArrayLike& x) { return atanh(x); }
Array deg2rad(const ArrayLike& x) { return radians(x); }
Array rad2deg(const ArrayLike& x) { return degrees(x); }
Array rint(const ArrayLike& x) {
  PinLine pin(x.at);
  return round(as_float(x));
}
Array bitwise_invert(const ArrayLike& x) { return bitwise_not(x); }
Array bitwise_count(const ArrayLike& x) {
  Array a = checked(x);
  if (!is_integer(type_of(a).dtype))
    fail("bitwise_count", x.at, fmt::format("needs integers, got {}", type_of(a).str()));
  PinLine pin(x.at);
  return astype(lax::population_count(abs(a)), u8);
}
Array bitwise_left_shift(const ArrayLike& a, const ArrayLike& b) { return left_shift(a, b); }
Array bitwise_right_shift(const ArrayLike& a, const ArrayLike& b) { return right_shift(a, b); }
Array amax(const ArrayLike& x, const Axes& axis, bool keepdims) { return max(x, axis, keepdims); }
Array amin(const ArrayLike& x, const Axes& axis, bool keepdims) { return min(x, axis, keepdims); }
Array concat(const ArrayList& xs, int axis) { return concatenate(xs, axis); }
Array permute_dims(const ArrayLike& x, const Axes& axes) {
  PinLine pin(x.at);
  return transpose(x, axes);
}
Array matrix_transpose(const ArrayLike& x) {
  const Type type = type_of(checked(x));
  if (type.shape.ndim() < 2) fail("matrix_transpose", x.at, fmt::format("needs a matrix, got {}", type.str()));
  return swapaxes(x, -2, -1);
}
Array linalg::matrix_transpose(const ArrayLike& x) { return anew::matrix_transpose(x); }
Array around(const ArrayLike& x, int decimals) {
  Array a = checked(x);
  if (decimals == 0) return is_float(type_of(a).dtype) ? round(x) : a;
  if (!is_float(type_of(a).dtype)) {
    if (decimals > 0) return a;
    fail("around", x.at, fmt::format("of {} to {} decimals", type_of(a).str(), decimals),
         "convert it to a float first");
  }
  PinLine pin(x.at);
  const double factor = std::pow(10.0, decimals);
  return round(a * factor) / factor;
}
Array cumulative_sum(const ArrayLike& x, std::optional<int> axis, bool include_initial) {
  return cumulative("cumulative_sum", x, axis, include_initial, false);
}
Array cumulative_prod(const ArrayLike& x, std::optional<int> axis, bool include_initial) {
  return cumulative("cumulative_prod", x, axis, include_initial, true);
}

Array isposinf(const ArrayLike& x) {
  PinLine pin(x.at);
  return as_float(x) == boundless;
}
Array isneginf(const ArrayLike& x) {
  PinLine pin(x.at);
  return as_float(x) == -boundless;
}
Array i0(const ArrayLike& x) { return special::i0(x); }
Array float_power(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("float_power", a, b, true);
  PinLine pin(a.at);
  return power(x, y);
}
Array logaddexp2(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("logaddexp2", a, b, true);
  PinLine pin(a.at);
  return logaddexp(x * std::numbers::ln2, y * std::numbers::ln2) * std::numbers::log2e;
}

// In steps, each a power of two that the type holds: a product with 2^exponent itself would overflow too early, and
// underflow.
Array ldexp(const ArrayLike& x, const ArrayLike& exponent) {
  Array a = float_array(x), e = checked(exponent);
  if (!is_integer(type_of(e).dtype) && type_of(e).dtype != bool_)
    fail("ldexp", x.at, fmt::format("the exponent is an integer, got {}", type_of(e).str()));
  PinLine pin(x.at);
  const DType d = type_of(a).dtype;
  const int most = d == f64 ? 1000 : d == f16 ? 14 : 120;
  Array left = clip(astype(e, i32), -3 * most, 3 * most);
  for (int i = 0; i < 3; ++i) {
    Array part = clip(left, -most, most);
    a = a * exp2(astype(part, d));
    left = left - part;
  }
  return a;
}

std::pair<Array, Array> divmod(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return {floor_divide(a, b), remainder(a, ArrayLike(b.value, a.at))};
}
std::pair<Array, Array> modf(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = float_array(x), whole = trunc(a);
  return {copysign(where(abs(a) == boundless, 0, a - whole), stop_gradient(a)), copysign(whole, stop_gradient(a))};
}
std::pair<Array, Array> frexp(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = float_array(x);
  const DType d = type_of(a).dtype;
  // Subnormals are scaled first. The logarithm may be off by one beside a power of two, which is put right.
  const int up = d == f64 ? 60 : 30;
  Array usual = isfinite(a) & (a != 0), size = abs(stop_gradient(where(usual, a, 1)));
  Array small = size < (d == f64 ? 1e-290 : 1e-30), scaled = where(small, size * std::ldexp(1.0, up), size);
  Array e = astype(floor(log2(scaled)), i32) + 1;
  Array m = ldexp(scaled, -e);
  e = where(m >= 1, e + 1, where(m < 0.5, e - 1, e)) - where(small, up, 0);
  e = where(usual, e, 0);
  return {where(usual, ldexp(where(usual, a, 1), -e), a), astype(e, i32)};
}

Array isclose(const ArrayLike& a, const ArrayLike& b, double rtol, double atol, bool equal_nan) {
  auto [x, y] = both("isclose", a, b, true);
  PinLine pin(a.at);
  Array near = (abs(x - y) <= atol + rtol * abs(y)) & isfinite(x) & isfinite(y);
  near = near | (x == y);
  return equal_nan ? near | (isnan(x) & isnan(y)) : near;
}

Array select(const ArrayList& conditions, const ArrayList& choices, const ArrayLike& otherwise) {
  if (conditions.values.size() != choices.values.size() || choices.values.empty())
    fail("select", conditions.at,
         fmt::format("{} conditions for {} choices", conditions.values.size(), choices.values.size()));
  for (const Array& x : conditions.values) check_operand(x, line_or(conditions.at));
  for (const Array& x : choices.values) check_operand(x, line_or(conditions.at));
  PinLine pin(conditions.at);
  Arrays all = choices.values;
  check_operand(otherwise.value, line_or(conditions.at));
  all.push_back(otherwise.value);
  const DType d = common_dtype(all);
  Array y = coerce(otherwise.value, d, conditions.at);
  for (std::size_t i = choices.values.size(); i-- > 0;) {
    if (type_of(conditions.values[i]).dtype != bool_)
      fail("select", conditions.at, fmt::format("a condition is {}, not bool", type_of(conditions.values[i]).str()));
    y = where(conditions.values[i], coerce(choices.values[i], d, conditions.at), y);
  }
  return y;
}

Array piecewise(const ArrayLike& x, const ArrayList& conditions,
                const std::vector<std::function<Array(Array)>>& values) {
  Array a = checked(x);
  const std::size_t n = conditions.values.size();
  if (values.size() != n && values.size() != n + 1)
    fail("piecewise", x.at, fmt::format("{} conditions for {} functions", n, values.size()),
         "a function for each condition, and one more for where none holds");
  for (const auto& f : values) detail::check_function(f, x.at);
  for (const Array& c : conditions.values) check_operand(c, line_or(x.at));
  PinLine pin(x.at);
  const DType d = type_of(a).dtype;
  Array y = values.size() > n ? astype(values[n](a), d) : zeros_like(a);
  for (std::size_t i = 0; i < n; ++i) y = where(conditions.values[i], astype(values[i](a), d), y);
  return y;
}

DType promote_types(DType a, DType b) { return promote(a, b); }

}  // namespace anew
