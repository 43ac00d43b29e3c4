// Averages with weights, covariances, and reductions that leave out nan.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

void check_percent(std::string_view op, const ArrayLike& q, const Location& at) {
  check_operand(q.value, line_or(at));
  if (!is_known_number(q.value)) return;
  const double percent = q.value.value()->number;
  if (!(percent >= 0 && percent <= 100)) fail(op, at, fmt::format("q must be in [0, 100], got {}", percent));
}

bool may_be_nan(const Array& x) { return is_float(type_of(x).dtype); }

// nan replaced by what does not count.
Array without_nan(const Array& x, double by) {
  return may_be_nan(x) ? where(isnan(x), coerce(by, type_of(x).dtype, Location()), x) : x;
}

Array extreme(std::string_view op, const ArrayLike& x, const Axes& axis, bool keepdims, bool largest) {
  Array a = checked(x);
  PinLine pin(x.at, op);
  if (!may_be_nan(a)) return largest ? max(a, axis, keepdims) : min(a, axis, keepdims);
  std::vector<int> axes = checked_axes(op, axis, type_of(a), x.at);
  Array y = largest ? max(without_nan(a, -inf), axes, keepdims) : min(without_nan(a, inf), axes, keepdims);
  return where(all(isnan(a), axes, keepdims), std::numeric_limits<double>::quiet_NaN(), y);
}

Array position(std::string_view op, const ArrayLike& x, std::optional<int> axis, bool keepdims, bool largest) {
  Array a = checked(x);
  PinLine pin(x.at, op);
  if (!may_be_nan(a)) return largest ? argmax(a, axis, keepdims) : argmin(a, axis, keepdims);
  Array y = largest ? argmax(without_nan(a, -inf), axis, keepdims) : argmin(without_nan(a, inf), axis, keepdims);
  return where(axis ? all(isnan(a), *axis, keepdims) : all(isnan(a), {}, keepdims), -1, y);
}

}  // namespace

Array average(const ArrayLike& x, const Axes& axis, const ArrayLike& weights, bool keepdims) {
  if (!weights.value.value()) return mean(x, axis, keepdims);
  auto [a, w] = std::pair(float_array(x), float_array(ArrayLike(weights.value, x.at)));
  const Type type = type_of(a), by = type_of(w);
  const std::vector<int> axes = checked_axes("average", axis, type, x.at);
  PinLine pin(x.at);
  if (by.shape != type.shape) {
    if (axes.size() != 1 || by.shape.ndim() != 1 || by.shape[0] != type.shape[axes[0]])
      fail("average", x.at, fmt::format("weights {} for {}", by.str(), type.str()),
           "they have its shape, or are a vector along one axis");
    Shape line;
    for (int i = 0; i < type.shape.ndim(); ++i) line.push_back(i == axes[0] ? by.shape[0] : 1);
    w = broadcast_to(reshape(w, line), type.shape);
  }
  return sum(a * w, axes, keepdims) / sum(w, axes, keepdims);
}

Array ptp(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = checked(x);
  PinLine pin(x.at);
  return max(a, axis, keepdims) - min(a, axis, keepdims);
}

Array percentile(const ArrayLike& x, const ArrayLike& q, const Axes& axis, bool keepdims, std::string_view method) {
  check_percent("percentile", q, x.at);
  PinLine pin(x.at);
  return quantile(x, as_float(q) / 100.0, axis, keepdims, method);
}

Array cov(const ArrayLike& x, const CovOptions& options) {
  Array a = float_array(x);
  const Type type = type_of(a);
  if (type.shape.ndim() > 2) fail("cov", x.at, fmt::format("needs a vector or a matrix, got {}", type.str()));
  PinLine pin(x.at);
  a = atleast_2d(a);
  if (!options.rowvar && type.shape.ndim() == 2 && type.shape[0] != 1) a = transpose(a);
  const std::int64_t n = type_of(a).shape[1];
  Array w;
  for (const Array* given : {&options.fweights, &options.aweights}) {
    if (!given->value()) continue;
    Array v = coerce(*given, type.dtype, x.at);
    if (type_of(v).shape != Shape{n})
      fail("cov", x.at, fmt::format("weights {} for {} observations", type_of(v).str(), n));
    w = w.value() ? w * v : v;
  }
  Array average = w.value() ? sum(a * w, 1, true) / sum(w) : mean(a, 1, true), centred = a - average;
  // With weights as in NumPy: of counts a total, of reliabilities one that is reduced by their spread.
  Array factor;
  if (!w.value()) {
    factor = Array(n == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(n) - options.ddof);
  } else if (!options.aweights.value() || options.ddof == 0) {
    factor = sum(w) - options.ddof;
  } else {
    factor = sum(w) - options.ddof * sum(w * coerce(options.aweights, type.dtype, x.at)) / sum(w);
  }
  Array weighted = w.value() ? centred * w : centred;
  return squeeze(dot(weighted, transpose(centred)) / factor);
}
Array corrcoef(const ArrayLike& x, bool rowvar) {
  PinLine pin(x.at);
  Array c = cov(x, {.rowvar = rowvar});
  if (type_of(c).shape.ndim() == 0) return c / c;
  Array s = sqrt(diagonal(c));
  return clip(c / expand_dims(s, 1) / s, -1, 1);
}

Array nansum(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = checked(x);
  PinLine pin(x.at);
  return sum(without_nan(a, 0), axis, keepdims);
}
Array nanprod(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = checked(x);
  PinLine pin(x.at);
  return prod(without_nan(a, 1), axis, keepdims);
}
Array nanmax(const ArrayLike& x, const Axes& axis, bool keepdims) { return extreme("nanmax", x, axis, keepdims, true); }
Array nanmin(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return extreme("nanmin", x, axis, keepdims, false);
}
Array nanmean(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = float_array(x);
  PinLine pin(x.at);
  Array n = astype(sum(~isnan(a), axis, keepdims), type_of(a).dtype);
  return sum(without_nan(a, 0), axis, keepdims) / n;
}
Array nanvar(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  Array a = float_array(x);
  PinLine pin(x.at);
  std::vector<int> axes = checked_axes("nanvar", axis, type_of(a), x.at);
  Array there = ~isnan(a), centred = where(there, a - nanmean(a, axes, true), 0);
  Array n = astype(sum(there, axes, keepdims), type_of(a).dtype);
  return where(n - ddof > 0, sum(square(centred), axes, keepdims) / where(n - ddof > 0, n - ddof, 1),
               std::numeric_limits<double>::quiet_NaN());
}
Array nanstd(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof) {
  PinLine pin(x.at);
  return sqrt(nanvar(x, axis, keepdims, ddof));
}
Array nanmedian(const ArrayLike& x, const Axes& axis, bool keepdims) {
  PinLine pin(x.at);
  return nanquantile(x, ArrayLike(0.5, x.at), axis, keepdims);
}
Array nanpercentile(const ArrayLike& x, const ArrayLike& q, const Axes& axis, bool keepdims, std::string_view method) {
  check_percent("nanpercentile", q, x.at);
  PinLine pin(x.at);
  return nanquantile(x, as_float(q) / 100.0, axis, keepdims, method);
}
Array nancumsum(const ArrayLike& x, std::optional<int> axis) {
  Array a = checked(x);
  PinLine pin(x.at);
  return cumsum(without_nan(a, 0), axis);
}
Array nancumprod(const ArrayLike& x, std::optional<int> axis) {
  Array a = checked(x);
  PinLine pin(x.at);
  return cumprod(without_nan(a, 1), axis);
}
Array nanargmax(const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  return position("nanargmax", x, axis, keepdims, true);
}
Array nanargmin(const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  return position("nanargmin", x, axis, keepdims, false);
}

}  // namespace anew
