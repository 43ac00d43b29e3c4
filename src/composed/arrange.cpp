// NumPy's functions that move elements, made of the rows of views.cpp and pad.cpp.
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/saturate.h"
#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

Shape zeros_for(const Shape& shape) {
  Shape s;
  for (int i = 0; i < shape.ndim(); ++i) s.push_back(0);
  return s;
}

Array part(const Array& x, int axis, std::int64_t begin, std::int64_t end) {
  Shape start = zeros_for(type_of(x).shape), limit = type_of(x).shape;
  start[axis] = begin;
  limit[axis] = end;
  return lax::slice(x, start, limit);
}

// The k-th diagonal of the last two axes; all those beside the matrix are alike.
std::int64_t diagonal_within(const Shape& shape, std::int64_t k) {
  return std::clamp(k, -std::max<std::int64_t>(0, shape[-2]), std::max<std::int64_t>(0, shape[-1]));
}

// Whether an element is on or below (or, strictly, below) the k-th diagonal of the last two axes.
Array lower_mask(const Shape& shape, std::int64_t k, bool strictly = false) {
  Shape matrix{shape[-2], shape[-1]};
  Array row = lax::iota(matrix, 0), column = lax::iota(matrix, 1);
  return row + literal_integer(i32, diagonal_within(shape, k) - (strictly ? 1 : 0)) >= column;
}

Array triangle(std::string_view op, const ArrayLike& x, std::int64_t k, bool lower) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() < 2) fail(op, x.at, fmt::format("needs a matrix, got {}", type.str()));
  PinLine pin(x.at, op);
  Array mask = lower_mask(type.shape, k, !lower);
  return lower ? where(mask, a, zero_like(a)) : where(mask, zero_like(a), a);
}

}  // namespace

Array Array::reshape(const Shape& shape, const Location& at) const {
  return anew::reshape(ArrayLike(*this, at), shape);
}
Array Array::T(const Location& at) const { return transpose(ArrayLike(*this, at)); }

Array ravel(const ArrayLike& x) { return reshape(x, Shape{-1}); }

Array swapaxes(const ArrayLike& x, int a, int b) {
  const Type type = type_of(checked(x));
  int n = type.shape.ndim();
  std::vector<int> order = axis_range(0, n);
  std::swap(order[static_cast<std::size_t>(checked_axis("swapaxes", a, n, type, x.at))],
            order[static_cast<std::size_t>(checked_axis("swapaxes", b, n, type, x.at))]);
  return transpose(x, order);
}

Array moveaxis(const ArrayLike& x, const Axes& source, const Axes& destination) {
  const Type type = type_of(checked(x));
  const int n = type.shape.ndim();
  if (source.list().size() != destination.list().size())
    fail("moveaxis", x.at, fmt::format("{} axes go to {} places", source.list().size(), destination.list().size()));
  std::vector<int> from, order(static_cast<std::size_t>(n), -1);
  for (std::size_t i = 0; i < source.list().size(); ++i) {
    from.push_back(checked_axis("moveaxis", source.list()[i], n, type, x.at));
    int to = checked_axis("moveaxis", destination.list()[i], n, type, x.at);
    order[static_cast<std::size_t>(to)] = from.back();
  }
  std::vector<int> others = axes_without(n, from);
  if (static_cast<int>(others.size() + from.size()) != n ||
      std::count(order.begin(), order.end(), -1) != static_cast<long>(others.size()))
    fail("moveaxis", x.at, fmt::format("an axis of {} is given twice", type.str()));
  auto rest = others.begin();
  for (int& axis : order)
    if (axis < 0) axis = *rest++;
  return transpose(x, order);
}

Array broadcast_to(const ArrayLike& x, const Shape& shape) {
  Array a = checked(x);
  const Type type = type_of(a);
  int added = shape.ndim() - type.shape.ndim();
  bool ok = added >= 0;
  for (int i = 0; ok && i < type.shape.ndim(); ++i) ok = type.shape[i] == shape[i + added] || type.shape[i] == 1;
  if (!ok) fail("broadcast_to", x.at, fmt::format("{} does not broadcast to shape {}", type.str(), shape.str()));
  return lax::broadcast_in_dim(ArrayLike(a, x.at), shape, axis_range(added, shape.ndim()));
}

Array expand_dims(const ArrayLike& x, const Axes& axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  int n = type.shape.ndim() + static_cast<int>(axis.list().size());
  std::vector<int> added;
  for (int i : axis.list()) added.push_back(checked_axis("expand_dims", i, n, type, x.at));
  std::vector<int> kept = axes_without(n, added);
  if (static_cast<int>(kept.size()) != type.shape.ndim())
    fail("expand_dims", x.at, fmt::format("an axis is given twice for {}", type.str()));
  PinLine pin(x.at);
  Shape shape;
  for (int i = 0, k = 0; i < n; ++i) shape.push_back(contains(added, i) ? 1 : type.shape[k++]);
  return lax::broadcast_in_dim(ArrayLike(a, x.at), shape, kept);
}

Array stack(const ArrayList& xs, int axis) {
  if (xs.values.empty()) fail("stack", xs.at, "of no arrays");
  for (const Array& x : xs.values) check_operand(x, line_or(xs.at));
  const Type first = type_of(xs.values[0]);
  int a = checked_axis("stack", axis, first.shape.ndim() + 1, first, xs.at);
  DType d = common_dtype(xs.values);
  Arrays rows;
  PinLine pin(xs.at);
  for (const Array& x : xs.values) {
    if (type_of(x).shape != first.shape)
      fail("stack", xs.at, fmt::format("shapes differ: {} and {}", first.str(), type_of(x).str()));
    rows.push_back(expand_dims(coerce(x, d, xs.at), a));
  }
  return concatenate(ArrayList(std::move(rows), xs.at), a);
}

std::vector<Array> split(const ArrayLike& x, const std::vector<std::int64_t>& positions, int axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  int i = checked_axis("split", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  std::vector<Array> out;
  std::int64_t begin = 0, n = type.shape[i];
  for (std::size_t k = 0; k <= positions.size(); ++k) {
    std::int64_t end = k < positions.size() ? positions[k] : n;
    if (end < begin || end > n)
      fail("split", x.at, fmt::format("position {} is not in order inside axis {} of {}", end, i, type.str()));
    out.push_back(part(a, i, begin, end));
    begin = end;
  }
  return out;
}

std::vector<Array> split(const ArrayLike& x, std::int64_t n, int axis) {
  const Type type = type_of(checked(x));
  int i = checked_axis("split", axis, type.shape.ndim(), type, x.at);
  constexpr std::int64_t most_empty = 1 << 16;  // parts of nothing, as many as anybody can want
  if (n <= 0 || type.shape[i] % n != 0 || n > std::max(type.shape[i], most_empty))
    fail("split", x.at, fmt::format("axis {} of {} does not split into {} equal parts", i, type.str(), n));
  std::vector<std::int64_t> positions;
  for (std::int64_t k = 1; k < n; ++k) positions.push_back(k * (type.shape[i] / n));
  return split(x, positions, axis);
}

std::vector<Array> unstack(const ArrayLike& x, int axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  int i = checked_axis("unstack", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  std::vector<Array> out;
  for (std::int64_t k = 0; k < type.shape[i]; ++k) out.push_back(squeeze(part(a, i, k, k + 1), i));
  return out;
}

Array tile(const ArrayLike& x, const Shape& repeats) {
  Array a = checked(x);
  PinLine pin(x.at);
  Shape shape = type_of(a).shape, times = repeats;
  while (shape.ndim() < times.ndim()) shape.insert(0, 1);
  while (times.ndim() < shape.ndim()) times.insert(0, 1);
  Shape apart, whole;  // each axis as (repeat, size)
  std::vector<int> sizes;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (times[i] < 0) fail("tile", x.at, fmt::format("a negative number of repeats: {}", repeats.str()));
    apart.push_back(times[i]);
    apart.push_back(shape[i]);
    whole.push_back(saturating_mul(times[i], shape[i]));
    sizes.push_back(2 * i + 1);
  }
  return reshape(lax::broadcast_in_dim(reshape(a, shape), apart, sizes), whole);
}

Array repeat(const ArrayLike& x, std::int64_t repeats, std::optional<int> axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (repeats < 0) fail("repeat", x.at, fmt::format("a negative number of repeats: {}", repeats));
  PinLine pin(x.at);
  if (!axis) a = ravel(a);
  Shape shape = type_of(a).shape;
  int i = axis ? checked_axis("repeat", *axis, shape.ndim(), type, x.at) : 0;
  Shape apart = shape, whole = shape;
  apart.insert(i + 1, repeats);
  whole[i] = saturating_mul(whole[i], repeats);
  return reshape(lax::broadcast_in_dim(a, apart, axes_without(apart.ndim(), {i + 1})), whole);
}

Array flip(const ArrayLike& x, const Axes& axis) {
  Array a = checked(x);
  std::vector<int> axes = checked_axes("flip", axis, type_of(a), x.at);
  return axes.empty() ? a : lax::rev(ArrayLike(a, x.at), axes);
}

Array roll(const ArrayLike& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (shifts.size() != axes.size())
    fail("roll", x.at, fmt::format("{} shifts for {} axes", shifts.size(), axes.size()));
  PinLine pin(x.at);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    int i = checked_axis("roll", axes[k], type.shape.ndim(), type, x.at);
    std::int64_t n = type.shape[i], s = n ? ((shifts[k] % n) + n) % n : 0;
    if (s != 0) a = concatenate({part(a, i, n - s, n), part(a, i, 0, n - s)}, i);
  }
  return a;
}

Array roll(const ArrayLike& x, std::int64_t shift, std::optional<int> axis) {
  if (axis) return roll(x, std::vector<std::int64_t>{shift}, std::vector<int>{*axis});
  PinLine pin(x.at);
  const Array a = checked(x);
  return reshape(roll(ravel(a), std::vector<std::int64_t>{shift}, std::vector<int>{0}), type_of(a).shape);
}

Array pad(const ArrayLike& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
          const ArrayLike& value) {
  Array a = checked(x);
  const Type type = type_of(a);
  bool one = widths.size() == 1;  // for every axis
  if (!one && static_cast<int>(widths.size()) != type.shape.ndim())
    fail("pad", x.at, fmt::format("{} widths for {}", widths.size(), type.str()));
  std::vector<lax::Padding> config;
  for (int i = 0; i < type.shape.ndim(); ++i) {
    auto [before, after] = widths[one ? 0 : static_cast<std::size_t>(i)];
    if (before < 0 || after < 0) fail("pad", x.at, fmt::format("negative width ({}, {})", before, after));
    config.emplace_back(before, after, 0);
  }
  return lax::pad(ArrayLike(a, x.at), value, config);
}

Array pad(const ArrayLike& x, std::int64_t width, const ArrayLike& value) { return pad(x, {{width, width}}, value); }

Array triu(const ArrayLike& x, std::int64_t k) { return triangle("triu", x, k, false); }
Array tril(const ArrayLike& x, std::int64_t k) { return triangle("tril", x, k, true); }

Array tri(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, DType dtype, const Location& at) {
  PinLine pin(at);
  return astype(lower_mask({rows, columns.value_or(rows)}, k), dtype);
}

Array diagonal(const ArrayLike& x, std::int64_t k) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() < 2) fail("diagonal", x.at, fmt::format("needs a matrix, got {}", type.str()));
  PinLine pin(x.at);
  // Rows and columns that the diagonal meets form a square; its own diagonal is every (n + 1)-th element.
  k = diagonal_within({type.shape[0], type.shape[1]}, k);
  std::int64_t below = std::max<std::int64_t>(0, -k), right = std::max<std::int64_t>(0, k);
  std::int64_t n = std::max<std::int64_t>(0, std::min(type.shape[0] - below, type.shape[1] - right));
  Array m = n == 0 ? part(part(a, 0, 0, 0), 1, 0, 0) : part(part(a, 0, below, below + n), 1, right, right + n);
  m = moveaxis(m, {0, 1}, {-2, -1});
  Shape lead = type_of(m).shape;
  lead.erase(lead.ndim() - 1);
  lead.erase(lead.ndim() - 1);
  Shape flat = lead, out = lead, start, strides;
  flat.push_back(n * n);
  out.push_back(n);
  if (n == 0) return reshape(m, out);
  for (int i = 0; i < flat.ndim(); ++i) start.push_back(0), strides.push_back(1);
  strides[-1] = n + 1;
  return lax::slice(reshape(m, flat), start, flat, strides);
}

Array diag(const ArrayLike& x, std::int64_t k) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() == 2) return diagonal(x, k);
  if (type.shape.ndim() != 1) fail("diag", x.at, fmt::format("needs a vector or a matrix, got {}", type.str()));
  PinLine pin(x.at);
  std::int64_t away = saturating_abs(k), size = saturating_add(type.shape[0], away);
  if (!checked_bytes({size, size}, type.dtype))
    fail("diag", x.at, fmt::format("{} on diagonal {} makes an array that is too large", type.str(), k));
  Array row = anew::pad(a, {{k > 0 ? away : 0, k < 0 ? away : 0}},
                        zero_like(a));  // entry of each column
  Shape square{size, size};
  Array on = lax::iota(square, 0) + literal_integer(i32, k) == lax::iota(square, 1);
  return where(on, broadcast_to(row, square), zero_like(a));
}

Array trace(const ArrayLike& x, std::int64_t offset) {
  PinLine pin(x.at);
  return sum(diagonal(x, offset), -1);
}

Array diff(const ArrayLike& x, int n, int axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  int i = checked_axis("diff", axis, type.shape.ndim(), type, x.at);
  if (n < 0) fail("diff", x.at, fmt::format("the order is {}, the least is 0", n));
  PinLine pin(x.at);
  for (int k = 0; k < n; ++k) {
    std::int64_t size = type_of(a).shape[i];
    if (size == 0) break;  // of nothing there is no difference
    a = part(a, i, std::min<std::int64_t>(1, size), size) - part(a, i, 0, std::max<std::int64_t>(0, size - 1));
  }
  return a;
}

}  // namespace anew
