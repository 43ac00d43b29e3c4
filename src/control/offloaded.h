// Values that a policy has moved out of memory, as Programs show them.
#pragma once
#include "ir/program.h"

namespace anew {

// Whether an output was moved out where it was made, in all Programs nested there too.
bool gives_host(const ir::Program& program, std::size_t output);
bool gives_host(const ir::Primitive& primitive, const ir::ParamsRef& params, int output);

}  // namespace anew
