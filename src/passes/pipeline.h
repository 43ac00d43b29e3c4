// From a traced Program to one that is ready to be lowered.
#pragma once
#include "ir/program.h"

namespace anew::passes {

// The passes from Program to Program, in order, each logged and (where asked for) verified.
ir::Program prepare(const ir::Program& p);

}  // namespace anew::passes
