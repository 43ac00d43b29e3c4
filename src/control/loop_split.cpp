// Loops cut in two: what is known runs now, what depends on tangents later. A scan without checkpoints becomes two
// scans: residuals of the body are forwarded from constants and xs, hoisted, or stacked. Other loops become one that
// records states and an unwind over them.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/saturate.h"
#include "control/loop.h"
#include "ops/view_params.h"

namespace anew {
// ---- a scan that stacks residuals

// An output of an inner loop or branch may not depend on all of its operands: dead code says on which.
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

namespace {

// The outputs of p that are marked, computed before the loop; effects stay in the loop.
Arrays hoist(ir::Program p, const Flags& outputs, const Arrays& in) {
  if (count(outputs) == 0) return {};
  p.outputs = chosen(p.outputs, outputs);
  std::erase_if(p.eqns, [](const ir::Eqn& e) { return ir::has_effects(e); });
  ir::Dce d = ir::eliminate_dead_code(p, Flags(p.outputs.size(), true));
  return evaluate(d.program, chosen(in, d.used_inputs));
}

// The known half of a split body, run as a scan, and where each residual of the staged half is to be found.
struct KnownHalf {
  Arrays outputs;            // those of the body that are kept
  Lists<Array> residuals;    // constants (also hoisted) and xs (also stacks) of the staged loop
  Lists<ir::Var> variables;  // of the staged body that these are
};

KnownHalf run_known(const LoopParams& p, const Split& s, const Lists<Array>& in, Flags kept, const Location& at) {
  const Roles order{Role::constants, Role::carries, Role::xs};
  LoopParams q = p;
  q.constants = static_cast<int>(in[Role::constants].size());
  q.carries = static_cast<int>(in[Role::carries].size());
  const Arrays inputs = in.merge(order);
  std::map<ir::Var, std::size_t> input_of;
  Flags constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    input_of.emplace(s.known.inputs[i], i);
    constant.push_back(i < in[Role::constants].size());
  }
  // Of each residual: an input that is passed on, or invariant and hoisted, or stacked by the loop.
  const Flags inv = invariant(s.known, constant);
  const std::size_t outputs = kept.size();
  Flags hoisted(outputs), forwarded(outputs);
  for (std::size_t i = outputs; i < s.known.outputs.size(); ++i) {
    const ir::Atom& a = s.known.outputs[i];
    auto it = a.is_var() ? input_of.find(a.var) : input_of.end();
    forwarded.push_back(it != input_of.end() &&
                        (it->second < in[Role::constants].size() || it->second >= inputs.size() - in[Role::xs].size()));
    hoisted.push_back(!forwarded[i] && (!a.is_var() || inv[static_cast<std::size_t>(a.var)]));
    kept.push_back(!forwarded[i] && !hoisted[i]);
  }
  const Arrays before = hoist(s.known, hoisted, inputs);
  ir::Program loop = s.known;
  loop.outputs = chosen(loop.outputs, kept);
  q.body = share(std::move(loop));
  const Arrays made = bind_loop(q, inputs, at);
  const Arrays early = merge(hoisted, before), late = merge(kept, made);
  KnownHalf half;
  for (std::size_t i = 0; i < outputs; ++i)
    if (kept[i]) half.outputs.push_back(late[i]);
  for (std::size_t i = outputs; i < s.known.outputs.size(); ++i) {
    const std::size_t from = forwarded[i] ? input_of.at(s.known.outputs[i].var) : 0;
    const Role role = hoisted[i] || (forwarded[i] && constant[from]) ? Role::constants : Role::xs;
    half.residuals[role].push_back(forwarded[i] ? inputs[from] : hoisted[i] ? early[i] : late[i]);
    half.variables[role].push_back(s.staged.inputs[i - outputs]);
  }
  return half;
}

// The staged loop. Residuals join the constants or the xs; carries that the body lost still hold their places.
Arrays run_staged(const LoopParams& p, const LoopForm& f, const Split& s, KnownHalf half, const Flags& carried,
                  const ir::SplitArgs& a) {
  ir::Program body = s.staged;
  std::vector<ir::Var> variables(f.operands.size(), -1);
  for (std::size_t k = 0; k < s.staged_inputs.size(); ++k)
    variables[static_cast<std::size_t>(s.staged_inputs[k])] = body.inputs[static_cast<std::size_t>(s.residuals) + k];
  const Lists<ir::Var> own = f.operands.partition(variables);
  const Lists<Array> in = f.operands.partition(a.in);
  const Lists<Type> types = f.operands.partition(p.body->input_types());
  for (Role r : f.operands.order())
    for (std::size_t i = 0; i < own[r].size(); ++i) {
      ir::Var v = own[r][i];
      const bool carry = r == Role::carries && carried[i];
      if (v < 0 && !carry) continue;
      if (v < 0) {
        v = static_cast<ir::Var>(body.types.size());
        body.types.push_back(types[r][i]);
      }
      half.variables[r].push_back(v);
      half.residuals[r].push_back(a.trace.staged(in[r][i]));
    }
  LoopParams q = p;
  q.constants = static_cast<int>(half.residuals[Role::constants].size());
  q.carries = static_cast<int>(half.residuals[Role::carries].size());
  body.inputs = half.variables.merge(f.operands.order());
  q.body = share(std::move(body));
  TraceScope scope(&a.trace.staging());
  return bind_loop(q, half.residuals.merge(f.operands.order()), a.at);
}

Arrays split_stacking(const LoopParams& p, const ir::SplitArgs& a) {
  const LoopForm f = form_of(p);
  SplitTrace& trace = a.trace;
  Flags given;
  for (const Array& x : a.in) given.push_back(trace.unknown(x));
  // With a policy the staged loop carries everything, so that it can recompute; what it does not need, dce removes.
  const bool everything = trace.policy().has_value();
  Split s;
  const Lists<bool> unknown = spread(f, given, [&](std::size_t, const Flags& in, const Flags& out) {
    s = split(p.body, in, {.policy = trace.policy(), .force = everything ? Flags(out.size(), true) : out});
    return s.unknown_outputs;
  });
  Lists<Array> known;
  const Lists<Array> in = f.operands.partition(a.in);
  for (Role r : f.operands.order())
    for (const Array& x : chosen(in[r], unknown[r], false)) known[r].push_back(trace.known(x));
  // Of the outputs that the body's known half has: those of the known loop.
  Flags is_known = unknown.merge(f.results.order()), in_half = s.unknown_outputs;
  is_known.flip();
  in_half.flip();
  KnownHalf half;
  {
    TraceScope scope(trace.parent());
    half = run_known(p, s, known, chosen(is_known, in_half), a.at);
  }
  Arrays out = merge(is_known, half.outputs);
  Flags carried = unknown[Role::carries];
  if (everything) carried.assign(carried.size(), true);
  const Arrays staged = run_staged(p, f, s, std::move(half), carried, a);
  for (std::size_t k = 0; k < s.staged_outputs.size(); ++k) {
    Array& y = out[static_cast<std::size_t>(s.staged_outputs[k])];
    if (!y.value()) y = trace.unknown(staged[k]) ? staged[k] : trace.staging().lift(staged[k], a.at);
    else if (trace.unknown(staged[k])) y = trace.both(y, staged[k]);
  }
  return out;
}

// ---- a loop that records

// p without what it prints, in nested Programs too.
ir::ProgramRef silent(const ir::ProgramRef& p) {
  ir::Program out = *p;
  bool changed =
      std::erase_if(out.eqns, [](const ir::Eqn& e) { return e.primitive->facts.effects && e.outputs.empty(); });
  for (ir::Eqn& e : out.eqns) {
    if (!e.primitive->higher_order()) continue;
    std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
    for (ir::ProgramRef& q : programs) q = silent(q);
    if (programs == ir::nested_programs(e)) continue;
    e.params = e.params->with_programs(programs);
    changed = true;
  }
  return changed ? share(std::move(out)) : p;
}

// The body for the way back: what it printed on the way there it does not print again; other effects it would repeat.
ir::ProgramRef walked_back(const LoopParams& p, const Location& at) {
  std::string op = p.condition ? "while_loop" : "scan", io = ir::find_io(*p.body);
  if (!io.empty())
    throw Error(fmt::format("[{0}] Effects not supported in the derivative of {0} with few checkpoints: {1}", op, io),
                at, "move the call out of the loop");
  return silent(p.body);
}

std::vector<std::size_t> joined(std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
  append(a, b);
  return a;
}

// Of the known carries: those that the linear part needs at each step, and what they need to be recomputed.
Flags recorded_carries(const LoopForm& f, const Lists<bool>& unknown) {
  Lists<bool> used;
  for (Role r : f.operands.order()) used[r].resize(f.operands.size(r));
  for (Role r : f.results.order()) used[r] = unknown[r];
  return chosen(needed(f, std::move(used))[Role::carries], unknown[Role::carries], false);
}

Arrays split_recording(const LoopParams& p, LoopForm f, const Lists<bool>& unknown, const ir::SplitArgs& a) {
  SplitTrace& trace = a.trace;
  f.parts.back().program = walked_back(p, a.at);
  const Lists<std::size_t> in = f.operands.positions(), out = f.results.positions();
  Lists<std::size_t> known, linear, known_out, linear_out;
  for (Role r : f.operands.order()) {
    known[r] = chosen(in[r], unknown[r], false);
    linear[r] = chosen(in[r], unknown[r]);
  }
  for (Role r : f.results.order()) {
    known_out[r] = chosen(out[r], unknown[r], false);
    linear_out[r] = chosen(out[r], unknown[r]);
  }
  const Flags recorded = recorded_carries(f, unknown);

  // Now: the loop over what is known, recording.
  const Roles of_condition{Role::constants, Role::carries}, of_body{Role::constants, Role::carries, Role::xs};
  const std::vector<std::size_t> now = known.merge(of_body), now_out = known_out.merge(f.results.order());
  LoopParams q = p;
  q.constants = static_cast<int>(known[Role::constants].size());
  q.carries = static_cast<int>(known[Role::carries].size());
  q.body = share(rearranged(*p.body, now, now_out));
  if (p.condition) q.condition = share(rearranged(*p.condition, known.merge(of_condition), {0}));
  q.records = p.condition || count(recorded) > 0;
  for (std::size_t i = 0; i < recorded.size(); ++i)
    if (recorded[i]) q.record.push_back(static_cast<int>(i));
  Arrays known_in, made;
  for (std::size_t i : now) known_in.push_back(trace.known(a.in[i]));
  if (!now_out.empty() || q.records) made = bind_under(trace.parent(), loop_row(q), params_of(q), known_in, a.at);

  // Later: the linear part, over the recorded states.
  known[Role::carries] = chosen(known[Role::carries], recorded);
  const std::vector<std::size_t> of_linear = linear.merge(of_body);
  UnwindParams u;
  u.constants = q.constants;
  u.xs = static_cast<int>(known[Role::xs].size());
  u.carries = static_cast<int>(known[Role::carries].size());
  u.linear_constants = static_cast<int>(linear[Role::constants].size());
  u.linear_carries = static_cast<int>(linear[Role::carries].size());
  u.length = p.length;
  u.reverse = p.reverse;
  u.budget = p.budget;
  u.disk = p.disk;
  u.advance = share(rearranged(*f.body(), known.merge(of_body), chosen(known_out[Role::carries], recorded)));
  u.step = share(rearranged(*f.body(), joined(known.merge(of_body), of_linear), linear_out.merge(f.results.order())));
  if (p.condition) u.condition = share(rearranged(*p.condition, known.merge(of_condition), {0}));
  Arrays later;
  for (std::size_t i : joined(known[Role::constants], known[Role::xs])) later.push_back(trace.staged(a.in[i]));
  later.insert(later.end(), made.begin() + std::ssize(now_out), made.end());
  for (std::size_t i : of_linear) later.push_back(trace.staged(a.in[i]));
  const Arrays staged =
      bind_under(&trace.staging(), unwind_row(), std::make_shared<const UnwindParams>(std::move(u)), later, a.at);
  made.resize(now_out.size());
  return merge(unknown.merge(f.results.order()), staged, made);
}

// ---- a loop within bytes

// Bytes of a state that is kept and of the residuals of a step, and what is left for them once the first state lies
// there; and whether the residuals of all steps, stacked, fit in that.
struct BytesWithin {
  plan::LoopBytes bytes;
  bool all_fit;
};
BytesWithin bytes_within(const LoopParams& p, const LoopForm& f, const Lists<bool>& unknown, const Location& at) {
  const std::string op = p.condition ? "while_loop" : "scan";
  std::int64_t carry = 0;
  Types residuals;
  const Types carries =
      chosen(f.operands.partition(p.body->input_types())[Role::carries], unknown[Role::carries], false);
  const Flags recorded = recorded_carries(f, unknown);
  for (std::size_t i = 0; i < carries.size(); ++i)
    if (recorded[i]) carry += detail::saturated<std::int64_t>(carries[i].bytes());
  const Split s = split(p.body, unknown.merge(f.parts.back().takes), {.force = unknown.merge(f.results.order())});
  Flags constant;
  for (Role r : f.parts.back().takes)
    for (bool u : unknown[r])
      if (!u) constant.push_back(r == Role::constants);
  const Flags inv = invariant(s.known, constant);
  const std::size_t first_x = s.known.inputs.size() - chosen(unknown[Role::xs], unknown[Role::xs], false).size();
  for (std::size_t i = s.known.outputs.size() - static_cast<std::size_t>(s.residuals); i < s.known.outputs.size();
       ++i) {
    const ir::Atom& a = s.known.outputs[i];
    if (!a.is_var() || inv[static_cast<std::size_t>(a.var)]) continue;
    const auto x =
        std::find(s.known.inputs.begin() + static_cast<std::ptrdiff_t>(first_x), s.known.inputs.end(), a.var);
    if (x == s.known.inputs.end()) residuals.push_back(s.known.type(a));
  }
  const auto [stacked, residual] = residual_bytes(residuals);
  const std::int64_t smallest = saturating_add(carry, residual);
  if (p.memory < smallest)
    throw Error(
        fmt::format("[{}] .memory is {} bytes; the smallest that can be met is {}: one state ({}) and the residuals "
                    "of one step ({})",
                    op, p.memory, smallest, carry, residual),
        at, "give it more, or checkpoint the body so that a step keeps less");
  const bool all_fit = !p.condition && saturating_mul(p.length, stacked) <= p.memory - carry;
  return {{p.memory - carry, carry, residual}, all_fit};
}

// The first `cut` steps record; the residuals of the others are stacked, as many as fit beside the recorded states.
Arrays split_in_two(const LoopParams& p, const LoopForm& f, std::int64_t cut, const Shape& budget,
                    const ir::SplitArgs& a) {
  const TraceScope scope(&a.trace);
  LoopParams first = p, second = p;
  first.length = cut;
  first.budget = budget;
  second.length = p.length - cut;
  second.memory = 0;
  second.disk.clear();
  Lists<Array> in = f.operands.partition(a.in), of_second = in;
  const std::size_t stacks = in[Role::xs].size();
  // The last first: cotangents come back through these cuts in the order of the operands then, as those of one loop do.
  for (std::size_t i = stacks; i-- > 0;) {
    const Array x = in[Role::xs][i];
    const std::int64_t border = p.reverse ? p.length - cut : cut;
    const Array low = part_of_rows(x, 0, border, a.at), high = part_of_rows(x, border, p.length, a.at);
    in[Role::xs][i] = p.reverse ? high : low;
    of_second[Role::xs][i] = p.reverse ? low : high;
  }
  const Lists<Array> made = f.results.partition(bind_loop(first, in.merge(f.operands.order()), a.at));
  of_second[Role::carries] = made[Role::carries];
  Lists<Array> last = f.results.partition(bind_loop(second, of_second.merge(f.operands.order()), a.at));
  for (std::size_t i = 0; i < last[Role::ys].size(); ++i) {
    Arrays parts{made[Role::ys][i], last[Role::ys][i]};
    if (p.reverse) std::swap(parts[0], parts[1]);
    last[Role::ys][i] = concatenate(parts);
  }
  return last.merge(f.results.order());
}

constexpr std::int64_t most_states = 4096;  // of a loop of unknown length within bytes

Arrays split_within(const LoopParams& p, const LoopForm& f, const Lists<bool>& unknown, const ir::SplitArgs& a) {
  const auto [bytes, all_fit] = bytes_within(p, f, unknown, a.at);
  LoopBudget budget{p.length, bytes};
  LoopParams q = p;
  if (p.condition) {
    // Half of the memory for states: their number is fixed before the loop runs, that of residuals is not.
    const std::int64_t states = std::min(p.memory / 2, p.memory - budget.bytes.residual);
    q.checkpoints = static_cast<int>(
        std::clamp<std::int64_t>(states / std::max<std::int64_t>(budget.bytes.carry, 1), 1, most_states));
    budget.steps = -1;
    q.budget = budget.numbers();
    return split_recording(q, f, unknown, a);
  }
  if (!p.disk.empty()) budget.bytes.carry = 0;
  const std::int64_t kept = all_fit           ? p.length
                            : !p.disk.empty() ? rows_within(budget)
                                              : p.length - plan::schedule_of(p.length, budget.bytes)->forward().taped;
  if (kept < p.length) return split_in_two(p, f, p.length - kept, budget.numbers(), a);
  q.memory = 0;
  return split_stacking(q, a);
}

// What of a loop is unknown.
Lists<bool> unknown_of(const LoopForm& f, const ir::SplitArgs& a) {
  Flags given;
  for (const Array& x : a.in) given.push_back(a.trace.unknown(x));
  return spread(f, given, [&](std::size_t k, const Flags& in, const Flags&) {
    return split(f.parts[k].program, in).unknown_outputs;
  });
}

}  // namespace

Arrays split_loop(const ir::SplitArgs& a) {
  const LoopParams& p = loop_of(a.params);
  if (stacks_residuals(p)) return split_stacking(p, a);
  const LoopForm f = form_of(p);
  const Lists<bool> unknown = unknown_of(f, a);
  const bool condition = p.condition && split(p.condition, unknown.merge(f.parts[0].takes)).unknown_outputs[0];
  if (!a.trace.policy() && !p.records && !condition) {
    const bool within = p.memory > 0 && p.budget.ndim() == 0;
    return within ? split_within(p, f, unknown, a) : split_recording(p, f, unknown, a);
  }
  Flags outputs = unknown.merge(f.results.order());
  if (p.records && p.condition) outputs.resize(outputs.size() + 2, condition);
  for (int r : p.record) outputs.push_back(unknown[Role::carries][static_cast<std::size_t>(r)]);
  return split_whole(loop_row(p), a, outputs);
}

Arrays split_unwind(const ir::SplitArgs& a) {
  const LoopForm f = form_of(a.params->as<UnwindParams>());
  return split_whole(unwind_row(), a, unknown_of(f, a).merge(f.results.order()));
}

}  // namespace anew
