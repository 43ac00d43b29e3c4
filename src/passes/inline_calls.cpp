// Calls become their equations, where they stand: program order is kept, so what a checkpoint recomputes stays as late
// as the checkpoint was. Rows say by a fact that they may be inlined (jit, checkpoint, custom rules, softmax). A row
// that holds no Program is made of other rows: its run is staged. A step that an unwind keeps residuals of stays as it
// is: what is kept is decided by its checkpoints, when `lower` cuts it.
#include <fmt/format.h>

#include "control/loop.h"
#include "ir/inline.h"
#include "passes/passes.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

// The equations that a row without a Program binds when it runs.
ir::Program expanded(const ir::Eqn& e, std::span<const ir::Type> in) {
  auto run = [&](std::span<const Array> x) {
    RuleScope line(e.rule_of, e.at, e.mark);
    return e.primitive->run(e.params, x, e.at);
  };
  Staged s = stage(run, in, e.primitive->name, e.at);
  if (!s.constants.empty())
    throw InternalError(fmt::format("[inline_calls] {} captures arrays where it is inlined", e.primitive->name), e.at);
  return std::move(s.program);
}

}  // namespace

ir::Program inline_calls(const ir::Program& p) {
  auto callee = [](const ir::Eqn& e, std::span<const ir::Type> in) -> ir::ProgramRef {
    if (!e.primitive->facts.inlines) return nullptr;
    if (std::vector<ir::ProgramRef> programs = ir::nested_programs(e); programs.size() == 1) return programs[0];
    return std::make_shared<const ir::Program>(expanded(e, in));
  };
  return ir::inline_calls(p, callee, [](const ir::Eqn& e, const ir::ProgramRef& nested) {
    const auto* unwind = e.params->if_a<UnwindParams>();
    return unwind && unwind->keeps_residuals() && nested == unwind->step;
  });
}

}  // namespace anew::passes
