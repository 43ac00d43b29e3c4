// The pseudo-inverse and what is solved with it. Its derivative is that of Golub and Pereyra, which needs no singular
// vectors: those have none where singular values agree, and only noise where they agree to rounding, as in a rotation.
#include "composed/pseudo_inverse.h"

#include <anew/flat.h>
#include <anew/linalg.h>
#include <fmt/format.h>

#include "ops/matrix.h"

namespace anew::linalg {
namespace {

Array pseudo_inverse(const Array& a, std::optional<double> rtol, const Location& at) {
  auto value = [=](std::span<const Array> x) { return Arrays{pseudo_inverse_value(x[0], rtol, at)}; };
  // Where the rank stays what it is. The rule asks for the pseudo-inverse again, so it has derivatives of any order.
  flat::JvpRule rule = [=](std::span<const Array> x, std::span<const Array> t) {
    const Type type = type_of(x[0]);
    Array p = pseudo_inverse(x[0], rtol, at), pt = transposed(p), tt = transposed(t[0]);
    Array left = eye(type.shape[-1], type.dtype) - matmul(p, x[0]);   // what the matrix sends to zero
    Array right = eye(type.shape[-2], type.dtype) - matmul(x[0], p);  // what it does not reach
    Array dp =
        matmul(matmul(p, matmul(pt, tt)), right) + matmul(left, matmul(matmul(tt, pt), p)) - matmul(matmul(p, t[0]), p);
    return std::pair(Arrays{p}, Arrays{dp});
  };
  return flat::custom_jvp(value, rule, Arrays{a}, {}, at)[0];
}

}  // namespace

Array pinv(const ArrayLike& x, std::optional<double> rtol) {
  auto [a, dtype] = matrix_operand(x);
  require_matrix("pinv", type_of(a), x.at);
  PinLine pin(x.at);
  if (type_of(a).shape.size() == 0) return converted(transposed(a), dtype);
  return converted(pseudo_inverse(a, rtol, x.at), dtype);
}

Array lstsq(const ArrayLike& a, const ArrayLike& b, std::optional<double> rtol) {
  auto [x, y, dtype] = matrix_operands(a, b);
  require_matrix("lstsq", type_of(x), a.at);
  const Shape sa = type_of(x).shape, sb = type_of(y).shape;
  if (sa.ndim() != 2 || sb.ndim() < 1 || sb.ndim() > 2 || sb[0] != sa[0])
    fail("lstsq", a.at, fmt::format("the operands do not fit: {} and {}", type_of(x).str(), type_of(y).str()));
  PinLine pin(a.at);
  return converted(matmul(pinv(x, rtol), y), dtype);
}

}  // namespace anew::linalg
