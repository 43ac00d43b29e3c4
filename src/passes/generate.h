// A placed Body becomes a Code (runtime/executable.h): the target's code once per distinct kernel, pointers instead of
// values. Nothing is decided here.
#pragma once
#include <memory>

#include "passes/lowered.h"
#include "runtime/executable.h"

namespace anew::passes {

std::unique_ptr<Code> generate(const Body& body, const loops::Target& target);

}  // namespace anew::passes
