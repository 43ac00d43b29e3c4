// Slices along one axis whose start is computed.
#include <anew/indexing.h>
#include <anew/ops.h>

#include "ops/promote.h"

namespace anew::lax {
namespace {

Starts along(const Array& start, int axis, int ndim) {
  Arrays starts(static_cast<std::size_t>(ndim), Array(0));
  starts[static_cast<std::size_t>(axis)] = start;
  return starts;
}

}  // namespace

Array dynamic_slice_in_dim(const ArrayLike& x, const ArrayLike& start, std::int64_t size, int axis) {
  PinLine pin(x.at);
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  int a = checked_axis("dynamic_slice_in_dim", axis, type.shape.ndim(), type, x.at);
  Shape sizes = type.shape;
  sizes[a] = size;
  return dynamic_slice(x, along(start.value, a, type.shape.ndim()), sizes);
}
Array dynamic_index_in_dim(const ArrayLike& x, const ArrayLike& index, int axis, bool keepdims) {
  PinLine pin(x.at);
  Array y = dynamic_slice_in_dim(x, index, 1, axis);
  return keepdims ? y : squeeze(y, axis);
}
Array dynamic_update_slice_in_dim(const ArrayLike& x, const ArrayLike& update, const ArrayLike& start, int axis) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  int a = checked_axis("dynamic_update_slice_in_dim", axis, type.shape.ndim(), type, x.at);
  return dynamic_update_slice(x, update, along(start.value, a, type.shape.ndim()));
}
Array dynamic_update_index_in_dim(const ArrayLike& x, const ArrayLike& update, const ArrayLike& index, int axis) {
  check_operand(x.value, line_or(x.at));
  check_operand(update.value, line_or(x.at));
  const Type type = type_of(x.value);
  int a = checked_axis("dynamic_update_index_in_dim", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  Array u = update.value;
  if (type_of(u).shape.ndim() < type.shape.ndim()) u = expand_dims(u, a);
  return dynamic_update_slice_in_dim(x, u, index, a);
}

}  // namespace anew::lax
