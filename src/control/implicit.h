// Values that an equation defines: x of matvec(x) = b (linear_solve) and of f(x) = 0 (custom_root). How they are found
// is the user's; their derivatives follow from the equation alone. All Programs of a row take the same constants first.
#pragma once
#include <anew/solvers.h>

#include "control/higher_order.h"
#include "transforms/nested.h"

namespace anew {

// Operands: constants, then b. Outputs: x, one per b, then what `solve` gives besides (nothing is known of its
// derivative: it has none). Linear in b.
struct LinearSolveParams : ir::ParamsOf<LinearSolveParams> {
  int constants = 0;
  ir::ProgramRef matvec;                   // constants, x -> b
  ir::ProgramRef solve;                    // constants, b -> x, more
  ir::ProgramRef tangent_solve;            // constants, b -> x: in derivatives
  std::vector<ir::ProgramRef> transposed;  // matvec and tangent_solve of the transpose; or nothing: it is unknown
  static auto fields() {
    using P = LinearSolveParams;
    return std::tuple{ir::field("matvec", &P::matvec), ir::field("num_consts", &P::constants),
                      ir::field("solve", &P::solve), ir::field("tangent_solve", &P::tangent_solve),
                      ir::field("transposed", &P::transposed)};
  }
};

// Operands: constants, then a guess. Outputs: x, one per guess, then what `solve` gives besides.
struct RootParams : ir::ParamsOf<RootParams> {
  int constants = 0;
  ir::ProgramRef f;              // constants, x -> f(x)
  ir::ProgramRef solve;          // constants, guess -> x, more
  ir::ProgramRef tangent_solve;  // constants, x, y -> dx with f'(x) dx = y
  static auto fields() {
    using P = RootParams;
    return std::tuple{ir::field("f", &P::f), ir::field("num_consts", &P::constants), ir::field("solve", &P::solve),
                      ir::field("tangent_solve", &P::tangent_solve)};
  }
};

// Tangents of f(constants, x), one per output (empty where zero), where the constants have tangents t and x has none.
Arrays tangents_at(const ir::ProgramRef& f, const Arrays& constants, const Arrays& x, const Arrays& t);
// vmap: a Program whose outputs are all mapped; operands, those behind the constants all mapped.
ir::ProgramRef batched_whole(const ir::ProgramRef& p, const std::vector<bool>& mapped, std::int64_t size);
Arrays repeated(const ir::BatchArgs& a, int constants);
// Throws where unknowns are not of floating type, or a function of them, traced, does not give their types (and more).
void check_unknowns(std::string_view op, std::span<const Array> x, const Location& at);
void check_types(std::string_view op, std::string_view what, const ir::Program& p, const Arrays& x, bool more,
                 const Location& at);
// f traced at values of these types, none of them a number.
Staged stage_strong(const FlatFunction& f, const Arrays& x, std::string_view what, const Location& at);

}  // namespace anew
