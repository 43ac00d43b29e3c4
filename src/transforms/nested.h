// Equations that hold a Program. A call or checkpoint must not split a variable (DESIGN, decision 2): equal operands are
// one input, an output equal to an input, a literal or another output goes around the equation.
#pragma once
#include <functional>

#include "trace/trace.h"

namespace anew {

ir::ProgramRef share(ir::Program p);
// Conversions of literals, which numbers become where they are known, as literals.
ir::Program with_numbers_converted(ir::Program p);

// Binds `primitive` with the Program in canonical form under the current trace; returns one array per output of `p`.
using MakeParams = std::function<ParamsRef(ir::ProgramRef)>;
Arrays bind_nested(const Primitive& primitive, const MakeParams& params, const ir::Program& p,
                   std::span<const Array> inputs, const Location& at);

// Traces f and makes captured values explicit: the Program's inputs are constants() then the arguments.
struct Closed {
  ir::Program program;
  Arrays inputs;  // captured arrays, then the arguments; numbers as f64[] or i64[]
  Forms forms = {};  // of the outputs
};
Closed close_over(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at);

}  // namespace anew
