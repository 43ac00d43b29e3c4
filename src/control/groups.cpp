// Programs whose inputs and outputs come in groups: what the rules of loops do to them.
#include <anew/ops.h>

#include "control/loop.h"

namespace anew {

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

ir::ProgramRef rearranged(const ir::ProgramRef& p, const std::vector<std::size_t>& inputs, const Flags& outputs) {
  ir::ProgramRef clean = ir::eliminate_dead_code(p, outputs, true).program;
  if (inputs.size() == clean->inputs.size()) return clean;  // all of them: nobody asks for another order here
  ir::Program q = *clean;
  q.inputs.clear();
  for (std::size_t i : inputs) q.inputs.push_back(clean->inputs[i]);
  q.constants = 0;
  return share(std::move(q));
}

ir::Program grouped(const JvpProgram& j, const Flags& nonzero, const std::vector<std::size_t>& in_groups,
                    const std::vector<std::size_t>& out_groups) {
  auto order = [](const Flags& has_tangent, const std::vector<std::size_t>& groups) {
    std::vector<std::size_t> tangent_at(has_tangent.size()), out;
    std::size_t next = has_tangent.size(), begin = 0;
    for (std::size_t i = 0; i < has_tangent.size(); ++i)
      if (has_tangent[i]) tangent_at[i] = next++;
    for (std::size_t size : groups) {
      for (std::size_t i = begin; i < begin + size; ++i) out.push_back(i);
      for (std::size_t i = begin; i < begin + size; ++i)
        if (has_tangent[i]) out.push_back(tangent_at[i]);
      begin += size;
    }
    return out;
  };
  std::vector<std::size_t> inputs, more = order(nonzero, in_groups);
  std::size_t own = j.program.inputs.size() - j.captured.size();
  for (std::size_t i = 0; i < j.captured.size(); ++i) inputs.push_back(own + i);
  inputs.insert(inputs.end(), more.begin(), more.end());
  return rearranged(j.program, inputs, order(j.nonzero, out_groups));
}

Arrays grouped(std::span<const Array> x, std::span<const Array> t, const Flags& nonzero,
               const std::vector<std::size_t>& groups) {
  Arrays out;
  std::size_t begin = 0;
  for (std::size_t size : groups) {
    for (std::size_t i = begin; i < begin + size; ++i) out.push_back(x[i]);
    for (std::size_t i = begin; i < begin + size; ++i)
      if (nonzero[i]) out.push_back(t[i].value() ? t[i] : zeros_inside(type_of(x[i])));
    begin += size;
  }
  return out;
}

Flags needed_inputs(const ir::Program& p, const Flags& outputs) {
  return ir::eliminate_dead_code(p, outputs).used_inputs;
}

Flags needed_inputs(const ir::ProgramRef& p, const Flags& outputs) {
  return ir::eliminate_dead_code(p, outputs).used_inputs;
}

ir::Program guard(const ir::Program& p, const ir::Program& condition, std::size_t kept, std::size_t begin) {
  std::size_t read = condition.inputs.size();
  Staged s = stage(
      [&](std::span<const Array> in) {
        Array holds = evaluate(condition, in.first(read))[0];
        Arrays out = evaluate(p, in);
        for (std::size_t i = 0; i < kept; ++i) {
          Array which = holds;
          if (Shape shape = type_of(out[i]).shape; shape.ndim() > 1) which = lax::broadcast_in_dim(holds, shape, {0});
          out[i] = lax::select_n(which, {in[begin + i], out[i]});
        }
        return out;
      },
      p.input_types(), "vmap", Location::current());
  s.program.constants = 0;
  return std::move(s.program);
}

Arrays split_whole(const ir::Primitive& row, const ir::SplitArgs& a, const Flags& unknown_outputs) {
  SplitTrace& trace = a.trace;
  Flags known;
  bool any_known = false, any_unknown = false;
  for (bool u : unknown_outputs) {
    known.push_back(!u);
    any_known = any_known || !u;
    any_unknown = any_unknown || u;
  }
  Arrays out(known.size()), staged_in;
  Types in_types, out_types;
  for (const Array& x : a.in) in_types.push_back(type_of(x));
  out_types = row.infer({*a.params, in_types, a.at});
  if (any_known) {
    ir::Eqn e{&row, a.params, {}, {}, a.at, nullptr};
    ir::DceResult d = row.dce(e, known);
    Arrays in;
    for (std::size_t i = 0; i < a.in.size(); ++i)
      if (d.used_inputs[i]) in.push_back(trace.known(a.in[i]));
    Arrays made = bind_under(trace.parent(), row, d.params, in, a.at);
    std::size_t next = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!d.kept_outputs[i]) continue;
      if (known[i]) out[i] = made[next];
      ++next;
    }
  }
  if (!any_unknown && (!trace.policy() || ask(*trace.policy(), row, a.params, in_types, out_types, a.at) == Save::save))
    return out;
  for (const Array& x : a.in) staged_in.push_back(trace.staged(x));
  Arrays staged = bind_under(&trace.staging(), row, a.params, staged_in, a.at);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].value()) out[i] = staged[i];
    else if (trace.policy()) out[i] = trace.both(out[i], staged[i]);
  }
  return out;
}

}  // namespace anew
