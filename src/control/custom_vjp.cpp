// custom_vjp: f, whose backward pass the user gives. Differentiated, `forward` runs instead of f and keeps residuals;
// the tangents are a custom_lin equation, which only its transpose, the user's `backward`, can evaluate.
#include <anew/ops.h>
#include <fmt/format.h>

#include "control/custom.h"
#include "control/nested_rules.h"
#include "control/signature.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

const CustomLinParams& lin_of(const ParamsRef& p) { return p->as<CustomLinParams>(); }

ir::Tangents jvp_custom_vjp(const ir::JvpArgs& a) {
  const CustomVjpParams& p = a.params->as<CustomVjpParams>();
  const Location& at = a.at;
  check_captured(a.t, p.constants, a.x, "custom_vjp", at);
  std::span<const Array> primals = a.x.subspan(static_cast<std::size_t>(p.constants));
  detail::VjpResult made;
  {
    RuleScope rule(&custom_vjp_row(), at);
    made = p.forward.f(for_rule(primals, p.in));
  }
  LinearMap map{std::move(made.backward), {}, p.program->output_types(), p.in, p.out, {}, {}, p.symbolic_zeros};
  if (made.y.size() != map.out.size())
    throw Error(
        fmt::format("[custom_vjp] the forward rule returns {} outputs, the function {}", made.y.size(), map.out.size()),
        at);
  for (std::size_t i = 0; i < map.out.size(); ++i) {
    check_operand(made.y[i], at);
    made.y[i] = primal_of_rule(checked_result(made.y[i], map.out[i], p.out[i],
                                              fmt::format("[custom_vjp] output {} of the forward rule", i), at),
                               "custom_vjp", at);
  }
  Arrays operands = std::move(made.residuals);
  map.residuals = forms_of(operands, at);
  operands = exact(operands);
  auto q = std::make_shared<CustomLinParams>();
  q->residuals = static_cast<int>(operands.size());
  for (std::size_t i = 0; i < primals.size(); ++i) {
    const Array& dx = a.t[static_cast<std::size_t>(p.constants) + i];
    map.in.push_back(type_of(primals[i]));
    map.active.push_back(dx.value() != nullptr);
    if (dx.value()) operands.push_back(dx);
  }
  q->backward = {std::move(map), detail::new_function_key(), "backward"};
  Arrays tangents = anew::bind(custom_lin_row(), q, operands, at);
  Arrays t;
  std::size_t next = 0;
  for (const Type& type : q->backward.f.out) t.push_back(is_float(type.dtype) ? tangents[next++] : Array());
  return {std::move(t), std::move(made.y)};
}

// The user's backward pass, between batched arrays.
detail::VjpBackward batched(const detail::VjpBackward& backward, std::vector<bool> mapped_residuals,
                            std::vector<bool> mapped_in, std::int64_t size, const std::weak_ptr<Trace>& by) {
  return [=](std::span<const Array> residuals, std::span<const Array> ct) {
    auto trace = std::make_shared<BatchTrace>(current_trace(), size, by);
    TraceLife life(trace);
    Arrays res(residuals.begin(), residuals.end()), cts(ct.begin(), ct.end()), out;
    for (std::size_t i = 0; i < res.size(); ++i)
      if (mapped_residuals[i]) res[i] = trace->box(res[i]);
    for (Array& c : cts)
      if (c.value()) c = trace->box(c);
    {
      TraceScope scope(trace.get());
      out = backward(res, cts);
    }
    if (out.size() != mapped_in.size()) return out;  // the caller says so
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!out[i].value()) continue;
      out[i] = trace->unbox(out[i]);
      if (!mapped_in[i]) out[i] = sum(out[i], 0);  // what all examples share gets the cotangents of all
    }
    return out;
  };
}

ir::Batched batch_custom_vjp(const ir::BatchArgs& a) {
  const CustomVjpParams& p = a.params->as<CustomVjpParams>();
  auto q = std::make_shared<CustomVjpParams>(p);
  const CustomBatch b = batch_custom_call(*q, a);
  q->forward.variant += b.variant;
  q->forward.f = [forward = p.forward.f, mapped = b.mapped, any = b.any, size = a.size,
                  by = std::weak_ptr(a.trace)](std::span<const Array> x) {
    auto trace = std::make_shared<BatchTrace>(current_trace(), size, by);
    TraceLife life(trace);
    Arrays in(x.begin(), x.end());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (mapped[i]) in[i] = trace->box(in[i]);
    detail::VjpResult made;
    {
      TraceScope scope(trace.get());
      made = forward(in);
    }
    outputs_of_rule(made.y, *trace, any, by);
    if (!any) {
      outputs_of_rule(made.residuals, *trace, false, by);
      return made;
    }
    std::vector<bool> mapped_residuals;
    for (Array& r : made.residuals) {
      mapped_residuals.push_back(r.value() && trace->mapped(r));
      if (mapped_residuals.back()) r = trace->held(r);
    }
    made.backward = batched(made.backward, mapped_residuals, mapped, size, by);
    return made;
  };
  return {anew::bind(custom_vjp_row(), q, a.x, a.at), b.all};
}

// ---- custom_lin
Types infer_lin(const ir::InferArgs& a) {
  const auto& p = a.params.as<CustomLinParams>();
  const LinearMap& map = p.backward.f;
  require_groups("custom_lin", {p.residuals}, a.in.size(), a.at);
  Types tangents(a.in.begin() + p.residuals, a.in.end()), active;
  for (std::size_t i = 0; i < map.in.size(); ++i)
    if (map.active[i]) active.push_back(map.in[i]);
  require_fit(tangents == active, "custom_lin", "operands are not the tangents of the function's arguments", a.at);
  Types out;
  for (const Type& t : p.backward.f.out)
    if (is_float(t.dtype)) out.push_back(t);
  return out;
}

[[noreturn]] void no_forward_mode(const Location& at) {
  throw Error("[custom_vjp] forward mode (jvp) of a function with a custom_vjp, which has no jvp", at,
              "use vjp or grad, or give the function a custom_jvp");
}

Arrays transpose_lin(const ir::TransposeArgs& a) {
  const CustomLinParams& p = lin_of(a.params);
  const LinearMap& map = p.backward.f;
  auto n = static_cast<std::size_t>(p.residuals);
  for (std::size_t i = 0; i < n; ++i)
    if (a.linear[i])
      throw Error("[custom_vjp] a residual of the forward rule depends on a tangent", a.at,
                  "residuals are functions of the arguments alone");
  Arrays ct;
  std::size_t next = 0;
  for (const Type& t : map.out) {
    Array c = is_float(t.dtype) ? a.ct[next++] : Array();
    ct.push_back(c.value() || map.symbolic_zeros ? c : zeros_for_user(t));
  }
  Arrays made;
  {
    RuleScope rule(&custom_vjp_row(), a.at);
    made = map.backward(for_rule(a.x.first(n), map.residuals), for_rule(ct, map.out_forms));
  }
  if (made.size() != map.in.size())
    throw Error(fmt::format("[custom_vjp] the backward rule returns {} cotangents for {} arguments", made.size(),
                            map.in.size()),
                a.at, "return one cotangent per argument");
  Arrays out(a.in.size());
  next = n;
  for (std::size_t i = 0; i < map.in.size(); ++i) {
    if (!is_float(map.in[i].dtype)) continue;
    Array c = checked_result(made[i], map.in[i], map.in_forms[i],
                             fmt::format("[custom_vjp] cotangent {} of the backward rule", i), a.at);
    if (!map.active[i]) continue;
    if (a.linear[next]) out[next] = c;
    ++next;
  }
  return out;
}

ir::Batched batch_lin(const ir::BatchArgs& a) {
  const CustomLinParams& p = lin_of(a.params);
  auto q = std::make_shared<CustomLinParams>(p);
  LinearMap& map = q->backward.f;
  auto n = static_cast<std::size_t>(p.residuals);
  std::vector<bool> mapped_in(map.in.size());
  std::size_t next = n;
  for (std::size_t i = 0; i < map.in.size(); ++i) {
    if (!map.active[i]) continue;
    mapped_in[i] = a.mapped[next++];
    if (mapped_in[i]) map.in[i].shape.insert(0, a.size);
  }
  for (Type& t : map.out) t.shape.insert(0, a.size);
  map.backward = batched(p.backward.f.backward,
                         std::vector<bool>(a.mapped.begin(), a.mapped.begin() + static_cast<std::ptrdiff_t>(n)),
                         mapped_in, a.size, a.trace);
  q->backward.variant += fmt::format(" batch {} {}", a.size, fmt::join(a.mapped, ","));
  return {anew::bind(custom_lin_row(), q, a.x, a.at)};
}

}  // namespace

const ir::Primitive& custom_vjp_row() {
  static const ir::Primitive& row =
      *new ir::Primitive(custom_row("custom_vjp", &CustomVjpParams::parse, batch_custom_vjp, jvp_custom_vjp));
  return row;
}

const ir::Primitive& custom_lin_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "custom_lin",
      .infer = infer_lin,
      .parse = &CustomLinParams::parse,
      .run = [](const ParamsRef&, std::span<const Array>, const Location& at) -> Arrays { no_forward_mode(at); },
      .jvp = [](const ir::JvpArgs& a) -> ir::Tangents { no_forward_mode(a.at); },
      .transpose = transpose_lin,
      .batch = batch_lin,
      .facts = {.transpose_only = true},
  };
  return row;
}

namespace detail {

Arrays call_custom_vjp(const FlatFunction& f, VjpForward forward, std::shared_ptr<const void> key,
                       std::span<const Array> x, const CustomOptions& options, const Location& at) {
  auto p = std::make_shared<CustomVjpParams>();
  p->forward = {std::move(forward), std::move(key), "forward"};
  return bind_custom(custom_vjp_row(), p, *p, "custom_vjp", f, x, options, at);
}

}  // namespace detail

Arrays flat::custom_vjp(const FlatFunction& f, const VjpRules& rules, std::span<const Array> x,
                        const CustomOptions& options, const Location& at) {
  detail::check_function(rules.forward, at);
  detail::check_function(rules.backward, at);
  auto forward = [rules](std::span<const Array> in) {
    auto [y, residuals] = rules.forward(in);
    return detail::VjpResult{std::move(y), std::move(residuals), rules.backward};
  };
  return detail::call_custom_vjp(f, forward, detail::new_function_key(), x, options, at);
}

}  // namespace anew
