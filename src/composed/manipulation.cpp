// NumPy's functions that stack, split, turn and lay out arrays, made of those of arrange.cpp.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/saturate.h"
#include "ops/axes.h"
#include "ops/promote.h"

namespace anew {
namespace {

void check_list(std::string_view op, const ArrayList& xs) {
  if (xs.values.empty()) fail(op, xs.at, "of no arrays");
  for (const Array& x : xs.values) check_operand(x, line_or(xs.at));
}

Array with_axes(const Array& x, int ndim) {
  const int has = type_of(x).shape.ndim();
  if (has >= ndim) return x;
  if (ndim == 3 && has == 2) return expand_dims(x, 2);
  if (ndim == 3 && has == 1) return expand_dims(x, {0, 2});
  return reshape(x, ndim == 1 ? Shape{1} : ndim == 2 ? Shape{1, -1} : Shape{1, 1, -1});
}

Array stacked(std::string_view op, const ArrayList& xs, int ndim, int axis) {
  check_list(op, xs);
  PinLine pin(xs.at, op);
  Arrays all;
  for (const Array& x : xs.values) all.push_back(with_axes(strong(x, xs.at), ndim));
  return concatenate(ArrayList(std::move(all), xs.at), axis);
}

std::vector<Array> split_along(std::string_view op, const ArrayLike& x, std::int64_t n, int least, int axis) {
  const Type type = type_of(checked(x));
  if (type.shape.ndim() < least)
    fail(op, x.at, fmt::format("needs an array of {} axes or more, got {}", least, type.str()));
  return split(x, n, axis);
}

}  // namespace

Array atleast_1d(const ArrayLike& x) {
  Array a = checked(x);
  PinLine pin(x.at);
  return with_axes(a, 1);
}
Array atleast_2d(const ArrayLike& x) {
  Array a = checked(x);
  PinLine pin(x.at);
  return with_axes(a, 2);
}
Array atleast_3d(const ArrayLike& x) {
  Array a = checked(x);
  PinLine pin(x.at);
  return with_axes(a, 3);
}

Array vstack(const ArrayList& xs) { return stacked("vstack", xs, 2, 0); }
Array dstack(const ArrayList& xs) { return stacked("dstack", xs, 3, 2); }
Array hstack(const ArrayList& xs) {
  check_list("hstack", xs);
  return stacked("hstack", xs, 1, type_of(xs.values[0]).shape.ndim() <= 1 ? 0 : 1);
}
Array column_stack(const ArrayList& xs) {
  check_list("column_stack", xs);
  PinLine pin(xs.at);
  Arrays all;
  for (const Array& x : xs.values) {
    Array a = strong(x, xs.at);
    all.push_back(type_of(a).shape.ndim() < 2 ? reshape(a, {-1, 1}) : a);
  }
  return concatenate(ArrayList(std::move(all), xs.at), 1);
}

Array numpy::block(const ArrayList& row) {
  check_list("block", row);
  int ndim = 1;
  for (const Array& x : row.values) ndim = std::max(ndim, type_of(x).shape.ndim());
  PinLine pin(row.at);
  Arrays all;
  for (const Array& x : row.values) {
    Shape shape = type_of(x).shape;
    while (shape.ndim() < ndim) shape.insert(0, 1);
    all.push_back(reshape(strong(x, row.at), shape));
  }
  return concatenate(ArrayList(std::move(all), row.at), -1);
}
Array numpy::block(const std::vector<std::vector<Array>>& rows, const Location& at) {
  if (rows.empty()) fail("block", at, "of no rows");
  Arrays all;
  int ndim = 2;
  PinLine pin(at);
  for (const std::vector<Array>& row : rows) {
    all.push_back(block(ArrayList(row, at)));
    ndim = std::max(ndim, type_of(all.back()).shape.ndim());
  }
  for (Array& x : all) {
    Shape shape = type_of(x).shape;
    while (shape.ndim() < ndim) shape.insert(0, 1);
    x = reshape(x, shape);
  }
  return concatenate(ArrayList(std::move(all), at), -2);
}

std::vector<Array> array_split(const ArrayLike& x, std::int64_t n, int axis) {
  const Type type = type_of(checked(x));
  const int i = checked_axis("array_split", axis, type.shape.ndim(), type, x.at);
  constexpr std::int64_t most_empty = 1 << 16;
  if (n <= 0 || n > std::max(type.shape[i], most_empty))
    fail("array_split", x.at, fmt::format("axis {} of {} does not split into {} parts", i, type.str(), n));
  std::vector<std::int64_t> positions;
  const std::int64_t each = type.shape[i] / n, larger = type.shape[i] % n;
  for (std::int64_t k = 1; k < n; ++k) positions.push_back(k * each + std::min(k, larger));
  return split(x, positions, axis);
}
std::vector<Array> vsplit(const ArrayLike& x, std::int64_t n) {
  PinLine pin(x.at);
  return split_along("vsplit", x, n, 2, 0);
}
std::vector<Array> hsplit(const ArrayLike& x, std::int64_t n) {
  PinLine pin(x.at);
  return split_along("hsplit", x, n, 1, type_of(checked(x)).shape.ndim() == 1 ? 0 : 1);
}
std::vector<Array> dsplit(const ArrayLike& x, std::int64_t n) {
  PinLine pin(x.at);
  return split_along("dsplit", x, n, 3, 2);
}

std::vector<Array> broadcast_arrays(const ArrayList& xs) {
  for (const Array& x : xs.values) check_operand(x, line_or(xs.at));
  const Shape shape = broadcast_shapes("broadcast_arrays", xs.values, xs.at);
  PinLine pin(xs.at);
  Arrays out;
  for (const Array& x : xs.values) out.push_back(broadcast_to(strong(x, xs.at), shape));
  return out;
}
Shape broadcast_shapes(const std::vector<Shape>& shapes, const Location& at) {
  Shape out;
  for (const Shape& s : shapes) {
    Shape small = s;
    while (out.ndim() < small.ndim()) out.insert(0, 1);
    while (small.ndim() < out.ndim()) small.insert(0, 1);
    for (int i = 0; i < out.ndim(); ++i) {
      if (out[i] != small[i] && out[i] != 1 && small[i] != 1)
        fail("broadcast_shapes", at, fmt::format("shapes do not broadcast: {} and {}", out.str(), s.str()));
      if (small[i] != 1) out[i] = small[i];
    }
  }
  return out;
}

std::vector<Array> meshgrid(const ArrayList& xs, const MeshgridOptions& options) {
  const bool swap = options.indexing == "xy";
  if (!swap && options.indexing != "ij")
    fail("meshgrid", xs.at, fmt::format("no indexing \"{}\"", options.indexing), "it is xy or ij");
  for (const Array& x : xs.values) {
    check_operand(x, line_or(xs.at));
    if (type_of(x).shape.ndim() > 1) fail("meshgrid", xs.at, fmt::format("needs vectors, got {}", type_of(x).str()));
  }
  const int n = static_cast<int>(xs.values.size());
  if (n > Shape::max_ndim) fail("meshgrid", xs.at, fmt::format("of {} arrays", n));
  PinLine pin(xs.at);
  Shape whole;
  for (int i = 0; i < n; ++i) whole.push_back(type_of(xs.values[static_cast<std::size_t>(i)]).shape.size());
  auto place = [&](int i) { return swap && n > 1 && i < 2 ? 1 - i : i; };
  Shape grid = whole;
  for (int i = 0; i < n; ++i) grid[place(i)] = whole[i];
  Arrays out;
  for (int i = 0; i < n; ++i) {
    Shape line;
    for (int k = 0; k < n; ++k) line.push_back(k == place(i) ? whole[i] : 1);
    Array x = reshape(strong(xs.values[static_cast<std::size_t>(i)], xs.at), line);
    out.push_back(options.sparse ? x : broadcast_to(x, grid));
  }
  return out;
}

Array flipud(const ArrayLike& x) {
  PinLine pin(x.at);
  return flip(x, 0);
}
Array fliplr(const ArrayLike& x) {
  PinLine pin(x.at);
  return flip(x, 1);
}
Array rot90(const ArrayLike& x, int k, const Axes& axes) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (axes.list().size() != 2) fail("rot90", x.at, fmt::format("needs two axes, got {}", axes.list().size()));
  const int i = checked_axis("rot90", axes.list()[0], type.shape.ndim(), type, x.at);
  const int j = checked_axis("rot90", axes.list()[1], type.shape.ndim(), type, x.at);
  if (i == j) fail("rot90", x.at, fmt::format("the axes of {} are the same", type.str()));
  PinLine pin(x.at);
  switch ((k % 4 + 4) % 4) {
    case 1: return swapaxes(flip(a, j), i, j);
    case 2: return flip(a, {i, j});
    case 3: return flip(swapaxes(a, i, j), j);
    default: return a;
  }
}
Array rollaxis(const ArrayLike& x, int axis, int start) {
  const Type type = type_of(checked(x));
  const int n = type.shape.ndim(), from = checked_axis("rollaxis", axis, n, type, x.at);
  int to = checked_axis("rollaxis", start, n + 1, type, x.at);
  if (start < 0) to -= 1;  // counted among the axes, not the places between them
  if (from < to) to -= 1;
  return moveaxis(x, from, std::max(to, 0));
}
Array empty_like(const ArrayLike& x, std::optional<DType> dtype) { return zeros_like(x, dtype); }

Array diagflat(const ArrayLike& x, std::int64_t k) {
  Array a = checked(x);
  PinLine pin(x.at);
  return diag(ravel(a), k);
}
Array fill_diagonal(const ArrayLike& x, const ArrayLike& value) {
  Array a = checked(x), v = checked(value);
  const Type type = type_of(a);
  const int n = type.shape.ndim();
  bool square = n >= 2;
  for (std::int64_t size : type.shape) square = square && (n == 2 || size == type.shape[0]);
  if (!square) fail("fill_diagonal", x.at, fmt::format("needs a matrix, or more axes of one size, got {}", type.str()));
  PinLine pin(x.at);
  const std::int64_t size = std::min(type.shape[0], type.shape[1]);
  // The values in order, again from the first where there are fewer.
  v = ravel(astype(v, type.dtype));
  const std::int64_t given = type_of(v).shape[0];
  if (given == 0 || size == 0) return a;
  Array entries = take(v, lax::iota({size}, 0) % std::min<std::int64_t>(given, size), 0);
  std::vector<Array> index(static_cast<std::size_t>(n), lax::iota({size}, 0));
  return reshape(ravel(a).at(ravel_multi_index(index, type.shape)).set(entries), type.shape);
}

Array vander(const ArrayLike& x, std::optional<std::int64_t> n, bool increasing) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() != 1) fail("vander", x.at, fmt::format("needs a vector, got {}", type.str()));
  const std::int64_t columns = n.value_or(type.shape[0]);
  if (columns < 0) fail("vander", x.at, fmt::format("{} columns", columns));
  PinLine pin(x.at);
  if (type.dtype == bool_) a = astype(a, default_int());
  const Shape whole{type.shape[0], columns};
  if (columns == 0) return zeros(whole, type_of(a).dtype);
  // Powers as running products: ones first, then x.
  Array factors = concatenate(
      {ones({type.shape[0], 1}, type_of(a).dtype), broadcast_to(expand_dims(a, 1), {type.shape[0], columns - 1})}, 1);
  Array y = astype(cumprod(factors, 1), type_of(a).dtype);
  return increasing ? y : flip(y, 1);
}

Array apply_over_axes(const std::function<Array(Array, int)>& f, const ArrayLike& x, const std::vector<int>& axes) {
  detail::check_function(f, x.at);
  Array a = checked(x);
  const Type type = type_of(a);
  PinLine pin(x.at);
  for (int axis : axes) {
    const int i = checked_axis("apply_over_axes", axis, type.shape.ndim(), type, x.at);
    Array y = f(a, i);
    check_operand(y, line_or(x.at));
    if (type_of(y).shape.ndim() == type.shape.ndim() - 1) y = expand_dims(y, i);
    if (type_of(y).shape.ndim() != type.shape.ndim())
      fail("apply_over_axes", x.at, fmt::format("the function gives {} for {}", type_of(y).str(), type_of(a).str()));
    a = y;
  }
  return a;
}

Array vecdot(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("vecdot", a, b, false);
  if (type_of(x).shape.ndim() == 0 || type_of(y).shape.ndim() == 0)
    fail("vecdot", a.at, fmt::format("needs vectors, got {} and {}", type_of(x).str(), type_of(y).str()));
  PinLine pin(a.at);
  return squeeze(matmul(expand_dims(x, -2), expand_dims(y, -1)), {-2, -1});
}
Array matvec(const ArrayLike& a, const ArrayLike& v) {
  Array m = checked(a), x = checked(v);
  if (type_of(x).shape.ndim() == 0) fail("matvec", a.at, fmt::format("needs a vector, got {}", type_of(x).str()));
  PinLine pin(a.at);
  return squeeze(matmul(m, expand_dims(x, -1)), -1);
}
Array vecmat(const ArrayLike& v, const ArrayLike& a) {
  Array m = checked(a), x = checked(v);
  if (type_of(x).shape.ndim() == 0) fail("vecmat", v.at, fmt::format("needs a vector, got {}", type_of(x).str()));
  PinLine pin(v.at);
  return squeeze(matmul(expand_dims(x, -2), m), -2);
}

}  // namespace anew
