// Loops backwards. A scan that is linear in some operands becomes a scan in reverse, an unwind turns its direction:
// carries are the cotangents of carries, and accumulators of linear constants. Reverse mode with respect to what is
// recorded, or to kept states (reverse over reverse), takes a loop of known length apart into plain scans; of a while
// it is an error.
#include "transforms/transpose.h"

#include <anew/ops.h>

#include "control/loop.h"
#include "control/nested_rules.h"
#include "plan/revolve.h"

namespace anew {
namespace {

// A step of a loop, which is linear in the groups called so; of these, flags say which are linear after all.
struct LinearStep {
  const ir::ProgramRef& program;
  Groups takes, gives;
  Lists<bool> linear;
  Lists<Array> x, accumulated;  // operands of the loop
  Lists<Array> ct;              // of its results

  LinearStep(const ir::ProgramRef& program, Groups takes, Groups gives)
      : program(program), takes(std::move(takes)), gives(std::move(gives)) {}
};

// Two lists, one behind the other, and apart again.
template <class T>
std::vector<T> both(std::vector<T> a, const std::vector<T>& b) {
  append(a, b);
  return a;
}
Arrays behind(const Arrays& list, std::size_t n) { return {list.begin() + static_cast<std::ptrdiff_t>(n), list.end()}; }

Flags present(const Arrays& list) {
  Flags out;
  for (const Array& x : list) out.push_back(x.value() != nullptr);
  return out;
}
Arrays or_zeros(Arrays list, const std::vector<Type>& types) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!list[i].value()) list[i] = zeros_inside(types[i]);
  return list;
}
Flags inverse(Flags f) {
  f.flip();
  return f;
}

// The loop over such steps, backwards. Constants and xs: those of the scan, then the linear ones that are known. Linear
// carries: accumulated cotangents of linear constants, then cotangents of the carries. Linear xs: cotangents of ys that
// exist. Its results: accumulated cotangents, those of the carries, and those of linear xs.
struct Backwards {
  Staged step;            // from captured arrays and the groups in `order`
  Lists<Array> operands;  // of the loop
};
using PullBack =
    std::function<Arrays(const Arrays& x, const Flags& linear, const Arrays& ct, const Arrays& accumulated)>;

Backwards backwards(LinearStep s, const Roles& order, const PullBack& pull_back, const Location& at) {
  constexpr auto consts = Role::linear_constants, carries = Role::linear_carries, xs = Role::linear_xs;
  const Lists<Type> types = s.takes.partition(s.program->input_types());
  const Flags &linear_constant = s.linear[consts], &linear_x = s.linear[xs];
  const Flags has_ct = present(s.ct[Role::linear_ys]);
  Backwards b;
  Lists<Type> rows;
  rows[Role::constants] = both(types[Role::constants], chosen(types[consts], linear_constant, false));
  rows[Role::carries] = types[Role::carries];
  rows[Role::xs] = both(types[Role::xs], chosen(types[xs], linear_x, false));
  rows[carries] = both(chosen(types[consts], linear_constant), types[carries]);
  rows[xs] = chosen(s.gives.partition(s.program->output_types())[Role::linear_ys], has_ct);
  b.operands[Role::constants] = both(s.x[Role::constants], chosen(s.x[consts], linear_constant, false));
  b.operands[Role::xs] = both(s.x[Role::xs], chosen(s.x[xs], linear_x, false));
  b.operands[carries] = or_zeros(both(chosen(s.accumulated[consts], linear_constant), s.ct[carries]), rows[carries]);
  b.operands[xs] = chosen(s.ct[Role::linear_ys], has_ct);
  const std::size_t accumulators = count(linear_constant);

  auto step = [&](std::span<const Array> in) {
    Groups groups;
    for (Role r : order) groups.size(r) = rows[r].size();
    const Lists<Array> given = groups.only(order).partition(in);
    Lists<Array> x, accumulated, ct;
    x[Role::constants].assign(given[Role::constants].begin(),
                              given[Role::constants].begin() + std::ssize(types[Role::constants]));
    x[Role::carries] = given[Role::carries];
    x[Role::xs].assign(given[Role::xs].begin(), given[Role::xs].begin() + std::ssize(types[Role::xs]));
    x[consts] = merge(inverse(linear_constant), behind(given[Role::constants], types[Role::constants].size()));
    x[carries].resize(types[carries].size());
    x[xs] = merge(inverse(linear_x), behind(given[Role::xs], types[Role::xs].size()));
    for (Role r : s.takes.order()) accumulated[r].resize(types[r].size());
    accumulated[consts] = merge(linear_constant, given[carries]);
    ct[carries] = behind(given[carries], accumulators);
    ct[Role::linear_ys] = merge(has_ct, given[xs]);
    const Roles& takes = s.takes.order();
    Lists<Array> now = s.takes.partition(
        pull_back(x.merge(takes), s.linear.merge(takes), ct.merge(s.gives.order()), accumulated.merge(takes)));
    Arrays out;
    for (Role r : {consts, carries, xs})
      append(out, or_zeros(chosen(now[r], s.linear[r]), chosen(types[r], s.linear[r])));
    return out;
  };
  b.step = stage(step, rows.merge(order), "transpose", at);
  b.step.program.constants = 0;
  return b;
}

// The cotangents of the operands: accumulators where they went through the loop, else added to what there was.
Lists<Array> cotangents(const LinearStep& s, const Lists<bool>& wanted, const Arrays& made, const Location& at) {
  Groups groups;
  const Roles roles{Role::linear_constants, Role::linear_carries, Role::linear_xs};
  for (Role r : roles) groups.size(r) = count(s.linear[r]);
  const Lists<Array> got = groups.only(roles).partition(made);
  Lists<Array> result;
  for (Role r : roles) result[r] = merge(s.linear[r], got[r]);
  for (Role r : {Role::linear_carries, Role::linear_xs})
    for (std::size_t i = 0; i < result[r].size(); ++i)
      result[r][i] = wanted[r][i] ? add_cotangents(s.accumulated[r][i], result[r][i], at) : Array();
  return result;
}

Arrays transpose_scan(const LoopParams& p, const ir::TransposeArgs& a) {
  const LoopForm f = form_of(p);
  const Groups takes{{Role::linear_constants, f.operands.size(Role::constants)},
                     {Role::linear_carries, f.operands.size(Role::carries)},
                     {Role::linear_xs, f.operands.size(Role::xs)}};
  LinearStep s(p.body, takes,
               {{Role::linear_carries, f.results.size(Role::carries)}, {Role::linear_ys, f.results.size(Role::ys)}});
  const Lists<bool> wanted = takes.partition(a.linear);
  // A carry is linear in the body even where it starts from a known zero; the cotangent of that start goes nowhere.
  s.linear = wanted;
  s.linear[Role::linear_carries].assign(f.operands.size(Role::carries), true);
  s.x = takes.partition(a.x);
  s.accumulated = takes.partition(a.accumulated);
  s.ct = s.gives.partition(a.ct);
  Backwards b = backwards(
      s, {Role::constants, Role::linear_carries, Role::linear_xs, Role::xs},
      [&](const Arrays& x, const Flags& linear, const Arrays& ct, const Arrays& accumulated) {
        return backward_pass(*p.body, x, linear, ct, accumulated);
      },
      a.at);
  LoopParams q = p;
  q.reverse = !p.reverse;
  q.constants = static_cast<int>(b.step.constants.size() + b.operands[Role::constants].size());
  q.carries = static_cast<int>(b.operands[Role::linear_carries].size());
  q.body = share(std::move(b.step.program));
  const Arrays operands =
      both(b.step.constants, b.operands.merge({Role::constants, Role::linear_carries, Role::linear_xs, Role::xs}));
  return cotangents(s, wanted, bind_loop(q, operands, a.at), a.at).merge(takes.order());
}

// ---- reverse over reverse

[[noreturn]] void no_reverse_over_reverse(const Location& at) {
  throw Error(
      "[while_loop] reverse-mode differentiation of reverse-mode differentiation is not available; odeint has such a "
      "loop inside",
      at,
      "differentiate the gradient in forward mode (jvp, hvp, jacfwd of grad), or, in place of a while_loop of your "
      "own, "
      "use scan or a fori_loop with static bounds");
}

// Rows [begin, begin + 1) of a stack.
Array row_slice(const Array& stack, std::int64_t begin) {
  Shape start, limit = type_of(stack).shape;
  for (int d = 0; d < limit.ndim(); ++d) start.push_back(0);
  start[0] = begin;
  limit[0] = begin + 1;
  return lax::slice(stack, start, limit);
}

// A scan that records as one that stacks every state, of which those on the schedule are taken.
Arrays expanded(const LoopParams& p, std::span<const Array> x, const Location& at) {
  const LoopForm f = form_of(p);
  const Arrays first = f.operands.partition(x)[Role::carries];
  LoopParams s = p;
  s.checkpoints = 0;
  s.memory = 0;
  s.budget = Shape();
  s.disk.clear();
  s.records = false;
  s.record.clear();
  ir::Program body = *p.body;
  const std::vector<ir::Var> carries = f.operands.partition(body.inputs)[Role::carries];
  for (int r : p.record) body.outputs.emplace_back(carries[static_cast<std::size_t>(r)]);
  s.body = share(std::move(body));
  Arrays out = bind_loop(s, x, at);
  std::vector<std::int64_t> rows = recorded_stops(p);
  rows.resize(static_cast<std::size_t>(slots_of(p)), 0);  // slots that the schedule leaves empty hold any state
  for (std::size_t i = 0; i < p.record.size(); ++i) {
    Array& all = out[f.results.size() + i];
    Arrays taken;
    for (std::int64_t row : rows)
      taken.push_back(p.length == 0 ? expand_dims(first[static_cast<std::size_t>(p.record[i])], 0)
                                    : row_slice(all, p.reverse ? p.length - 1 - row : row));
    all = concatenate(taken);
  }
  return out;
}

// As plain scans: every state again from the first, stacked; then the linear part over them.
Arrays expanded(const UnwindParams& p, std::span<const Array> x, const Location& at) {
  const LoopForm f = form_of(p);
  Lists<Array> in = f.operands.partition(x);
  LoopParams forward;
  forward.length = p.length;
  forward.reverse = p.reverse;
  forward.constants = p.constants;
  forward.carries = p.carries;
  for (Array& state : in[Role::carries]) {
    Shape shape = type_of(state).shape;
    shape.erase(0);
    state = reshape(row_slice(state, 0), shape);
  }
  const Roles of_body{Role::constants, Role::carries, Role::xs};
  ir::Program advance = *p.advance;
  for (ir::Var v : f.operands.only(of_body).partition(advance.inputs)[Role::carries]) advance.outputs.emplace_back(v);
  forward.body = share(std::move(advance));
  if (p.carries > 0)
    in[Role::carries] = behind(bind_loop(forward, in.merge(of_body), at), static_cast<std::size_t>(p.carries));

  LoopParams linear = forward;
  linear.reverse = p.reverse != p.backward;
  linear.constants = p.constants + p.linear_constants;
  linear.carries = p.linear_carries;
  const Roles order{Role::constants, Role::linear_constants, Role::linear_carries, Role::carries,
                    Role::xs,        Role::linear_xs};
  linear.body = share(rearranged(*p.step, f.operands.only(f.parts.back().takes).positions().merge(order),
                                 f.results.positions().merge(f.results.order())));
  return bind_loop(linear, in.merge(order), at);
}

}  // namespace

Arrays transpose_loop(const ir::TransposeArgs& a) {
  const LoopParams& p = loop_of(a.params);
  if (stacks_residuals(p)) return transpose_scan(p, a);
  if (p.records && p.condition) no_reverse_over_reverse(a.at);
  auto whole = [&](std::span<const Array> x) {
    return p.records ? expanded(p, x, a.at) : anew::bind(loop_row(p), a.params, x, a.at);
  };
  Staged s = stage(whole, Types(a.in.begin(), a.in.end()), "transpose", a.at);
  return transpose_program(share(std::move(s.program)), a);
}

Arrays transpose_unwind(const ir::TransposeArgs& a) {
  const auto& p = a.params->as<UnwindParams>();
  const LoopForm f = form_of(p);
  const Lists<bool> wanted = f.operands.partition(a.linear);
  if (count(wanted.merge({Role::constants, Role::xs, Role::counters, Role::carries})) > 0) {
    if (p.condition) no_reverse_over_reverse(a.at);
    Staged s = stage([&](std::span<const Array> x) { return expanded(p, x, a.at); }, Types(a.in.begin(), a.in.end()),
                     "transpose", a.at);
    return transpose_program(share(std::move(s.program)), a);
  }
  LinearStep s(p.step, f.operands.only(f.parts.back().takes), f.results);
  s.linear = wanted;  // a linear carry is linear in the step even where it starts from a known zero
  s.linear[Role::linear_carries].assign(f.operands.size(Role::linear_carries), true);
  s.x = f.operands.partition(a.x);
  s.x[Role::carries].clear();  // no third handle of the kept states: see Donation
  s.accumulated = f.operands.partition(a.accumulated);
  s.ct = f.results.partition(a.ct);
  const Types types = p.step->input_types();
  Backwards b = backwards(
      s, {Role::constants, Role::carries, Role::xs, Role::linear_carries, Role::linear_xs},
      [&](const Arrays& x, const Flags& linear, const Arrays& ct, const Arrays& accumulated) {
        return transpose_program(p.step, {a.params, ct, x, types, linear, accumulated, a.at});
      },
      a.at);
  // The other Programs take the new constants and xs, too, and do not read them.
  const Lists<Type> rows = s.takes.partition(types);
  const Types captured = types_of(b.step.constants, a.at),
              constants = chosen(rows[Role::linear_constants], s.linear[Role::linear_constants], false),
              xs = chosen(rows[Role::linear_xs], s.linear[Role::linear_xs], false);
  auto widened = [&](const ir::ProgramRef& program, const Types& more_xs) {
    ir::Program q = with_unused(*program, program->inputs.size(), more_xs);
    return share(with_unused(with_unused(std::move(q), static_cast<std::size_t>(p.constants), constants), 0, captured));
  };
  auto q = std::make_shared<UnwindParams>(p);
  q->backward = !p.backward;
  q->constants = static_cast<int>(captured.size() + b.operands[Role::constants].size());
  q->xs = static_cast<int>(b.operands[Role::xs].size());
  q->linear_constants = 0;
  q->linear_carries = static_cast<int>(b.operands[Role::linear_carries].size());
  q->step = share(std::move(b.step.program));
  q->advance = widened(p.advance, xs);
  if (p.condition) q->condition = widened(p.condition, {});
  Arrays operands = both(b.step.constants, b.operands.merge({Role::constants, Role::xs}));
  const Lists<std::size_t> at = f.operands.positions();
  for (std::size_t i : at.merge({Role::counters, Role::carries})) operands.push_back(a.x[i]);
  append(operands, b.operands.merge({Role::linear_carries, Role::linear_xs}));
  const Arrays made = anew::bind(unwind_row(), q, operands, a.at);
  Lists<Array> result = cotangents(s, wanted, made, a.at);
  for (Role r : {Role::constants, Role::xs, Role::counters, Role::carries}) result[r].resize(f.operands.size(r));
  return result.merge(f.operands.order());
}

}  // namespace anew
