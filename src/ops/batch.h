// What batch rules share: lists of axes and shapes with one more axis in front, and arrays that get it. In a rule a
// mapped operand has the mapped axis in front of all others, so whatever counts axes counts from one.
#pragma once
#include <anew/ops.h>

#include "ops/axes.h"
#include "ops/family.h"

namespace anew {

// 3, 0 -> 4, 1
std::vector<int> behind_front(std::vector<int> axes);
// 3, 0 -> 0, 4, 1: the axis in front goes with the others.
std::vector<int> with_front(const std::vector<int>& axes);
Shape with_front(std::int64_t size, Shape shape);

// Under the current trace: axis `from` moved to place `to`; x repeated along a new axis in front.
Array move_axis(const Array& x, int from, int to);
Array repeat_in_front(const Array& x, std::int64_t size);
// All operands with the mapped axis, repeated along it where they do not depend on it.
Arrays all_mapped(const ir::BatchArgs& a);

}  // namespace anew
