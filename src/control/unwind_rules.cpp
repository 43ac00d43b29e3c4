// Rules of unwind. It is linear in its last three groups of operands: transposing it turns its direction. Forward mode
// doubles states and linear carries. Reverse mode with respect to the states themselves (reverse over reverse) takes a
// loop of known length apart into scans; of a while it is an error.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <numeric>

#include "control/nested_rules.h"
#include "control/unwind.h"
#include "transforms/transpose.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

const UnwindParams& of(const ParamsRef& p) { return static_cast<const UnwindParams&>(*p); }
template <class... T>
ParamsRef made(T&&... p) {
  return std::make_shared<const UnwindParams>(std::forward<T>(p)...);
}

// What `advance` makes of the flags of the states, and `step` of those of the linear carries, joins them.
template <class Step>
void state_fixpoint(Flags& in, const UnwindGroups& g, Step advance) {
  reach_fixpoint(in, g.states(), g.carries, [&](const Flags& now) { return advance(g.of_advance(now)); });
}
template <class Step>
void linear_fixpoint(Flags& in, const UnwindGroups& g, Step step) {
  reach_fixpoint(in, g.linear() + g.linear_constants, g.linear_carries,
                 [&](const Flags& now) { return step(g.of_step(now)); });
}
Flags part(const Flags& f, std::size_t begin, std::size_t size) {
  return {f.begin() + static_cast<std::ptrdiff_t>(begin), f.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}
int count(const Flags& f, std::size_t begin, std::size_t size) {
  Flags p = part(f, begin, size);
  return static_cast<int>(std::count(p.begin(), p.end(), true));
}
std::vector<std::size_t> chosen(const Flags& f) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < f.size(); ++i)
    if (f[i]) out.push_back(i);
  return out;
}
std::vector<std::size_t> all(std::size_t n) {
  std::vector<std::size_t> out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

// As plain scans: every state again from the first, stacked; then the linear part over them.
Arrays expanded(const UnwindParams& p, std::span<const Array> x, const Location& at) {
  UnwindGroups g(p);
  ScanParams forward;
  forward.length = p.length;
  forward.reverse = p.reverse;
  forward.constants = p.constants;
  forward.carries = p.carries;
  Arrays in(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(g.constants));
  for (std::size_t i = 0; i < g.carries; ++i) {
    Shape start, limit = type_of(x[g.states() + i]).shape, shape = limit;
    for (int d = 0; d < limit.ndim(); ++d) start.push_back(0);
    limit[0] = 1;
    shape.erase(0);
    in.push_back(reshape(lax::slice(x[g.states() + i], start, limit), shape));
  }
  for (std::size_t i = 0; i < g.xs; ++i) in.push_back(x[g.constants + i]);
  ir::Program advance = *p.advance;
  for (std::size_t i = 0; i < g.carries; ++i) advance.outputs.emplace_back(advance.inputs[g.constants + i]);
  Arrays states;
  if (g.carries > 0) states = bind_scan(forward, advance, in, at);

  // (constants, linear constants | linear carries | states, xs, linear xs)
  ScanParams linear;
  linear.length = p.length;
  linear.reverse = p.reverse != p.backward;
  linear.constants = p.constants + p.linear_constants;
  linear.carries = p.linear_carries;
  std::vector<std::size_t> order;
  Arrays operands;
  std::size_t first = g.constants + g.carries + g.xs;  // of the linear inputs of `step`
  auto add = [&](std::size_t begin, std::size_t size, auto value) {
    for (std::size_t i = 0; i < size; ++i) order.push_back(begin + i), operands.push_back(value(i));
  };
  add(0, g.constants, [&](std::size_t i) { return x[i]; });
  add(first, g.linear_constants + g.linear_carries, [&](std::size_t i) { return x[g.linear() + i]; });
  add(g.constants, g.carries, [&](std::size_t i) { return states[g.carries + i]; });
  add(g.constants + g.carries, g.xs, [&](std::size_t i) { return x[g.constants + i]; });
  add(first + g.linear_constants + g.linear_carries, g.linear_xs,
      [&](std::size_t i) { return x[g.linear() + g.linear_constants + g.linear_carries + i]; });
  return bind_scan(linear, rearranged(*p.step, order, all(g.outputs())), operands, at);
}

}  // namespace

ir::NestedJvp jvp_unwind(const ParamsRef& params, std::span<const Array> x, std::span<const Array> t,
                         const Location& at) {
  const UnwindParams& p = of(params);
  UnwindGroups g(p);
  Flags nonzero;
  for (const Array& dx : t) nonzero.push_back(dx.value() != nullptr);
  state_fixpoint(nonzero, g, [&](const Flags& in) { return jvp_program(p.advance, in).nonzero; });
  linear_fixpoint(nonzero, g, [&](const Flags& in) { return jvp_program(p.step, in).nonzero; });
  Flags states = part(nonzero, g.states(), g.carries);
  Flags carries = part(nonzero, g.linear() + g.linear_constants, g.linear_carries);
  Flags of_advance = g.of_advance(nonzero), of_step = g.of_step(nonzero);
  JvpProgram advance = jvp_program(p.advance, of_advance, states), step = jvp_program(p.step, of_step, carries);
  Types in_advance = types_of(advance.captured, at), in_step = types_of(step.captured, at);
  UnwindParams q = p;
  q.constants += static_cast<int>(in_advance.size() + in_step.size()) + count(nonzero, 0, g.constants);
  q.xs += count(nonzero, g.constants, g.xs);
  q.carries += count(nonzero, g.states(), g.carries);
  q.linear_constants += count(nonzero, g.linear(), g.linear_constants);
  q.linear_carries += count(nonzero, g.linear() + g.linear_constants, g.linear_carries);
  q.advance = share(grouped(advance, of_advance, {g.constants, g.carries, g.xs}, {g.carries}));
  q.step =
      share(grouped(step, of_step, {g.constants, g.carries, g.xs, g.linear_constants, g.linear_carries, g.linear_xs},
                    {g.linear_carries, g.linear_ys}));
  if (p.condition) {
    Types types = p.condition->input_types(), constants, carried;
    for (std::size_t i = 0; i < g.constants; ++i)
      if (nonzero[i]) constants.push_back(types[i]);
    for (std::size_t i = 0; i < g.carries; ++i)
      if (states[i]) carried.push_back(types[g.constants + i]);
    ir::Program c = with_unused(with_unused(*p.condition, g.constants + g.carries, carried), g.constants, constants);
    q.condition = share(with_unused(with_unused(std::move(c), 0, in_step), 0, in_advance));
  }
  Arrays in = grouped(x, t, nonzero,
                      {g.constants, g.xs, g.counters, g.carries, g.linear_constants, g.linear_carries, g.linear_xs});
  in.insert(in.begin(), step.captured.begin(), step.captured.end());
  in.insert(in.begin(), advance.captured.begin(), advance.captured.end());
  Arrays out = anew::bind(unwind_row(), made(std::move(q)), in, at);
  ir::NestedJvp result;
  std::size_t next = 0;
  for (std::size_t begin = 0; std::size_t size : {g.linear_carries, g.linear_ys}) {
    for (std::size_t i = 0; i < size; ++i) result.y.push_back(out[next++]);
    for (std::size_t i = begin; i < begin + size; ++i) result.t.push_back(step.nonzero[i] ? out[next++] : Array());
    begin += size;
  }
  return result;
}

Arrays split_unwind(const ir::SplitArgs& a) {
  const UnwindParams& p = of(a.params);
  UnwindGroups g(p);
  Flags unknown;
  for (const Array& x : a.in) unknown.push_back(a.trace.unknown(x));
  state_fixpoint(unknown, g, [&](const Flags& in) { return split(p.advance, in).unknown_outputs; });
  linear_fixpoint(unknown, g, [&](const Flags& in) { return split(p.step, in).unknown_outputs; });
  Flags outputs = split(p.step, g.of_step(unknown)).unknown_outputs;
  for (std::size_t i = 0; i < g.linear_carries; ++i)
    outputs[i] = outputs[i] || unknown[g.linear() + g.linear_constants + i];
  return split_whole(unwind_row(), a, outputs);
}

Arrays transpose_unwind(const ir::NestedTransposeArgs& a) {
  const UnwindParams& p = of(a.params);
  UnwindGroups g(p);
  bool nonlinear = false;
  for (std::size_t i = 0; i < g.linear(); ++i) nonlinear = nonlinear || a.linear[i];
  if (nonlinear) {
    if (p.condition) no_reverse_over_reverse(a.at);
    Staged s = stage([&](std::span<const Array> x) { return expanded(p, x, a.at); }, Types(a.in.begin(), a.in.end()),
                     "transpose", a.at);
    return transpose_program(share(std::move(s.program)), a);
  }

  // A linear carry is linear in the step even where it starts from a known zero.
  Flags linear = a.linear;
  std::size_t carries_at = g.linear() + g.linear_constants, xs_at = carries_at + g.linear_carries;
  for (std::size_t i = 0; i < g.linear_carries; ++i) linear[carries_at + i] = true;
  Flags step_linear = g.of_step(linear);
  Types types = p.step->input_types(), out_types = p.step->output_types();
  std::size_t first = g.constants + g.carries + g.xs;

  // The new groups. Constants and xs: those there are, and of the linear ones those that are not. Linear carries:
  // accumulated cotangents of linear constants, then cotangents of the carries. Linear xs: cotangents of ys that exist.
  Arrays constants(a.x.begin(), a.x.begin() + static_cast<std::ptrdiff_t>(g.constants));
  Arrays xs(a.x.begin() + static_cast<std::ptrdiff_t>(g.constants),
            a.x.begin() + static_cast<std::ptrdiff_t>(g.steps()));
  Arrays carries, cotangents;
  Types constant_types, x_types, carry_types, cotangent_types;
  for (std::size_t i = 0; i < g.linear_constants; ++i) {
    std::size_t at = g.linear() + i;
    if (linear[at]) {
      carries.push_back(a.accumulated[at].value() ? a.accumulated[at] : zeros_inside(a.in[at]));
      carry_types.push_back(a.in[at]);
    } else {
      constants.push_back(a.x[at]);
      constant_types.push_back(a.in[at]);
    }
  }
  std::size_t accumulators = carries.size();
  for (std::size_t i = 0; i < g.linear_carries; ++i) {
    const Type& t = a.in[carries_at + i];
    carries.push_back(a.ct[i].value() ? a.ct[i] : zeros_inside(t));
    carry_types.push_back(t);
  }
  for (std::size_t i = g.linear_carries; i < g.outputs(); ++i) {
    if (!a.ct[i].value()) continue;
    cotangents.push_back(a.ct[i]);
    cotangent_types.push_back(out_types[i]);
  }
  for (std::size_t i = 0; i < g.linear_xs; ++i) {
    if (linear[xs_at + i]) continue;
    xs.push_back(a.x[xs_at + i]);
    x_types.push_back(types[first + g.linear_constants + g.linear_carries + i]);
  }

  // (constants, more constants, carry, xs, more xs, accumulators, ct carries, ct ys) -> (accumulators, ct carries, ct xs)
  Types in_types(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(g.constants));
  auto append = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  append(in_types, constant_types);
  in_types.insert(in_types.end(), types.begin() + static_cast<std::ptrdiff_t>(g.constants),
                  types.begin() + static_cast<std::ptrdiff_t>(first));
  append(in_types, x_types);
  append(in_types, carry_types);
  append(in_types, cotangent_types);
  auto back = [&](std::span<const Array> in) {
    std::size_t more = g.constants, states = more + constant_types.size(), more_xs = states + g.carries + g.xs;
    std::size_t acc = more_xs + x_types.size(), ct_carry = acc + accumulators, ct_y = ct_carry + g.linear_carries;
    Arrays x(types.size()), accumulated(types.size()), ct(g.outputs());
    for (std::size_t i = 0; i < g.constants; ++i) x[i] = in[i];
    for (std::size_t i = 0; i < g.carries + g.xs; ++i) x[g.constants + i] = in[states + i];
    for (std::size_t i = first; i < types.size(); ++i) {
      bool constant = i < first + g.linear_constants,
           carry = !constant && i < first + g.linear_constants + g.linear_carries;
      if (constant) step_linear[i] ? accumulated[i] = in[acc++] : x[i] = in[more++];
      else if (!carry && !step_linear[i]) x[i] = in[more_xs++];
    }
    for (std::size_t i = 0; i < g.linear_carries; ++i) ct[i] = in[ct_carry + i];
    for (std::size_t i = g.linear_carries; i < g.outputs(); ++i)
      if (a.ct[i].value()) ct[i] = in[ct_y++];
    Arrays now = transpose_program(p.step, {a.params, ct, x, types, step_linear, accumulated, a.at}), out;
    for (std::size_t i = first; i < types.size(); ++i)
      if (step_linear[i]) out.push_back(now[i].value() ? now[i] : zeros_inside(types[i]));
    return out;
  };
  Staged s = stage(back, in_types, "transpose", a.at);
  UnwindParams q = p;
  q.backward = !p.backward;
  std::size_t captured = s.constants.size();
  Types captured_types = types_of(s.constants, a.at);
  q.constants = static_cast<int>(captured + constants.size());
  q.xs = static_cast<int>(xs.size());
  q.linear_constants = 0;
  q.linear_carries = static_cast<int>(carries.size());
  s.program.constants = 0;
  q.step = share(std::move(s.program));
  ir::Program advance = with_unused(*p.advance, first, x_types);
  q.advance = share(with_unused(with_unused(std::move(advance), g.constants, constant_types), 0, captured_types));
  if (p.condition)
    q.condition = share(with_unused(with_unused(*p.condition, g.constants, constant_types), 0, captured_types));
  Arrays operands = s.constants;
  append(operands, constants);
  append(operands, xs);
  for (std::size_t i = g.steps(); i < g.linear(); ++i) operands.push_back(a.x[i]);  // no third handle: see Donation
  append(operands, carries);
  append(operands, cotangents);
  Arrays out = anew::bind(unwind_row(), made(std::move(q)), operands, a.at), result(g.inputs());
  std::size_t next = 0;
  for (std::size_t i = 0; i < g.linear_constants; ++i)
    if (a.linear[g.linear() + i]) result[g.linear() + i] = out[next++];
  for (std::size_t i = carries_at; i < g.inputs(); ++i) {
    if (!linear[i]) continue;
    const Array& ct = out[next++];
    if (a.linear[i]) result[i] = add_cotangents(a.accumulated[i], ct, a.at);
  }
  return result;
}

ir::DceResult dce_unwind(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  const UnwindParams& p = of(e.params);
  UnwindGroups g(p);
  Flags used(g.inputs()), outputs = used_outputs;
  for (bool changed = true; changed;) {
    changed = false;
    Flags in = needed_inputs(p.step, outputs);
    for (std::size_t i = 0; i < g.linear_carries; ++i) {
      if (!in[g.constants + g.carries + g.xs + g.linear_constants + i] || outputs[i]) continue;
      outputs[i] = changed = true;
    }
  }
  Flags step = needed_inputs(p.step, outputs);
  auto add = [&](const Flags& in) {
    for (std::size_t i = 0; i < g.constants; ++i) used[i] = used[i] || in[i];
    for (std::size_t i = 0; i < g.carries; ++i) used[g.states() + i] = used[g.states() + i] || in[g.constants + i];
  };
  Flags xs_used(g.xs);
  add(step);
  if (p.condition) add(needed_inputs(p.condition, {true}));
  for (Flags before; before != used;) {
    before = used;
    Flags in = needed_inputs(p.advance, part(used, g.states(), g.carries));
    add(in);
    for (std::size_t i = 0; i < g.xs; ++i) xs_used[i] = in[g.constants + g.carries + i];
  }
  for (std::size_t i = 0; i < g.xs; ++i) used[g.constants + i] = xs_used[i] || step[g.constants + g.carries + i];
  for (std::size_t i = 0; i < g.counters; ++i) used[g.steps() + i] = true;
  std::size_t first = g.constants + g.carries + g.xs;
  for (std::size_t i = 0; i < g.linear_constants + g.linear_carries + g.linear_xs; ++i)
    used[g.linear() + i] = step[first + i];
  for (std::size_t i = 0; i < g.linear_carries; ++i) used[g.linear() + g.linear_constants + i] = outputs[i];

  UnwindParams q = p;
  q.constants = count(used, 0, g.constants);
  q.xs = count(used, g.constants, g.xs);
  q.carries = count(used, g.states(), g.carries);
  q.linear_constants = count(used, g.linear(), g.linear_constants);
  q.linear_carries = count(used, g.linear() + g.linear_constants, g.linear_carries);
  q.advance = rearranged(p.advance, chosen(g.of_advance(used)), part(used, g.states(), g.carries));
  q.step = rearranged(p.step, chosen(g.of_step(used)), outputs);
  if (p.condition) q.condition = rearranged(p.condition, chosen(g.of_condition(used)), Flags{true});
  const bool same = q.advance == p.advance && q.step == p.step && q.condition == p.condition;
  if (same && std::find(used.begin(), used.end(), false) == used.end() &&
      std::find(outputs.begin(), outputs.end(), false) == outputs.end())
    return {false, e.params, used, outputs};
  return {false, made(std::move(q)), used, outputs};
}

ir::Batched batch_unwind(const ir::BatchArgs& a) {
  const UnwindParams& p = of(a.params);
  UnwindGroups g(p);
  Flags mapped = a.mapped;
  Arrays x(a.x.begin(), a.x.end());
  // A loop in a branch that only some examples take: those have counted the same steps, the others none.
  Array longest;
  for (std::size_t i = g.steps(); i < g.states(); ++i) {
    if (!mapped[i]) continue;
    Type one = type_of(x[i]);
    one.shape.erase(0);
    if (a.size > 0 && !longest.value()) longest = argmax(x[g.steps()], 0);
    x[i] = a.size == 0 ? zeros(one.shape, one.dtype) : take(x[i], longest, 0, "clip");
    mapped[i] = false;
  }
  bool guarded = false;
  state_fixpoint(mapped, g, [&](const Flags& in) {
    guarded = guarded || (p.condition && batch_program(p.condition, g.of_condition(mapped), a.size).mapped[0]);
    return guarded ? Flags(g.carries, true) : batch_program(p.advance, in, a.size).mapped;
  });
  linear_fixpoint(mapped, g, [&](const Flags& in) {
    return guarded ? Flags(g.outputs(), true) : batch_program(p.step, in, a.size).mapped;
  });
  std::size_t carries_at = g.linear() + g.linear_constants;
  BatchedProgram advance = batch_program(p.advance, g.of_advance(mapped), a.size, part(mapped, g.states(), g.carries));
  BatchedProgram step = batch_program(p.step, g.of_step(mapped), a.size, part(mapped, carries_at, g.linear_carries));
  UnwindParams q = p;
  if (guarded) {
    BatchedProgram condition = batch_program(p.condition, g.of_condition(mapped), a.size, {true});
    q.advance = share(guard(advance.program, condition.program, g.carries, g.constants));
    q.step = share(
        guard(step.program, condition.program, g.linear_carries, g.constants + g.carries + g.xs + g.linear_constants));
    Staged any_left = stage([&](std::span<const Array> in) { return Arrays{any(evaluate(condition.program, in)[0])}; },
                            condition.program.input_types(), "vmap", a.at);
    q.condition = share(std::move(any_left.program));
  } else {
    q.advance = share(std::move(advance.program));
    q.step = share(std::move(step.program));
    if (p.condition) q.condition = share(batch_program(p.condition, g.of_condition(mapped), a.size).program);
  }
  Arrays in;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    bool state = i >= g.states() && i < g.linear();
    bool stack = (i >= g.constants && i < g.steps()) || state || i >= carries_at + g.linear_carries;
    if (mapped[i] && !a.mapped[i]) {
      Array spread = repeat_in_front(x[i], a.size);
      in.push_back(stack ? move_axis(spread, 0, 1) : spread);
    } else {
      in.push_back(mapped[i] && stack ? move_axis(x[i], 0, 1) : x[i]);
    }
  }
  Arrays out = anew::bind(unwind_row(), made(std::move(q)), in, a.at);
  for (std::size_t i = g.linear_carries; i < out.size(); ++i)
    if (step.mapped[i]) out[i] = move_axis(out[i], 1, 0);
  return {std::move(out), step.mapped};
}

}  // namespace anew
