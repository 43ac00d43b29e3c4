// A function of lines, mapped over an array.
#include <anew/flat.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include "ops/promote.h"

namespace anew {

Array apply_along_axis(const std::function<Array(Array)>& f, int axis, const ArrayLike& x) {
  detail::check_function(f, x.at);
  Array a = checked(x);
  const Type type = type_of(a);
  const int i = checked_axis("apply_along_axis", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  FlatFunction g = [f](std::span<const Array> v) { return Arrays{f(v[0])}; };
  Shape lead = type.shape;
  lead.erase(i);
  if (lead.size() == 0) {  // no lines: the type of one says what there is none of
    Array one = flat::eval_shape(g, Arrays{zeros({type.shape[i]}, type.dtype)}, x.at)[0];
    Shape shape = lead;
    for (int k = 0; k < type_of(one).shape.ndim(); ++k) shape.insert(i + k, type_of(one).shape[k]);
    return zeros(shape, type_of(one).dtype);
  }
  Array lines = reshape(moveaxis(a, i, -1), {lead.size(), type.shape[i]});
  Array y = flat::vmap(g, Arrays{lines}, {.in = {0}}, x.at)[0];
  Shape shape = lead;
  const Shape each = type_of(y).shape;
  for (int k = 1; k < each.ndim(); ++k) shape.push_back(each[k]);
  y = reshape(y, shape);
  // What the function gives stands where the axis was.
  const int rank = each.ndim() - 1, n = lead.ndim();
  std::vector<int> from, to;
  for (int k = 0; k < rank; ++k) from.push_back(n + k), to.push_back(i + k);
  return rank == 0 ? y : moveaxis(y, from, to);
}

}  // namespace anew
