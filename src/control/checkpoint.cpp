// checkpoint: computes what its body computes; differentiated, it keeps its inputs and what the policy lets be saved,
// and recomputes the rest inside the equation that consumes the cotangent.
#include <fmt/format.h>

#include "control/checkpoint_warnings.h"
#include "control/higher_order.h"
#include "control/nested_rules.h"

namespace anew {
namespace {

const CheckpointParams& checkpoint_of(const ParamsRef& p) { return p->as<CheckpointParams>(); }

MakeParams with_program(const CheckpointParams& like, bool differentiated) {
  return [policy = like.policy, differentiated](ir::ProgramRef program) {
    auto p = std::make_shared<CheckpointParams>();
    p->differentiated = differentiated;
    p->policy = policy;
    p->program = std::move(program);
    return p;
  };
}

// A recomputation would repeat them.
void refuse_io(const CheckpointParams& p, const Location& at) {
  std::string io = ir::find_io(*p.program);
  if (!io.empty())
    throw Error(fmt::format("[checkpoint] Effects not supported in the derivative of checkpoint: {}", io), at,
                "move the call out of the checkpointed function");
}

// The outermost policy decides what the forward pass stores: inside another checkpoint's split, that one's.
Arrays split_checkpoint(const ir::SplitArgs& a) {
  const CheckpointParams& p = checkpoint_of(a.params);
  refuse_io(p, a.at);
  bool outermost = !a.trace.policy();
  NestedSplit how{.policy = outermost ? p.policy : a.trace.policy(),
                  .inline_known = outermost,
                  .known = with_program(p, p.differentiated),
                  .staged = with_program(p, true)};
  if (outermost) {
    std::string where = source_line(a.at).str();
    where = where.substr(0, where.rfind(" ("));
    how.residual_reason = fmt::format("policy {} of checkpoint at {}", p.policy.str(), where);
    how.input_reason = fmt::format("input of checkpoint at {}", where);
    if (!p.differentiated) {
      report_unmatched_names(p.policy, *p.program, a.at);
      how.inspect = [&](const Split& s) {
        report_nothing_repeated(s, a.at);
        std::vector<bool> unknown;
        for (const Array& x : a.in) unknown.push_back(a.trace.unknown(x));
        log_residuals(s, *p.program, unknown, a.at);
        if (s.residuals == 0) a.trace.note_inputs_only(a.at);
      };
    }
  }
  return split_nested(checkpoint_row(), p.program, a, how);
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the analyzer loses the std::function inside `how`

}  // namespace

const ir::Primitive& checkpoint_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "checkpoint",
      .infer =
          [](const ir::InferArgs& a) { return infer_nested(a.params.as<CheckpointParams>().program, a, "checkpoint"); },
      .parse = &CheckpointParams::parse,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location&) { return evaluate(*checkpoint_of(p).program, x); },
      .jvp =
          [](const ir::JvpArgs& a) {
            refuse_io(checkpoint_of(a.params), a.at);
            return jvp_nested(checkpoint_row(),
                              with_program(checkpoint_of(a.params), checkpoint_of(a.params).differentiated),
                              checkpoint_of(a.params).program, a);
          },
      .transpose =
          [](const ir::TransposeArgs& a) {
            return transpose_nested(checkpoint_row(), with_program(checkpoint_of(a.params), true),
                                    checkpoint_of(a.params).program, a);
          },
      .batch =
          [](const ir::BatchArgs& a) {
            return batch_nested(checkpoint_row(),
                                with_program(checkpoint_of(a.params), checkpoint_of(a.params).differentiated),
                                checkpoint_of(a.params).program, a);
          },
      .facts = {.holds_programs = true, .inlines = true},
      .split = split_checkpoint,
      .dce =
          [](const ir::Eqn& e, const std::vector<bool>& used) {
            return dce_nested(with_program(checkpoint_of(e.params), checkpoint_of(e.params).differentiated),
                              checkpoint_of(e.params).program, e, used);
          },
  };
  return row;
}

namespace flat {

Arrays checkpoint(const FlatFunction& f, std::span<const Array> x, const Policy& policy, const Location& at) {
  Closed c = close_over(f, x, "checkpoint", at);
  CheckpointParams like;
  like.policy = policy;
  // Nothing goes around one that cannot be differentiated, so that every derivative meets it.
  if (!ir::find_io(c.program).empty())
    return as_formed(anew::bind(checkpoint_row(), with_program(like, false)(share(std::move(c.program))), c.inputs, at),
                     c.forms);
  return as_formed(bind_nested(checkpoint_row(), with_program(like, false), c.program, c.inputs, at), c.forms);
}

}  // namespace flat
}  // namespace anew
