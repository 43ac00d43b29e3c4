// A residual that shows another value (a slice, transpose, broadcast, conversion of it) need not be kept: that value is
// kept instead where it is no more bytes, or kept anyway, and what shows it is made again where it is read. Bits do not
// change: such equations compute nothing, and those that are linear stay in their order.
#pragma once
#include "trace/trace.h"

namespace anew {

// `residuals` are the values of the inputs `vars` of p. Both lists become those that are kept; p gets the equations
// that make the others, each before its first reader. p.inputs is the caller's to set.
void keep_sources(ir::Program& p, std::vector<ir::Var>& vars, Arrays& residuals);

}  // namespace anew
