// custom_jvp: f, differentiated by the user's rule (primals, tangents) -> (outputs, tangents of the outputs). The rule
// runs under the trace that the rules of rows run under, so that all transformations see what it does.
#include <fmt/format.h>

#include "control/custom.h"
#include "control/nested_rules.h"
#include "control/signature.h"
#include "ops/promote.h"
#include "transforms/jvp.h"
#include "transforms/vmap.h"

namespace anew {

bool is_symbolic_zero(const Array& x) { return !x.value(); }

Array checked_result(const Array& given, const Type& type, const Form& form, const std::string& what,
                     const Location& at) {
  const Value* v = given.value();
  if (!v) return given;
  check_operand(given, at);
  if (v->weak && type.shape.ndim() == 0 && (is_float(type.dtype) || !is_float(v->type.dtype)))
    return coerce(given, type.dtype, at);
  if (form.number && v->type.shape == type.shape && is_float(v->type.dtype) && is_float(type.dtype))
    return coerce(given, type.dtype, at);
  if (!(v->type == type))
    throw Error(
        fmt::format("{} has type {}, expected {}", what, v->type.str(), form.number ? form.type.str() : type.str()),
        at);
  return given;
}

Arrays for_rule(std::span<const Array> x, const Forms& forms) {
  Arrays out(x.begin(), x.end());
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (forms[i].number && out[i].value()) out[i] = as_number(out[i], forms[i].type.dtype);
  return out;
}

void check_captured(std::span<const Array> t, int constants, std::span<const Array> x, std::string_view op,
                    const Location& at) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(constants); ++i)
    if (t[i].value())
      throw Error(fmt::format("[{}] the function captures a value of type {} that is being differentiated; its rule "
                              "gives derivatives of arguments only",
                              op, type_of(x[i]).str()),
                  at, "pass the value as an argument");
}

Array primal_of_rule(const Array& y, std::string_view op, const Location& at) {
  auto* split = dynamic_cast<SplitTrace*>(current_trace());
  if (!split) return y;
  if (split->unknown(y))
    throw Error(fmt::format("[{}] an output that the rule returns depends on a tangent", op), at,
                "outputs are functions of the primals alone");
  return split->known(y);
}

void outputs_of_rule(Arrays& y, const BatchTrace& trace, bool mapped, const std::weak_ptr<Trace>& by) {
  for (Array& a : y) {
    if (!a.value()) continue;
    if (mapped) a = trace.unbox(a);
    else if (trace.mapped(a)) throw GivesMapped{by.lock().get()};
  }
}

namespace {

ir::Tangents jvp_custom_jvp(const ir::JvpArgs& a) {
  const CustomJvpParams& p = a.params->as<CustomJvpParams>();
  const Location& at = a.at;
  check_captured(a.t, p.constants, a.x, "custom_jvp", at);
  auto n = static_cast<std::size_t>(p.constants);
  std::span<const Array> primals = a.x.subspan(n);
  Arrays tangents(a.t.begin() + p.constants, a.t.end());
  for (std::size_t i = 0; i < tangents.size(); ++i)
    if (!tangents[i].value() && !p.symbolic_zeros) tangents[i] = zeros_for_user(type_of(primals[i]));
  std::pair<Arrays, Arrays> made;
  {
    RuleScope rule(&custom_jvp_row(), at);
    made = p.rule.f(for_rule(primals, p.in), for_rule(tangents, p.in));
  }
  auto& [y, dy] = made;
  Types want = p.program->output_types();
  if (y.size() != want.size() || dy.size() != want.size())
    throw Error(fmt::format("[custom_jvp] the rule returns {} outputs and {} tangents for {} outputs of the function",
                            y.size(), dy.size(), want.size()),
                at);
  for (std::size_t i = 0; i < want.size(); ++i) {
    check_operand(y[i], at);
    y[i] = primal_of_rule(
        checked_result(y[i], want[i], p.out[i], fmt::format("[custom_jvp] output {} of the rule", i), at), "custom_jvp",
        at);
    if (!is_float(want[i].dtype)) dy[i] = {};
    else dy[i] = checked_result(dy[i], want[i], p.out[i], fmt::format("[custom_jvp] tangent {} of the rule", i), at);
  }
  return {std::move(dy), std::move(y)};
}

ir::Batched batch_custom_jvp(const ir::BatchArgs& a) {
  const CustomJvpParams& p = a.params->as<CustomJvpParams>();
  auto q = std::make_shared<CustomJvpParams>(p);
  const CustomBatch b = batch_custom_call(*q, a);
  q->rule.variant += b.variant;
  q->rule.f = [rule = p.rule.f, mapped = b.mapped, any = b.any, size = a.size, by = std::weak_ptr(a.trace)](
                  std::span<const Array> primals, std::span<const Array> tangents) {
    auto trace = std::make_shared<BatchTrace>(current_trace(), size, by);
    TraceLife life(trace);
    auto boxed = [&](std::span<const Array> xs) {
      Arrays out(xs.begin(), xs.end());
      for (std::size_t i = 0; i < out.size(); ++i)
        if (mapped[i] && out[i].value()) out[i] = trace->box(out[i]);
      return out;
    };
    Arrays x = boxed(primals), t = boxed(tangents);
    std::pair<Arrays, Arrays> made;
    {
      TraceScope scope(trace.get());
      made = rule(x, t);
    }
    for (Arrays* list : {&made.first, &made.second}) outputs_of_rule(*list, *trace, any, by);
    return made;
  };
  return {anew::bind(custom_jvp_row(), q, a.x, a.at), b.all};
}

}  // namespace

const ir::Primitive& custom_jvp_row() {
  static const ir::Primitive& row =
      *new ir::Primitive(custom_row("custom_jvp", &CustomJvpParams::parse, batch_custom_jvp, jvp_custom_jvp));
  return row;
}

namespace detail {

Arrays call_custom_jvp(const FlatFunction& f, flat::JvpRule rule, std::shared_ptr<const void> key,
                       std::span<const Array> x, const CustomOptions& options, const Location& at) {
  auto p = std::make_shared<CustomJvpParams>();
  p->rule = {std::move(rule), std::move(key), "jvp"};
  return bind_custom(custom_jvp_row(), p, *p, "custom_jvp", f, x, options, at);
}

}  // namespace detail

Arrays flat::custom_jvp(const FlatFunction& f, const JvpRule& rule, std::span<const Array> x,
                        const CustomOptions& options, const Location& at) {
  detail::check_function(rule, at);
  return detail::call_custom_jvp(f, rule, detail::new_function_key(), x, options, at);
}

}  // namespace anew
