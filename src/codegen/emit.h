// From kernels to LLVM IR to the bytes of an object file. Contexts are not shared, so several threads may do it at
// once.
#pragma once
#include <llvm/IR/Module.h>

#include "codegen/machine.h"

namespace anew::codegen {

// Can the kernel be compiled at all?
bool can_compile(const Source& source);
// Symbols of kernel number n.
std::string run_name(std::size_t n);
std::string finish_name(std::size_t n);
// Adds the functions of a kernel to the module; true if it has a `finish`.
bool generate(llvm::Module& module, const Source& source, std::size_t n, const Machine& machine);
void set_target(llvm::Module& module, const Machine& machine);
std::vector<std::byte> assemble(llvm::Module& module, const Machine& machine);

}  // namespace anew::codegen
