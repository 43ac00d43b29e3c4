// Reading and writing at computed places: gather, scatter and their user functions (take, x[indices], x.at(i)).
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> gather_rows() { return {}; }

}  // namespace anew
