// custom_root: x of f(x) = 0. Where f depends on constants c, f'(x) dx = -(df/dc) dc; the user's tangent_solve solves
// that. It was traced as a function of constants, x and the right side, so that it is differentiated like anything
// else.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/returned_by.h"
#include "control/cond.h"
#include "control/implicit.h"
#include "control/operands.h"
#include "control/signature.h"
#include "transforms/jvp.h"

namespace anew {
namespace {

const RootParams& root_of(const ParamsRef& p) { return p->as<RootParams>(); }

Types infer_custom_root(const ir::InferArgs& a) {
  const auto& p = a.params.as<RootParams>();
  constexpr std::string_view op = "custom_root";
  require_groups(op, {p.constants}, a.in.size(), a.at);
  const Types constants(a.in.begin(), a.in.begin() + p.constants), x(a.in.begin() + p.constants, a.in.end());
  for (const Type& t : x) require_fit(is_float(t.dtype), op, "the guess is not of floating type", a.at);
  auto check = [&](std::string_view what, const ir::ProgramRef& program, bool twice, bool more) {
    auto [in, out] = signature_of(op, what, program, a.at);
    Types want = constants;
    append(want, x);
    if (twice) append(want, x);
    require_fit(in == want, op, fmt::format("operands do not have the types of the inputs of {}", what), a.at);
    require_fit(
        out.size() >= x.size() && (more || out.size() == x.size()) && std::equal(x.begin(), x.end(), out.begin()), op,
        fmt::format("{} does not give the types of the guess", what), a.at);
    return out;
  };
  check("f", p.f, false, false);
  check("tangent_solve", p.tangent_solve, true, false);
  return check("solve", p.solve, false, true);
}

ir::Tangents jvp_custom_root(const ir::JvpArgs& a) {
  const RootParams& p = root_of(a.params);
  const auto n_const = static_cast<std::size_t>(p.constants), n = a.x.size() - n_const;
  Arrays y = anew::bind(custom_root_row(), a.params, a.x, a.at), dy(y.size());
  RuleScope rule(&custom_root_row(), a.at);
  const Arrays constants(a.x.begin(), a.x.begin() + p.constants);
  const Arrays x(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n));
  Arrays moved = tangents_at(p.f, constants, x, Arrays(a.t.begin(), a.t.begin() + p.constants));
  Arrays in = constants;
  append(in, x);
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    any = any || moved[i].value();
    in.push_back(moved[i].value() ? -moved[i] : zeros_inside(type_of(x[i])));
  }
  if (any) {
    Arrays dx = evaluate(*p.tangent_solve, in);
    std::copy(dx.begin(), dx.end(), dy.begin());
  }
  return {dy, y};
}

ir::Batched batch_custom_root(const ir::BatchArgs& a) {
  const RootParams& p = root_of(a.params);
  Flags mapped(a.mapped.begin(), a.mapped.begin() + p.constants);
  mapped.resize(a.mapped.size(), true);
  Flags twice = mapped;
  twice.resize(p.tangent_solve->inputs.size(), true);
  auto q = std::make_shared<RootParams>();
  q->constants = p.constants;
  q->f = batched_whole(p.f, mapped, a.size);
  q->solve = batched_whole(p.solve, mapped, a.size);
  q->tangent_solve = batched_whole(p.tangent_solve, twice, a.size);
  return {anew::bind(custom_root_row(), q, repeated(a, p.constants), a.at)};
}

}  // namespace

const ir::Primitive& custom_root_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "custom_root",
      .infer = infer_custom_root,
      .parse = &RootParams::parse,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location&) { return evaluate(*root_of(p).solve, x); },
      .jvp = jvp_custom_root,
      .batch = batch_custom_root,
      .facts = {.holds_programs = true, .inlines = true},
  };
  return row;
}

namespace flat {

Arrays custom_root(const FlatFunction& f, std::span<const Array> guess, const RootRules& rules, const Location& at) {
  constexpr std::string_view op = "custom_root";
  detail::check_function(f, at);
  detail::check_function(rules.solve, at);
  detail::check_function(rules.tangent_solve, at);
  Arrays x0;
  for (const Array& x : guess) {
    check_operand(x, at);
    x0.push_back(strong(x, at));
  }
  check_unknowns(op, x0, at);
  const auto n = static_cast<std::ptrdiff_t>(x0.size());
  std::vector<Staged> staged;
  auto add = [&](const FlatFunction& g, const Arrays& in, std::string_view what, bool more) {
    const ReturnedBy returned(op, what);
    staged.push_back(stage_strong(g, in, op, at));
    check_types(op, what, staged.back().program, x0, more, at);
  };
  add(f, x0, "f(x)", false);
  add(rules.solve, x0, "solve(f, x0)", true);
  Arrays twice = x0;
  append(twice, x0);
  auto linearized = [&](std::span<const Array> in) {
    const Linear g = flat::linearize(f, in.first(static_cast<std::size_t>(n)), {.at = at}).second;
    const Arrays y(in.begin() + n, in.end());
    return rules.tangent_solve([g, at](std::span<const Array> dx) { return g(dx, at); }, y);
  };
  add(linearized, twice, "tangent_solve(g, y)", false);
  Joined j = join_captured(std::move(staged), x0);
  auto p = std::make_shared<RootParams>();
  p->constants = static_cast<int>(j.inputs.size()) - static_cast<int>(n);
  p->f = share(std::move(j.branches[0]));
  p->solve = share(std::move(j.branches[1]));
  p->tangent_solve = share(std::move(j.branches[2]));
  return anew::bind(custom_root_row(), p, j.inputs, at);
}

}  // namespace flat
}  // namespace anew
