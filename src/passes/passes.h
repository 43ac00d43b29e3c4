// The passes from Program to Program, one file each. Each takes any valid Program, works on nested Programs too, keeps
// inputs, outputs and every bit of every result (payloads of NaNs excepted), and gives a valid Program; twice is as
// once.
#pragma once
#include <functional>

#include "ir/primitive.h"
#include "ir/program.h"

namespace anew::passes {

// Equations that nobody needs are dropped; inputs stay.
ir::Program eliminate_dead_code(const ir::Program& p);
// Identities (x * 1, x - 0, transpose of transpose, select of equal cases) are replaced by what they are.
ir::Program simplify(const ir::Program& p);
// The same, but what users gave a name keeps it.
ir::Program simplify_around_names(const ir::Program& p);
// What only a slice reads of an elementwise equation or a pad is all that is made.
ir::Program narrow(const ir::Program& p);
// Sums of pads that lie side by side, as the cotangent of what was split, are concatenations.
ir::Program concatenate_pads(const ir::Program& p);
// Equal equations of one Program are one. A nested Program is a closed world: nothing is merged across its border.
ir::Program eliminate_common(const ir::Program& p);
// What an equation gives that an earlier one gives among other things (a loop that keeps no residuals, behind one that
// does) is taken from there. Nested Programs stay as they are.
ir::Program eliminate_parts(const ir::Program& p);
// Equations that merely hold a Program, or are made of other rows, are replaced by those equations.
ir::Program inline_calls(const ir::Program& p);
// Scans run as many steps per turn as their `unroll` says; those that record states keep one.
ir::Program unroll_loops(const ir::Program& p);

// ---- what they share
// `p` with `one` applied to every nested Program, each distinct object once and innermost first, and then to `p`
// itself. `one` changes the equations of one Program in place, keeps its input and output types, and says whether it
// did.
ir::Program rewrite(const ir::Program& p, const std::function<bool(ir::Program&)>& one);

}  // namespace anew::passes
