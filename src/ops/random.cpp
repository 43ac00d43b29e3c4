// Counter-based random bits (threefry) and what is drawn from them.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> random_rows() { return {}; }

}  // namespace anew
