// Transposition of linear Programs: the backward pass. Cotangents are added in reverse program order, operands of one
// equation from the first on; accumulators that exist are passed into nested Programs, so that cutting a function into
// calls or checkpoints never reorders a sum.
#pragma once
#include "trace/trace.h"

namespace anew {

// `x`: values of the inputs, empty where linear. `ct`: per output, empty where zero. `accumulated`: per input, what is
// already known of its cotangent. Returns per input its cotangent, empty where zero or not linear.
// Values of x are released as soon as no equation reads them any more.
Arrays backward_pass(const ir::Program& p, Arrays x, const std::vector<bool>& linear, std::span<const Array> ct,
                     Arrays accumulated);

Array add_cotangents(const Array& so_far, const Array& more, const Location& at);  // either may be empty

}  // namespace anew
