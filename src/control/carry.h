// What all loops ask of their bodies: carries that keep their types.
#pragma once
#include "trace/trace.h"

namespace anew {

// Traces a loop's body, which takes `types` and returns the carries first, one per array of `start`. A C++ number among
// `start` takes the dtype that the body returns, and `start` and `types` with it; any other change of type is an error
// that names the carry by its path.
Staged stage_body(std::string_view loop, const FlatFunction& body, Arrays& start, Types& types,
                  const std::vector<std::string>& paths, const Location& at);

}  // namespace anew
