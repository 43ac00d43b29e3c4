// Kernels without a reduction: a unit is an iteration of the nest, in row-major order.
#include "codegen/emitter.h"

namespace anew::codegen {

void emit_elementwise(Emitter& e) {
  e.emit(Place::entry);
  // Several vectors side by side where there is little to do with each.
  const int copies = e.layout.work <= 8 ? 4 : 1;
  e.walk(0, e.argument(1), e.argument(2), copies, [&](const Lanes& lanes, llvm::Value*) {
    e.emit(Place::vector, lanes);
    for (std::size_t s = 0; s < e.layout.stores.size(); ++s)
      for (int c = 0; c < lanes.copies; ++c)
        e.store(static_cast<int>(s), lanes, e.value(e.layout.kernel.stores[s].node, lanes.width, c), c);
  });
}

}  // namespace anew::codegen
