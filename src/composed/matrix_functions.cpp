// Functions of matrices that are made of rows: systems, determinants, norms, powers.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "composed/pseudo_inverse.h"
#include "ops/matrix.h"

namespace anew::linalg {
namespace {

MatrixOperand square_operand(std::string_view op, const ArrayLike& x) {
  MatrixOperand a = matrix_operand(x);
  require_square(op, type_of(a.value), x.at);
  return a;
}

double epsilon(DType d) {
  return d == f64 ? std::numeric_limits<double>::epsilon() : static_cast<double>(std::numeric_limits<float>::epsilon());
}

// The batch axes of a matrix.
Shape batch_of(const Array& x) {
  Shape s = type_of(x).shape;
  s.erase(s.ndim() - 1);
  s.erase(s.ndim() - 1);
  return s;
}

// x with its batch broadcast to `batch`.
Array over_batch(const Array& x, const Shape& batch) {
  Shape s = batch;
  s.push_back(type_of(x).shape[-2]);
  s.push_back(type_of(x).shape[-1]);
  return type_of(x).shape == s ? x : broadcast_to(x, s);
}

// Singular values that count, as 1 or 0 in the type of s.
Array significant(const Array& s, const Shape& matrix, std::optional<double> rtol) {
  const Type type = type_of(s);
  const double cut = rtol.value_or(10.0 * static_cast<double>(std::max(matrix[-2], matrix[-1])) * epsilon(type.dtype));
  return s > max(s, -1, true) * cut;
}

// Swaps of two rows in a permutation given by pivots, modulo 2, as a sign.
Array parity(const Array& pivots, DType dtype) {
  const Type type = type_of(pivots);
  Array swaps = sum(astype(pivots != arange(type.shape[-1]), i32), -1);
  return astype(1 - 2 * (swaps % 2), dtype);
}

}  // namespace

Array solve(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y, dtype] = matrix_operands(a, b);
  require_square("solve", type_of(x), a.at);
  const Shape sa = type_of(x).shape, sb = type_of(y).shape;
  const bool vector = sb.ndim() == 1;
  if (sb.ndim() == 0 || sb[vector ? -1 : -2] != sa[-1])
    fail("solve", a.at, fmt::format("the operands do not fit: {} and {}", type_of(x).str(), type_of(y).str()));
  PinLine pin(a.at);
  if (vector) y = expand_dims(y, -1);
  // Only the batch axes broadcast.
  std::array<Array, 2> batches{Array(ShapeDtype{batch_of(x), f32}), Array(ShapeDtype{batch_of(y), f32})};
  const Shape batch = broadcast_shapes("solve", batches, a.at);
  Array z = bind_solve(over_batch(x, batch), over_batch(y, batch), a.at);
  return converted(vector ? squeeze(z, -1) : z, dtype);
}

Array inv(const ArrayLike& x) {
  auto [a, dtype] = square_operand("inv", x);
  PinLine pin(x.at);
  const Type type = type_of(a);
  return converted(bind_solve(a, over_batch(eye(type.shape[-1], type.dtype), batch_of(a)), x.at), dtype);
}

// Up to 3 rows the polynomial, all of whose derivatives are right for singular matrices as well.
Array det(const ArrayLike& x) {
  auto [a, dtype] = square_operand("det", x);
  PinLine pin(x.at);
  const std::int64_t n = type_of(a).shape[-1];
  auto at = [&a = a](int i, int j) { return a[{ellipsis, i, j}]; };
  auto minor = [&](int c, int d) { return at(1, c) * at(2, d) - at(1, d) * at(2, c); };
  if (n == 1) return converted(at(0, 0), dtype);
  if (n == 2) return converted(at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0), dtype);
  if (n == 3) return converted(at(0, 0) * minor(1, 2) - at(0, 1) * minor(0, 2) + at(0, 2) * minor(0, 1), dtype);
  return converted(bind_det(a, x.at), dtype);
}

std::pair<Array, Array> slogdet(const ArrayLike& x) {
  auto [a, dtype] = square_operand("slogdet", x);
  PinLine pin(x.at);
  auto [factors, pivots, permutation] = lax::lu(a);
  Array d = diagonal_of(factors);
  return {converted(parity(pivots, type_of(a).dtype) * prod(sign(d), -1), dtype),
          converted(sum(log(abs(d)), -1), dtype)};
}

Array matrix_rank(const ArrayLike& x, std::optional<double> rtol) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  if (type_of(a).shape.ndim() < 2) return astype(any(a != 0), i32);  // as of one row
  require_matrix("matrix_rank", type_of(a), x.at);
  const Shape shape = type_of(a).shape;
  if (shape[-1] == 0 || shape[-2] == 0) return zeros(batch_of(a), i32);
  if (!rtol) rtol = static_cast<double>(std::max(shape[-2], shape[-1])) * epsilon(type_of(a).dtype);
  return sum(astype(significant(svdvals(a), shape, rtol), i32), -1);
}

namespace {

[[noreturn]] void unknown_order(std::string_view op, const NormOrder& ord, std::string_view of, const Type& type,
                                const Location& at) {
  fail(op, at,
       fmt::format("there is no order {} for {} of {}", ord.number() ? fmt::format("{}", *ord.number()) : ord.name(),
                   of, type.str()));
}

// Of the last two axes, which the result keeps as size 1.
Array matrix_norm(const Array& x, const NormOrder& ord, const Type& type, const Location& at) {
  if (ord.name() == "nuc") return expand_dims(sum(svdvals(x), -1), {-2, -1});
  if (ord.name() == "fro") return anew::norm(x, {-2, -1}, true);
  if (!ord.number()) unknown_order("norm", ord, "a matrix", type, at);
  const double p = *ord.number();
  const Shape shape = type_of(x).shape;
  if ((p == 1 || p == 2 || p == INFINITY) && (shape[-2] == 0 || shape[-1] == 0)) return sum(abs(x), {-2, -1}, true);
  if (std::abs(p) == 2) {
    Array s = svdvals(x);
    return expand_dims(p > 0 ? max(s, -1) : min(s, -1), {-2, -1});
  }
  if (std::abs(p) != 1 && !std::isinf(p)) unknown_order("norm", ord, "a matrix", type, at);
  const int summed = std::isinf(p) ? -1 : -2, other = -3 - summed;
  Array sums = sum(abs(x), summed, true);
  return p > 0 ? max(sums, other, true) : min(sums, other, true);
}

}  // namespace

Array norm(const ArrayLike& x, const NormOrder& ord, const Axes& axis, bool keepdims) {
  auto [a, dtype] = matrix_operand(x);
  const Type type = type_of(a);
  PinLine pin(x.at);
  if (!ord.number() && ord.name().empty()) return converted(anew::norm(a, axis, keepdims), dtype);
  // The order of two axes matters: rows, then columns.
  std::vector<int> axes = axis.all() ? checked_axes("norm", axis, type, x.at) : axis.list();
  for (int& i : axes) i = checked_axis("norm", i, type.shape.ndim(), type, x.at);
  if (axes.size() == 1 && ord.number()) return converted(anew::norm(a, axes, keepdims, *ord.number()), dtype);
  if (axes.size() == 1) unknown_order("norm", ord, "a vector", type, x.at);
  if (axes.size() != 2 || axes[0] == axes[1])
    fail("norm", x.at, fmt::format("with an order is of one axis or two, got {} of {}", axes.size(), type.str()));
  Array y = moveaxis(matrix_norm(moveaxis(a, axes, {-2, -1}), ord, type, x.at), {-2, -1}, axes);
  return converted(keepdims ? y : squeeze(y, axes), dtype);
}

Array cond(const ArrayLike& x, const NormOrder& ord) {
  auto [a, dtype] = matrix_operand(x);
  require_matrix("cond", type_of(a), x.at);
  PinLine pin(x.at);
  if (!ord.number() && ord.name().empty()) {
    Array s = svdvals(a);
    return converted(max(s, -1) / min(s, -1), dtype);
  }
  require_square("cond", type_of(a), x.at);
  return converted(norm(a, ord, {-2, -1}) * norm(inv(a), ord, {-2, -1}), dtype);
}

Array matrix_power(const ArrayLike& x, std::int64_t n) {
  auto [a, dtype] = square_operand("matrix_power", x);
  PinLine pin(x.at);
  const Type type = type_of(a);
  if (n == 0) return converted(over_batch(eye(type.shape[-1], type.dtype), batch_of(a)), dtype);
  Array base = n < 0 ? inv(a) : a, y;
  for (auto rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); rest > 0; rest /= 2) {
    if (rest % 2 == 1) y = y.value() ? matmul(y, base) : base;
    if (rest > 1) base = matmul(base, base);
  }
  return converted(y, dtype);
}

// The cheapest order of a chain of products: cost[i][j] is that of factors i to j, cut[i][j] the last product in it.
Array multi_dot(const ArrayList& xs) {
  const std::size_t n = xs.values.size();
  if (n == 0) fail("multi_dot", xs.at, "needs at least one array");
  PinLine pin(xs.at);
  std::vector<std::int64_t> size;
  for (std::size_t i = 0; i < n; ++i) {
    check_operand(xs.values[i], line_or(xs.at));
    const Type type = type_of(xs.values[i]);
    const bool end = i == 0 || i + 1 == n;
    if (type.shape.ndim() != 2 && !(end && type.shape.ndim() == 1))
      fail("multi_dot", xs.at, fmt::format("needs matrices (or vectors at the ends), got {}", type.str()));
    const bool row = type.shape.ndim() == 1 && i == 0;
    const std::int64_t rows = row ? 1 : type.shape[0], columns = row                      ? type.shape[0]
                                                                 : type.shape.ndim() == 1 ? 1
                                                                                          : type.shape[1];
    if (i == 0) size.push_back(rows);
    else if (rows != size.back())
      fail("multi_dot", xs.at,
           fmt::format("contracting dimensions differ: {} and {}", type_of(xs.values[i - 1]).str(), type.str()));
    size.push_back(columns);
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0, j = length; j < n; ++i, ++j)
      for (std::size_t k = i; k < j; ++k) {
        const double c =
            cost[i][k] + cost[k + 1][j] +
            static_cast<double>(size[i]) * static_cast<double>(size[k + 1]) * static_cast<double>(size[j + 1]);
        if (k == i || c < cost[i][j]) cost[i][j] = c, cut[i][j] = k;
      }
  std::function<Array(std::size_t, std::size_t)> product = [&](std::size_t i, std::size_t j) {
    return i == j ? xs.values[i] : dot(product(i, cut[i][j]), product(cut[i][j] + 1, j));
  };
  return product(0, n - 1);
}

// Scaling and squaring with the Padé approximant of degree 13 (Higham 2005): x / 2^s has a norm below 5.4, then s
// squarings. How many is known only when the numbers are, so all 16 are there and those not needed square a zero, which
// no derivative notices.
Array expm(const ArrayLike& x) {
  auto [a, dtype] = square_operand("expm", x);
  PinLine pin(x.at);
  const Type type = type_of(a);
  constexpr int most = 16;
  constexpr double bound = 5.371920351148152;
  constexpr std::array<double, 14> b{64764752532480000.,
                                     32382376266240000.,
                                     7771770303897600.,
                                     1187353796428800.,
                                     129060195264000.,
                                     10559470521600.,
                                     670442572800.,
                                     33522128640.,
                                     1323241920.,
                                     40840800.,
                                     960960.,
                                     16380.,
                                     182.,
                                     1.};
  if (type.shape.size() == 0) return converted(a, dtype);
  Array largest = stop_gradient(max(sum(abs(a), -2, true), -1, true));
  Array squarings = clip(ceil(log2(where(largest > bound, largest / bound, 1))), 0, most);
  a = a / exp2(squarings);
  Array one = eye(type.shape[-1], type.dtype), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  Array u = matmul(a, matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one);
  Array v = matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one;
  Array y = bind_solve(v - u, v + u, x.at);
  for (int k = 0; k < most; ++k) {
    Array needed = squarings > k, base = where(needed, y, 0);
    y = where(needed, matmul(base, base), y);
  }
  return converted(y, dtype);
}

}  // namespace anew::linalg

namespace anew {

Array pseudo_inverse_value(const Array& a, std::optional<double> rtol, const Location& at) {
  Arrays usv = bind_svd(a, false, true, at);
  Array kept = linalg::significant(usv[0], type_of(a).shape, rtol);
  Array inverse = where(kept, 1 / where(kept, usv[0], 1), 0);
  return matmul(transposed(usv[2]), along_columns(inverse) * transposed(usv[1]));
}

}  // namespace anew
