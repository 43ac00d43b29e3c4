// Derivative rules of scan. Flags on carries are fixpoints: what one step makes nonzero (unknown, used) the next one
// starts with. Residuals of the body are forwarded from constants and xs, hoisted, or stacked (spec/checkpoint.md 3.3).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "control/scan.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"

namespace anew {
namespace {

const ScanParams& of(const ParamsRef& p) { return static_cast<const ScanParams&>(*p); }

template <class T>
void append(std::vector<T>& a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
}

// Which of the variables depend on no input but the loop's constants. An output of an inner loop or branch may not depend
// on all of its operands: dead code says on which.
Flags invariant(const ir::Program& p, const Flags& constant_inputs) {
  Flags inv(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) inv[static_cast<std::size_t>(p.inputs[i])] = constant_inputs[i];
  auto is_invariant = [&](const ir::Atom& a) { return !a.is_var() || inv[static_cast<std::size_t>(a.var)]; };
  for (const ir::Eqn& e : p.eqns) {
    if (ir::has_effects(e)) continue;  // what an effect gives may differ from step to step
    const bool all = std::all_of(e.inputs.begin(), e.inputs.end(), is_invariant);
    for (ir::Var v : e.outputs) inv[static_cast<std::size_t>(v)] = all;
    if (all || !e.primitive->dce || std::none_of(e.inputs.begin(), e.inputs.end(), is_invariant)) continue;
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      Flags only(e.outputs.size());
      only[k] = true;
      const Flags needed = e.primitive->dce(e, only).used_inputs;
      bool free = true;
      for (std::size_t i = 0; i < needed.size(); ++i) free = free && (!needed[i] || is_invariant(e.inputs[i]));
      inv[static_cast<std::size_t>(e.outputs[k])] = free;
    }
  }
  return inv;
}

// The known half of a split body, and where each residual of the staged half is to be found.
struct KnownHalf {
  Arrays outputs;    // known outputs of the scan, in the order of `kept`
  Arrays residuals;  // one per residual: a constant, an xs array, a hoisted value or a stack
  Flags per_step;    // of the residuals: an xs of the staged loop, rather than a constant
};

KnownHalf run_known(const ScanParams& p, const Groups& g, const Split& s, const Flags& unknown,
                    std::span<const Array> known_in, const Flags& keep_output, const Location& at) {
  const ir::Program& body = s.known;
  KnownHalf half;
  Flags constant_inputs;
  std::map<ir::Var, std::pair<Array, bool>> forwarded;  // constants and xs of the body
  ScanParams params = p;
  params.constants = params.carries = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    if (unknown[i]) continue;
    ir::Var v = body.inputs[next];
    constant_inputs.push_back(g.is_constant(i));
    if (g.is_constant(i)) ++params.constants;
    else if (g.is_carry(i)) ++params.carries;
    if (!g.is_carry(i)) forwarded.emplace(v, std::pair(known_in[next], !g.is_constant(i)));
    ++next;
  }
  Flags inv = invariant(body, constant_inputs);
  std::size_t outputs = body.outputs.size() - static_cast<std::size_t>(s.residuals);

  // Outputs of the loop: known carries and ys, then residuals that must be stacked; before it: what is hoisted.
  ir::Program loop = body, before = body;
  loop.outputs.clear();
  before.outputs.clear();
  for (std::size_t i = 0; i < outputs; ++i)
    if (keep_output[i]) loop.outputs.push_back(body.outputs[i]);
  std::size_t kept = loop.outputs.size();
  std::vector<int> where;  // of each residual: -1 forwarded, 2k hoisted, 2k+1 stacked
  for (std::size_t i = outputs; i < body.outputs.size(); ++i) {
    const ir::Atom& a = body.outputs[i];
    if (a.is_var() && forwarded.count(a.var)) {
      where.push_back(-1);
    } else if (!a.is_var() || inv[static_cast<std::size_t>(a.var)]) {
      where.push_back(static_cast<int>(2 * before.outputs.size()));
      before.outputs.push_back(a);
    } else {
      where.push_back(static_cast<int>(2 * (loop.outputs.size() - kept) + 1));
      loop.outputs.push_back(a);
    }
  }
  Arrays hoisted;
  if (!before.outputs.empty()) {
    std::erase_if(before.eqns, [](const ir::Eqn& e) { return ir::has_effects(e); });  // they stay in the loop
    ir::Dce d = ir::eliminate_dead_code(before, Flags(before.outputs.size(), true));
    Arrays in;
    for (std::size_t i = 0; i < known_in.size(); ++i)
      if (d.used_inputs[i]) in.push_back(known_in[i]);
    hoisted = evaluate(d.program, in);
  }
  half.outputs = bind_scan(params, loop, known_in, at);
  for (std::size_t r = 0; r < where.size(); ++r) {
    const ir::Atom& a = body.outputs[outputs + r];
    if (where[r] < 0) {
      half.residuals.push_back(forwarded.at(a.var).first);
      half.per_step.push_back(forwarded.at(a.var).second);
    } else if (where[r] % 2 == 0) {
      half.residuals.push_back(hoisted[static_cast<std::size_t>(where[r] / 2)]);
      half.per_step.push_back(false);
    } else {
      half.residuals.push_back(half.outputs[kept + static_cast<std::size_t>(where[r] / 2)]);
      half.per_step.push_back(true);
    }
  }
  half.outputs.resize(kept);
  return half;
}

}  // namespace

ir::NestedJvp jvp_scan(const ParamsRef& params, std::span<const Array> x, std::span<const Array> t,
                       const Location& at) {
  const ScanParams& p = of(params);
  const ir::Program& body = *p.program;
  Groups g(p);
  Flags nonzero;
  for (const Array& dx : t) nonzero.push_back(dx.value() != nullptr);
  JvpProgram j;  // a carry with a tangent gives one
  reach_fixpoint(nonzero, g.constants, g.carries, [&](const Flags& in) {
    j = jvp_program(p.program, in, g.carried(in));
    return j.nonzero;
  });

  // From (x..., t...) to groups: constants, their tangents, carries, their tangents, xs, their tangents.
  std::vector<std::size_t> tangent_at(g.inputs());
  std::size_t next = g.inputs();
  for (std::size_t i = 0; i < g.inputs(); ++i)
    if (nonzero[i]) tangent_at[i] = next++;
  ScanParams q = p;
  q.constants = q.carries = 0;
  Arrays inputs;
  std::vector<ir::Var> vars;
  auto group = [&](std::size_t begin, std::size_t end, int& count) {
    for (std::size_t i = begin; i < end; ++i) vars.push_back(j.program.inputs[i]), inputs.push_back(x[i]), ++count;
    for (std::size_t i = begin; i < end; ++i) {
      if (!nonzero[i]) continue;
      vars.push_back(j.program.inputs[tangent_at[i]]);
      inputs.push_back(t[i].value() ? t[i] : zeros_inside(type_of(x[i])));
      ++count;
    }
  };
  int xs = 0;
  std::size_t captured = j.program.inputs.size() - j.captured.size();
  for (std::size_t i = 0; i < j.captured.size(); ++i)
    vars.push_back(j.program.inputs[captured + i]), inputs.push_back(j.captured[i]), ++q.constants;
  group(0, g.constants, q.constants);
  group(g.constants, g.constants + g.carries, q.carries);
  group(g.constants + g.carries, g.inputs(), xs);
  std::size_t outputs = body.outputs.size();
  std::vector<std::size_t> out_at(outputs), tangent_out_at(outputs);
  std::vector<ir::Atom> out;
  next = outputs;
  std::vector<std::size_t> source(outputs);
  for (std::size_t i = 0; i < outputs; ++i)
    if (j.nonzero[i]) source[i] = next++;
  auto out_group = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out_at[i] = out.size(), out.push_back(j.program.outputs[i]);
    for (std::size_t i = begin; i < end; ++i)
      if (j.nonzero[i]) tangent_out_at[i] = out.size(), out.push_back(j.program.outputs[source[i]]);
  };
  out_group(0, g.carries);
  out_group(g.carries, outputs);
  j.program.inputs = vars;
  j.program.outputs = out;
  Arrays made = bind_scan(q, j.program, inputs, at);
  ir::NestedJvp result;
  for (std::size_t i = 0; i < outputs; ++i) {
    result.y.push_back(made[out_at[i]]);
    result.t.push_back(j.nonzero[i] ? made[tangent_out_at[i]] : Array());
  }
  return result;
}

Arrays split_scan(const ir::SplitArgs& a) {
  const ScanParams& p = of(a.params);
  const ir::Program& body = *p.program;
  SplitTrace& trace = a.trace;
  Groups g(p);
  std::size_t outputs = body.outputs.size();
  bool with_policy = trace.policy().has_value();

  Flags unknown;
  for (const Array& x : a.in) unknown.push_back(trace.unknown(x));
  // With a policy the staged loop carries everything, so that it can recompute; what it does not need, dce removes.
  Split s;
  reach_fixpoint(unknown, g.constants, g.carries, [&](const Flags& in) {
    Flags force(outputs, with_policy);
    for (std::size_t i = 0; i < g.carries; ++i) force[i] = with_policy || in[g.constants + i];
    s = split(p.program, in, {.policy = trace.policy(), .force = force});
    return s.unknown_outputs;
  });

  Arrays known_in;
  for (std::size_t i = 0; i < g.inputs(); ++i)
    if (!unknown[i]) known_in.push_back(trace.known(a.in[i]));
  Flags keep;                        // per known output of the body: an output of the known loop
  std::vector<std::size_t> kept_at;  // and which output of the scan it is
  for (std::size_t i = 0; i < outputs; ++i) {
    if (s.unknown_outputs[i]) continue;
    keep.push_back(i >= g.carries || !unknown[g.constants + i]);
    if (keep.back()) kept_at.push_back(i);
  }
  KnownHalf half;
  {
    TraceScope scope(trace.parent());
    half = run_known(p, g, s, unknown, known_in, keep, a.at);
  }

  // The staged loop: residuals join the constants or the xs; inputs that the body lost still hold their places.
  ir::Program staged = s.staged;
  std::vector<ir::Var> var_of(g.inputs(), -1), constant_vars, carry_vars, x_vars;
  for (std::size_t k = 0; k < s.staged_inputs.size(); ++k)
    var_of[static_cast<std::size_t>(s.staged_inputs[k])] = staged.inputs[static_cast<std::size_t>(s.residuals) + k];
  Arrays constants, carries, xs;
  for (std::size_t r = 0; r < half.residuals.size(); ++r) {
    (half.per_step[r] ? x_vars : constant_vars).push_back(staged.inputs[r]);
    (half.per_step[r] ? xs : constants).push_back(half.residuals[r]);
  }
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    bool carry = g.is_carry(i) && (with_policy || unknown[i]);
    if (var_of[i] < 0) {
      if (!carry) continue;
      var_of[i] = static_cast<ir::Var>(staged.types.size());
      staged.types.push_back(body.type(body.inputs[i]));
    }
    Array in = trace.staged(a.in[i]);
    if (carry) carry_vars.push_back(var_of[i]), carries.push_back(in);
    else if (g.is_constant(i)) constant_vars.push_back(var_of[i]), constants.push_back(in);
    else x_vars.push_back(var_of[i]), xs.push_back(in);
  }
  ScanParams q = p;
  q.constants = static_cast<int>(constants.size());
  q.carries = static_cast<int>(carries.size());
  staged.inputs = constant_vars;
  append(staged.inputs, carry_vars);
  append(staged.inputs, x_vars);
  Arrays operands = constants;
  append(operands, carries);
  append(operands, xs);
  Arrays staged_out;
  {
    TraceScope scope(&trace.staging());
    staged_out = bind_scan(q, staged, operands, a.at);
  }

  Arrays out(outputs);
  for (std::size_t k = 0; k < kept_at.size(); ++k) out[kept_at[k]] = half.outputs[k];
  for (std::size_t k = 0; k < s.staged_outputs.size(); ++k) {
    Array& y = out[static_cast<std::size_t>(s.staged_outputs[k])];
    if (!y.value()) y = trace.unknown(staged_out[k]) ? staged_out[k] : trace.staging().lift(staged_out[k], a.at);
    else if (trace.unknown(staged_out[k])) y = trace.both(y, staged_out[k]);
  }
  return out;
}

Arrays transpose_scan(const ir::NestedTransposeArgs& a) {
  const ScanParams& p = of(a.params);
  const ir::Program& body = *p.program;
  Groups g(p);
  std::size_t outputs = body.outputs.size();
  // A carry is linear in the body even where it starts from a known zero; the cotangent of that start goes nowhere.
  Flags linear = a.linear;
  for (std::size_t i = 0; i < g.carries; ++i) linear[g.constants + i] = true;

  // The loop backwards. Constants: those that are not linear. Carries: accumulated cotangents of linear constants, then
  // cotangents of the carry. xs: cotangents of ys that exist, then xs that are not linear. ys: cotangents of linear xs.
  Arrays constants, carries, xs;
  Types constant_types, carry_types, x_types;
  for (std::size_t i = 0; i < g.constants; ++i) {
    if (linear[i]) {
      carries.push_back(a.accumulated[i].value() ? a.accumulated[i] : zeros_inside(a.in[i]));
      carry_types.push_back(a.in[i]);
    } else {
      constants.push_back(a.x[i]);
      constant_types.push_back(a.in[i]);
    }
  }
  for (std::size_t i = 0; i < g.carries; ++i) {
    const Type& t = a.in[g.constants + i];
    carries.push_back(a.ct[i].value() ? a.ct[i] : zeros_inside(t));
    carry_types.push_back(t);
  }
  Types y_types = body.output_types();
  for (std::size_t i = g.carries; i < outputs; ++i) {
    if (!a.ct[i].value()) continue;
    xs.push_back(a.ct[i]);
    x_types.push_back(y_types[i]);
  }
  for (std::size_t i = g.constants + g.carries; i < g.inputs(); ++i) {
    if (linear[i]) continue;
    xs.push_back(a.x[i]);
    x_types.push_back(body.type(body.inputs[i]));
  }

  auto step = [&](std::span<const Array> in) {
    std::size_t at_constant = 0, at_carry = constants.size(), at_x = at_carry + carries.size();
    Arrays x(g.inputs()), accumulated(g.inputs()), ct(outputs);
    for (std::size_t i = 0; i < g.constants; ++i) {
      if (linear[i]) accumulated[i] = in[at_carry++];
      else x[i] = in[at_constant++];
    }
    for (std::size_t i = 0; i < g.carries; ++i) ct[i] = in[at_carry++];
    for (std::size_t i = g.carries; i < outputs; ++i)
      if (a.ct[i].value()) ct[i] = in[at_x++];
    for (std::size_t i = g.constants + g.carries; i < g.inputs(); ++i)
      if (!linear[i]) x[i] = in[at_x++];
    Arrays now = backward_pass(body, std::move(x), linear, ct, std::move(accumulated)), out;
    for (std::size_t i = 0; i < g.inputs(); ++i) {
      if (!linear[i]) continue;
      out.push_back(now[i].value() ? now[i] : zeros_inside(body.type(body.inputs[i])));
    }
    return out;  // linear constants, carries, linear xs
  };
  Types types = constant_types;
  append(types, carry_types);
  append(types, x_types);
  Staged s = stage(step, types, "transpose", a.at);
  ScanParams q = p;
  q.reverse = !p.reverse;
  q.constants = static_cast<int>(s.constants.size() + constants.size());
  q.carries = static_cast<int>(carries.size());
  s.program.constants = 0;
  Arrays operands = s.constants;
  append(operands, constants);
  append(operands, carries);
  append(operands, xs);
  Arrays out = bind_scan(q, s.program, operands, a.at), result(g.inputs());
  std::size_t next = 0;
  for (std::size_t i = 0; i < g.constants; ++i)
    if (a.linear[i]) result[i] = out[next++];
  for (std::size_t i = g.constants; i < g.inputs(); ++i) {
    if (!linear[i]) continue;
    const Array& ct = out[next++];
    if (a.linear[i]) result[i] = add_cotangents(a.accumulated[i], ct, a.at);
  }
  return result;
}

ir::DceResult dce_scan(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  const ScanParams& p = of(e.params);
  Groups g(p);
  Flags used(g.inputs());  // only the carries' part is the fixpoint's
  for (std::size_t i = 0; i < g.carries; ++i) used[g.constants + i] = used_outputs[i];
  auto outputs_for = [&](const Flags& in) {
    Flags out = used_outputs;
    for (std::size_t i = 0; i < g.carries; ++i) out[i] = in[g.constants + i];
    return out;
  };
  reach_fixpoint(used, g.constants, g.carries, [&](const Flags& in) {
    Flags needed = ir::eliminate_dead_code(p.program, outputs_for(in)).used_inputs;
    return Flags(needed.begin() + static_cast<std::ptrdiff_t>(g.constants), needed.end());
  });
  Flags kept = outputs_for(used);
  Flags needed = ir::eliminate_dead_code(p.program, kept).used_inputs;
  for (std::size_t i = 0; i < g.carries; ++i) needed[g.constants + i] = used[g.constants + i];
  ir::SharedDce d = ir::eliminate_dead_code(p.program, kept, true);
  auto all = [](const Flags& f) { return std::find(f.begin(), f.end(), false) == f.end(); };
  if (d.program == p.program && all(needed) && all(kept)) return {false, e.params, needed, kept};
  ir::Program body = *d.program;
  ScanParams q = p;
  q.constants = q.carries = 0;
  std::vector<ir::Var> inputs;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    if (!needed[i]) continue;
    inputs.push_back(body.inputs[i]);
    q.constants += g.is_constant(i);
    q.carries += g.is_carry(i);
  }
  body.inputs = inputs;
  body.constants = 0;
  q.program = share(std::move(body));
  return {false, std::make_shared<const ScanParams>(std::move(q)), needed, kept};
}

}  // namespace anew
