// The build without LLVM: there is no such target, so every kernel is interpreted, with the same bits.
#include "codegen/codegen.h"

namespace anew::codegen {

const loops::Target* machine_code() { return nullptr; }

}  // namespace anew::codegen
