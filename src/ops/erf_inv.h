// The inverse of erf as a scalar expression of f32 or f64.
#pragma once
#include "loops/build.h"

namespace anew {

loops::Expr erf_inv_expression(loops::Expr x);

}  // namespace anew
