// Results whose size depends on values: places of what is not zero, and sets. With a given size they are ordinary
// functions; without one the count is read from the values first, which must be concrete.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

// How many to give: the given size, or what `count` says.
std::int64_t size_or(std::string_view op, const std::optional<std::int64_t>& size, const Array& count,
                     const Location& at) {
  if (size) {
    if (*size < 0) fail(op, at, fmt::format("the size is {}", *size));
    return *size;
  }
  try {
    return count.item<std::int64_t>(at);
  } catch (const Error&) {
    fail(op, at, "how many elements there are depends on values, which a traced function does not have",
         "give their number, .size = n: the result is cut, or filled up with .fill_value");
  }
}

// Where a flat mask is true, in order; behind the last one -1.
Array places(std::string_view op, const Array& mask, const std::optional<std::int64_t>& size, const Location& at) {
  const std::int64_t n = type_of(mask).shape[0];
  const DType d = n > std::numeric_limits<std::int32_t>::max() ? i64 : default_int();
  const std::int64_t count = size_or(op, size, sum(mask), at);
  if (n == 0 || count == 0) return full({count}, -1, d);
  Array rank = cumsum(astype(mask, d)) - 1;
  return full({count}, -1, d).at(where(mask, rank, count)).set(lax::iota({n}, 0, d));
}

Array or_zero(const Array& fill) { return fill.value() ? fill : Array(0); }

// One or more lines, sorted along axis 0 of x [n, width]: the order, and whether an element differs from the one before
// it. All that equal each other are neighbours, the first of them first.
struct Sorted {
  Array order, lines, fresh;
};
Sorted sorted_lines(const Array& x, const Location& at) {
  const Shape shape = type_of(x).shape;
  const std::int64_t n = shape[0], width = shape[1];
  constexpr std::int64_t most = 4096;  // each column is an operand of the sort
  if (width > most) fail("unique", at, fmt::format("of slices of {} elements; {} are the most", width, most));
  Arrays operands;
  if (width == 0) operands.push_back(zeros({n}, i32));
  for (const Array& column : unstack(x, 1)) operands.push_back(column);
  const int keys = static_cast<int>(operands.size());
  operands.push_back(lax::iota({n}, 0, default_int()));
  operands = lax::sort(operands, 0, keys);
  Array order = operands.back(), fresh = lax::iota({n}, 0) == 0;
  operands.pop_back();
  if (width == 0) return {order, x, fresh};
  Array lines = stack(operands, 1);
  Array before = roll(lines, 1, 0), same = (lines == before) | (isnan(lines) & isnan(before));
  return {order, lines, fresh | ~all(same, 1)};
}

struct Unique {
  Array values;  // [size, ...]
  Array indices, inverse, counts;
};
Unique unique_of(std::string_view op, const ArrayLike& x, const UniqueOptions& options) {
  Array a = checked(x);
  const Type type = type_of(a);
  PinLine pin(x.at, op);
  const int axis = options.axis ? checked_axis(op, *options.axis, type.shape.ndim(), type, x.at) : 0;
  if (!options.axis) a = ravel(a);
  Array moved = moveaxis(a, axis, 0);
  const Shape whole = type_of(moved).shape;
  const std::int64_t n = whole[0];
  std::int64_t width = 1;
  for (int i = 1; i < whole.ndim(); ++i) width *= whole[i];
  Shape slice = whole;
  if (n == 0) {
    const std::int64_t count = options.size.value_or(0);
    if (count > 0 && !options.fill_value.value())
      fail(op, x.at, "of no elements there is no least one to fill with", "give a fill_value");
    slice[0] = size_or(op, count, Array(0), x.at);
    Array values = moveaxis(full(slice, or_zero(options.fill_value), type.dtype), 0, axis);
    Array none = zeros({slice[0]}, default_int());
    return {values, none, zeros(options.axis ? Shape{0} : type.shape, default_int()), none};
  }
  Sorted s = sorted_lines(reshape(moved, {n, width}), x.at);
  Array first = places(op, s.fresh, options.size, x.at);
  const std::int64_t count = type_of(first).shape[0];
  slice[0] = count;
  Array there = first >= 0, safe = where(there, first, 0);
  Array values = reshape(take(s.lines, safe, 0), slice);
  if (options.fill_value.value()) {
    Shape column;
    column.push_back(count);
    for (int i = 1; i < slice.ndim(); ++i) column.push_back(1);
    values = where(reshape(there, column), values, coerce(options.fill_value, type.dtype, x.at));
  }
  Array rank = astype(cumsum(astype(s.fresh, default_int())), default_int()) - 1;
  Array inverse = zeros({n}, default_int()).at(s.order).set(minimum(rank, std::max<std::int64_t>(count - 1, 0)));
  Array counts = zeros({count}, default_int()).at(rank).add(1);
  return {moveaxis(values, 0, axis), take(s.order, safe, 0), options.axis ? inverse : reshape(inverse, type.shape),
          where(there, counts, 0)};
}

Array flat_of(const ArrayLike& x, DType d) { return ravel(coerce(x.value, d, x.at)); }

// Two sets as one sorted list, with a mark of where each element comes from. `keep` says which of them stay.
template <class Keep>
Array of_two(std::string_view op, const ArrayLike& a, const ArrayLike& b, const SizeOptions& options, Keep keep) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  PinLine pin(a.at, op);
  std::array<Array, 2> both{a.value, b.value};
  const DType d = common_dtype(both);
  Array x = flat_of(a, d), y = flat_of(b, d);
  const std::int64_t n = type_of(x).shape[0], m = type_of(y).shape[0];
  if (n + m == 0) return full({options.size.value_or(0)}, or_zero(options.fill_value), d);
  Sorted s = sorted_lines(expand_dims(concatenate({x, y}), 1), a.at);
  Array group = cumsum(astype(s.fresh, i32)) - 1;
  auto present = [&](const Array& from) {  // whether an element's value is among those of one set
    Array none = zeros({n + m}, i32);
    return take(none.at(group).max(astype(from, i32)), group, 0) > 0;
  };
  Array kept = s.fresh & keep(present(s.order < n), present(s.order >= n));
  Array at = places(op, kept, options.size, a.at), there = at >= 0;
  Array values = take(squeeze(s.lines, 1), where(there, at, 0), 0);
  if (type_of(values).shape[0] == 0) return values;
  Array fill = options.fill_value.value() ? options.fill_value : take(values, 0, 0);
  return where(there, values, coerce(fill, d, a.at));
}

}  // namespace

std::vector<Array> nonzero(const ArrayLike& x, const SizeOptions& options) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() == 0) fail("nonzero", x.at, "of a scalar; use atleast_1d");
  PinLine pin(x.at);
  Array flat = places("nonzero", ravel(a) != 0, options.size, x.at), there = flat >= 0;
  Arrays out;
  for (const Array& i : unravel_index(where(there, flat, 0), type.shape))
    out.push_back(where(there, i, coerce(or_zero(options.fill_value), type_of(i).dtype, x.at)));
  return out;
}
Array flatnonzero(const ArrayLike& x, const SizeOptions& options) {
  Array a = checked(x);
  PinLine pin(x.at);
  return nonzero(ravel(a), options)[0];
}
Array argwhere(const ArrayLike& x, const SizeOptions& options) {
  Array a = checked(x);
  PinLine pin(x.at);
  if (type_of(a).shape.ndim() == 0) {
    const std::int64_t n = size_or("argwhere", options.size, sum(a != 0), x.at);
    return zeros({n, 0}, default_int());
  }
  return stack(nonzero(a, options), 1);
}
Array compress(const ArrayLike& condition, const ArrayLike& x, std::optional<int> axis, const SizeOptions& options) {
  Array c = checked(condition), a = checked(x);
  if (type_of(c).shape.ndim() != 1)
    fail("compress", condition.at, fmt::format("the condition is a vector, got {}", type_of(c).str()));
  PinLine pin(condition.at);
  const Type type = type_of(a);
  if (!axis) a = ravel(a);
  const int i = axis ? checked_axis("compress", *axis, type.shape.ndim(), type, condition.at) : 0;
  const std::int64_t n = type_of(a).shape[i], given = type_of(c).shape[0];
  if (given > n) {
    bool outside = false;
    try {
      outside = any(c[slice(n, given)]).item<bool>(condition.at);
    } catch (const Error&) {  // it is traced
      outside = true;
    }
    if (outside)
      fail("compress", condition.at, fmt::format("{} conditions for {} elements of {}", given, n, type.str()));
    c = c[slice(0, n)];
  }
  Array at = places("compress", c != 0, options.size, condition.at), there = at >= 0;
  Array y = n == 0 ? a : take(a, where(there, at, 0), i);
  if (!options.size) return y;
  Shape line;
  for (int k = 0; k < type_of(y).shape.ndim(); ++k) line.push_back(k == i ? *options.size : 1);
  return where(reshape(there, line), y, coerce(or_zero(options.fill_value), type.dtype, condition.at));
}
Array extract(const ArrayLike& condition, const ArrayLike& x, const SizeOptions& options) {
  Array c = checked(condition), a = checked(x);
  PinLine pin(condition.at);
  return compress(ravel(c), ravel(a), 0, options);
}

Array unique(const ArrayLike& x, const UniqueOptions& options) { return unique_of("unique", x, options).values; }
Array unique_values(const ArrayLike& x, const UniqueOptions& options) {
  return unique_of("unique_values", x, options).values;
}
UniqueResult unique_all(const ArrayLike& x, const UniqueOptions& options) {
  Unique u = unique_of("unique_all", x, options);
  return {u.values, u.indices, u.inverse, u.counts};
}
std::pair<Array, Array> unique_counts(const ArrayLike& x, const UniqueOptions& options) {
  Unique u = unique_of("unique_counts", x, options);
  return {u.values, u.counts};
}
std::pair<Array, Array> unique_inverse(const ArrayLike& x, const UniqueOptions& options) {
  Unique u = unique_of("unique_inverse", x, options);
  return {u.values, u.inverse};
}

Array isin(const ArrayLike& x, const ArrayLike& elements, bool invert) {
  auto operands = std::array<Array, 2>{checked(x), checked(elements)};
  const DType d = common_dtype(operands);
  PinLine pin(x.at);
  Array a = astype(operands[0], d), among = sort(ravel(astype(operands[1], d)));
  const std::int64_t n = type_of(among).shape[0];
  if (n == 0) return full(type_of(a).shape, invert);
  Array place = minimum(searchsorted(among, a), n - 1), found = take(among, place) == a;
  return invert ? ~found : found;
}

Array union1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options) {
  return of_two("union1d", a, b, options, [](const Array& x, const Array& y) { return x | y; });
}
Array intersect1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options) {
  return of_two("intersect1d", a, b, options, [](const Array& x, const Array& y) { return x & y; });
}
Array setdiff1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options) {
  return of_two("setdiff1d", a, b, options, [](const Array& x, const Array& y) { return x & ~y; });
}
Array setxor1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options) {
  return of_two("setxor1d", a, b, options, [](const Array& x, const Array& y) { return x ^ y; });
}

Array trim_zeros(const ArrayLike& x, std::string_view trim, const Axes& axis) {
  Array a = checked(x);
  if (trim != "f" && trim != "b" && trim != "fb" && trim != "bf")
    fail("trim_zeros", x.at, fmt::format("no trim \"{}\"", trim), "it is f, b or fb");
  const std::vector<int> axes = checked_axes("trim_zeros", axis, type_of(a), x.at);
  PinLine pin(x.at);
  const bool front = trim.find('f') != trim.npos, back = trim.find('b') != trim.npos;
  Array seen = a != 0, y = a;
  for (int i : axes) {
    const std::int64_t n = type_of(a).shape[i];
    if (n == 0) continue;
    Array line = any(reshape(moveaxis(seen, i, 0), {n, type_of(a).shape.size() / n}), 1);
    const bool nothing = !any(line).item<bool>(x.at);
    const std::int64_t begin = front && !nothing ? argmax(line).item<std::int64_t>() : 0;
    const std::int64_t end = nothing ? 0 : back ? n - argmax(flip(line)).item<std::int64_t>() : n;
    y = lax::slice_in_dim(y, begin, end, 1, i);
  }
  return y;
}

}  // namespace anew
