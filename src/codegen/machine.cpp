// See machine.h.
#include "codegen/machine.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

namespace anew::codegen {

const Machine& host() {
  static const auto& machine = *new Machine([] {
    Machine m;
    m.cpu = llvm::sys::getHostCPUName().str();
    const auto has = llvm::sys::getHostCPUFeatures();
    for (const auto& f : has)
      m.features += (m.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
    m.masks = has.lookup("avx512f") && has.lookup("avx512bw") && has.lookup("avx512dq") && has.lookup("avx512vl");
    m.vector_bytes = m.masks ? 64 : has.lookup("avx2") ? 32 : 16;
    return m;
  }());
  return machine;
}

}  // namespace anew::codegen
