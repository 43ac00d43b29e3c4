// What does not depend on LLVM.
#include "codegen/codegen.h"

namespace anew::codegen {

Shape dense_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t size = 1;
  for (int d = shape.ndim() - 1; d >= 0; --d) strides[d] = size, size *= shape[d];
  return strides;
}

}  // namespace anew::codegen
