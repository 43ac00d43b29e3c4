// What all loops ask of their bodies: carries that keep their types.
#pragma once
#include "trace/trace.h"

namespace anew {

// Traces a loop's body, which takes `forms` and returns the carries first, one per array of `start`. A number among
// `start` takes the dtype that the body returns, or stays a number if the body returns one, and `start` and `forms` with
// it; any other change of type is an error that names the carry by its path. Numbers after the carries become arrays.
Staged stage_body(std::string_view loop, const FlatFunction& body, Arrays& start, Forms& forms,
                  const std::vector<std::string>& paths, const Location& at);

}  // namespace anew
