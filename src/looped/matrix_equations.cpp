// Functions of matrices that need derivatives, and equations between matrices.
#include <anew/flat.h>
#include <anew/indexing.h>
#include <anew/linalg.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/matrix.h"
#include "ops/promote.h"

namespace anew::linalg {

std::pair<Array, Array> expm_frechet(const ArrayLike& a, const ArrayLike& e) {
  auto [x, direction, dtype] = matrix_operands(a, e);
  require_square("expm_frechet", type_of(x), a.at);
  if (!(type_of(x).shape == type_of(direction).shape))
    fail("expm_frechet", a.at,
         fmt::format("the direction has another type than the matrix: {} and {}", type_of(direction).str(),
                     type_of(x).str()));
  PinLine pin(a.at);
  auto [y, dy] =
      flat::jvp([](std::span<const Array> in) { return Arrays{expm(in[0])}; }, Arrays{x}, Arrays{direction}, a.at);
  return {converted(y[0], dtype), converted(dy[0], dtype)};
}

// (a kron 1 + 1 kron b^T) x = q, rows after rows: one system of as many unknowns as x has.
Array solve_sylvester(const ArrayLike& a, const ArrayLike& b, const ArrayLike& q) {
  auto [x, right, dtype] = matrix_operands(a, q);
  Array y = as_float(b);
  const Type tx = type_of(x), ty = type_of(strong(y, a.at)), tq = type_of(right);
  const bool fits = tx.shape.ndim() == 2 && ty.shape.ndim() == 2 && tq.shape.ndim() == 2 &&
                    tx.shape[0] == tx.shape[1] && ty.shape[0] == ty.shape[1] && tq.shape[0] == tx.shape[0] &&
                    tq.shape[1] == ty.shape[0];
  if (!fits)
    throw Error(
        fmt::format("[solve_sylvester] a x + x b = q needs square a and b, and q with a's rows and b's columns, "
                    "got {}, {} and {}",
                    tx.str(), ty.str(), tq.str()),
        line_or(a.at), "for a batch use vmap");
  PinLine pin(a.at);
  const std::int64_t m = tx.shape[0], n = ty.shape[0];
  y = astype(strong(y, a.at), tx.dtype);
  Array system = kron(x, eye(n, tx.dtype)) + kron(eye(m, tx.dtype), transpose(y));
  return converted(reshape(solve(system, ravel(right)), {m, n}), dtype);
}

namespace {

Array symmetric_of(std::string_view op, const ArrayLike& d, const ArrayLike& e) {
  auto [a, b] = std::pair(as_float(d), as_float(e));
  const Type ta = type_of(strong(a, d.at)), tb = type_of(strong(b, d.at));
  if (ta.shape.ndim() != 1 || tb.shape.ndim() != 1 || ta.shape[0] < 1 || tb.shape[0] != ta.shape[0] - 1)
    throw Error(
        fmt::format("[{}] needs a diagonal and one element less beside it, got {} and {}", op, ta.str(), tb.str()),
        line_or(d.at), "for a batch use vmap");
  const DType dtype = promote_types(ta.dtype, tb.dtype);
  Array beside = diag(astype(b, dtype), -1);
  return diag(astype(a, dtype)) + beside + transpose(beside);
}

}  // namespace

std::pair<Array, Array> eigh_tridiagonal(const ArrayLike& d, const ArrayLike& e) {
  PinLine pin(d.at);
  return eigh(symmetric_of("eigh_tridiagonal", d, e));
}
Array eigvalsh_tridiagonal(const ArrayLike& d, const ArrayLike& e) {
  PinLine pin(d.at);
  return eigvalsh(symmetric_of("eigvalsh_tridiagonal", d, e));
}

std::pair<Array, Array> qr_multiply(const ArrayLike& a, const ArrayLike& c, std::string_view mode) {
  if (mode != "left" && mode != "right")
    fail("qr_multiply", a.at, fmt::format("mode is \"{}\", but must be \"right\" or \"left\"", mode));
  PinLine pin(a.at);
  auto [q, r] = qr(a);
  return {mode == "left" ? matmul(q, c) : matmul(c, q), r};
}

}  // namespace anew::linalg
