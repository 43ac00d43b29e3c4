// jit: a nested call. Its two halves stay calls; values that pass through go around it.
#include "control/higher_order.h"
#include "control/nested_rules.h"

namespace anew {
namespace {

const JitParams& jit_of(const ParamsRef& p) { return p->as<JitParams>(); }

MakeParams with_program(const JitParams& like) {
  return [name = like.name](ir::ProgramRef program) { return jit_params(name, std::move(program)); };
}

}  // namespace

RunCompiled run_compiled = nullptr;

ParamsRef jit_params(std::string name, ir::ProgramRef program) {
  auto p = std::make_shared<JitParams>();
  p->name = std::move(name);
  p->program = std::move(program);
  return p;
}

const ir::Primitive& jit_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "jit",
      .infer = [](const ir::InferArgs& a) { return infer_nested(a.params.as<JitParams>().program, a, "jit"); },
      .parse = &JitParams::parse,
      .run =
          [](const ParamsRef& p, std::span<const Array> x, const Location& at) {
            return run_compiled ? run_compiled(jit_of(p).program, x, at) : evaluate(*jit_of(p).program, x);
          },
      .jvp =
          [](const ir::JvpArgs& a) {
            return jvp_nested(jit_row(), with_program(jit_of(a.params)), jit_of(a.params).program, a);
          },
      .transpose =
          [](const ir::TransposeArgs& a) {
            return transpose_nested(jit_row(), with_program(jit_of(a.params)), jit_of(a.params).program, a);
          },
      .batch =
          [](const ir::BatchArgs& a) {
            return batch_nested(jit_row(), with_program(jit_of(a.params)), jit_of(a.params).program, a);
          },
      .facts = {.holds_programs = true, .inlines = true},
      .split =
          [](const ir::SplitArgs& a) {
            MakeParams params = with_program(jit_of(a.params));
            return split_nested(jit_row(), jit_of(a.params).program, a,
                                {.policy = a.trace.policy(), .known = params, .staged = params});
          },
      .dce =
          [](const ir::Eqn& e, const std::vector<bool>& used) {
            return dce_nested(with_program(jit_of(e.params)), jit_of(e.params).program, e, used);
          },
  };
  return row;
}

}  // namespace anew
