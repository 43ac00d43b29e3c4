// Reductions made of rows, and comparisons of whole arrays.
#include <anew/indexing.h>
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

std::int64_t count(std::string_view op, const Array& x, const Axes& axis, const Location& at) {
  std::int64_t n = 1;
  for (int a : checked_axes(op, axis, type_of(x), at)) n *= type_of(x).shape[a];
  return n;
}

// The axes joined into one, the last.
Array joined_last(const Array& x, const std::vector<int>& axes) {
  const Shape& shape = type_of(x).shape;
  std::vector<int> kept = axes_without(shape.ndim(), axes);
  Shape out;
  std::int64_t n = 1;
  for (int i : kept) out.push_back(shape[i]);
  for (int i : axes) n *= shape[i];
  out.push_back(n);
  return reshape(transpose(x, joined(kept, axes)), out);
}

Array order_statistic(std::string_view op, const ArrayLike& x, double q, const Axes& axis, bool keepdims) {
  check_operand(x.value, line_or(x.at));
  Array a = strong(x.value, x.at);
  const Type type = type_of(a);
  std::vector<int> axes = checked_axes(op, axis, type, x.at);
  if (!(q >= 0 && q <= 1)) throw Error(fmt::format("[{}] q must be in [0, 1], got {}", op, q), line_or(x.at));
  PinLine pin(x.at);
  Array lines = sort(joined_last(coerce(a, floating(type.dtype), x.at), axes));
  const Shape shape = type_of(lines).shape;
  const std::int64_t n = shape[-1];
  if (n == 0) throw Error(fmt::format("[{}] of no elements: {} along axes of size 0", op, type.str()), line_or(x.at));
  auto element = [&](std::int64_t i) {
    Shape start, limit = shape;
    for (int k = 0; k < shape.ndim(); ++k) start.push_back(0);
    start[-1] = i;
    limit[-1] = i + 1;
    return squeeze(lax::slice(lines, start, limit), -1);
  };
  const double place = q * static_cast<double>(n - 1), low = std::floor(place), weight = place - low;
  Array y = element(static_cast<std::int64_t>(low));
  if (weight > 0) y = y * (1 - weight) + element(static_cast<std::int64_t>(low) + 1) * weight;
  Array last = element(n - 1);  // nan, if there is one
  y = where(isnan(last), last, y);
  if (!keepdims) return y;
  Shape whole = type.shape;
  for (int i : axes) whole[i] = 1;
  return reshape(y, whole);
}

}  // namespace

Array mean(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = float_array(x);
  auto n = static_cast<double>(count("mean", a, axis, x.at));
  PinLine pin(x.at);
  return sum(a, axis, keepdims) / n;
}

Array var(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  Array a = float_array(x);
  auto n = static_cast<double>(count("var", a, axis, x.at));
  PinLine pin(x.at);
  return sum(square(a - mean(a, axis, true)), axis, keepdims) / (n - ddof);
}

Array std(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  PinLine pin(x.at);
  return sqrt(var(x, axis, keepdims, ddof));
}

Array logsumexp(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = float_array(x);
  PinLine pin(x.at);
  std::vector<int> axes = checked_axes("logsumexp", axis, type_of(a), x.at);
  Array top = max(a, axes, true);
  top = stop_gradient(where(isfinite(top), top, 0));
  Array y = log(sum(exp(a - top), axes, true)) + top;
  return keepdims ? y : squeeze(y, axes);
}
Array nn::logsumexp(const ArrayLike& x, const Axes& axis, bool keepdims) { return anew::logsumexp(x, axis, keepdims); }

Array count_nonzero(const ArrayLike& x, const Axes& axis, bool keepdims) {
  PinLine pin(x.at);
  return sum(asarray(x) != 0, axis, keepdims);
}

Array norm(const ArrayLike& x, const Axes& axis, bool keepdims, double ord) {
  Array a = float_array(x);
  PinLine pin(x.at);
  if (ord == 2) return sqrt(sum(a * a, axis, keepdims));
  if (checked_axes("norm", axis, type_of(a), x.at).size() != 1)
    fail("norm", x.at, fmt::format("of order {} is of vectors: give one axis of {}", ord, type_of(a).str()));
  if (std::isinf(ord)) return ord > 0 ? max(abs(a), axis, keepdims) : min(abs(a), axis, keepdims);
  if (ord == 0) return astype(count_nonzero(a, axis, keepdims), type_of(a).dtype);
  if (ord == 1) return sum(abs(a), axis, keepdims);
  return power(sum(power(abs(a), ord), axis, keepdims), 1 / ord);
}

bool allclose(const ArrayLike& a, const ArrayLike& b, double rtol, double atol) {
  PinLine pin(a.at);
  Array x = float_array(a), y = float_array(b);
  Array near = abs(x - y) <= atol + rtol * abs(y);
  return all((near & isfinite(y)) | (x == y)).item<bool>(a.at);
}

bool array_equal(const ArrayLike& a, const ArrayLike& b) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  if (type_of(a.value).shape != type_of(b.value).shape) return false;
  PinLine pin(a.at);
  return all(equal(a, b)).item<bool>(a.at);
}

Array median(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return order_statistic("median", x, 0.5, axis, keepdims);
}
Array quantile(const ArrayLike& x, double q, const Axes& axis, bool keepdims) {
  return order_statistic("quantile", x, q, axis, keepdims);
}

}  // namespace anew
