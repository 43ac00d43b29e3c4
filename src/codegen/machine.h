// The processor that code is made for. `host` describes this one; tests also compile for a lesser one that it contains.
#pragma once
#include <string>

#include "codegen/codegen.h"

namespace anew::codegen {

struct Machine {
  std::string cpu, features;  // as LLVM names them
  int vector_bytes = 16;
  bool masks = false;  // moves of any element size under a mask, so that a loop needs no tail
};
const Machine& host();

std::shared_ptr<const Module> compile(std::span<const Source> kernels, const Machine& machine);
std::string llvm_ir(const Source& kernel, const Machine& machine);

}  // namespace anew::codegen
