// Loops as their rules see them: groups of operands, and Programs over them.
#include "control/loop.h"

namespace anew {
namespace {

std::size_t size(int n) { return static_cast<std::size_t>(n); }
Roles of_condition() { return {Role::constants, Role::carries}; }
Roles of_body() { return {Role::constants, Role::carries, Role::xs}; }

}  // namespace

LoopForm form_of(const LoopParams& p) {
  const std::size_t constants = size(p.constants), carries = size(p.carries);
  LoopForm f;
  f.operands = {
      {Role::constants, constants}, {Role::carries, carries}, {Role::xs, p.body->inputs.size() - constants - carries}};
  f.results = {{Role::carries, carries}, {Role::ys, p.body->outputs.size() - carries}};
  f.stacks = {Role::xs, Role::ys};
  if (p.condition) f.parts.push_back({p.condition, of_condition(), {}});
  f.parts.push_back({p.body, of_body(), f.results.order()});
  return f;
}

void set_form(LoopParams& p, const LoopForm& f) {
  p.constants = static_cast<int>(f.operands.size(Role::constants));
  p.carries = static_cast<int>(f.operands.size(Role::carries));
  if (p.condition) p.condition = f.parts[0].program;
  p.body = f.body();
}

LoopForm form_of(const UnwindParams& p) {
  const std::size_t constants = size(p.constants), carries = size(p.carries), xs = size(p.xs);
  const std::size_t linear_constants = size(p.linear_constants), linear_carries = size(p.linear_carries);
  LoopForm f;
  f.operands = {
      {Role::constants, constants},
      {Role::xs, xs},
      {Role::counters, p.condition ? 2U : 0U},
      {Role::carries, carries},
      {Role::linear_constants, linear_constants},
      {Role::linear_carries, linear_carries},
      {Role::linear_xs, p.step->inputs.size() - constants - xs - carries - linear_constants - linear_carries}};
  f.results = {{Role::linear_carries, linear_carries}, {Role::linear_ys, p.step->outputs.size() - linear_carries}};
  f.stacks = {Role::xs, Role::carries, Role::linear_xs, Role::linear_ys};
  if (p.condition) f.parts.push_back({p.condition, of_condition(), {}});
  f.parts.push_back({p.advance, of_body(), {Role::carries}});
  Roles of_step = of_body();
  append(of_step, {Role::linear_constants, Role::linear_carries, Role::linear_xs});
  f.parts.push_back({p.step, of_step, f.results.order()});
  return f;
}

void set_form(UnwindParams& p, const LoopForm& f) {
  p.constants = static_cast<int>(f.operands.size(Role::constants));
  p.xs = static_cast<int>(f.operands.size(Role::xs));
  p.carries = static_cast<int>(f.operands.size(Role::carries));
  p.linear_constants = static_cast<int>(f.operands.size(Role::linear_constants));
  p.linear_carries = static_cast<int>(f.operands.size(Role::linear_carries));
  if (p.condition) p.condition = f.parts[0].program;
  p.advance = f.parts[f.parts.size() - 2].program;
  p.step = f.body();
}

Lists<bool> spread(const LoopForm& f, const Flags& operands, const FlagsOf& flags_of) {
  Lists<bool> flags = f.operands.partition(operands);
  for (Role r : f.results.order()) flags[r].resize(f.results.size(r));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < f.parts.size(); ++k) {
      const LoopForm::Part& part = f.parts[k];
      const Flags out = flags_of(k, flags.merge(part.takes), flags.merge(part.gives));
      auto give = [&](Role r, std::size_t i, bool flag) {
        if (!flag || flags[r][i]) return;
        flags[r][i] = true;
        changed = changed || is_carried(r);
      };
      std::size_t at = 0;
      for (Role r : part.gives)
        for (std::size_t i = 0; i < flags[r].size(); ++i) give(r, i, out[at++]);
      if (part.is_condition() && out[0])
        for (Role r : {Role::carries, Role::linear_carries})
          for (std::size_t i = 0; i < flags[r].size(); ++i) give(r, i, true);
    }
  }
  return flags;
}

Lists<bool> needed(const LoopForm& f, Lists<bool> used) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const LoopForm::Part& part : f.parts) {
      const Flags out = part.is_condition() ? Flags{true} : used.merge(part.gives);
      const Flags in = ir::eliminate_dead_code(part.program, out).used_inputs;
      std::size_t at = 0;
      for (Role r : part.takes)
        for (std::size_t i = 0; i < used[r].size(); ++i, ++at) {
          if (!in[at] || used[r][i]) continue;
          used[r][i] = true;
          changed = changed || is_carried(r);
        }
    }
  }
  return used;
}

LoopForm narrowed(const LoopForm& f, const Lists<bool>& used) {
  LoopForm q = f;
  for (Groups* groups : {&q.operands, &q.results})
    for (Role r : groups->order()) groups->size(r) = count(used[r]);
  for (LoopForm::Part& part : q.parts) {
    const Flags out = part.is_condition() ? Flags{true} : used.merge(part.gives), in = used.merge(part.takes);
    // What is dead is found out once for a shared Program; one without is left as it is.
    part.program = ir::eliminate_dead_code(part.program, out, true).program;
    if (count(in) == in.size()) continue;
    ir::Program fewer = *part.program;
    fewer.inputs = chosen(part.program->inputs, in);
    fewer.constants = 0;
    part.program = share(std::move(fewer));
  }
  return q;
}

ir::Program with_unused(ir::Program p, std::size_t at, std::span<const Type> types) {
  std::vector<ir::Var> fresh;
  for (const Type& t : types) {
    fresh.push_back(static_cast<ir::Var>(p.types.size()));
    p.types.push_back(t);
  }
  p.inputs.insert(p.inputs.begin() + static_cast<std::ptrdiff_t>(at), fresh.begin(), fresh.end());
  p.constants = 0;
  return p;
}

ir::Program rearranged(ir::Program p, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs) {
  std::vector<ir::Atom> out;
  for (std::size_t i : outputs) out.push_back(p.outputs[i]);
  // Equations that only dropped outputs needed may read dropped inputs: they go first, while every input is there.
  p.outputs = out;
  ir::Dce d = ir::eliminate_dead_code(p, Flags(out.size(), true), true);
  std::vector<ir::Var> kept;
  for (std::size_t i : inputs) kept.push_back(d.program.inputs[i]);
  d.program.inputs = kept;
  d.program.constants = 0;
  return std::move(d.program);
}

Arrays split_whole(const ir::Primitive& row, const ir::SplitArgs& a, const Flags& unknown_outputs) {
  SplitTrace& trace = a.trace;
  Flags known = unknown_outputs;
  known.flip();
  Types in_types;
  for (const Array& x : a.in) in_types.push_back(type_of(x));
  Arrays out(known.size()), staged_in;
  if (count(known) > 0) {
    ir::Eqn e{&row, a.params, {}, {}, a.at, nullptr};
    ir::DceResult d = row.dce(e, known);
    Arrays in;
    for (std::size_t i = 0; i < a.in.size(); ++i)
      if (d.used_inputs[i]) in.push_back(trace.known(a.in[i]));
    const Arrays made = merge(d.kept_outputs, bind_under(trace.parent(), row, d.params, in, a.at));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (known[i]) out[i] = made[i];
  }
  const Types out_types = row.infer({*a.params, in_types, a.at});
  if (count(unknown_outputs) == 0) {
    const Save verdict = trace.policy() ? ask(*trace.policy(), row, a.params, in_types, out_types) : Save::save;
    if (verdict == Save::offload) return trace.offloaded(out, a.at);
    if (verdict == Save::save) return out;
  }
  for (const Array& x : a.in) staged_in.push_back(trace.staged(x));
  Arrays staged = bind_under(&trace.staging(), row, a.params, staged_in, a.at);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].value()) out[i] = staged[i];
    else if (trace.policy()) out[i] = trace.both(out[i], staged[i]);
  }
  return out;
}

}  // namespace anew
