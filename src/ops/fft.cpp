// Discrete Fourier transforms of real data, with derivatives.
#include "ops/family.h"
#include "ops/rows.h"

namespace anew {

std::span<const Primitive* const> fft_rows() { return {}; }

}  // namespace anew
