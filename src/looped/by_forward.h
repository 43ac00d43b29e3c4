// Functions that are computed by loops, with derivatives of any order: forward mode goes through a loop, and what it
// gives for a unit tangent is again such a function.
#pragma once
#include <anew/flat.h>

namespace anew {

// f of arrays of f64 of one shape, element by element. A rule of its own makes reverse mode work: each derivative is
// computed forward, and multiplied by the tangent.
Array elementwise_by_forward(const FlatFunction& f, const Arrays& x, const Location& at);

}  // namespace anew
