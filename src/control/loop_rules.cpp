// Rules of while and sweep. Flags on carries are fixpoints, as for scan; what is recorded of a loop passes through every
// rule, so that a loop that keeps states can itself be differentiated forward and batched.
#include <anew/ops.h>
#include <fmt/format.h>

#include "control/loop.h"
#include "control/nested_rules.h"
#include "plan/revolve.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

const LoopParams& of(const ParamsRef& p) { return static_cast<const LoopParams&>(*p); }

struct LoopGroups {
  std::size_t constants, carries, xs, ys;
  explicit LoopGroups(const LoopParams& p)
      : constants(static_cast<std::size_t>(p.constants)),
        carries(static_cast<std::size_t>(p.carries)),
        xs(p.body->inputs.size() - constants - carries),
        ys(p.body->outputs.size() - carries) {}
  std::size_t inputs() const { return constants + carries + xs; }
  std::size_t outputs() const { return carries + ys; }
  bool is_carry(std::size_t i) const { return i >= constants && i < constants + carries; }
  // Of the equation's outputs: where the recorded states begin.
  std::size_t states(const LoopParams& p) const { return outputs() + (p.condition ? 2 : 0); }
};

Flags part(const Flags& f, std::size_t begin, std::size_t size) {
  return {f.begin() + static_cast<std::ptrdiff_t>(begin), f.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}
Types part(const Types& t, const Flags& chosen, std::size_t begin, std::size_t size) {
  Types out;
  for (std::size_t i = begin; i < begin + size; ++i)
    if (chosen[i]) out.push_back(t[i]);
  return out;
}
std::vector<std::size_t> indices(const Flags& chosen, std::size_t begin, std::size_t size, bool value = true) {
  std::vector<std::size_t> out;
  for (std::size_t i = begin; i < begin + size; ++i)
    if (chosen[i] == value) out.push_back(i);
  return out;
}

Arrays bind_as_is(const LoopParams& p, std::span<const Array> in, const Location& at) {
  return anew::bind(loop_row(p), std::make_shared<const LoopParams>(p), in, at);
}

}  // namespace

ir::NestedJvp jvp_loop(const ParamsRef& params, std::span<const Array> x, std::span<const Array> t,
                       const Location& at) {
  const LoopParams& p = of(params);
  LoopGroups g(p);
  Flags nonzero;
  for (const Array& dx : t) nonzero.push_back(dx.value() != nullptr);
  JvpProgram j;  // a carry with a tangent gives one
  reach_fixpoint(nonzero, g.constants, g.carries, [&](const Flags& in) {
    j = jvp_program(p.body, in, part(in, g.constants, g.carries));
    return j.nonzero;
  });
  Flags carried = part(nonzero, g.constants, g.carries);
  std::vector<std::size_t> in_groups{g.constants, g.carries, g.xs}, out_groups{g.carries, g.ys};
  Types types = p.body->input_types();
  LoopParams q = p;
  ir::Program body = grouped(j, nonzero, in_groups, out_groups);
  Types captured = types_of(j.captured, at);
  Types tangent_constants = part(types, nonzero, 0, g.constants);
  Types tangent_carries = part(types, nonzero, g.constants, g.carries);
  q.constants += static_cast<int>(captured.size() + tangent_constants.size());
  q.carries += static_cast<int>(tangent_carries.size());
  if (p.condition)
    q.condition = share(with_unused(with_unused(with_unused(*p.condition, g.constants + g.carries, tangent_carries),
                                                g.constants, tangent_constants),
                                    0, captured));
  std::vector<int> tangent_record;  // per recorded carry: the place of its tangent among the records, or -1
  for (int r : p.record) {
    if (!carried[static_cast<std::size_t>(r)]) {
      tangent_record.push_back(-1);
      continue;
    }
    int before = 0;
    for (int i = 0; i < r; ++i) before += carried[static_cast<std::size_t>(i)];
    tangent_record.push_back(static_cast<int>(q.record.size()));
    q.record.push_back(p.carries + before);
  }
  Arrays in = grouped(x, t, nonzero, in_groups), made;
  in.insert(in.begin(), j.captured.begin(), j.captured.end());
  if (!p.records) {
    made = bind_loop(q, body, in, at);
  } else {
    q.body = share(std::move(body));
    made = bind_as_is(q, in, at);
  }
  ir::NestedJvp result;
  std::size_t next = 0;
  for (std::size_t begin = 0; std::size_t size : out_groups) {
    for (std::size_t i = 0; i < size; ++i) result.y.push_back(made[next++]);
    for (std::size_t i = begin; i < begin + size; ++i) result.t.push_back(j.nonzero[i] ? made[next++] : Array());
    begin += size;
  }
  if (!p.records) return result;
  if (p.condition)
    for (int i = 0; i < 2; ++i) {
      result.y.push_back(made[next++]);
      result.t.emplace_back();
    }
  for (std::size_t i = 0; i < p.record.size(); ++i) {
    result.y.push_back(made[next + i]);
    result.t.push_back(tangent_record[i] < 0 ? Array() : made[next + static_cast<std::size_t>(tangent_record[i])]);
  }
  return result;
}

namespace {

bool all(const Flags& f) { return std::find(f.begin(), f.end(), false) == f.end(); }
// Has no dead code.
bool clean(const ir::ProgramRef& p) {
  return !p || ir::eliminate_dead_code(p, Flags(p->outputs.size(), true), true).program == p;
}

}  // namespace

ir::DceResult dce_loop(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  const LoopParams& p = of(e.params);
  LoopGroups g(p);
  LoopParams q = p;
  q.record.clear();
  q.records = false;
  std::vector<bool> kept = used_outputs;
  for (std::size_t i = g.outputs(); i < used_outputs.size(); ++i) q.records = q.records || used_outputs[i];
  Flags used(g.inputs());
  for (std::size_t i = 0; i < g.carries; ++i) used[g.constants + i] = used_outputs[i];
  if (p.condition) {
    Flags c = needed_inputs(p.condition, {true});
    for (std::size_t i = 0; i < c.size(); ++i) used[i] = used[i] || c[i];
  }
  for (std::size_t i = 0; q.records && i < p.record.size(); ++i)
    if (used_outputs[g.states(p) + i]) used[g.constants + static_cast<std::size_t>(p.record[i])] = true;
  auto outputs_for = [&](const Flags& in) {
    Flags out = part(used_outputs, 0, g.outputs());
    for (std::size_t i = 0; i < g.carries; ++i) out[i] = in[g.constants + i];
    return out;
  };
  reach_fixpoint(used, g.constants, g.carries,
                 [&](const Flags& in) { return part(needed_inputs(p.body, outputs_for(in)), g.constants, g.carries); });
  Flags outputs = outputs_for(used), needed = needed_inputs(p.body, outputs);
  for (std::size_t i = 0; i < g.inputs(); ++i) needed[i] = g.is_carry(i) ? used[i] : needed[i] || used[i];
  std::copy(outputs.begin(), outputs.end(), kept.begin());
  if (all(needed) && all(kept) && clean(p.body) && clean(p.condition)) return {false, e.params, needed, kept};
  q.constants = static_cast<int>(indices(needed, 0, g.constants).size());
  q.carries = static_cast<int>(indices(needed, g.constants, g.carries).size());
  q.body = rearranged(p.body, indices(needed, 0, g.inputs()), outputs);
  if (p.condition) q.condition = rearranged(p.condition, indices(needed, 0, g.constants + g.carries), Flags{true});
  if (q.records) {
    if (p.condition) kept[g.outputs()] = kept[g.outputs() + 1] = true;
    for (std::size_t i = 0; i < p.record.size(); ++i) {
      if (!kept[g.states(p) + i]) continue;
      int before = 0;
      for (int r = 0; r < p.record[i]; ++r) before += needed[g.constants + static_cast<std::size_t>(r)];
      q.record.push_back(before);
    }
  }
  return {false, std::make_shared<const LoopParams>(std::move(q)), needed, kept};
}

namespace {

// The body for the way back: what it printed on the way there it does not print again; other effects it would repeat.
ir::Program walked_back(const LoopParams& p, const Location& at) {
  ir::Program body = *p.body;
  std::string op = p.condition ? "while_loop" : "scan", io = ir::find_io(body);
  if (!io.empty())
    throw Error(fmt::format("[{0}] Effects not supported in the derivative of {0} with few checkpoints: {1}", op, io),
                at, "move the call out of the loop");
  std::erase_if(body.eqns, [](const ir::Eqn& e) { return e.primitive->facts.effects && e.outputs.empty(); });
  return body;
}

}  // namespace

Arrays split_loop(const ir::SplitArgs& a) {
  const LoopParams& p = of(a.params);
  LoopGroups g(p);
  SplitTrace& trace = a.trace;
  Flags unknown;
  for (const Array& x : a.in) unknown.push_back(trace.unknown(x));
  auto condition_unknown = [&](const Flags& in) {
    return p.condition && split(p.condition, part(in, 0, g.constants + g.carries)).unknown_outputs[0];
  };
  reach_fixpoint(unknown, g.constants, g.carries, [&](const Flags& in) {
    return condition_unknown(in) ? Flags(g.carries, true) : split(p.body, in).unknown_outputs;
  });
  Flags unknown_outputs = split(p.body, unknown).unknown_outputs;
  for (std::size_t i = 0; i < g.carries; ++i) unknown_outputs[i] = unknown[g.constants + i];
  if (trace.policy() || p.records || condition_unknown(unknown)) {
    if (p.condition && p.records) unknown_outputs.resize(g.states(p), condition_unknown(unknown));
    for (int r : p.record) unknown_outputs.push_back(unknown[g.constants + static_cast<std::size_t>(r)]);
    return split_whole(loop_row(p), a, unknown_outputs);
  }

  const ir::Program body = walked_back(p, a.at);
  // The linear part needs these carries at each step; and what they need to be recomputed.
  auto known_constants = indices(unknown, 0, g.constants, false),
       known_xs = indices(unknown, g.constants + g.carries, g.xs, false);
  auto known_carries = indices(unknown, g.constants, g.carries, false);
  auto linear_constants = indices(unknown, 0, g.constants), linear_carries = indices(unknown, g.constants, g.carries);
  auto linear_xs = indices(unknown, g.constants + g.carries, g.xs);
  Flags needed = needed_inputs(body, unknown_outputs);
  if (p.condition) {
    Flags c = needed_inputs(p.condition, {true});
    for (std::size_t i = 0; i < c.size(); ++i) needed[i] = needed[i] || c[i];
  }
  reach_fixpoint(needed, g.constants, g.carries, [&](const Flags& in) {
    Flags out(g.outputs());
    for (std::size_t i : known_carries) out[i - g.constants] = in[i];
    return part(needed_inputs(body, out), g.constants, g.carries);
  });
  std::vector<std::size_t> states;
  for (std::size_t i : known_carries)
    if (needed[i]) states.push_back(i);

  // Now: the loop over what is known, recording. It has an output per known carry and y, then the records.
  auto append = [](std::vector<std::size_t> to, const std::vector<std::size_t>& more) {
    to.insert(to.end(), more.begin(), more.end());
    return to;
  };
  auto known_outputs = indices(unknown_outputs, 0, g.outputs(), false);
  std::size_t known_carry_count = known_carries.size();
  LoopParams q = p;
  q.constants = static_cast<int>(known_constants.size());
  q.carries = static_cast<int>(known_carry_count);
  q.body = share(rearranged(*p.body, append(append(known_constants, known_carries), known_xs), known_outputs));
  if (p.condition) q.condition = share(rearranged(*p.condition, append(known_constants, known_carries), {0}));
  q.records = p.condition != nullptr || !states.empty();
  for (std::size_t i = 0; i < known_carry_count; ++i)
    if (needed[known_carries[i]]) q.record.push_back(static_cast<int>(i));
  Arrays known_in, known_out;
  for (std::size_t i : append(append(known_constants, known_carries), known_xs))
    known_in.push_back(trace.known(a.in[i]));
  {
    TraceScope scope(trace.parent());
    if (!known_outputs.empty() || q.records) known_out = bind_as_is(q, known_in, a.at);
  }

  // Later: the linear part, over the recorded states.
  UnwindParams u;
  u.constants = static_cast<int>(known_constants.size());
  u.xs = static_cast<int>(known_xs.size());
  u.carries = static_cast<int>(states.size());
  u.linear_constants = static_cast<int>(linear_constants.size());
  u.linear_carries = static_cast<int>(linear_carries.size());
  u.length = p.length;
  u.reverse = p.reverse;
  std::vector<std::size_t> state_outputs;
  for (std::size_t i : states) state_outputs.push_back(i - g.constants);
  u.advance = share(rearranged(body, append(append(known_constants, states), known_xs), state_outputs));
  u.step = share(rearranged(
      body,
      append(append(append(append(append(known_constants, states), known_xs), linear_constants), linear_carries),
             linear_xs),
      indices(unknown_outputs, 0, g.outputs())));
  if (p.condition) u.condition = share(rearranged(*p.condition, append(known_constants, states), {0}));
  Arrays staged_in;
  for (std::size_t i : append(known_constants, known_xs)) staged_in.push_back(trace.staged(a.in[i]));
  for (std::size_t i = known_outputs.size(); i < known_out.size(); ++i) staged_in.push_back(known_out[i]);
  for (std::size_t i : append(append(linear_constants, linear_carries), linear_xs))
    staged_in.push_back(trace.staged(a.in[i]));
  Arrays staged_out =
      bind_under(&trace.staging(), unwind_row(), std::make_shared<const UnwindParams>(std::move(u)), staged_in, a.at);
  Arrays out(g.outputs());
  for (std::size_t i = 0; i < known_outputs.size(); ++i) out[known_outputs[i]] = known_out[i];
  std::size_t next = 0;
  for (Array& y : out)
    if (!y.value()) y = staged_out[next++];
  return out;
}

namespace {

// A sweep that records as a plain scan that stacks every state, of which those on the schedule are taken: what
// differentiating it in reverse again needs.
Arrays expanded(const LoopParams& p, std::span<const Array> x, const Location& at) {
  LoopGroups g(p);
  ir::Program body = *p.body;
  ScanParams s;
  s.length = p.length;
  s.constants = p.constants;
  s.carries = p.carries;
  s.reverse = p.reverse;
  for (int r : p.record) body.outputs.emplace_back(body.inputs[g.constants + static_cast<std::size_t>(r)]);
  Arrays out = bind_scan(s, body, x, at);
  std::vector<std::int64_t> rows = plan::forward_stops(std::max<std::int64_t>(p.length, 1), slots_of(p));
  rows.resize(static_cast<std::size_t>(slots_of(p)), 0);  // slots that the schedule leaves empty hold any state
  for (std::size_t i = 0; i < p.record.size(); ++i) {
    Array& all = out[g.outputs() + i];
    Arrays chosen;
    for (std::int64_t row : rows) {
      if (p.length == 0) {
        chosen.push_back(expand_dims(x[g.constants + static_cast<std::size_t>(p.record[i])], 0));
        continue;
      }
      Shape start, limit = type_of(all).shape;
      for (int d = 0; d < limit.ndim(); ++d) start.push_back(0);
      start[0] = p.reverse ? p.length - 1 - row : row;
      limit[0] = start[0] + 1;
      chosen.push_back(lax::slice(all, start, limit));
    }
    all = concatenate(chosen);
  }
  return out;
}

}  // namespace

void no_reverse_over_reverse(const Location& at) {
  throw Error("[while_loop] reverse-mode differentiation of reverse-mode differentiation is not available", at,
              "differentiate the gradient in forward mode (jvp, hvp, jacfwd of grad), or use scan or a fori_loop with "
              "static bounds");
}

Arrays transpose_loop(const ir::NestedTransposeArgs& a) {
  const LoopParams& p = of(a.params);
  if (p.records && p.condition) no_reverse_over_reverse(a.at);
  auto whole = [&](std::span<const Array> x) { return !p.records ? bind_as_is(p, x, a.at) : expanded(p, x, a.at); };
  Staged s = stage(whole, Types(a.in.begin(), a.in.end()), "transpose", a.at);
  return transpose_program(share(std::move(s.program)), a);
}

ir::Batched batch_loop(const ir::BatchArgs& a) {
  const LoopParams& p = of(a.params);
  LoopGroups g(p);
  Flags mapped = a.mapped;
  bool guarded = false;  // examples end at different steps: those that have ended keep their carries
  reach_fixpoint(mapped, g.constants, g.carries, [&](const Flags& in) {
    guarded =
        guarded || (p.condition && batch_program(p.condition, part(in, 0, g.constants + g.carries), a.size).mapped[0]);
    return guarded ? Flags(g.carries, true) : batch_program(p.body, in, a.size).mapped;
  });
  Flags carried = part(mapped, g.constants, g.carries);
  BatchedProgram body = batch_program(p.body, mapped, a.size, carried);
  LoopParams q = p;
  q.body = share(body.program);
  if (std::string io = guarded ? ir::find_io(*p.body) : ""; !io.empty())
    throw Error(
        fmt::format("[while_loop] Effects not supported in vmap of while_loop where the condition is mapped: {}", io),
        a.at, "move the call out of the loop: examples that have ended would still call");
  if (guarded) {
    BatchedProgram condition = batch_program(p.condition, part(mapped, 0, g.constants + g.carries), a.size, {true});
    q.body = share(guard(body.program, condition.program, g.carries, g.constants));
    Staged any_left = stage([&](std::span<const Array> in) { return Arrays{any(evaluate(condition.program, in)[0])}; },
                            condition.program.input_types(), "vmap", a.at);
    q.condition = share(std::move(any_left.program));
  } else if (p.condition) {
    q.condition = share(batch_program(p.condition, part(mapped, 0, g.constants + g.carries), a.size).program);
  }
  Arrays in;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    if (g.is_carry(i) && mapped[i] && !a.mapped[i]) in.push_back(repeat_in_front(a.x[i], a.size));
    else if (mapped[i] && i >= g.constants + g.carries) in.push_back(move_axis(a.x[i], 0, 1));
    else in.push_back(a.x[i]);
  }
  Arrays out = !p.records ? bind_loop(q, *q.body, in, a.at) : bind_as_is(q, in, a.at);
  Flags out_mapped = body.mapped;
  for (std::size_t i = g.carries; i < g.outputs(); ++i)
    if (out_mapped[i]) out[i] = move_axis(out[i], 1, 0);
  if (p.records) {
    out_mapped.resize(g.states(p), false);
    for (std::size_t i = 0; i < p.record.size(); ++i) {
      out_mapped.push_back(carried[static_cast<std::size_t>(p.record[i])]);
      if (out_mapped.back()) out[g.states(p) + i] = move_axis(out[g.states(p) + i], 1, 0);
    }
  }
  return {std::move(out), out_mapped};
}

}  // namespace anew
