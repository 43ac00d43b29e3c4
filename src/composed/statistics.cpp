// Reductions made of rows, and comparisons of whole arrays.
#include <anew/indexing.h>
#include <anew/lax.h>
#include <anew/nn.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

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

// Where the q-th part of `last + 1` sorted elements ends: between which two, and how far.
struct Between {
  Array low, high, weight;
};
Between between_elements(std::string_view op, const Array& q, const Array& last, std::string_view method,
                         const Location& at) {
  Array place = q * last, low = floor(place), high = ceil(place), weight = place - low;
  if (method == "lower") return {low, low, zeros_like(weight)};
  if (method == "higher") return {high, high, zeros_like(weight)};
  if (method == "nearest") return {round(place), round(place), zeros_like(weight)};
  if (method == "midpoint") return {low, high, where(low == high, 0, full_like(weight, 0.5))};
  if (method != "linear")
    fail(op, at, fmt::format("no method \"{}\"", method), "methods are linear, lower, higher, midpoint, nearest");
  return {low, high, weight};
}

// The axes of q come first. nan counts as the last of its line; `ignore_nan`: not at all.
Array order_statistic(std::string_view op, const ArrayLike& x, const Array& q, const Axes& axis, bool keepdims,
                      std::string_view method, bool ignore_nan) {
  check_operand(x.value, line_or(x.at));
  check_operand(q, line_or(x.at));
  Array a = strong(x.value, x.at);
  const Type type = type_of(a);
  std::vector<int> axes = checked_axes(op, axis, type, x.at);
  if (is_known_number(q) && !(q.value()->number >= 0 && q.value()->number <= 1))
    throw Error(fmt::format("[{}] q must be in [0, 1], got {}", op, q.value()->number), line_or(x.at));
  PinLine pin(x.at, op);
  Array lines = sort(joined_last(coerce(a, floating(type.dtype), x.at), axes));
  const Type sorted = type_of(lines);
  const std::int64_t n = sorted.shape[-1];
  Shape rest = sorted.shape;
  rest.erase(rest.ndim() - 1);
  if (n == 0 && rest.size() > 0)
    throw Error(fmt::format("[{}] of no elements: {} along axes of size 0", op, type.str()), line_or(x.at));
  // Of half precision places are not whole numbers, so they are counted in f32 at least.
  const DType exact = is_stored(sorted.dtype) ? f32 : sorted.dtype;
  Array flat = reshape(coerce(q, exact, x.at), {-1});
  const Shape of_q = type_of(strong(q, x.at)).shape;
  // [rest..., number of q]
  Array last =
      ignore_nan ? astype(sum(~isnan(lines), -1, true), exact) - 1 : full({1}, static_cast<double>(n - 1), exact);
  Array nothing = last < 0;
  Between b = between_elements(op, flat, maximum(last, 0), method, x.at);
  auto element = [&](const Array& i) {
    Shape places = rest;
    places.push_back(type_of(flat).shape[0]);
    return take_along_axis(lines, broadcast_to(astype(i, i32), places), -1, "clip");
  };
  Array weight = astype(b.weight, sorted.dtype), low = element(b.low);
  // Where both are one element its weight is 1, whatever it is: inf too.
  Array y = method == "linear" || method == "midpoint"
                ? where(weight > 0, low * (1 - weight) + where(weight > 0, element(b.high), 0) * weight, low)
                : low;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  y = where(ignore_nan ? nothing : isnan(lax::slice_in_dim(lines, n - 1, n, 1, -1)), nan, y);
  y = where((flat >= 0) & (flat <= 1), y, nan);
  y = moveaxis(y, -1, 0);
  Shape whole = of_q;
  for (int i = 0; i < type.shape.ndim(); ++i) {
    if (!contains(axes, i)) whole.push_back(type.shape[i]);
    else if (keepdims) whole.push_back(1);
  }
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
  if (!(n > ddof)) return full_like(sum(a, axis, keepdims), std::numeric_limits<double>::quiet_NaN());
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
  if (count("logsumexp", a, axis, x.at) == 0) return log(sum(exp(a), axes, keepdims));  // -inf
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
  if (ord > 0 && count("norm", a, axis, x.at) == 0) return sum(abs(a), axis, keepdims);
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
  return order_statistic("median", x, 0.5, axis, keepdims, "linear", false);
}
Array quantile(const ArrayLike& x, const ArrayLike& q, const Axes& axis, bool keepdims, std::string_view method) {
  return order_statistic("quantile", x, q.value, axis, keepdims, method, false);
}
Array nanquantile(const ArrayLike& x, const ArrayLike& q, const Axes& axis, bool keepdims, std::string_view method) {
  return order_statistic("nanquantile", x, q.value, axis, keepdims, method, true);
}

}  // namespace anew
