// Equations that hold Programs, in canonical form. A call, checkpoint, branch or loop must not split a variable, or
// sums of cotangents would change their order (docs/architecture.md, transpose): equal operands are one input, literals
// are inside, and an output that is an operand, a literal or another output goes around the equation.
#pragma once
#include <functional>
#include <map>

#include "trace/trace.h"

namespace anew {

ir::ProgramRef share(ir::Program p);

// What becomes of operands in the Programs that take them.
class Substitution {
 public:
  // Operand i is x; whether it remains one: literals go inside, of equal operands the first stays.
  bool keeps(std::size_t i, const Array& x);
  // Of p, whose inputs are the first of these operands: every use of an operand that does not remain. Conversions of
  // literals are literals. The list of inputs is left as it is.
  void apply(ir::Program& p) const;

 private:
  std::map<Identity, std::size_t> seen_;
  std::map<std::size_t, std::size_t> same_;
  std::map<std::size_t, ir::Literal> literals_;
};

// Binds `primitive` with Programs that take the same operands and give the same types, under the current trace; one
// array per output of each. `lead`: operands in front of theirs.
using MakeBranches = std::function<ParamsRef(std::vector<ir::ProgramRef>)>;
Arrays bind_branches(const Primitive& primitive, const MakeBranches& params, std::vector<ir::Program> branches,
                     Arrays lead, std::span<const Array> operands, const Location& at);
// The same with one Program.
using MakeParams = std::function<ParamsRef(ir::ProgramRef)>;
Arrays bind_nested(const Primitive& primitive, const MakeParams& params, const ir::Program& p,
                   std::span<const Array> inputs, const Location& at);

// Traces f and makes captured values explicit: the Program's inputs are constants() then the arguments.
struct Closed {
  ir::Program program;
  Arrays inputs;     // captured arrays, then the arguments; numbers as f64[] or i64[]
  Forms forms = {};  // of the outputs
};
Closed close_over(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at);

}  // namespace anew
