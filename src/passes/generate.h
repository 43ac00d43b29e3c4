// A placed Body becomes a Code (runtime/executable.h): machine code or bytecode once per distinct kernel, pointers
// instead of values.
#pragma once
#include <memory>

#include "passes/lowered.h"
#include "runtime/executable.h"

namespace anew::passes {

// A kernel over operands that lie as the strides say.
struct LaidKernel {
  const loops::Kernel* kernel;
  std::vector<Strides> strides;
  friend bool operator==(const LaidKernel& a, const LaidKernel& b) {
    return *a.kernel == *b.kernel && a.strides == b.strides;
  }
};
// Codes of distinct kernels, one each, in order.
using CompileKernels =
    std::function<std::vector<std::shared_ptr<const KernelCode>>(std::span<const LaidKernel> kernels)>;
std::vector<std::shared_ptr<const KernelCode>> interpret_kernels(std::span<const LaidKernel> kernels);

std::unique_ptr<Code> generate(const Body& body, const CompileKernels& compile);

}  // namespace anew::passes
