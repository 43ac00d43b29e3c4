// Indexing by integer arrays: what x[i], x.at(i) and take share.
#pragma once
#include <anew/indexing.h>

#include "ops/family.h"

namespace anew {

// An axis of the operand and the integers that choose along it.
struct Chosen {
  int axis;
  Array index;
};
// Indices broadcast against each other; their common axes stand in the result where the first chosen axis stood, or in
// front. Negative indices count from the end. Modes: "clip", "fill", "drop", "wrap", "promise_in_bounds".
struct Choice {
  std::vector<Chosen> axes;
  bool in_front = false;
};
// Index arrays as gather's: one array, the last axis over the chosen axes; and the shape of the result.
struct Resolved {
  Array indices;
  lax::GatherDimensions dimensions;
  Shape slice_sizes, result;
  lax::IndexMode mode;
  bool nothing = false;  // the result is empty, or an axis to choose from is
};
void check_mode(std::string_view op, std::string_view mode, const Location& at);
Resolved resolve(std::string_view op, const Type& x, const Choice& choice, std::string_view mode, const Location& at);
Array choose(std::string_view op, const Array& x, const Choice& choice, std::string_view mode, const Location& at);

}  // namespace anew
