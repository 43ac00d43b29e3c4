// Forward mode: the trace, Programs of derivatives, and jvp itself.
#include "transforms/jvp.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/promote.h"
#include "transforms/arguments.h"
#include "transforms/remembered.h"

namespace anew {

JvpTrace::JvpTrace(Trace* parent, Trace* rules, std::string_view what, const Location& where)
    : parent_(parent), rules_(rules), what_(what) {
  at = where;
  concrete_values = true;
}

Array JvpTrace::box(const Array& primal, const Array& tangent) {
  if (!tangent.value()) return primal;
  Array x = traced_value(shared_from_this(), type_of(primal));
  mutable_value(x).first = primal;
  mutable_value(x).second = tangent;
  return x;
}
Array JvpTrace::primal(const Array& x) const { return x.value()->trace.get() == this ? x.value()->first : x; }
Array JvpTrace::tangent(const Array& x) const { return x.value()->trace.get() == this ? x.value()->second : Array(); }

Arrays JvpTrace::process(const Request& r) {
  Arrays x, t;
  bool any = false;
  for (const Array& in : r.inputs) {
    x.push_back(primal(in));
    t.push_back(tangent(in));
    any = any || t.back().value();
  }
  if (!any) return bind_under(parent_, r.primitive, r.params, x, r.at);

  Arrays y, dy;
  if (r.primitive.higher_order()) {
    if (!r.primitive.jvp) ir::missing_rule(r.primitive, "jvp", r.at);
    TraceScope scope(rules_);
    ir::Tangents made = r.primitive.jvp({r.params, x, {}, t, r.at});
    y = std::move(made.y);
    dy = std::move(made.t);
  } else {
    if (r.primitive.facts.io)
      throw Error(
          fmt::format("[{}] has no derivative, but its arguments depend on what is differentiated", r.primitive.name),
          r.at, "stop_gradient the arguments, or give the function around it a rule with custom_jvp");
    y = bind_under(parent_, r.primitive, r.params, x, r.at);
    bool differentiable = false;
    for (const Array& out : y) differentiable = differentiable || is_float(type_of(out).dtype);
    if (!differentiable) return y;
    if (!r.primitive.jvp) ir::missing_rule(r.primitive, "jvp", r.at);
    TraceScope scope(rules_);
    RuleScope rule(&r.primitive, r.at);
    dy = r.primitive.jvp({r.params, x, y, t, r.at}).t;
  }
  if (dy.size() != y.size())
    throw InternalError(fmt::format("[{}] jvp gave {} tangents for {} outputs", r.primitive.name, dy.size(), y.size()));
  Arrays out;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (dy[i].value() && !(type_of(dy[i]) == type_of(y[i])))
      throw InternalError(fmt::format("[{}] jvp gave a tangent {} for an output {}", r.primitive.name,
                                      type_of(dy[i]).str(), type_of(y[i]).str()));
    out.push_back(box(y[i], dy[i]));
    // Of no equation that a report could name, but remembers what it shows: what is kept of a derivative of a
    // derivative does not depend on who traces it.
    if (dy[i].value()) mutable_value(out.back()).origin = origin_of(r, static_cast<int>(i), 0);
  }
  return out;
}

JvpProgram jvp_program(const ir::Program& p, const std::vector<bool>& nonzero, const std::vector<bool>& force) {
  auto staging = std::make_shared<StagingTrace>("jvp");
  TraceLife life(staging);
  auto trace = std::make_shared<JvpTrace>(staging.get(), staging.get(), "jvp", staging->at);
  TraceLife trace_life(trace);
  Arrays in, out, tangents;
  for (ir::Var v : p.inputs) in.push_back(staging->add_input(p.type(v)));
  for (std::size_t i = 0; i < in.size(); ++i)
    if (nonzero[i]) in[i] = trace->box(in[i], staging->add_input(p.type(p.inputs[i])));
  {
    TraceScope scope(trace.get());
    out = evaluate(p, in);
  }
  JvpProgram result;
  TraceScope scope(staging.get());
  for (std::size_t i = 0; i < out.size(); ++i) {
    Array t = trace->tangent(out[i]);
    if (!t.value() && i < force.size() && force[i]) t = zeros_inside(type_of(out[i]));
    result.nonzero.push_back(t.value() != nullptr);
    if (t.value()) tangents.push_back(t);
    out[i] = trace->primal(out[i]);
  }
  out.insert(out.end(), tangents.begin(), tangents.end());
  result.program = staging->finish(out);
  result.captured = staging->constants();
  std::vector<ir::Var>& inputs = result.program.inputs;
  std::rotate(inputs.begin(), inputs.begin() + result.program.constants, inputs.end());
  result.program.constants = 0;
  return result;
}

namespace {

struct JvpKey {
  std::vector<bool> nonzero, force;
  friend bool operator==(const JvpKey&, const JvpKey&) = default;
};

}  // namespace

JvpProgram jvp_program(const ir::ProgramRef& p, const std::vector<bool>& nonzero, const std::vector<bool>& force) {
  JvpKey key{nonzero, force};
  if (auto found = p->memo.find<JvpProgram>(key)) return *found;
  JvpProgram j = jvp_program(*p, nonzero, force);
  if (j.captured.empty()) p->memo.add(std::move(key), j);
  return j;
}

ir::Tangents values_and_tangents(const Arrays& made, const std::vector<bool>& nonzero) {
  auto tangent = made.begin() + std::ssize(nonzero);
  Arrays y(made.begin(), tangent), t;
  for (bool some : nonzero) t.push_back(some ? *tangent++ : Array());
  return {std::move(t), std::move(y)};
}

Array zeros_inside(const Type& type) {
  Array zero = make_literal(ir::Literal::of(type.dtype, -0.0));
  return type.shape.ndim() == 0 ? zero : full(type.shape, zero, type.dtype);
}
Array zeros_for_user(const Type& type) { return zeros(type.shape, type.dtype); }

namespace flat {

std::pair<Arrays, Arrays> jvp(const FlatFunction& f, std::span<const Array> x, std::span<const Array> dx,
                              const Location& at) {
  detail::check_function(f, at);
  check_count(dx.size(), x.size(), "[jvp] tangents", at);
  const bool given = std::all_of(dx.begin(), dx.end(), [](const Array& t) { return t.value() != nullptr; });
  if (remembering() && given && !has_numbers(x)) {
    Arrays at_x = arguments_of(x, at), t;
    for (std::size_t i = 0; i < dx.size(); ++i) {
      check_operand(dx[i], at);
      t.push_back(dx[i].value()->weak && is_float(type_of(at_x[i]).dtype)
                      ? matching(dx[i], type_of(at_x[i]), "[jvp] the tangent must have the type of the argument", at)
                      : dx[i]);
    }
    Arrays both = remembered(
        {"jvp"}, f, types_of(at_x, at), at_x, t,
        [&](const FlatFunction& g, std::span<const Array> in, std::span<const Array> tangents) {
          auto [y, dy] = jvp(g, in, tangents, at);
          y.insert(y.end(), dy.begin(), dy.end());
          return y;
        },
        at);
    auto half = both.begin() + std::ssize(both) / 2;
    return {Arrays(both.begin(), half), Arrays(half, both.end())};
  }
  Trace* parent = current_trace();
  auto trace = std::make_shared<JvpTrace>(parent, parent, "jvp", at);
  TraceLife life(trace);
  Arrays in, y, dy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    check_operand(x[i], at);
    const Form form = form_of(x[i]);
    if (!is_float(form.type.dtype)) {
      check_no_tangent(dx[i], form.type, "jvp", "argument", i, at);
      in.push_back(form.number ? x[i] : as_argument(x[i]));
      continue;
    }
    Array t = matching(dx[i], form.type, "[jvp] the tangent must have the type of the argument", at);
    if (form.number) t = coerce(dx[i], f64, at);  // in full
    Array boxed = trace->box(as_argument(exact(x[i])), t);
    in.push_back(form.number ? as_number(boxed, form.type.dtype) : boxed);
  }
  {
    TraceScope scope(trace.get());
    y = f(in);
  }
  for (Array& out : y) {
    check_operand(out, at);
    const Form form = form_of(out);
    out = exact(out);
    Array t = trace->tangent(out);
    out = trace->primal(out);
    dy.push_back(t.value() ? t : zeros_for_user(type_of(out)));
    if (!form.number) continue;
    out = as_number(out, form.type.dtype);
    dy.back() = as_number(dy.back(), form.type.dtype);
  }
  return {std::move(y), std::move(dy)};
}

}  // namespace flat
}  // namespace anew
