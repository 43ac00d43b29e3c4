// What batch rules share: lists of axes and shapes with one more axis in front, and arrays that get it. In a rule a mapped
// operand has the mapped axis in front of all others, so whatever counts axes counts from one.
#pragma once
#include <anew/ops.h>

#include "ops/axes.h"
#include "ops/family.h"

namespace anew {

// 3, 0 -> 4, 1
inline std::vector<int> behind_front(std::vector<int> axes) {
  for (int& a : axes) ++a;
  return axes;
}
// 3, 0 -> 0, 4, 1: the axis in front goes with the others.
inline std::vector<int> with_front(const std::vector<int>& axes) { return joined({0}, behind_front(axes)); }
inline Shape with_front(std::int64_t size, Shape shape) {
  shape.insert(0, size);
  return shape;
}

// Under the current trace: axis `from` moved to place `to`; x repeated along a new axis in front.
inline Array move_axis(const Array& x, int from, int to) {
  if (from == to) return x;
  std::vector<int> order = axes_without(type_of(x).shape.ndim(), {from});
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}
inline Array repeat_in_front(const Array& x, std::int64_t size) {
  const Shape& shape = type_of(x).shape;
  return lax::broadcast_in_dim(x, with_front(size, shape), axis_range(1, shape.ndim() + 1));
}
// All operands with the mapped axis, repeated along it where they do not depend on it.
inline Arrays all_mapped(const ir::BatchArgs& a) {
  Arrays x;
  for (std::size_t i = 0; i < a.x.size(); ++i) x.push_back(a.mapped[i] ? a.x[i] : repeat_in_front(a.x[i], a.size));
  return x;
}

}  // namespace anew
