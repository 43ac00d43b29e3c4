// Helpers of linear algebra.
#include "ops/matrix.h"

#include <fmt/format.h>

namespace anew {

void require_matrix(std::string_view op, const Type& type, const Location& at) {
  if (type.shape.ndim() < 2 || (type.dtype != f32 && type.dtype != f64))
    fail(op, at, fmt::format("needs matrices of f32 or f64, got {}", type.str()));
  constexpr std::int64_t most = std::int64_t{1} << 30;  // LAPACK counts in 32 bits
  if (type.shape[-2] > most || type.shape[-1] > most)
    fail(op, at, fmt::format("matrices have at most {} rows and columns, got {}", most, type.str()));
}
void require_square(std::string_view op, const Type& type, const Location& at) {
  require_matrix(op, type, at);
  if (type.shape[-1] != type.shape[-2]) fail(op, at, fmt::format("needs square matrices, got {}", type.str()));
}
Type with_last(const Type& type, const Shape& last) {
  Type out{{}, type.dtype};
  for (int i = 0; i + 2 < type.shape.ndim(); ++i) out.shape.push_back(type.shape[i]);
  for (std::int64_t n : last) out.shape.push_back(n);
  return out;
}

MatrixOperand matrix_operand(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  const DType d = floating(type_of(x.value).dtype);
  return {coerce(x.value, computed_type(d), x.at), d};
}
MatrixOperands matrix_operands(const ArrayLike& a, const ArrayLike& b) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> both{a.value, b.value};
  const DType d = floating(common_dtype(both));
  return {coerce(a.value, computed_type(d), a.at), coerce(b.value, computed_type(d), a.at), d};
}
Array converted(const Array& y, DType dtype) { return type_of(y).dtype == dtype ? y : astype(y, dtype); }

Array transposed(const Array& x) { return swapaxes(x, -2, -1); }
Array symmetric_part(const Array& x) { return (x + transposed(x)) * 0.5; }
Array diagonal_of(const Array& x) { return diagonal(moveaxis(x, {-2, -1}, {0, 1})); }
Array along_rows(const Array& v) { return expand_dims(v, -2); }
Array along_columns(const Array& v) { return expand_dims(v, -1); }

}  // namespace anew
