// Lists of axes, shapes and arrays with one more axis in front.
#include "ops/batch.h"

namespace anew {

std::vector<int> behind_front(std::vector<int> axes) {
  for (int& a : axes) ++a;
  return axes;
}

std::vector<int> with_front(const std::vector<int>& axes) { return joined({0}, behind_front(axes)); }

Shape with_front(std::int64_t size, Shape shape) {
  shape.insert(0, size);
  return shape;
}

Array move_axis(const Array& x, int from, int to) {
  if (from == to) return x;
  std::vector<int> order = axes_without(type_of(x).shape.ndim(), {from});
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

Array repeat_in_front(const Array& x, std::int64_t size) {
  const Shape shape = type_of(x).shape;
  return lax::broadcast_in_dim(x, with_front(size, shape), axis_range(1, shape.ndim() + 1));
}

Arrays all_mapped(const ir::BatchArgs& a) {
  Arrays x;
  for (std::size_t i = 0; i < a.x.size(); ++i) x.push_back(a.mapped[i] ? a.x[i] : repeat_in_front(a.x[i], a.size));
  return x;
}

}  // namespace anew
