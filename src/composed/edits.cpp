// Arrays with elements put in, left out or replaced, as new arrays: NumPy's append, insert, delete, put, place, resize.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew::numpy {
namespace {

struct Lines {
  Array x;
  int axis;
  std::int64_t size() const { return type_of(x).shape[axis]; }
};
// The array and its axis; without one the flat array.
Lines lines_of(std::string_view op, const ArrayLike& x, std::optional<int> axis) {
  Array a = checked(x);
  if (!axis) return {ravel(a), 0};
  return {a, checked_axis(op, *axis, type_of(a).shape.ndim(), type_of(a), x.at)};
}
Array integers_of(std::string_view op, const ArrayLike& index, const Location& at) {
  check_operand(index.value, line_or(at));
  Array i = strong(index.value, at);
  if (!is_integer(type_of(i).dtype) || type_of(i).shape.ndim() > 1)
    fail(op, at, fmt::format("the index is {}", type_of(i).str()), "give an integer, or a vector of integers");
  return i;
}
// The flat values over and over, n of them.
Array repeated(const Array& v, std::int64_t n) {
  const std::int64_t have = type_of(v).shape.size();
  return take(ravel(v), arange(n) % have, 0);
}

}  // namespace

Array append(const ArrayLike& x, const ArrayLike& values, std::optional<int> axis) {
  Array a = checked(x), b = checked(values);
  PinLine pin(x.at);
  return axis ? concatenate({a, b}, *axis) : concatenate({ravel(a), ravel(b)});
}

Array insert(const ArrayLike& x, const ArrayLike& index, const ArrayLike& values, std::optional<int> axis) {
  auto [a, along] = lines_of("insert", x, axis);
  Array i = integers_of("insert", index, x.at);
  check_operand(values.value, line_or(x.at));
  PinLine pin(x.at);
  const Type type = type_of(a);
  Array v = coerce(values.value, type.dtype, x.at);
  while (type_of(v).shape.ndim() < type.shape.ndim()) v = expand_dims(v, 0);
  const bool one = type_of(i).shape.ndim() == 0;
  if (one) v = moveaxis(v, 0, along);
  i = ravel(i);
  const std::int64_t n = type.shape[along], given = type_of(i).shape[0], wide = type_of(v).shape[along];
  const std::int64_t more = given == 1 ? wide : given;
  Shape shape = type.shape;
  shape[along] = more;
  v = broadcast_to(v, shape);
  i = broadcast_to(clip(where(i < 0, i + n, i), 0, n), {more});
  // Where each value goes: those with the same index keep their order.
  Array places = i.at(argsort(i)).add(arange(more, type_of(i).dtype));
  Array old = nonzero(ones({n + more}, bool_).at(places).set(false), {.size = n})[0];
  Array from = zeros({n + more}, default_int()).at(places).set(n + arange(more)).at(old).set(arange(n));
  return take(concatenate({a, v}, along), from, along);
}

Array delete_(const ArrayLike& x, const ArrayLike& index, std::optional<int> axis) {
  const Lines lines = lines_of("delete_", x, axis);
  check_operand(index.value, line_or(x.at));
  const Type type = type_of(index.value);
  const std::int64_t n = lines.size();
  const bool mask = type.dtype == bool_;
  if (mask ? !(type.shape == Shape{n}) : !is_integer(type.dtype))
    fail("delete_", x.at, fmt::format("the index is {}", type.str()),
         fmt::format("give integers, or a bool for each of {} elements", n));
  std::vector<std::int64_t> kept;
  std::vector<bool> gone(static_cast<std::size_t>(n));
  const std::vector<std::int64_t> given = index.value.to_vector<std::int64_t>(x.at);
  for (std::size_t k = 0; k < given.size(); ++k) {
    const std::int64_t i = given[k] < 0 ? given[k] + n : given[k];
    if (mask) gone[k] = given[k] != 0;
    else if (i < 0 || i >= n)
      fail("delete_", x.at, fmt::format("index {} is out of range for an axis of size {}", given[k], n));
    else gone[static_cast<std::size_t>(i)] = true;
  }
  for (std::int64_t i = 0; i < n; ++i)
    if (!gone[static_cast<std::size_t>(i)]) kept.push_back(i);
  PinLine pin(x.at);
  if (kept.empty()) return lax::slice_in_dim(lines.x, 0, 0, 1, lines.axis);
  return take(lines.x, array(kept), lines.axis);
}

Array put(const ArrayLike& x, const ArrayLike& index, const ArrayLike& values, std::string_view mode) {
  Array a = checked(x);
  check_operand(values.value, line_or(x.at));
  PinLine pin(x.at);
  Array i = ravel(integers_of("put", ravel(index), x.at)), v = coerce(values.value, type_of(a).dtype, x.at);
  const std::int64_t n = type_of(i).shape[0];
  if (type_of(a).shape.size() == 0 || n == 0 || type_of(v).shape.size() == 0) return a;
  return reshape(ravel(a).at(i).set(repeated(v, n), mode), type_of(a).shape);
}

Array place(const ArrayLike& x, const ArrayLike& mask, const ArrayLike& values) {
  Array a = checked(x), m = checked(mask);
  check_operand(values.value, line_or(x.at));
  const Type type = type_of(a);
  if (type.shape.size() != type_of(m).shape.size())
    fail("place", x.at, fmt::format("a mask {} for {}", type_of(m).str(), type.str()), "give one of the same size");
  PinLine pin(x.at);
  Array v = coerce(values.value, type.dtype, x.at);
  if (type_of(v).shape.size() == 0) fail("place", x.at, "there are no values");
  if (type.shape.size() == 0) return a;
  // The n-th place gets the n-th value.
  Array chosen = ravel(m) != 0, rank = cumsum(astype(chosen, default_int())) - 1;
  Array next = take(ravel(v), maximum(rank, 0) % type_of(v).shape.size(), 0);
  return reshape(where(chosen, next, ravel(a)), type.shape);
}

Array choose(const ArrayLike& index, const ArrayList& choices, std::string_view mode) {
  Array i = checked(index);
  if (!is_integer(type_of(i).dtype) || choices.values.empty())
    fail("choose", index.at, fmt::format("an index {} into {} choices", type_of(i).str(), choices.values.size()));
  if (mode != "clip" && mode != "wrap")
    fail("choose", index.at, fmt::format("no mode \"{}\"", mode), "it is clip or wrap");
  for (const Array& x : choices.values) check_operand(x, line_or(index.at));
  PinLine pin(index.at);
  const DType d = common_dtype(choices.values);
  const auto n = static_cast<std::int64_t>(choices.values.size());
  i = mode == "wrap" ? i % n : clip(i, 0, n - 1);
  Arrays all{i};
  for (const Array& x : choices.values) all.push_back(coerce(x, d, index.at));
  all = broadcast_arrays(all);
  Array y = all[1];
  for (std::int64_t k = 1; k < n; ++k) y = where(all[0] == k, all[static_cast<std::size_t>(k) + 1], y);
  return y;
}

Array resize(const ArrayLike& x, const Shape& shape) {
  Array a = checked(x);
  for (int i = 0; i < shape.ndim(); ++i)
    if (shape[i] < 0) fail("resize", x.at, fmt::format("negative size in shape {}", shape.str()));
  PinLine pin(x.at);
  if (type_of(a).shape.size() == 0 || shape.size() == 0) return zeros(shape, type_of(a).dtype);
  return reshape(repeated(a, shape.size()), shape);
}

Array indices(const Shape& shape, DType dtype, const Location& at) {
  PinLine pin(at);
  Arrays out;
  for (int i = 0; i < shape.ndim(); ++i) out.push_back(lax::iota(shape, i, dtype));
  return out.empty() ? zeros({0}, dtype) : stack(out);
}

Array empty(const Shape& shape, DType dtype, const Location& at) { return zeros(shape, dtype, at); }
Array positive(const ArrayLike& x) { return copy(x); }
Array spacing(const ArrayLike& x) {
  Array a = float_array(x);
  PinLine pin(x.at);
  if (type_of(a).dtype == f16) return nextafter(a, inf) - a;
  return nextafter(a, copysign(inf, a)) - a;
}
DType result_type(const ArrayList& xs) {
  for (const Array& x : xs.values) check_operand(x, line_or(xs.at));
  if (xs.values.empty()) fail("result_type", xs.at, "of no arrays");
  return common_dtype(xs.values);
}

}  // namespace anew::numpy
