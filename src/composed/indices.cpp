// Arrays of indices: diagonals, triangles, grids, flat places and back.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/saturate.h"
#include "ops/promote.h"

namespace anew {
namespace {

std::pair<Array, Array> pair_of(const std::vector<Array>& xs) { return {xs[0], xs[1]}; }

void check_flat(std::string_view op, const Shape& shape, const Location& at) {
  for (std::int64_t n : shape)
    if (n < 0) fail(op, at, fmt::format("negative size in shape {}", shape.str()));
  if (shape.size() == std::numeric_limits<std::int64_t>::max())
    fail(op, at, fmt::format("places of shape {} cannot be counted", shape.str()));
}

std::pair<Array, Array> matrix_indices(std::string_view op, const ArrayLike& x, std::int64_t k, bool lower) {
  const Type type = type_of(checked(x));
  if (type.shape.ndim() != 2) fail(op, x.at, fmt::format("needs a matrix, got {}", type.str()));
  PinLine pin(x.at, op);
  return lower ? tril_indices(type.shape[0], k, type.shape[1], x.at)
               : triu_indices(type.shape[0], k, type.shape[1], x.at);
}

}  // namespace

std::vector<Array> ix_(const ArrayList& xs) {
  const int n = static_cast<int>(xs.values.size());
  if (n > Shape::max_ndim) fail("ix_", xs.at, fmt::format("of {} arrays", n));
  Arrays out;
  PinLine pin(xs.at);
  for (int i = 0; i < n; ++i) {
    Array x = checked(ArrayLike(xs.values[static_cast<std::size_t>(i)], xs.at));
    if (type_of(x).shape.ndim() != 1) fail("ix_", xs.at, fmt::format("needs vectors, got {}", type_of(x).str()));
    if (type_of(x).dtype == bool_) x = flatnonzero(x);
    Shape shape;
    for (int k = 0; k < n; ++k) shape.push_back(k == i ? -1 : 1);
    if (type_of(x).shape[0] == 0) shape[i] = 0;
    out.push_back(reshape(x, shape));
  }
  return out;
}

std::vector<Array> diag_indices(std::int64_t n, int ndim, const Location& at) {
  if (n < 0 || ndim < 0 || ndim > Shape::max_ndim)
    fail("diag_indices", at, fmt::format("of {} axes of size {}", ndim, n));
  PinLine pin(at);
  return std::vector<Array>(static_cast<std::size_t>(ndim), lax::iota({n}, 0, default_int()));
}
std::vector<Array> diag_indices_from(const ArrayLike& x) {
  const Type type = type_of(checked(x));
  const int n = type.shape.ndim();
  bool same = n >= 2;
  for (std::int64_t size : type.shape) same = same && size == type.shape[0];
  if (!same) fail("diag_indices_from", x.at, fmt::format("needs axes of one size, got {}", type.str()));
  return diag_indices(type.shape[0], n, x.at);
}

std::pair<Array, Array> tril_indices(std::int64_t rows, std::int64_t k, std::optional<std::int64_t> columns,
                                     const Location& at) {
  PinLine pin(at);
  return pair_of(nonzero(tri(rows, columns, k, bool_, at)));
}
std::pair<Array, Array> triu_indices(std::int64_t rows, std::int64_t k, std::optional<std::int64_t> columns,
                                     const Location& at) {
  PinLine pin(at);
  return pair_of(nonzero(~tri(rows, columns, saturating_add(k, -1), bool_, at)));
}
std::pair<Array, Array> tril_indices_from(const ArrayLike& x, std::int64_t k) {
  return matrix_indices("tril_indices_from", x, k, true);
}
std::pair<Array, Array> triu_indices_from(const ArrayLike& x, std::int64_t k) {
  return matrix_indices("triu_indices_from", x, k, false);
}
std::pair<Array, Array> mask_indices(std::int64_t n, const std::function<Array(Array, std::int64_t)>& mask,
                                     std::int64_t k, const Location& at) {
  detail::check_function(mask, at);
  PinLine pin(at);
  Array m = mask(ones({n, n}, default_int()), k);
  check_operand(m, line_or(at));
  if (type_of(m).shape.ndim() != 2) fail("mask_indices", at, fmt::format("the mask is {}", type_of(m).str()));
  return pair_of(nonzero(m));
}

Array fromfunction(const std::function<Array(std::vector<Array>)>& f, const Shape& shape, DType dtype,
                   const Location& at) {
  detail::check_function(f, at);
  PinLine pin(at);
  Arrays coordinates;
  for (int i = 0; i < shape.ndim(); ++i) coordinates.push_back(lax::iota(shape, i, dtype, at));
  Array y = f(std::move(coordinates));
  check_operand(y, line_or(at));
  return strong(y, at);
}

// As in JAX, a place outside is moved to the nearest end.
std::vector<Array> unravel_index(const ArrayLike& index, const Shape& shape) {
  Array i = checked(index);
  if (!is_integer(type_of(i).dtype))
    fail("unravel_index", index.at, fmt::format("needs integers, got {}", type_of(i).str()));
  check_flat("unravel_index", shape, index.at);
  PinLine pin(index.at);
  const std::int64_t size = shape.size();
  if (size > std::numeric_limits<std::int32_t>::max() || size_of(type_of(i).dtype) < 4) i = astype(i, i64);
  i = where(i < 0, i + size, i);
  i = clip(i, 0, std::max<std::int64_t>(size - 1, 0));
  Arrays out(static_cast<std::size_t>(shape.ndim()));
  for (int k = shape.ndim(); k-- > 0;) {
    const std::int64_t n = std::max<std::int64_t>(shape[k], 1);
    out[static_cast<std::size_t>(k)] = i % n;
    i = floor_divide(i, n);
  }
  return out;
}
Array ravel_multi_index(const ArrayList& index, const Shape& shape, std::string_view mode) {
  if (static_cast<int>(index.values.size()) != shape.ndim() || shape.ndim() == 0)
    fail("ravel_multi_index", index.at, fmt::format("{} indices for shape {}", index.values.size(), shape.str()));
  if (mode != "clip" && mode != "wrap")
    fail("ravel_multi_index", index.at, fmt::format("no mode \"{}\"", mode), "modes are clip and wrap");
  check_flat("ravel_multi_index", shape, index.at);
  PinLine pin(index.at);
  Array flat;
  for (int k = 0; k < shape.ndim(); ++k) {
    Array i = checked(ArrayLike(index.values[static_cast<std::size_t>(k)], index.at));
    if (!is_integer(type_of(i).dtype))
      fail("ravel_multi_index", index.at, fmt::format("needs integers, got {}", type_of(i).str()));
    if (shape.size() > std::numeric_limits<std::int32_t>::max()) i = astype(i, i64);
    const std::int64_t n = shape[k];
    i = mode == "wrap" ? i % std::max<std::int64_t>(n, 1) : clip(i, 0, std::max<std::int64_t>(n - 1, 0));
    flat = k == 0 ? i : flat * n + i;
  }
  return flat;
}

}  // namespace anew
