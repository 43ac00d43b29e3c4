// What the rows and functions of linear algebra share: checks of matrices, small expressions over batches of them, and
// the rows that have files of their own.
#pragma once
#include <anew/linalg.h>
#include <anew/ops.h>

#include "ops/elementwise.h"
#include "ops/promote.h"
#include "runtime/matrices.h"

namespace anew {

// Throws "[op] needs matrices of f32 or f64, got f32[3]", "[op] needs square matrices, got f32[2,3]".
void require_matrix(std::string_view op, const Type& type, const Location& at);
void require_square(std::string_view op, const Type& type, const Location& at);
// The batch of a type of matrices with other axes behind it: with_last(f32[2,3,4], {5}) is f32[2,5].
Type with_last(const Type& type, const Shape& last);

// A user's operand as a matrix row takes it, and what to convert results back to (bf16 and f16).
struct MatrixOperand {
  Array value;
  DType result;
};
MatrixOperand matrix_operand(const ArrayLike& x);
struct MatrixOperands {
  Array a, b;
  DType result;
};
MatrixOperands matrix_operands(const ArrayLike& a, const ArrayLike& b);
Array converted(const Array& y, DType dtype);

// Under the current trace, over all leading axes.
Array transposed(const Array& x);      // of the last two axes
Array symmetric_part(const Array& x);  // (x + x^T) / 2
Array diagonal_of(const Array& x);     // of the last two axes, as the last one
Array along_rows(const Array& v);      // v[..., None, :], to multiply the columns of a matrix
Array along_columns(const Array& v);   // v[..., :, None], to multiply its rows

template <class T>
Matrices<T> matrices(const ir::Memory& m) {
  return {m.data, m.type.shape, m.strides};
}
template <class T>
T* elements(const ir::Memory& m) {
  return reinterpret_cast<T*>(m.data);
}
// A runtime call for every matrix of a batch shaped like `type`: Call::bytes<T>(params...) is what one needs of
// scratch, Call::run<T>(units, in, out, scratch, params...) computes them all; T is float or double, as `type` says.
template <class Call, class... P>
ir::Lowered call_by_type(const Type& type, P... params) {
  auto lowered = [&]<class T>(T) {
    std::int64_t count = 1;
    for (int i = 0; i + 2 < type.shape.ndim(); ++i) count *= type.shape[i];
    const Units units{count, Call::template bytes<T>(params...)};
    auto call = [units, params...](std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                                   std::byte* scratch) { Call::template run<T>(units, in, out, scratch, params...); };
    return ir::Lowered{.kernels = {}, .call = call, .scratch = units.scratch()};
  };
  return type.dtype == f64 ? lowered(double{}) : lowered(float{});
}

// Arithmetic of an LU factorization, and facts of a row from that of one matrix, flops(rows, columns).
inline double lu_flops(double rows, double columns) {
  const double least = std::min(rows, columns), most = std::max(rows, columns);
  return least * least * (most - least / 3);
}
template <class F>
auto flops_per_matrix(F flops) {
  return [flops](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    const Shape& s = in[0].shape;
    double count = 1;
    for (int i = 0; i + 2 < s.ndim(); ++i) count *= static_cast<double>(s[i]);
    return count * flops(static_cast<double>(s[-2]), static_cast<double>(s[-1]));
  };
}

Primitive qr_row();
Primitive eigh_row();
Primitive svd_row();
Primitive schur_row();
Primitive hessenberg_row();
// The jvp of a row that has none, in JAX neither: an Error for users. Laws know such rows by it.
struct NoDerivative {
  std::string_view op;
  Arrays operator()(const ir::JvpArgs& a) const;
};
Primitive det_row();
Primitive cofactor_row();
Primitive cofactor_tangent_row();
ParamsRef qr_params(bool full_matrices);
ParamsRef svd_params(bool full_matrices, bool compute_uv);
Arrays bind_qr(const Array& x, bool full_matrices, const Location& at);
Arrays bind_eigh(const Array& x, const Location& at);
Arrays bind_svd(const Array& x, bool full_matrices, bool compute_uv, const Location& at);
Arrays bind_schur(const Array& x, const Location& at);
Arrays bind_hessenberg(const Array& x, const Location& at);
Array bind_solve(const Array& a, const Array& b, const Location& at);
Array bind_det(const Array& x, const Location& at);
Array bind_cofactor(const Array& x, const Location& at);  // the gradient of det at x
Array bind_cofactor_tangent(const Array& x, const Array& t, const Location& at);

}  // namespace anew
