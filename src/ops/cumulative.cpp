// Running sums, products and extrema along an axis.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> cumulative_rows() { return {}; }

}  // namespace anew
