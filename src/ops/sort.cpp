// Sorting along an axis: sort with any number of operands, top_k, and argsort.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> sort_rows() { return {}; }

}  // namespace anew
