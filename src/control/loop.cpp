// while and sweep: how they run, and their fronts while_loop and fori_loop.
#include "control/loop.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <map>

#include "base/saturate.h"
#include "base/stop.h"
#include "control/carry.h"
#include "control/signature.h"
#include "ops/promote.h"
#include "plan/revolve.h"

namespace anew {
namespace {

const LoopParams& of(const ParamsRef& p) { return static_cast<const LoopParams&>(*p); }

Types infer_loop(std::string_view op, const ir::InferArgs& a) {
  const auto& p = static_cast<const LoopParams&>(a.params);
  auto fit = [&](bool ok, std::string_view what) { require_fit(ok, op, what, a.at); };
  auto [want, out] = signature_of(op, "the body", p.body, a.at);
  require_groups(op, {p.constants, p.carries}, a.in.size(), a.at);
  const auto k = static_cast<std::size_t>(p.constants), c = static_cast<std::size_t>(p.carries);
  fit((p.condition != nullptr) == (op == "while"), "a while has a condition, a sweep has none");
  fit(p.condition ? p.length == -1 : p.length >= 0, "a sweep has a length, a while has none");
  fit(want.size() == a.in.size() && out.size() >= c, "operands do not fit the body");
  if (p.condition) {
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
  fit(p.records || p.record.empty(), "carries are recorded by a loop that does not record");
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

// The number of steps, where it is known before the loop starts.
std::optional<std::int64_t> counted(const LoopParams& p, std::span<const Array> x) {
  if (!p.condition) return p.length;
  auto c = counter_of(p);
  if (!c) return {};
  auto number = [&](int i) {
    return static_cast<std::int64_t>(static_cast<double>(x[static_cast<std::size_t>(i)].item()));
  };
  std::int64_t to = c->end_constant < 0 ? c->end_literal : number(c->end_constant);
  return std::max<std::int64_t>(0, to - number(p.constants + c->carry));
}

// Keeps states on the way, where a schedule says so.
class Recorder {
 public:
  Recorder(const LoopParams& p, std::span<const Array> x, const Location& at) : p_(p), slots_(slots_of(p)) {
    if (!p.records) return;
    Types in = p.body->input_types();
    for (int r : p.record)
      states_.push_back(empty_array(stacked(in[static_cast<std::size_t>(p.constants + r)], slots_), at));
    steps_.assign(static_cast<std::size_t>(slots_), -1);
    if (auto length = counted(p, x)) {
      if (*length > 0) stops_ = plan::forward_stops(*length, slots_);
      online_ = false;
    }
  }
  // `carry` is the state before step `step`.
  void see(std::int64_t step, std::span<const Array> carry) {
    if (!p_.records) return;
    int slot = -1;
    if (online_) slot = online_stops_.place(step);
    else if (next_ < stops_.size() && stops_[next_] == step) slot = static_cast<int>(next_++);
    if (slot < 0) return;
    steps_[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(step);
    write(slot, carry);
  }
  void finish(std::int64_t steps, std::span<const Array> carry, Arrays& out) {
    if (!p_.records) return;
    if (steps == 0) write(0, carry);
    if (p_.condition) {
      out.push_back(make_literal(ir::Literal::of(i32, steps)));
      out.push_back(array(steps_, {static_cast<std::int64_t>(steps_.size())}));
    }
    out.insert(out.end(), states_.begin(), states_.end());
  }

 private:
  void write(std::int64_t row, std::span<const Array> carry) {
    for (std::size_t i = 0; i < states_.size(); ++i)
      write_row(states_[i], row, carry[static_cast<std::size_t>(p_.record[i])]);
  }
  const LoopParams& p_;
  std::int64_t slots_;
  Arrays states_;
  std::vector<std::int32_t> steps_;
  std::vector<std::int64_t> stops_;
  std::size_t next_ = 0;
  bool online_ = true;
  plan::OnlineStops online_stops_{static_cast<int>(slots_)};
};

Arrays run_loop(const ParamsRef& params, std::span<const Array> x, const Location& at) {
  const LoopParams& p = of(params);
  auto k = static_cast<std::ptrdiff_t>(p.constants), c = static_cast<std::ptrdiff_t>(p.carries);
  auto uk = static_cast<std::size_t>(k), uc = static_cast<std::size_t>(c);
  Arrays in(x.begin(), x.end()), carry(x.begin() + k, x.begin() + k + c), ys;
  Types types = p.body->output_types();
  for (std::size_t i = uc; i < types.size(); ++i) ys.push_back(empty_array(stacked(types[i], p.length), at));
  Recorder recorder(p, x, at);
  std::int64_t step = 0;
  for (;; ++step) {
    check_stop(p.condition ? "while" : "sweep", step, at);
    std::copy(carry.begin(), carry.end(), in.begin() + k);
    if (p.condition ? !holds(*p.condition, Arrays(in.begin(), in.begin() + k + c)) : step == p.length) break;
    recorder.see(step, carry);
    carry.clear();
    std::int64_t at_step = p.reverse ? p.length - 1 - step : step;
    for (std::size_t i = uk + uc; i < x.size(); ++i) in[i] = row_of(x[i], at_step);
    carry = evaluate(*p.body, in);
    for (std::size_t i = uc; i < carry.size(); ++i) write_row(ys[i - uc], at_step, carry[i]);
    carry.resize(uc);
  }
  Arrays out = carry;
  out.insert(out.end(), ys.begin(), ys.end());
  recorder.finish(step, carry, out);
  return out;
}

ir::Primitive row(std::string name) {
  return {.name = name,
          .infer = [name](const ir::InferArgs& a) { return infer_loop(name, a); },
          .parse = &LoopParams::parse,
          .batch = batch_loop,
          .run = run_loop,
          .nested_jvp = jvp_loop,
          .split = split_loop,
          .nested_transpose = transpose_loop,
          .dce = dce_loop};
}

}  // namespace

const ir::Primitive& while_row() {
  static const ir::Primitive& r = *new ir::Primitive(row("while"));
  return r;
}
const ir::Primitive& sweep_row() {
  static const ir::Primitive& r = *new ir::Primitive(row("sweep"));
  return r;
}
const ir::Primitive& loop_row(const LoopParams& p) { return p.condition ? while_row() : sweep_row(); }

std::int64_t slots_of(const LoopParams& p) {
  std::int64_t k = p.checkpoints > 0 ? p.checkpoints : default_checkpoints;
  return p.condition ? k : std::clamp<std::int64_t>(k, 1, std::max<std::int64_t>(p.length, 1));
}

std::optional<LoopCounter> counter_of(const LoopParams& p) {
  if (!p.condition) return {};
  const ir::Program &c = *p.condition, &b = *p.body;
  if (c.eqns.size() != 1 || c.eqns[0].primitive->name != "lt" || !(c.outputs[0] == ir::Atom(c.eqns[0].outputs[0])))
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
    bool adds = e.primitive->name == "add" && e.inputs[0] == ir::Atom(b.inputs[static_cast<std::size_t>(at)]) &&
                !e.inputs[1].is_var() && e.inputs[1].literal.as_integer() == 1;
    if (!adds) return {};
    return LoopCounter{at - p.constants, end_at, end_at < 0 ? end.literal.as_integer() : 0};
  }
  return {};
}

Arrays bind_loop(LoopParams params, const ir::Program& body, std::span<const Array> inputs, const Location& at) {
  auto k = static_cast<std::size_t>(params.constants), c = static_cast<std::size_t>(params.carries);
  // What each input becomes: a constant, carry or x of the new loop, another input, or a literal.
  std::vector<std::size_t> constants, carries, xs, instead(inputs.size());
  std::map<std::size_t, ir::Literal> literals;
  std::map<Identity, std::size_t> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) instead[i] = i;
  Arrays result(body.outputs.size());
  std::vector<std::size_t> carry_slot, y_slot;
  for (std::size_t i = 0; i < k + c; ++i) {
    bool fixed = i < k || body.outputs[i - k] == ir::Atom(body.inputs[i]);
    if (i >= k && fixed) result[i - k] = inputs[i];
    if (!fixed) {
      carries.push_back(i);
      carry_slot.push_back(i - k);
    } else if (inputs[i].value()->literal) {
      literals.emplace(i, literal_of(inputs[i]));
    } else if (auto [it, fresh] = seen.emplace(identity(inputs[i]), i); fresh) {
      constants.push_back(i);
    } else {
      instead[i] = it->second;
    }
  }
  for (std::size_t i = k + c; i < inputs.size(); ++i) xs.push_back(i);
  std::map<ir::Var, std::size_t> y_seen;
  std::vector<std::pair<std::size_t, std::size_t>> copies;
  for (std::size_t i = c; i < body.outputs.size(); ++i) {
    const ir::Atom& a = body.outputs[i];
    if (a.is_var()) {
      auto x = std::find_if(xs.begin(), xs.end(), [&](std::size_t j) { return body.inputs[j] == a.var; });
      if (x != xs.end()) {
        result[i] = inputs[*x];
        continue;
      }
      auto [it, fresh] = y_seen.emplace(a.var, y_slot.size());
      if (!fresh) {
        copies.emplace_back(i, it->second);
        continue;
      }
    }
    y_slot.push_back(i);
  }
  if (carry_slot.empty() && y_slot.empty() && !ir::has_effects(body)) return result;

  auto rewire = [&](ir::Program p) {
    auto replace = [&, inputs_of = p.inputs](ir::Atom& a) {
      for (std::size_t i = 0; a.is_var() && i < inputs_of.size(); ++i) {
        if (a.var != inputs_of[i]) continue;
        if (auto it = literals.find(i); it != literals.end()) a = it->second;
        else a = inputs_of[instead[i]];
        return;
      }
    };
    for (ir::Eqn& e : p.eqns)
      for (ir::Atom& a : e.inputs) replace(a);
    for (ir::Atom& a : p.outputs) replace(a);
    return p;
  };
  std::vector<std::size_t> in = constants, out = carry_slot;
  in.insert(in.end(), carries.begin(), carries.end());
  std::vector<std::size_t> of_condition = in;
  in.insert(in.end(), xs.begin(), xs.end());
  out.insert(out.end(), y_slot.begin(), y_slot.end());
  params.constants = static_cast<int>(constants.size());
  params.carries = static_cast<int>(carries.size());
  params.body = share(rearranged(rewire(body), in, out));
  if (params.condition) params.condition = share(rearranged(rewire(*params.condition), of_condition, {0}));
  Arrays operands;
  for (std::size_t i : in) operands.push_back(inputs[i]);
  const ir::Primitive& r = loop_row(params);
  Arrays made = anew::bind(r, std::make_shared<const LoopParams>(std::move(params)), operands, at);
  for (std::size_t i = 0; i < out.size(); ++i) result[out[i]] = made[i];
  for (auto [to, from] : copies) result[to] = made[carry_slot.size() + from];
  return result;
}

namespace flat {

Arrays while_loop(const LoopCondition& condition, const FlatFunction& body, const Arrays& init,
                  const LoopOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(condition, at);
  detail::check_function(body, at);
  if (options.checkpoints && *options.checkpoints < 1)
    throw Error(fmt::format("[while_loop] .checkpoints is {}, but at least one state, the first, is kept",
                            *options.checkpoints),
                at);
  Arrays start = init;
  Forms forms = forms_of(start, at);
  Staged b = stage_body(
      "while_loop",
      [&](std::span<const Array> in) {
        Arrays out = body(in);
        if (out.size() != init.size())
          throw Error(fmt::format("[while_loop] the carry has {} arrays, the body returns {}", init.size(), out.size()),
                      at, "the body must return a carry of the same structure as it takes");
        return out;
      },
      start, forms, carry_paths, at);
  Staged c = stage([&](std::span<const Array> in) { return Arrays{condition(in)}; }, forms, "while_loop", at);
  Type got = c.program.type(c.program.outputs[0]);
  if (!(got == Type{{}, bool_}))
    throw Error(fmt::format("[while_loop] the condition must give a bool scalar, got {}", got.str()), at);
  LoopParams p;
  p.constants = static_cast<int>(b.constants.size() + c.constants.size());
  p.carries = static_cast<int>(init.size());
  p.checkpoints = options.checkpoints.value_or(0);
  b.program = with_unused(b.program, b.constants.size(), types_of(c.constants, at));
  p.condition = share(with_unused(c.program, 0, types_of(b.constants, at)));
  Arrays inputs = b.constants;
  inputs.insert(inputs.end(), c.constants.begin(), c.constants.end());
  for (const Array& a : start) inputs.push_back(exact(a));
  return as_formed(bind_loop(p, b.program, inputs, at), forms);
}

Arrays fori_loop(const Array& lo, const Array& hi, const FlatFunction& body, const Arrays& init,
                 const LoopOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(body, at);
  for (const Array* end : {&lo, &hi}) {
    check_operand(*end, at);
    Type t = type_of(*end);
    if (t.shape.ndim() != 0 || !is_integer(t.dtype))
      throw Error(fmt::format("[fori_loop] bounds must be integer scalars, got {}", t.str()), at);
  }
  if (options.checkpoints && *options.checkpoints < 1)
    throw Error(
        fmt::format("[fori_loop] .checkpoints is {}, but at least one state, the first, is kept", *options.checkpoints),
        at);
  auto step = [&](std::span<const Array> in) {
    Arrays out = body(in);
    if (out.size() != init.size())
      throw Error(fmt::format("[fori_loop] the carry has {} arrays, the body returns {}", init.size(), out.size()), at,
                  "the body must return a carry of the same structure as it takes");
    out.insert(out.begin(), in[0] + 1);
    return out;
  };
  std::vector<std::string> paths{"i"};
  paths.insert(paths.end(), carry_paths.begin(), carry_paths.end());
  Arrays start = init, out;
  // A number takes the type of the other bound; of two the default one, or what they show if that is wider.
  DType dtype = common_dtype(Arrays{lo, hi});
  start.insert(start.begin(), coerce(lo, dtype, at));
  if (lo.value()->literal && hi.value()->literal) {
    std::int64_t from = literal_of(lo).as_integer(), to = literal_of(hi).as_integer();
    ScanOptions o{.length = to > from ? saturating_add(to, saturating_mul(from, -1)) : 0,
                  .checkpoints = options.checkpoints};
    ScanBody scan_step = [&](std::span<const Array> carry, std::span<const Array>) {
      return ScanResult{step(carry), {}};
    };
    out = flat::scan(scan_step, start, {}, o, paths, at).carry;
  } else {
    Array end = coerce(hi, dtype, at);
    out =
        flat::while_loop([&](std::span<const Array> carry) { return carry[0] < end; }, step, start, options, paths, at);
  }
  out.erase(out.begin());
  return out;
}

}  // namespace flat
}  // namespace anew
