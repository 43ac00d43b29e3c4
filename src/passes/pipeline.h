// From a traced Program to steps with offsets in one arena: everything but the code.
#pragma once
#include <memory>
#include <span>

#include "passes/lowered.h"

namespace anew::passes {

// The passes from Program to Program, in order, each logged and (where asked for) verified.
ir::Program prepare(const ir::Program& p);
// All of them. The layouts are those of the Program's inputs; `donated` are numbers of those whose memory may become
// that of results. With `keep_steps` also what was placed, as it was before; with `names_stay` that knows the names
// that users gave.
struct Planned {
  std::shared_ptr<const Body> placed, steps;
};
Planned plan_program(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated = {},
                     bool keep_steps = false, bool names_stay = false);
// Offsets in one arena, of nested Bodies too; the last of the passes that moves anything. Arenas up to `small` bytes
// are not smaller for what steps can do without.
void plan_memory(Body& body);
void plan_memory(Body& body, std::size_t small);
// The passes behind `schedule`, on steps that `plan_program` kept or some made of them; nothing is given that steps can
// do without where the arena would be larger for it.
std::shared_ptr<const Body> plan_tightly(std::shared_ptr<Body> steps);

}  // namespace anew::passes
