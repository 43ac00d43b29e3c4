// From a traced Program to steps with offsets in one arena: everything but the code.
#pragma once
#include <memory>
#include <span>

#include "passes/lowered.h"

namespace anew::passes {

std::shared_ptr<const Body> plan_program(const ir::Program& program, std::span<const Strides> inputs);

}  // namespace anew::passes
