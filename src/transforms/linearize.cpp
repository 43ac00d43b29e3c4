// linearize, and what derives from it: vjp (its transpose), grad.
#include "transforms/linearize.h"

#include <anew/transforms.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ops/promote.h"
#include "transforms/arguments.h"
#include "transforms/jvp.h"
#include "transforms/remembered.h"
#include "transforms/sources.h"
#include "transforms/split.h"
#include "transforms/transpose.h"

namespace anew {
namespace {

// By variable: the first equation that reads it, or what shows it.
std::vector<const ir::Eqn*> first_readers(const ir::Program& p) {
  std::vector<const ir::Eqn*> reader(p.types.size(), nullptr);
  for (auto e = p.eqns.rbegin(); e != p.eqns.rend(); ++e) {
    const bool shows = e->primitive->facts.shows_operand && reader[static_cast<std::size_t>(e->outputs[0])];
    for (const ir::Atom& a : e->inputs)
      if (a.is_var())
        reader[static_cast<std::size_t>(a.var)] = shows ? reader[static_cast<std::size_t>(e->outputs[0])] : &*e;
  }
  return reader;
}

// Where residual i of a report comes from, and its place in there: constants, arguments, then values by their
// equations.
struct ReportLine {
  ResidualSource source = {};
  std::pair<int, std::uint64_t> place = {};
};
ReportLine report_line(const Array& x, std::size_t i, const std::unordered_map<const Value*, int>& argument_of,
                       std::uint64_t start, const ir::Eqn* reader) {
  const Value& v = *x.value();
  ReportLine line;
  ResidualSource& source = line.source;
  source.origin = v.origin;
  source.origin.source = {};
  if (auto arg = argument_of.find(&v); arg != argument_of.end()) {
    source.kind = Residual::Kind::argument;
    source.argument = arg->second;
    line.place = {1, static_cast<std::uint64_t>(source.argument)};
  } else if (!v.origin.primitive || !made_since(start, x)) {
    source.kind = Residual::Kind::constant;
    line.place = {0, i};
  } else {
    source.kind = v.origin.primitive->facts.name ? Residual::Kind::named : Residual::Kind::output;
    line.place = {2, v.origin.sequence};
  }
  if (reader) {
    source.reader = reader->primitive;
    source.reader_rule = reader->rule_of;
    source.reader_at = reader->at;
  }
  return line;
}

// Keeps the residuals that are read, in report order.
void arrange(flat::Linear::State& s, const ir::Program& staged, const Arrays& captured, const Arrays& arguments,
             std::uint64_t start, const SplitTrace& split) {
  ir::Dce d = ir::eliminate_dead_code(staged, std::vector<bool>(staged.outputs.size(), true));
  // Tangent inputs stay, used or not: they are the arguments of the linear function.
  ir::Program p = std::move(d.program);
  std::vector<ir::Var> residual_vars, tangent_vars;
  Arrays kept;
  std::size_t next = 0;
  for (std::size_t i = 0; i < staged.inputs.size(); ++i) {
    bool residual = i < captured.size();
    if (!d.used_inputs[i]) {
      if (residual) continue;
      tangent_vars.push_back(static_cast<ir::Var>(p.types.size()));
      p.types.push_back(staged.type(staged.inputs[i]));
      continue;
    }
    (residual ? residual_vars : tangent_vars).push_back(p.inputs[next++]);
    if (residual) kept.push_back(captured[i]);
  }

  // What is kept in place of a value that a checkpoint decided on has its reason.
  std::unordered_map<const Value*, std::string> reasons = split.reasons();
  for (const Array& r : kept)
    if (auto it = reasons.find(r.value()); it != reasons.end()) {
      const std::string why = it->second;
      for (Array s = r.value()->origin.source; s.value(); s = s.value()->origin.source) reasons.emplace(s.value(), why);
    }
  keep_sources(p, residual_vars, kept);

  std::unordered_map<const Value*, int> argument_of;
  for (std::size_t i = 0; i < arguments.size(); ++i) argument_of.emplace(arguments[i].value(), static_cast<int>(i));
  const std::vector<const ir::Eqn*> reader = first_readers(p);
  std::vector<ReportLine> lines;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    lines.push_back(report_line(kept[i], i, argument_of, start, reader[static_cast<std::size_t>(residual_vars[i])]));
    if (auto it = reasons.find(kept[i].value()); it != reasons.end()) lines.back().source.reason = it->second;
  }
  std::vector<std::size_t> order(kept.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Outputs of one equation stay in the order of first demand.
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(lines[a].place, a) < std::pair(lines[b].place, b); });
  p.inputs.clear();
  for (std::size_t i : order) {
    p.inputs.push_back(residual_vars[i]);
    s.residuals.push_back(without_source(kept[i]));
    s.sources.push_back(lines[i].source);
  }
  p.inputs.insert(p.inputs.end(), tangent_vars.begin(), tangent_vars.end());
  p.constants = 0;
  s.program = std::move(p);
}

// A checkpoint that keeps inputs only and is the first thing the backward pass meets recomputes everything at once.
void report_last_stages(const ir::Program& p, std::size_t residuals, const std::vector<Location>& inputs_only) {
  if (inputs_only.empty()) return;
  std::vector<bool> residual(p.types.size());
  for (std::size_t i = 0; i < residuals; ++i) residual[static_cast<std::size_t>(p.inputs[i])] = true;
  for (auto e = p.eqns.rbegin(); e != p.eqns.rend(); ++e) {
    bool here = std::any_of(inputs_only.begin(), inputs_only.end(), [&](const Location& at) {
      return at.line() == e->at.line() && std::string_view(at.file_name()) == e->at.file_name();
    });
    if (e->primitive->higher_order() && here)
      return warn(
          "[checkpoint] this checkpoint saves no memory: it is the last stage (or the whole) of the differentiated "
          "function, "
          "so all that it recomputes is live again at once",
          e->at);
    for (const ir::Atom& a : e->inputs)
      if (a.is_var() && residual[static_cast<std::size_t>(a.var)]) return;
  }
}

}  // namespace

std::pair<Arrays, std::shared_ptr<flat::Linear::State>> linearize_first(const FlatFunction& f, std::span<const Array> x,
                                                                        int wanted, std::string_view what,
                                                                        const flat::CallInfo& info) {
  detail::check_function(f, info.at);
  auto state = std::make_shared<flat::Linear::State>();
  state->info = info;
  Trace* parent = current_trace();
  auto staging = std::make_shared<StagingTrace>(what, info.at);
  auto split = std::make_shared<SplitTrace>(parent, staging, std::nullopt, what);
  auto trace = std::make_shared<JvpTrace>(parent, split.get(), what, info.at);
  TraceLife a(staging), b(split), c(trace);

  Arrays arguments, inputs, outputs;
  for (const Array& given : x) {
    check_operand(given, info.at);
    arguments.push_back(fresh_alias(given));
    Type t = type_of(given);
    state->in.push_back(t);
    inputs.push_back(is_float(t.dtype) ? trace->box(arguments.back(), staging->add_input(t)) : arguments.back());
  }
  std::uint64_t start = next_sequence();
  {
    SourceScope sources;
    TraceScope scope(trace.get());
    outputs = f(inputs);
    for (Array& y : outputs)  // numbers that vary are arrays
      if (is_weak(y) && y.value()->trace == trace) y = strong(y, info.at);
  }
  Arrays tangents;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_operand(outputs[i], info.at);
    Array t = wanted < 0 || static_cast<int>(i) < wanted ? trace->tangent(outputs[i]) : Array();
    if (t.value()) t = split->staged(t);
    outputs[i] = trace->primal(outputs[i]);
    // An argument that comes back is the caller's array again, so that nobody keeps it twice.
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (outputs[i].value() == arguments[k].value()) outputs[i] = is_weak(x[k]) ? fresh_alias(arguments[k]) : x[k];
    outputs[i] = without_source(outputs[i]);
    state->out.push_back(type_of(outputs[i]));
    state->nonzero.push_back(t.value() != nullptr);
    if (t.value()) tangents.push_back(t);
  }
  ir::Program staged = staging->finish(tangents);
  arrange(*state, staged, staging->constants(), arguments, start, *split);
  report_last_stages(state->program, state->residuals.size(), split->inputs_only());
  return {std::move(outputs), std::move(state)};
}

namespace {

// Under a trace that remembers: by the linear Program, which is the function here.
Arrays remembered_pull_back(const flat::Linear::State& s, const Arrays& residuals, std::span<const Array> cotangents,
                            const Location& at) {
  Arrays ct;
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    ct.push_back(matching(cotangents[i], s.out[i], "[vjp] the cotangent must have the type of the output", at));
  auto linear = [&](std::span<const Array> in) { return evaluate(s.program, in); };
  auto options = [&] {  // what the Program does not say: outputs without tangent, arguments without tangents
    std::vector<std::int64_t> list(s.nonzero.begin(), s.nonzero.end());
    for (const Type& t : s.in) {
      list.push_back(static_cast<std::int64_t>(t.dtype));
      list.insert(list.end(), t.shape.begin(), t.shape.end());
    }
    return list;
  };
  auto transform = [&](const FlatFunction&, std::span<const Array> x, std::span<const Array> more) {
    return pull_back(s, Arrays(x.begin(), x.end()), more, at);
  };
  return remembered({"pullback", options}, linear, s.program.input_types(), residuals, ct, transform, at);
}

}  // namespace

Arrays pull_back(const flat::Linear::State& s, Arrays residuals, std::span<const Array> cotangents,
                 const Location& at) {
  check_count(cotangents.size(), s.out.size(), "[vjp] cotangents", at);
  const bool floats = std::all_of(s.out.begin(), s.out.end(), [](const Type& t) { return is_float(t.dtype); });
  if (floats && remembering()) return remembered_pull_back(s, residuals, cotangents, at);
  Arrays ct;
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    if (!is_float(s.out[i].dtype)) {
      check_no_tangent(cotangents[i], s.out[i], "vjp", "output", i, at);
      continue;
    }
    Array c = matching(cotangents[i], s.out[i], "[vjp] the cotangent must have the type of the output", at);
    if (s.nonzero[i]) ct.push_back(c);
  }
  std::size_t n = residuals.size(), linear_inputs = s.program.inputs.size() - n;
  std::vector<bool> linear(n, false);
  linear.resize(n + linear_inputs, true);
  residuals.resize(n + linear_inputs);
  Arrays grads = backward_pass(s.program, std::move(residuals), linear, ct, Arrays(n + linear_inputs));
  Arrays out;
  for (const Type& t : s.in) {
    Array g = is_float(t.dtype) ? grads[n++] : Array();
    out.push_back(g.value() ? g : zeros_for_user(t));
  }
  return out;
}

namespace flat {

namespace {

// What is remembered of a linearization: all but the residuals, which come behind the outputs.
using Linearization = Linear::State;

std::pair<Arrays, Linear> remembered_linearize(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  Arrays at_x = arguments_of(x, info.at);
  std::shared_ptr<const Linearization> made;
  auto transform = [&](const FlatFunction& g, std::span<const Array> in, std::span<const Array>) {
    auto [y, state] = linearize_first(g, in, -1, "linearize", info);
    y.insert(y.end(), state->residuals.begin(), state->residuals.end());
    state->residuals.clear();
    made = std::move(state);
    return y;
  };
  Transformation which{
      "linearize",
      {},
      [&] { return std::shared_ptr<const void>(made); },
      [&](const std::shared_ptr<const void>& p) { made = std::static_pointer_cast<const Linearization>(p); }};
  Arrays all = remembered(which, f, types_of(at_x, info.at), at_x, {}, transform, info.at);
  auto state = std::make_shared<Linear::State>(*made);
  state->info = info;
  auto residuals = all.begin() + std::ssize(made->out);
  state->residuals.assign(residuals, all.end());
  return {Arrays(all.begin(), residuals), Linear(std::move(state))};
}

}  // namespace

std::pair<Arrays, Linear> linearize(const FlatFunction& f, std::span<const Array> x, const CallInfo& info) {
  if (remembering()) return remembered_linearize(f, x, info);
  auto [y, state] = linearize_first(f, x, -1, "linearize", info);
  return {std::move(y), Linear(std::move(state))};
}

Linear::Linear(std::shared_ptr<State> state) : state_(std::move(state)) {}
Linear::Linear(const Linear&) = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(const Linear&) = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

Linear::State& Linear::state(const Location& at) const {
  if (!state_)
    throw Error("[linearize] a linear function was moved from, or used up by std::move(pullback)(ct), and called again",
                at, "call it as pullback(ct), without std::move, to use it more than once");
  return *state_;
}

Arrays Linear::operator()(std::span<const Array> tangents, const Location& at) const {
  const State& s = state(at);
  check_count(tangents.size(), s.in.size(), "[linearize] tangents", at);
  Arrays in = s.residuals;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (!is_float(s.in[i].dtype)) check_no_tangent(tangents[i], s.in[i], "linearize", "argument", i, at);
    else in.push_back(matching(tangents[i], s.in[i], "[linearize] the tangent must have the type of the argument", at));
  }
  Arrays t = evaluate(s.program, in), out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.out.size(); ++i) out.push_back(s.nonzero[i] ? t[next++] : zeros_for_user(s.out[i]));
  return out;
}

Arrays Linear::pullback(std::span<const Array> cotangents, const Location& at) const {
  const State& s = state(at);
  return pull_back(s, s.residuals, cotangents, at);
}

Arrays Linear::consume(std::span<const Array> cotangents, const Location& at) && {
  state(at);
  std::shared_ptr<State> s = std::move(state_);
  Arrays residuals = s.use_count() == 1 ? std::move(s->residuals) : s->residuals;
  return pull_back(*s, std::move(residuals), cotangents, at);
}

Program Linear::program(const Location& at) const {
  return {std::make_shared<const ir::Program>(state(at).program), {}};
}

Program Linear::pullback_program(const Location& at) const {
  const State& s = state(at);
  Types types;
  for (const Array& r : s.residuals) types.push_back(type_of(r));
  types.insert(types.end(), s.out.begin(), s.out.end());
  std::size_t n = s.residuals.size();
  Staged staged = stage(
      [&](std::span<const Array> in) {
        return pull_back(s, Arrays(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n)), in.subspan(n), s.info.at);
      },
      types, "vjp", s.info.at);
  ir::Dce d = ir::eliminate_dead_code(staged.program, std::vector<bool>(staged.program.outputs.size(), true), true);
  return {std::make_shared<const ir::Program>(std::move(d.program)), std::move(staged.constants)};
}

Arrays grad(const FlatFunction& f, std::span<const Array> x, Arrays* values, const Location& at) {
  for (const Array& a : x) {
    check_operand(a, at);
    if (!is_float(type_of(a).dtype))
      throw Error(fmt::format("[grad] needs floating-point inputs, got {}{}", type_of(a).str(), leaf_name(a, " for ")),
                  at,
                  "convert with astype(x, f32), choose other arguments with grad<i>, or allow it: {.allow_int = true}");
  }
  return grad_of_any(f, x, values, at);
}

Arrays grad_of_any(const FlatFunction& f, std::span<const Array> x, Arrays* values, const Location& at) {
  if (remembering()) {
    Arrays at_x = arguments_of(x, at);
    Arrays all = remembered(
        {"grad"}, f, types_of(at_x, at), at_x, {},
        [&](const FlatFunction& g, std::span<const Array> in, std::span<const Array>) {
          Arrays y, out = grad_of_any(g, in, &y, at);
          out.insert(out.end(), y.begin(), y.end());
          return out;
        },
        at);
    auto values_at = all.begin() + std::ssize(x);
    if (values) values->assign(values_at, all.end());
    return Arrays(all.begin(), values_at);
  }
  auto [y, state] = linearize_first(f, x, 1, "grad", {at, {}});
  Type t = y.empty() ? Type{} : type_of(y[0]);
  if (y.empty() || t.shape.ndim() != 0)
    throw Error(
        fmt::format("[grad] is defined for functions with a scalar output, got {}", y.empty() ? "none" : t.str()), at,
        "reduce the output to a scalar, e.g. with sum(y), or use vjp");
  if (!is_float(t.dtype)) throw Error(fmt::format("[grad] needs a floating-point output, got {}", t.str()), at);
  Arrays ct;
  for (const Type& out : state->out)
    ct.push_back(is_float(out.dtype) ? make_literal(ir::Literal::of(out.dtype, 1.0)) : Array());
  state->out.resize(1);
  state->nonzero.resize(1);
  ct.resize(1);
  Arrays residuals = std::move(state->residuals);
  Arrays g = pull_back(*state, std::move(residuals), ct, at);
  if (values) *values = std::move(y);
  return g;
}

}  // namespace flat
}  // namespace anew
