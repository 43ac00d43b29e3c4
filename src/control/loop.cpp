// scan and while: their types, how they run, and their canonical form.
#include "control/loop.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <cstring>

#include "base/stop.h"
#include "control/signature.h"
#include "ir/effects.h"
#include "ops/device_put.h"
#include "ops/known_rows.h"
#include "plan/revolve.h"
#include "runtime/spilled.h"
#include "runtime/strided.h"
#include "trace/watch.h"

namespace anew {
namespace {

Types infer_loop(std::string_view op, const LoopParams& p, const ir::InferArgs& a) {
  auto fit = [&](bool ok, std::string_view what) { require_fit(ok, op, what, a.at); };
  auto [want, out] = signature_of(op, "the body", p.body, a.at);
  require_groups(op, {p.constants, p.carries}, a.in.size(), a.at);
  const auto k = static_cast<std::size_t>(p.constants), c = static_cast<std::size_t>(p.carries);
  fit(op == "while" || (p.length >= 0 && p.unroll >= 0), "a length or unroll is negative");
  fit(want.size() == a.in.size() && out.size() >= c, "operands do not fit the body");
  if (op == "while") {
    auto [types, decision] = signature_of(op, "the condition", p.condition, a.at);
    fit(want.size() == k + c && out.size() == c, "operands do not fit the body");
    fit(types == want, "the condition takes other types");
    fit(decision == Types{{{}, bool_}}, "the condition does not give one bool");
  }
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(a.in[i] == (i < k + c ? want[i] : stacked(want[i], p.length))))
      fit(false, fmt::format("operand {} is {}, the body takes {}", i, a.in[i].str(), want[i].str()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i >= c) out[i] = stacked(out[i], p.length);
    else fit(out[i] == want[k + i], "a carry changes its type");
  }
  fit(p.checkpoints >= 0, "a number of checkpoints is negative");
  fit(p.memory >= 0, "a number of bytes is negative");
  require_budget(op, p.budget, p.length, a.at);
  fit(p.records || p.record.empty(), "carries are recorded by a loop that does not record");
  fit(!p.records || !stacks_residuals(p), "a scan without checkpoints records nothing");
  fit(!p.records || p.memory == 0 || p.budget.ndim() > 0, "a loop within bytes records without a budget");
  if (!p.records) return std::move(out);
  if (p.condition) {
    out.push_back({{}, i32});
    out.push_back({{slots_of(p)}, i32});
  }
  int before = -1;
  for (int r : p.record) {
    fit(r > before && r < p.carries, "the recorded carries are not ascending carries");
    out.push_back(stacked(want[k + static_cast<std::size_t>(r)], slots_of(p)));
    before = r;
  }
  return std::move(out);
}

bool holds(const ir::Program& condition, const Arrays& in) {
  Array y = contiguous(evaluate(condition, in)[0]);
  return *reinterpret_cast<const bool*>(y.value()->data());
}

// The number of steps where it is known before the loop starts, else -1.
std::int64_t known_length(const LoopParams& p, std::span<const Array> x) {
  if (!p.condition) return p.length;
  auto c = counter_of(p);
  if (!c) return -1;
  auto number = [&](int i) { return integer_of(x[static_cast<std::size_t>(i)]); };
  return plan::count_steps(number(p.constants + c->carry),
                           c->end_constant < 0 ? c->end_literal : number(c->end_constant));
}

Arrays run_loop(const ParamsRef& params, std::span<const Array> x, const Location& at) {
  const LoopParams& p = loop_of(params);
  const LoopForm f = form_of(p);
  Lists<Array> in = f.operands.partition(x);
  const Arrays xs = in[Role::xs];
  Arrays ys, states, &carry = in[Role::carries];
  for (const Type& t : f.results.partition(p.body->output_types())[Role::ys])
    ys.push_back(p.length > 0 ? Array() : empty_array(stacked(t, 0), at));
  for (int r : p.record)
    states.push_back(empty_array(stacked(type_of(carry[static_cast<std::size_t>(r)]), slots_of(p)), at));
  plan::Recorder recorder = !p.records                            ? plan::Recorder()
                            : !p.condition && p.budget.ndim() > 0 ? plan::Recorder(recorded_stops(p))
                                                                  : plan::Recorder(known_length(p, x), slots_of(p));
  auto keep = [&](std::int64_t slot) {
    for (std::size_t i = 0; i < states.size(); ++i)
      write_row(states[i], slot, carry[static_cast<std::size_t>(p.record[i])]);
  };
  std::int64_t step = 0;
  for (;; ++step) {
    check_stop(p.condition ? "while" : "scan", step, at);
    if (p.condition ? !holds(*p.condition, in.merge(f.parts[0].takes)) : step == p.length) break;
    if (const std::int64_t slot = recorder.slot_for(step); slot >= 0) keep(slot);
    const std::int64_t row = p.reverse ? p.length - 1 - step : step;
    for (std::size_t i = 0; i < xs.size(); ++i) in[Role::xs][i] = row_of(xs[i], row);
    const Arrays operands = in.merge(f.operands.order());
    const watch::Turn turn(p.condition ? "while" : "scan", row, at);
    carry.clear();
    Lists<Array> made = f.results.partition(evaluate(*p.body, operands));
    for (std::size_t i = 0; i < ys.size(); ++i) {
      if (!ys[i].value()) ys[i] = stack_for(made[Role::ys][i], p.length, at);
      write_row(ys[i], row, made[Role::ys][i]);
    }
    carry = std::move(made[Role::carries]);
  }
  if (p.records) {
    for (std::int64_t row : recorder.unused())
      for (const Array& s : states) clear_row(s, row);
    if (step == 0) keep(0);
  }
  Arrays out = carry;
  append(out, ys);
  if (p.records && p.condition) {
    out.push_back(make_literal(ir::Literal::of(i32, step)));
    out.push_back(array(recorder.steps(), {slots_of(p)}));
  }
  append(out, states);
  return out;
}

template <class P>
const ir::Primitive& row(std::string name) {
  return *new ir::Primitive{.name = name,
                            .infer = [name](const ir::InferArgs& a) { return infer_loop(name, a.params.as<P>(), a); },
                            .parse = &P::parse,
                            .run = run_loop,
                            .jvp = jvp_loop,
                            .transpose = transpose_loop,
                            .batch = batch_loop,
                            .facts = {.holds_programs = true},
                            .split = split_loop,
                            .dce = dce_loop};
}

}  // namespace

const ir::Primitive& scan_row() {
  static const ir::Primitive& r = row<ScanParams>("scan");
  return r;
}
const ir::Primitive& while_row() {
  static const ir::Primitive& r = row<WhileParams>("while");
  return r;
}
const ir::Primitive& loop_row(const LoopParams& p) { return p.condition ? while_row() : scan_row(); }
const LoopParams& loop_of(const ParamsRef& p) { return p->as<LoopParams>(); }

ParamsRef params_of(const LoopParams& p) {
  auto as = [&](auto params) -> ParamsRef {
    static_cast<LoopParams&>(*params) = p;
    return params;
  };
  return p.condition ? as(std::make_shared<WhileParams>()) : as(std::make_shared<ScanParams>());
}

bool stacks_residuals(const LoopParams& p) {
  return !p.condition && p.checkpoints == 0 && p.memory == 0 && p.budget.ndim() == 0;
}

std::vector<std::int64_t> recorded_stops(const LoopParams& p) {
  if (p.budget.ndim() > 0) return stops_within(p.budget, p.length, !p.disk.empty());
  return plan::forward_stops(std::max<std::int64_t>(p.length, 1), slots_of(p));
}

std::int64_t slots_of(const LoopParams& p) {
  if (!p.condition && p.budget.ndim() > 0) return slots_within(p.budget, p.length, !p.disk.empty());
  std::int64_t k = p.checkpoints > 0 ? p.checkpoints : default_checkpoints;
  return p.condition ? k : std::clamp<std::int64_t>(k, 1, std::max<std::int64_t>(p.length, 1));
}

std::int64_t rows_of(const LoopParams& p, int output) {
  const auto results = static_cast<int>(p.body->outputs.size());
  if (output < p.carries || (p.condition && output == results)) return 1;
  return output < results ? p.length : slots_of(p);
}

std::optional<LoopCounter> counter_of(const LoopParams& p) {
  if (!p.condition) return {};
  const ir::Program &c = *p.condition, &b = *p.body;
  if (c.eqns.size() != 1 || c.eqns[0].primitive != &lt_row() || !(c.outputs[0] == ir::Atom(c.eqns[0].outputs[0])))
    return {};
  auto input = [](const ir::Program& q, const ir::Atom& a) {
    auto it = std::find(q.inputs.begin(), q.inputs.end(), a.is_var() ? a.var : -1);
    return it == q.inputs.end() ? -1 : static_cast<int>(it - q.inputs.begin());
  };
  const ir::Atom &i = c.eqns[0].inputs[0], &end = c.eqns[0].inputs[1];
  int at = input(c, i), end_at = input(c, end);
  if (at < p.constants || end_at >= p.constants || (end_at < 0 && end.is_var()) || !is_integer(c.type(i).dtype))
    return {};
  const ir::Atom& next = b.outputs[static_cast<std::size_t>(at - p.constants)];
  for (const ir::Eqn& e : b.eqns) {
    if (!next.is_var() || e.outputs.empty() || e.outputs[0] != next.var) continue;
    bool adds = e.primitive == &add_row() && e.inputs[0] == ir::Atom(b.inputs[static_cast<std::size_t>(at)]) &&
                !e.inputs[1].is_var() && e.inputs[1].literal.as_integer() == 1;
    if (!adds) return {};
    return LoopCounter{at - p.constants, end_at, end_at < 0 ? end.literal.as_integer() : 0};
  }
  return {};
}

namespace {

// What remains of a loop in canonical form, by position, and where other results come from.
struct Canonical {
  Substitution same;
  Lists<std::size_t> takes, gives;
  Arrays around;                                            // per result
  std::vector<std::pair<std::size_t, std::size_t>> copies;  // results that are other results
};
Canonical canonical(const LoopForm& f, std::span<const Array> inputs) {
  const ir::Program& body = *f.body();
  const Lists<std::size_t> in = f.operands.positions(), out = f.results.positions();
  Canonical c;
  c.around.resize(body.outputs.size());
  auto add_constant = [&](std::size_t i) {
    if (c.same.keeps(i, inputs[i])) c.takes[Role::constants].push_back(i);
  };
  for (std::size_t i : in[Role::constants]) add_constant(i);
  for (std::size_t k = 0; k < in[Role::carries].size(); ++k) {
    const std::size_t i = in[Role::carries][k], o = out[Role::carries][k];
    if (body.outputs[o] == ir::Atom(body.inputs[i])) {
      add_constant(i);
      c.around[o] = inputs[i];
    } else {
      c.takes[Role::carries].push_back(i);
      c.gives[Role::carries].push_back(o);
    }
  }
  c.takes[Role::xs] = in[Role::xs];
  std::map<ir::Var, Array> x_of;
  for (std::size_t i : in[Role::xs]) x_of.emplace(body.inputs[i], inputs[i]);
  std::map<ir::Var, std::size_t> first;  // y that is this variable
  for (std::size_t y : out[Role::ys]) {
    const ir::Atom& a = body.outputs[y];
    if (auto x = a.is_var() ? x_of.find(a.var) : x_of.end(); x != x_of.end()) {
      c.around[y] = x->second;
    } else if (auto twin = a.is_var() ? first.find(a.var) : first.end(); twin != first.end()) {
      c.copies.emplace_back(y, twin->second);
    } else {
      if (a.is_var()) first.emplace(a.var, y);
      c.gives[Role::ys].push_back(y);
    }
  }
  return c;
}

}  // namespace

Arrays bind_loop(LoopParams p, std::span<const Array> inputs, const Location& at) {
  if (p.records) return anew::bind(loop_row(p), params_of(p), inputs, at);
  LoopForm f = form_of(p);
  Canonical c = canonical(f, inputs);
  Arrays result = std::move(c.around), operands;
  const std::vector<std::size_t> made = c.gives.merge(f.results.order());
  if (made.empty() && !ir::must_run(*f.body())) return result;
  for (LoopForm::Part& part : f.parts) {
    ir::Program q = *part.program;
    c.same.apply(q);
    q.constants = 0;
    q.inputs.clear();
    for (std::size_t i : c.takes.merge(part.takes)) q.inputs.push_back(part.program->inputs[i]);
    if (!part.is_condition()) {
      const std::vector<ir::Atom> outputs = std::exchange(q.outputs, {});
      for (std::size_t i : made) q.outputs.push_back(outputs[i]);
    }
    part.program = share(std::move(q));
  }
  for (Role r : f.operands.order()) f.operands.size(r) = c.takes[r].size();
  set_form(p, f);
  for (std::size_t i : c.takes.merge(f.operands.order())) operands.push_back(inputs[i]);
  const Arrays got = anew::bind(loop_row(p), params_of(p), operands, at);
  for (std::size_t i = 0; i < made.size(); ++i) result[made[i]] = got[i];
  for (auto [to, from] : c.copies) result[to] = result[from];
  return result;
}

Type stacked(const Type& t, std::int64_t length) {
  Type s = t;
  s.shape.insert(0, length);
  return s;
}

Array row_of(const Array& stack, std::int64_t i) {
  const Value& v = *stack.value();
  Type t{v.type.shape, v.type.dtype};
  t.shape.erase(0);
  ir::Strides strides = v.strides;
  strides.erase(0);
  return make_concrete(t, v.buffer, v.offset + i * v.strides[0], strides);
}

Array stack_for(const Array& y, std::int64_t length, const Location& at) {
  const Type t = stacked(type_of(y), length);
  if (!is_spilled(place_of(y))) return empty_array(t, at);
  return make_concrete(t, allocate_spilled(t.bytes(), at), 0, row_major(t.shape));
}

void write_row(const Array& stack, std::int64_t i, const Array& y) {
  const std::size_t bytes = type_of(y).bytes();
  std::byte* const to = stack.value()->buffer->data() + static_cast<std::size_t>(i) * bytes;
  const Array dense = contiguous(y);
  move_bytes(to, is_spilled(to) ? place_of(dense) : dense.value()->data(), bytes);
  watch::copied(stack, y);
}

void clear_row(const Array& stack, std::int64_t i) {
  const std::size_t bytes = type_of(stack).bytes() / static_cast<std::size_t>(stack.shape()[0]);
  std::memset(stack.value()->buffer->data() + static_cast<std::size_t>(i) * bytes, 0, bytes);
}

std::int64_t integer_of(const Array& x) { return read_integer(x.value()->data(), type_of(x).dtype, 0); }

}  // namespace anew
