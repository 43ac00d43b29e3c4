// Kernels without a reduction: a unit is an iteration of the nest, in row-major order.
#include "codegen/emitter.h"

namespace anew::codegen {

void emit_elementwise(Emitter& e) {
  if (emit_tiles(e)) return;
  e.emit(Level::entry);
  e.walk(0, e.argument(1), e.argument(2), [&](const Lanes& lanes, llvm::Value*) {
    e.emit(Level::vector, lanes);
    for (std::size_t s = 0; s < e.layout.stores.size(); ++s)
      e.store(static_cast<int>(s), lanes, e.value(e.layout.kernel.stores[s].node, lanes.width));
  });
}

}  // namespace anew::codegen
