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

ir::NestedJvp jvp_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p,
                         std::span<const Array> x, std::span<const Array> t, const Location& at) {
  std::vector<bool> nonzero;
  Arrays in(x.begin(), x.end());
  for (const Array& dx : t) {
    nonzero.push_back(dx.value() != nullptr);
    if (dx.value()) in.push_back(dx);
  }
  JvpProgram j = jvp_program(p, nonzero);
  in.insert(in.end(), j.captured.begin(), j.captured.end());
  Arrays out = bind_nested(row, params, j.program, in, at);
  std::size_t n = p->outputs.size(), next = n;
  ir::NestedJvp result{Arrays(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n)), {}};
  for (std::size_t i = 0; i < n; ++i) result.t.push_back(j.nonzero[i] ? out[next++] : Array());
  return result;
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

Arrays transpose_program(const ir::ProgramRef& p, const ir::NestedTransposeArgs& a) {
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
                        const ir::NestedTransposeArgs& a) {
  // Operands of the new equation: what is not linear, the cotangents, the accumulators; whatever of them exists.
  Arrays operands;
  std::vector<int> x_at, ct_at, acc_at;
  auto add = [&](const Array& v, std::vector<int>& at) {
    at.push_back(v.value() ? static_cast<int>(operands.size()) : -1);
    if (v.value()) operands.push_back(v);
  };
  for (const Array& v : a.x) add(v, x_at);
  for (const Array& v : a.ct) add(v, ct_at);
  for (const Array& v : a.accumulated) add(v, acc_at);

  std::vector<bool> nonzero(a.in.size());
  auto body = [&](std::span<const Array> in) {
    auto get = [&](const std::vector<int>& at) {
      Arrays out;
      for (int i : at) out.push_back(i < 0 ? Array() : in[static_cast<std::size_t>(i)]);
      return out;
    };
    Arrays x = get(x_at), ct = get(ct_at), accumulated = get(acc_at), present;
    Arrays result = transpose_program(p, {a.params, ct, x, a.in, a.linear, accumulated, a.at});
    for (std::size_t i = 0; i < result.size(); ++i) {
      nonzero[i] = result[i].value() != nullptr;
      if (nonzero[i]) present.push_back(result[i]);
    }
    return present;
  };
  Closed c = close_over(body, operands, "transpose", a.at);
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
  return {false, d.program == p ? e.params : params(d.program), d.used_inputs, used_outputs};
}

}  // namespace anew
