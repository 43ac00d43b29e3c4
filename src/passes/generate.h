// A placed Body becomes a Code (runtime/executable.h): machine code or bytecode once per distinct kernel, pointers
// instead of values.
#pragma once
#include <memory>

#include "passes/lowered.h"
#include "runtime/executable.h"

namespace anew::passes {

using loops::KernelCode;
using loops::LaidKernel;

// Codes of distinct kernels, one each, in order.
using CompileKernels =
    std::function<std::vector<std::shared_ptr<const KernelCode>>(std::span<const LaidKernel> kernels)>;
std::shared_ptr<const KernelCode> interpreted(const LaidKernel& kernel);

std::unique_ptr<Code> generate(const Body& body, const CompileKernels& compile);

}  // namespace anew::passes
