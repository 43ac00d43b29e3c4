// Row-major strides, in elements: those of arrays that lie dense in memory, the last axis fastest.
#pragma once
#include <anew/base.h>

namespace anew {

inline Shape row_major(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = shape.ndim(); i-- > 0; step *= shape[i]) strides[i] = step;
  return strides;
}
inline bool is_row_major(const Shape& shape, const Shape& strides) {
  std::int64_t step = 1;
  for (int i = shape.ndim(); i-- > 0; step *= shape[i])
    if (strides[i] != step) return false;
  return true;
}

}  // namespace anew
