// From a traced Program to steps with offsets in one arena: everything but the code.
#pragma once
#include <memory>
#include <span>

#include "passes/lowered.h"

namespace anew::passes {

// The passes from Program to Program, in order, each logged and (where asked for) verified.
ir::Program prepare(const ir::Program& p);
// All of them. The layouts are those of the Program's inputs.
std::shared_ptr<const Body> plan_program(const ir::Program& program, std::span<const Strides> inputs);
// Offsets in one arena, of nested Bodies too; the last but one of the passes.
void plan_memory(Body& body);

}  // namespace anew::passes
