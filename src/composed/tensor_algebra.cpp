// Norms by their own names, and linear algebra of arrays with more axes than two.
#include <anew/numpy.h>
#include <fmt/format.h>

#include "ops/promote.h"

namespace anew::linalg {

Array vector_norm(const ArrayLike& x, double ord, const Axes& axis, bool keepdims) {
  Array a = float_array(x);
  const Type type = type_of(a);
  PinLine pin(x.at);
  if (!axis.all()) return anew::norm(a, axis, keepdims, ord);
  Array y = anew::norm(ravel(a), 0, false, ord);
  Shape ones;
  for (int i = 0; i < type.shape.ndim(); ++i) ones.push_back(1);
  return keepdims ? reshape(y, ones) : y;
}
Array matrix_norm(const ArrayLike& x, const NormOrder& ord, bool keepdims) {
  const Type type = type_of(checked(x));
  if (type.shape.ndim() < 2) fail("linalg.matrix_norm", x.at, fmt::format("needs a matrix, got {}", type.str()));
  return norm(x, ord, {-2, -1}, keepdims);
}
Array vecdot(const ArrayLike& a, const ArrayLike& b) { return anew::vecdot(a, b); }

Array tensorinv(const ArrayLike& x, int ind) {
  Array a = float_array(x);
  const Type type = type_of(a);
  if (ind <= 0 || ind >= type.shape.ndim())
    fail("linalg.tensorinv", x.at, fmt::format("{} of the axes of {} are no rows", ind, type.str()));
  Shape rows, columns;
  for (int i = 0; i < type.shape.ndim(); ++i) (i < ind ? rows : columns).push_back(type.shape[i]);
  if (rows.size() != columns.size())
    fail("linalg.tensorinv", x.at,
         fmt::format("{} is not square: {} rows, {} columns", type.str(), rows.size(), columns.size()));
  PinLine pin(x.at);
  Shape out = columns;
  for (std::int64_t n : rows) out.push_back(n);
  return reshape(inv(reshape(a, {rows.size(), columns.size()})), out);
}
Array tensorsolve(const ArrayLike& a, const ArrayLike& b) {
  auto [m, v] = std::pair(float_array(a), float_array(ArrayLike(b.value, a.at)));
  const Type type = type_of(m), right = type_of(v);
  Shape rows, columns;
  for (int i = 0; i < type.shape.ndim(); ++i) (i < right.shape.ndim() ? rows : columns).push_back(type.shape[i]);
  if (rows != right.shape || rows.size() != columns.size())
    fail("linalg.tensorsolve", a.at, fmt::format("{} does not fit {}", type.str(), right.str()));
  PinLine pin(a.at);
  return reshape(solve(reshape(m, {rows.size(), columns.size()}), ravel(v)), columns);
}

}  // namespace anew::linalg
