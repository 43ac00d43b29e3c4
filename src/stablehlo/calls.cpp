// Rows that hold Programs and run them once: a call each. Custom derivatives have done their work when the function is
// traced: what is left of them is the function itself.
#include "control/cond.h"
#include "control/custom.h"
#include "control/implicit.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {

Values write_call(const Context& c) {
  const auto programs = c.eqn.params->programs();
  const auto* jit = c.eqn.params->if_a<JitParams>();
  return c.module.call(c.w, programs.at(0), jit ? jit->name : c.eqn.primitive->name, c.in);
}

// What is computed again in a backward pass is equal to what the forward pass computed. XLA would find that out and
// keep the first, were it not for the barrier.
Values write_checkpoint(const Context& c) {
  const auto& p = c.eqn.params->as<CheckpointParams>();
  Values in = c.in;
  if (p.differentiated && !in.empty()) {
    Types types;
    for (const Value& v : in) types.push_back(v.type);
    in = c.w.op({"stablehlo.optimization_barrier"}, in, types);
  }
  return c.module.call(c.w, p.program, "checkpoint", in);
}

// An index outside takes the last branch there, the nearest one here.
Values write_cond(const Context& c) {
  const auto& branches = c.eqn.params->as<CondParams>().branches;
  const Value zero = c.w.integer(c.in[0].type, 0), index = c.w.binary("maximum", c.in[0], zero);
  const Values operands(c.in.begin() + 1, c.in.end());
  Writer::Op op{"stablehlo.case"};
  for (std::size_t i = 0; i < branches.size(); ++i)
    op.regions.push_back([&, i](Writer& w, const Values&) {
      w.give(c.module.call(w, branches[i], fmt::format("branch_{}", i), operands));
    });
  return c.w.op(op, {index}, c.out);
}

// The value that an equation defines: as the user's solver finds it.
Values write_solve_of(const Context& c) {
  const auto* linear = c.eqn.params->if_a<LinearSolveParams>();
  return c.module.call(c.w, linear ? linear->solve : c.eqn.params->as<RootParams>().solve, c.eqn.primitive->name, c.in);
}

}  // namespace anew::stablehlo
