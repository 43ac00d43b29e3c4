// Rules shared by jit and checkpoint.
#include "control/nested_rules.h"

#include <fmt/format.h>

#include "control/signature.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"
#include "transforms/vmap.h"

namespace anew {

Types infer_nested(const ir::ProgramRef& p, const ir::InferArgs& a, std::string_view name) {
  Signature s = signature_of(name, "the program", p, a.at);
  require_fit(std::equal(s.in.begin(), s.in.end(), a.in.begin(), a.in.end()), name,
              "operands do not have the types of the program's inputs", a.at);
  return s.out;
}

ir::Tangents jvp_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p, const ir::JvpArgs& a) {
  std::vector<bool> nonzero;
  Arrays in(a.x.begin(), a.x.end());
  for (const Array& dx : a.t) {
    nonzero.push_back(dx.value() != nullptr);
    if (dx.value()) in.push_back(dx);
  }
  JvpProgram j = jvp_program(p, nonzero);
  in.insert(in.end(), j.captured.begin(), j.captured.end());
  Arrays out = bind_nested(row, params, j.program, in, a.at);
  return values_and_tangents(out, j.nonzero);
}

Arrays split_nested(const Primitive& row, const ir::ProgramRef& p, const ir::SplitArgs& a, const NestedSplit& how) {
  SplitTrace& trace = a.trace;
  std::vector<bool> unknown;
  Arrays known_in, known_out, staged_in, staged_out;
  for (const Array& x : a.in) {
    unknown.push_back(trace.unknown(x));
    if (!unknown.back()) known_in.push_back(trace.known(x));
  }
  Split s = split(p, unknown, {.policy = how.policy, .all_instantiated = trace.policy().has_value()});
  if (how.inspect) how.inspect(s);
  {
    TraceScope scope(trace.parent());
    known_out = how.inline_known ? evaluate(s.known, known_in) : bind_nested(row, how.known, s.known, known_in, a.at);
  }
  std::size_t outputs = known_out.size() - static_cast<std::size_t>(s.residuals);
  for (std::size_t i = outputs; i < known_out.size(); ++i) {
    staged_in.push_back(known_out[i]);
    if (!how.residual_reason.empty()) trace.give_reason(known_out[i], how.residual_reason);
  }
  for (int i : s.staged_inputs) {
    staged_in.push_back(trace.staged(a.in[static_cast<std::size_t>(i)]));
    if (!how.input_reason.empty() && !trace.unknown(staged_in.back()))
      trace.give_reason(staged_in.back(), how.input_reason);
  }
  {
    TraceScope scope(&trace.staging());
    staged_out = bind_nested(row, how.staged, s.staged, staged_in, a.at);
  }
  Arrays out(p->outputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!s.unknown_outputs[i]) out[i] = known_out[next++];
  for (std::size_t k = 0; k < s.staged_outputs.size(); ++k) {
    Array& y = out[static_cast<std::size_t>(s.staged_outputs[k])];
    if (!y.value()) y = staged_out[k];
    else if (trace.unknown(staged_out[k])) y = trace.both(y, staged_out[k]);
  }
  return out;
}

Present::Present(std::initializer_list<std::span<const Array>> lists) {
  for (std::span<const Array> list : lists) {
    std::vector<bool>& exist = exist_.emplace_back();
    for (const Array& x : list) {
      exist.push_back(x.value() != nullptr);
      if (x.value()) operands_.push_back(x);
    }
  }
}
std::vector<Arrays> Present::lists(std::span<const Array> operands) const {
  std::vector<Arrays> out;
  std::size_t next = 0;
  for (const std::vector<bool>& exist : exist_) {
    Arrays& list = out.emplace_back();
    for (bool here : exist) list.push_back(here ? operands[next++] : Array());
  }
  return out;
}

Arrays transpose_program(const ir::ProgramRef& p, const ir::TransposeArgs& a) {
  Split s = split(p, a.linear);
  Arrays known_in, ct, result(a.in.size());
  for (std::size_t i = 0; i < a.in.size(); ++i) {
    if (!a.linear[i]) known_in.push_back(a.x[i]);
    else result[i] = a.accumulated[i];
  }
  Arrays x = evaluate(s.known, known_in);
  x.erase(x.begin(), x.end() - s.residuals);
  std::vector<bool> linear(x.size(), false);
  Arrays accumulated(x.size());
  for (int i : s.staged_inputs) {
    linear.push_back(true);
    accumulated.push_back(result[static_cast<std::size_t>(i)]);
  }
  x.resize(linear.size());
  for (int i : s.staged_outputs) ct.push_back(a.ct[static_cast<std::size_t>(i)]);
  Arrays now = backward_pass(s.staged, std::move(x), linear, ct, std::move(accumulated));
  for (std::size_t k = 0; k < s.staged_inputs.size(); ++k)
    result[static_cast<std::size_t>(s.staged_inputs[k])] = now[static_cast<std::size_t>(s.residuals) + k];
  return result;
}

Arrays transpose_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p,
                        const ir::TransposeArgs& a) {
  const Present present{a.x, a.ct, a.accumulated};  // operands of the new equation
  std::vector<bool> nonzero(a.in.size());
  auto body = [&](std::span<const Array> in) {
    const std::vector<Arrays> given = present.lists(in);
    Arrays result = transpose_program(p, {a.params, given[1], given[0], a.in, a.linear, given[2], a.at}), some;
    for (std::size_t i = 0; i < result.size(); ++i) {
      nonzero[i] = result[i].value() != nullptr;
      if (nonzero[i]) some.push_back(result[i]);
    }
    return some;
  };
  Closed c = close_over(body, present.operands(), "transpose", a.at);
  Arrays made = bind_nested(row, params, c.program, c.inputs, a.at), out(a.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (nonzero[i]) out[i] = made[next++];
  return out;
}

ir::Batched batch_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p,
                         const ir::BatchArgs& a) {
  BatchedProgram b = batch_program(p, a.mapped, a.size);
  return {bind_nested(row, params, b.program, a.x, a.at), b.mapped};
}

ir::DceResult dce_nested(const MakeParams& params, const ir::ProgramRef& p, const ir::Eqn& e,
                         const std::vector<bool>& used_outputs) {
  ir::SharedDce d = ir::eliminate_dead_code(p, used_outputs);
  return {d.program == p ? e.params : params(d.program), d.used_inputs, used_outputs};
}

}  // namespace anew
