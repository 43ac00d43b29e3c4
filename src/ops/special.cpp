// Special functions: lgamma, digamma, erf_inv and their kin.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> special_rows() { return {}; }

}  // namespace anew
