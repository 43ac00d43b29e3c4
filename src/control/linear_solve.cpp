// linear_solve: x of matvec(x) = b. With A dx = db - dA x a derivative is one more such equation, and the cotangent of
// b solves the transposed one; so all orders and both modes end in the user's solve.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/returned_by.h"
#include "control/cond.h"
#include "control/implicit.h"
#include "control/nested_rules.h"
#include "control/operands.h"
#include "control/signature.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

const LinearSolveParams& solve_of(const ParamsRef& p) { return p->as<LinearSolveParams>(); }

Types infer_linear_solve(const ir::InferArgs& a) {
  const auto& p = a.params.as<LinearSolveParams>();
  constexpr std::string_view op = "linear_solve";
  require_groups(op, {p.constants}, a.in.size(), a.at);
  const auto n = a.in.size() - static_cast<std::size_t>(p.constants);
  auto check = [&](std::string_view what, const ir::ProgramRef& program, bool more) {
    auto [in, out] = signature_of(op, what, program, a.at);
    require_fit(std::equal(in.begin(), in.end(), a.in.begin(), a.in.end()), op,
                fmt::format("operands do not have the types of the inputs of {}", what), a.at);
    require_fit(out.size() >= n && (more || out.size() == n) &&
                    std::equal(a.in.end() - static_cast<std::ptrdiff_t>(n), a.in.end(), out.begin()),
                op, fmt::format("{} does not give the types of b", what), a.at);
    return out;
  };
  for (std::size_t i = a.in.size() - n; i < a.in.size(); ++i)
    require_fit(is_float(a.in[i].dtype), op, "b is not of floating type", a.at);
  require_fit(p.transposed.empty() || p.transposed.size() == 2, op, "transposed is not a list of 0 or 2 programs",
              a.at);
  check("matvec", p.matvec, false);
  check("tangent_solve", p.tangent_solve, false);
  for (const ir::ProgramRef& t : p.transposed) check("transposed", t, false);
  return check("solve", p.solve, true);
}

// The same system for other right sides, in derivatives.
ParamsRef tangent_params(const LinearSolveParams& p) {
  auto t = std::make_shared<LinearSolveParams>(p);
  t->solve = p.tangent_solve;
  return t;
}
ParamsRef transposed_params(const LinearSolveParams& p) {
  auto t = std::make_shared<LinearSolveParams>();
  t->constants = p.constants;
  t->matvec = p.transposed[0];
  t->solve = t->tangent_solve = p.transposed[1];
  t->transposed = {p.matvec, p.tangent_solve};
  return t;
}

ir::Tangents jvp_linear_solve(const ir::JvpArgs& a) {
  const LinearSolveParams& p = solve_of(a.params);
  const auto n_const = static_cast<std::size_t>(p.constants), n = a.x.size() - n_const;
  Arrays y = anew::bind(linear_solve_row(), a.params, a.x, a.at), dy(y.size());
  RuleScope rule(&linear_solve_row(), a.at);
  const Arrays constants(a.x.begin(), a.x.begin() + p.constants);
  const Arrays x(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n));
  const Arrays moved = tangents_at(p.matvec, constants, x, Arrays(a.t.begin(), a.t.begin() + p.constants));  // dA x
  Arrays in = constants;
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Array& db = a.t[n_const + i];
    Array rhs = !moved[i].value() ? db : db.value() ? db - moved[i] : -moved[i];
    any = any || rhs.value();
    in.push_back(rhs.value() ? rhs : zeros_inside(type_of(x[i])));
  }
  if (any) {
    Arrays dx = anew::bind(linear_solve_row(), tangent_params(p), in, a.at);
    std::copy(dx.begin(), dx.end(), dy.begin());
  }
  return {dy, y};
}

Arrays transpose_linear_solve(const ir::TransposeArgs& a) {
  const LinearSolveParams& p = solve_of(a.params);
  const auto n_const = static_cast<std::size_t>(p.constants);
  for (std::size_t i = 0; i < n_const; ++i)
    if (a.linear[i]) throw InternalError("[linear_solve] is not linear in its constants", a.at);
  if (p.transposed.empty())
    throw Error("[custom_linear_solve] reverse mode needs the transposed system, and there is no transpose_solve", a.at,
                "give transpose_solve, or say that the matrix is symmetric");
  Arrays in(a.x.begin(), a.x.begin() + p.constants), out(a.in.size());
  for (std::size_t i = n_const; i < a.in.size(); ++i) {
    const Array& ct = a.ct[i - n_const];
    in.push_back(ct.value() ? ct : zeros_inside(a.in[i]));
  }
  Arrays ct = anew::bind(linear_solve_row(), transposed_params(p), in, a.at);
  for (std::size_t i = n_const; i < a.in.size(); ++i)
    if (a.linear[i]) out[i] = add_cotangents(a.accumulated[i], ct[i - n_const], a.at);
  return out;
}

ir::Batched batch_linear_solve(const ir::BatchArgs& a) {
  const LinearSolveParams& p = solve_of(a.params);
  Flags mapped(a.mapped.begin(), a.mapped.begin() + p.constants);
  mapped.resize(a.mapped.size(), true);
  auto q = std::make_shared<LinearSolveParams>();
  q->constants = p.constants;
  q->matvec = batched_whole(p.matvec, mapped, a.size);
  q->solve = batched_whole(p.solve, mapped, a.size);
  q->tangent_solve = batched_whole(p.tangent_solve, mapped, a.size);
  for (const ir::ProgramRef& t : p.transposed) q->transposed.push_back(batched_whole(t, mapped, a.size));
  return {anew::bind(linear_solve_row(), q, repeated(a, p.constants), a.at)};
}

}  // namespace

Arrays tangents_at(const ir::ProgramRef& f, const Arrays& constants, const Arrays& x, const Arrays& t) {
  Flags nonzero;
  Arrays in = constants;
  append(in, x);
  for (const Array& dc : t) {
    nonzero.push_back(dc.value() != nullptr);
    if (dc.value()) in.push_back(dc);
  }
  if (count(nonzero) == 0) return Arrays(f->outputs.size());
  nonzero.resize(constants.size() + x.size(), false);
  const JvpProgram j = jvp_program(f, nonzero);
  append(in, j.captured);
  Flags used(f->outputs.size(), false);  // values of f are of no use
  used.resize(j.program.outputs.size(), true);
  const ir::Dce d = ir::eliminate_dead_code(j.program, used, true);
  return merge(j.nonzero, evaluate(d.program, in));
}

ir::ProgramRef batched_whole(const ir::ProgramRef& p, const Flags& mapped, std::int64_t size) {
  return share(batch_program(p, mapped, size, Flags(p->outputs.size(), true)).program);
}

Arrays repeated(const ir::BatchArgs& a, int constants) {
  Arrays in(a.x.begin(), a.x.end());
  for (auto i = static_cast<std::size_t>(constants); i < in.size(); ++i)
    if (!a.mapped[i]) in[i] = repeat_in_front(in[i], a.size);
  return in;
}

void check_unknowns(std::string_view op, std::span<const Array> x, const Location& at) {
  if (x.empty()) throw Error(fmt::format("[{}] there is nothing to solve for: the tree holds no array", op), at);
  for (const Array& a : x)
    if (!is_float(type_of(a).dtype))
      throw Error(fmt::format("[{}] needs arrays of floating type, got {}", op, type_of(a).str()), at,
                  "convert with astype(x, f32)");
}

void check_types(std::string_view op, std::string_view what, const ir::Program& p, const Arrays& x, bool more,
                 const Location& at) {
  const Types want = types_of(x, at), got = p.output_types();
  if (got.size() < want.size() || (!more && got.size() != want.size()))
    throw Error(fmt::format("[{}] {} returns {} arrays, expected {}", op, what, got.size(), want.size()), at);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(got[i] == want[i]))
      throw Error(fmt::format("[{}] {} returns {}, expected {}", op, what, got[i].str(), want[i].str()), at,
                  "what is solved for, and both sides of the equation, have one type");
}

Staged stage_strong(const FlatFunction& f, const Arrays& x, std::string_view what, const Location& at) {
  return stage(f, types_of(x, at), what, at);
}

const ir::Primitive& linear_solve_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "linear_solve",
      .infer = infer_linear_solve,
      .parse = &LinearSolveParams::parse,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location&) { return evaluate(*solve_of(p).solve, x); },
      .jvp = jvp_linear_solve,
      .transpose = transpose_linear_solve,
      .batch = batch_linear_solve,
      .facts = {.holds_programs = true, .inlines = true},
  };
  return row;
}

namespace flat {

Arrays custom_linear_solve(const FlatFunction& matvec, std::span<const Array> b_given, const LinearSolveRules& rules,
                           const Location& at) {
  constexpr std::string_view op = "custom_linear_solve";
  detail::check_function(matvec, at);
  detail::check_function(rules.solve, at);
  Arrays b;
  for (const Array& x : b_given) {
    check_operand(x, at);
    b.push_back(strong(x, at));
  }
  check_unknowns(op, b, at);
  const auto n = b.size();
  std::vector<Staged> staged;
  auto add = [&](const FlatFunction& f, std::string_view what, bool more) {
    const ReturnedBy returned(op, what);
    staged.push_back(stage_strong(f, b, op, at));
    check_types(op, what, staged.back().program, b, more, at);
  };
  auto solved_by = [&](const LinearSolve& solve, const FlatFunction& with) -> FlatFunction {
    return [&solve, with](std::span<const Array> y) { return solve(with, y); };
  };
  auto without_more = [n](const FlatFunction& f) -> FlatFunction {
    return [f, n](std::span<const Array> y) {
      Arrays x = f(y);
      x.resize(std::min(x.size(), n));
      return x;
    };
  };
  add(matvec, "matvec(x)", false);
  add(solved_by(rules.solve, matvec), "solve(matvec, b)", true);
  const LinearSolve& tangent = rules.tangent_solve ? rules.tangent_solve : rules.solve;
  add(without_more(solved_by(tangent, matvec)), "solve(matvec, b)", false);
  const bool transposable = rules.symmetric || rules.transpose_solve;
  if (rules.transpose_solve && !rules.symmetric) {
    const Types types = types_of(b, at);
    FlatFunction vecmat = [&matvec, types, at](std::span<const Array> ct) {
      std::vector<ShapeDtype> given;
      for (const Type& t : types) given.push_back({t.shape, t.dtype});
      return flat::linear_transpose(matvec, given, ct, at);
    };
    add(vecmat, "the transpose of matvec", false);
    add(without_more(solved_by(rules.transpose_solve, vecmat)), "transpose_solve(vecmat, b)", false);
  }
  Joined j = join_captured(std::move(staged), b);
  auto p = std::make_shared<LinearSolveParams>();
  p->constants = static_cast<int>(j.inputs.size() - n);
  std::vector<ir::ProgramRef> programs;
  for (ir::Program& program : j.branches) programs.push_back(share(std::move(program)));
  p->matvec = programs[0];
  p->solve = programs[1];
  p->tangent_solve = programs[2];
  if (transposable)
    p->transposed =
        programs.size() == 5 ? std::vector{programs[3], programs[4]} : std::vector{programs[0], programs[2]};
  return anew::bind(linear_solve_row(), p, j.inputs, at);
}

}  // namespace flat
}  // namespace anew
