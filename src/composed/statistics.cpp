// Reductions made of rows, and comparisons of whole arrays.
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>

#include "ops/promote.h"

namespace anew {
namespace {

Array as_float(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return coerce(x.value, floating(type_of(x.value).dtype), x.at);
}

std::int64_t count(std::string_view op, const Array& x, const Axes& axis, const Location& at) {
  std::int64_t n = 1;
  for (int a : checked_axes(op, axis, type_of(x), at)) n *= type_of(x).shape[a];
  return n;
}

}  // namespace

Array mean(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = as_float(x);
  auto n = static_cast<double>(count("mean", a, axis, x.at));
  PinLine pin(x.at);
  return sum(a, axis, keepdims) / n;
}

Array var(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  Array a = as_float(x);
  auto n = static_cast<double>(count("var", a, axis, x.at));
  PinLine pin(x.at);
  return sum(square(a - mean(a, axis, true)), axis, keepdims) / (n - ddof);
}

Array std(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  PinLine pin(x.at);
  return sqrt(var(x, axis, keepdims, ddof));
}

Array logsumexp(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = as_float(x);
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
  Array a = as_float(x);
  PinLine pin(x.at);
  if (ord == 2) return sqrt(sum(a * a, axis, keepdims));
  if (checked_axes("norm", axis, type_of(a), x.at).size() != 1)
    throw Error(fmt::format("[norm] of order {} is of vectors: give one axis of {}", ord, type_of(a).str()),
                line_or(x.at));
  if (std::isinf(ord)) return ord > 0 ? max(abs(a), axis, keepdims) : min(abs(a), axis, keepdims);
  if (ord == 0) return astype(count_nonzero(a, axis, keepdims), type_of(a).dtype);
  if (ord == 1) return sum(abs(a), axis, keepdims);
  return power(sum(power(abs(a), ord), axis, keepdims), 1 / ord);
}

bool allclose(const ArrayLike& a, const ArrayLike& b, double rtol, double atol) {
  PinLine pin(a.at);
  Array x = as_float(a), y = as_float(b);
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

}  // namespace anew
