// Convolutions: a product that packs through an index map, and its two transposes.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> convolution_rows() { return {}; }

}  // namespace anew
