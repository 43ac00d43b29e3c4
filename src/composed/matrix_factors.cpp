// Systems solved with factors that were made before, matrices of a kind, and functions of matrices besides.
#include <anew/indexing.h>
#include <fmt/format.h>

#include <tuple>

#include "ops/matrix.h"

namespace anew::linalg {
namespace {

void require_transposition(std::string_view op, int trans, const Location& at) {
  if (trans != 0 && trans != 1) fail(op, at, fmt::format("trans is {}, but must be 0 or 1", trans));
}

// A right side as columns; whether it was a vector.
struct Columns {
  Array value;
  bool vector;
};
Columns columns_of(std::string_view op, const Array& a, const Array& b, const Location& at) {
  const Shape sa = type_of(a).shape, sb = type_of(b).shape;
  const bool vector = sb.ndim() == 1;
  if (sb.ndim() == 0 || sb[vector ? -1 : -2] != sa[-1] || (!vector && sb.ndim() != sa.ndim()))
    fail(op, at, fmt::format("the operands do not fit: {} and {}", type_of(a).str(), type_of(b).str()));
  if (!vector) return {b, false};
  Shape s = sa;
  s[s.ndim() - 1] = 1;
  return {broadcast_to(expand_dims(b, -1), s), true};
}
Array given_back(const Columns& like, const Array& x, DType dtype) {
  return converted(like.vector ? squeeze(x, -1) : x, dtype);
}

Array vector_operand(std::string_view op, const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  Array v = strong(x.value, line_or(x.at));
  if (type_of(v).shape.ndim() == 0) v = reshape(v, {1});
  if (type_of(v).shape.ndim() != 1 || type_of(v).shape[0] == 0)
    fail(op, x.at, fmt::format("needs a vector that is not empty, got {}", type_of(v).str()));
  return v;
}

// values[i + sign * j + offset], a matrix.
Array along(const Array& values, std::int64_t rows, std::int64_t columns, int sign, std::int64_t offset) {
  return take(values, expand_dims(arange(rows), 1) + sign * arange(columns) + offset, 0);
}

}  // namespace

Array solve_triangular(const ArrayLike& a, const ArrayLike& b, const SolveTriangularOptions& options) {
  auto [x, y, dtype] = matrix_operands(a, b);
  require_square("solve_triangular", type_of(x), a.at);
  require_transposition("solve_triangular", options.trans, a.at);
  const Columns right = columns_of("solve_triangular", x, y, a.at);
  PinLine pin(a.at);
  return given_back(right,
                    lax::triangular_solve(x, right.value,
                                          {.left_side = true,
                                           .lower = options.lower,
                                           .transpose_a = options.trans == 1,
                                           .unit_diagonal = options.unit_diagonal}),
                    dtype);
}

CholeskyFactor cho_factor(const ArrayLike& a, bool lower) {
  PinLine pin(a.at);
  Array l = cholesky(a);
  return {lower ? l : transposed(l), lower};
}

Array cho_solve(const CholeskyFactor& factor, const ArrayLike& b) {
  PinLine pin(b.at);
  // The transposed factor comes first where the factor is the upper one.
  Array y = solve_triangular(factor.c, b, {.trans = factor.lower ? 0 : 1, .lower = factor.lower});
  return solve_triangular(factor.c, y, {.trans = factor.lower ? 1 : 0, .lower = factor.lower});
}

LuFactors lu_factor(const ArrayLike& a) {
  PinLine pin(a.at);
  auto [operand, dtype] = matrix_operand(a);
  require_square("lu_factor", type_of(operand), a.at);
  auto [factors, pivots, permutation] = lax::lu(operand);
  return {converted(factors, dtype), pivots, permutation};
}

// x[permutation] = l u, so that p a = l u for the matrix p of the permutation.
Array lu_solve(const LuFactors& factors, const ArrayLike& b, int trans) {
  auto [lu, y, dtype] = matrix_operands(ArrayLike(factors.lu, b.at), b);
  require_square("lu_solve", type_of(lu), b.at);
  require_transposition("lu_solve", trans, b.at);
  const Columns right = columns_of("lu_solve", lu, y, b.at);
  PinLine pin(b.at);
  Shape all = type_of(right.value).shape;
  auto moved = [&](const Array& x, const Array& places) {
    return take_along_axis(x, broadcast_to(expand_dims(places, -1), all), -2);
  };
  Array x = right.value;
  auto l = [&](bool t) {
    return lax::triangular_solve(lu, x, {.left_side = true, .lower = true, .transpose_a = t, .unit_diagonal = true});
  };
  auto u = [&](bool t) { return lax::triangular_solve(lu, x, {.left_side = true, .lower = false, .transpose_a = t}); };
  if (trans == 0) {
    x = moved(x, factors.permutation);
    x = l(false);
    x = u(false);
  } else {
    x = u(true);
    x = l(true);
    x = moved(x, argsort(factors.permutation, -1));
  }
  return given_back(right, x, dtype);
}

Array block_diag(const ArrayList& xs) {
  if (xs.values.empty()) fail("block_diag", xs.at, "needs at least one array");
  PinLine pin(xs.at);
  std::int64_t width = 0, at = 0;
  Arrays blocks;
  for (const Array& x : xs.values) {
    check_operand(x, line_or(xs.at));
    const Type type = type_of(x);
    if (type.shape.ndim() > 2) fail("block_diag", xs.at, fmt::format("needs matrices, got {}", type.str()));
    blocks.push_back(type.shape.ndim() == 2 ? x : reshape(x, {1, -1}));
    width += type_of(blocks.back()).shape[1];
  }
  for (Array& b : blocks) {
    const std::int64_t n = type_of(b).shape[1];
    b = pad(b, {{0, 0}, {at, width - at - n}});
    at += n;
  }
  return concatenate(blocks, 0);
}

Array toeplitz(const ArrayLike& c) { return toeplitz(c, c); }
Array toeplitz(const ArrayLike& c, const ArrayLike& r) {
  Array column = vector_operand("toeplitz", c), row = vector_operand("toeplitz", r);
  PinLine pin(c.at);
  const std::int64_t m = type_of(column).shape[0], n = type_of(row).shape[0];
  // r[n - 1], ..., r[1], c[0], c[1], ...: entry (i, j) is element i - j of it.
  return along(concatenate({flip(row[{slice(1, n)}]), column}), m, n, -1, n - 1);
}

Array circulant(const ArrayLike& c) {
  Array v = vector_operand("circulant", c);
  PinLine pin(c.at);
  const std::int64_t n = type_of(v).shape[0];
  return along(concatenate({v[{slice(1, n)}], v}), n, n, -1, n - 1);
}

Array hankel(const ArrayLike& c) {
  Array v = vector_operand("hankel", c);
  PinLine pin(c.at);
  return hankel(v, zeros_like(v));
}
Array hankel(const ArrayLike& c, const ArrayLike& r) {
  Array column = vector_operand("hankel", c), row = vector_operand("hankel", r);
  PinLine pin(c.at);
  const std::int64_t m = type_of(column).shape[0], n = type_of(row).shape[0];
  return along(concatenate({column, row[{slice(1, n)}]}), m, n, 1, 0);
}

Array hilbert(std::int64_t n, DType dtype, const Location& at) {
  if (n < 0) fail("hilbert", at, fmt::format("needs a size that is not negative, got {}", n));
  PinLine pin(at);
  Array i = arange(n, dtype);
  return 1 / (expand_dims(i, 1) + i + 1);
}

Array hadamard(std::int64_t n, DType dtype, const Location& at) {
  if (n < 1 || (n & (n - 1)) != 0) fail("hadamard", at, fmt::format("needs a power of 2, got {}", n));
  PinLine pin(at);
  const Array i = arange(n), common = lax::population_count(expand_dims(i, 1) & i);
  return astype(1 - 2 * (common % 2), dtype);
}

Array companion(const ArrayLike& a) {
  Array v = vector_operand("companion", a);
  const Type type = type_of(v);
  const std::int64_t n = type.shape[0];
  if (n < 2) fail("companion", a.at, fmt::format("needs two coefficients or more, got {}", type.str()));
  PinLine pin(a.at);
  Array top = -as_float(v)[{slice(1, n)}] / v[{0}];
  return concatenate({expand_dims(top, 0), eye(n - 1, type_of(top).dtype)[{slice(0, n - 2)}]}, 0);
}

// Denman and Beavers: y -> sqrt(x), z -> its inverse, of second order; scaled at first, so that few steps do.
Array sqrtm(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  require_square("sqrtm", type_of(a), x.at);
  PinLine pin(x.at);
  const Type type = type_of(a);
  const auto n = static_cast<double>(type.shape[-1]);
  if (n == 0) return converted(a, dtype);
  Array y = a, z = broadcast_to(eye(type.shape[-1], type.dtype), type.shape);
  constexpr int scaled = 6, steps = 14;
  for (int k = 0; k < steps; ++k) {
    if (k < scaled) {
      // |det y det z|^(-1 / 2n), a constant to derivatives: sqrt(x) does not depend on it.
      Array size = stop_gradient(exp(-(slogdet(y).second + slogdet(z).second) / (2 * n)));
      Array mu = expand_dims(where(isfinite(size), size, 1), {-2, -1});
      y = mu * y;
      z = mu * z;
    }
    Array y_next = 0.5 * (y + inv(z)), z_next = 0.5 * (z + inv(y));
    y = y_next;
    z = z_next;
  }
  return converted(y, dtype);
}

// Newton's iteration (Higham 1986), scaled at first: unlike by singular values, derivatives are right where some of
// those are equal.
std::pair<Array, Array> polar(const ArrayLike& x, std::string_view side) {
  auto [a, dtype] = matrix_operand(x);
  require_matrix("polar", type_of(a), x.at);
  if (side != "right" && side != "left")
    fail("polar", x.at, fmt::format("side is \"{}\", but must be \"right\" or \"left\"", side));
  PinLine pin(x.at);
  const std::int64_t rows = type_of(a).shape[-2], columns = type_of(a).shape[-1];
  const auto n = static_cast<double>(std::min(rows, columns));
  Array q, u = a;  // a = q u, or its transpose, with a square u
  if (rows != columns) std::tie(q, u) = qr(rows > columns ? a : transposed(a));
  constexpr int scaled = 6, steps = 14;
  for (int k = 0; k < steps && n > 0; ++k) {
    if (k < scaled) {
      Array size = stop_gradient(exp(-slogdet(u).second / n));
      u = expand_dims(where(isfinite(size), size, 1), {-2, -1}) * u;
    }
    u = 0.5 * (u + transposed(inv(u)));
  }
  if (rows > columns) u = matmul(q, u);
  if (rows < columns) u = transposed(matmul(q, u));
  Array p = symmetric_part(side == "right" ? matmul(transposed(u), a) : matmul(a, transposed(u)));
  return {converted(u, dtype), converted(p, dtype)};
}

}  // namespace anew::linalg
