// Reductions with where= and initial=: what does not count is replaced by what changes nothing.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <limits>

#include "ops/promote.h"

namespace anew {
namespace {

Array mask_of(std::string_view op, const Array& a, const ReduceOptions& options, const Location& at) {
  if (!options.where.value()) return {};
  Array mask = checked(ArrayLike(options.where, at));
  if (type_of(mask).dtype != bool_) fail(op, at, fmt::format("where is {}, not bool", type_of(mask).str()));
  const Array both[] = {a, mask};
  if (broadcast_shapes(op, both, at) != type_of(a).shape)
    fail(op, at, fmt::format("where {} does not broadcast to {}", type_of(mask).str(), type_of(a).str()));
  return broadcast_to(mask, type_of(a).shape);
}
Array chosen(const Array& a, const Array& mask, const Array& otherwise) {
  return mask.value() ? where(mask, a, otherwise) : a;
}
void no_initial(std::string_view op, const ReduceOptions& options, const Location& at) {
  if (options.initial.value()) fail(op, at, "has no initial value", "sum, prod, max and min have one");
}

Array extreme_of(std::string_view op, const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options,
                 bool largest) {
  Array a = checked(x);
  PinLine pin(x.at, op);
  const DType d = type_of(a).dtype;
  Array mask = mask_of(op, a, options, x.at);
  if (!options.initial.value()) {
    if (mask.value()) fail(op, x.at, "of the elements where a mask holds, which may be none", "give an initial value");
    return largest ? max(a, axis, keepdims) : min(a, axis, keepdims);
  }
  Array first = coerce(options.initial, d, x.at);
  if (type_of(first).shape.ndim() != 0) fail(op, x.at, fmt::format("initial is {}", type_of(first).str()));
  a = chosen(a, mask, first);
  std::vector<int> axes = checked_axes(op, axis, type_of(a), x.at);
  std::int64_t n = 1;
  for (int i : axes) n *= type_of(a).shape[i];
  if (n == 0) {  // of no elements: the initial value alone
    return astype(sum(zeros_like(a), axes, keepdims), d) + first;
  }
  Array y = largest ? max(a, axes, keepdims) : min(a, axes, keepdims);
  return largest ? maximum(y, first) : minimum(y, first);
}

}  // namespace

Array sum(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  Array a = checked(x);
  PinLine pin(x.at);
  Array y = sum(chosen(a, mask_of("sum", a, options, x.at), 0), axis, keepdims);
  return options.initial.value() ? y + coerce(options.initial, type_of(y).dtype, x.at) : y;
}
Array prod(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  Array a = checked(x);
  PinLine pin(x.at);
  Array mask = mask_of("prod", a, options, x.at);
  Array y = prod(chosen(a, mask, type_of(a).dtype == bool_ ? Array(true) : Array(1)), axis, keepdims);
  return options.initial.value() ? y * coerce(options.initial, type_of(y).dtype, x.at) : y;
}
Array max(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  return extreme_of("max", x, axis, keepdims, options, true);
}
Array min(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  return extreme_of("min", x, axis, keepdims, options, false);
}
Array all(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  Array a = checked(x);
  no_initial("all", options, x.at);
  PinLine pin(x.at);
  return all(chosen(astype(a, bool_), mask_of("all", a, options, x.at), true), axis, keepdims);
}
Array any(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  Array a = checked(x);
  no_initial("any", options, x.at);
  PinLine pin(x.at);
  return any(chosen(astype(a, bool_), mask_of("any", a, options, x.at), false), axis, keepdims);
}
Array mean(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options) {
  Array a = float_array(x);
  no_initial("mean", options, x.at);
  PinLine pin(x.at);
  Array mask = mask_of("mean", a, options, x.at);
  if (!mask.value()) return mean(a, axis, keepdims);
  return sum(where(mask, a, 0), axis, keepdims) / astype(sum(mask, axis, keepdims), type_of(a).dtype);
}
Array var(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof, const ReduceOptions& options) {
  Array a = float_array(x);
  no_initial("var", options, x.at);
  PinLine pin(x.at);
  Array mask = mask_of("var", a, options, x.at);
  if (!mask.value()) return var(a, axis, keepdims, ddof);
  std::vector<int> axes = checked_axes("var", axis, type_of(a), x.at);
  Array centred = where(mask, a - mean(a, axes, true, options), 0);
  Array degrees = astype(sum(mask, axes, keepdims), type_of(a).dtype) - ddof;
  Array enough = degrees > 0, y = sum(square(centred), axes, keepdims) / where(enough, degrees, 1);
  return where(enough, y, std::numeric_limits<double>::quiet_NaN());
}
Array std(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof, const ReduceOptions& options) {
  PinLine pin(x.at);
  return sqrt(var(x, axis, keepdims, ddof, options));
}

}  // namespace anew
