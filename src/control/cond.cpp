// cond: one of several branches, chosen by an index when it runs; every branch is traced.
// The row clamps its index, so that any i32 chooses a branch.
#include "control/cond.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "control/signature.h"
#include "ops/known_rows.h"

namespace anew {
namespace {

Types infer_cond(const ir::InferArgs& a) {
  const auto& p = a.params.as<CondParams>();
  auto fit = [&](bool ok, std::string_view what) { require_fit(ok, "cond", what, a.at); };
  fit(!p.branches.empty(), "has no branches");
  fit(!a.in.empty() && a.in[0] == Type{{}, i32}, "operand 0 is not an i32 index");
  Types first;
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    auto [in, out] = signature_of("cond", fmt::format("branch {}", b), p.branches[b], a.at);
    fit(std::equal(in.begin(), in.end(), a.in.begin() + 1, a.in.end()),
        fmt::format("operands do not have the types of the inputs of branch {}", b));
    fit(b == 0 || out == first, fmt::format("branch {} gives other types than branch 0", b));
    if (b == 0) first = std::move(out);
  }
  return first;
}

Arrays run_cond(const ParamsRef& params, std::span<const Array> x, const Location&) {
  const CondParams& p = params->as<CondParams>();
  std::int32_t index = 0;
  std::memcpy(&index, x[0].value()->data(), sizeof index);
  index = std::clamp(index, 0, static_cast<std::int32_t>(p.branches.size()) - 1);
  return evaluate(*p.branches[static_cast<std::size_t>(index)], x.subspan(1));
}

}  // namespace

const ir::Primitive& cond_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "cond",
      .infer = infer_cond,
      .parse = &CondParams::parse,
      .run = run_cond,
      .jvp = jvp_cond,
      .transpose = transpose_cond,
      .batch = batch_cond,
      .facts = {.holds_programs = true},
      .split = split_cond,
      .dce = dce_cond,
  };
  return row;
}

Joined join_captured(std::vector<Staged> staged, std::span<const Array> inputs) {
  Joined joined;
  std::map<Identity, std::size_t> seen;
  for (const Staged& s : staged)
    for (const Array& c : s.constants)
      if (seen.emplace(identity(c), joined.inputs.size()).second) joined.inputs.push_back(c);
  std::size_t captured = joined.inputs.size();
  for (Staged& s : staged) {
    ir::Program& p = s.program;
    std::vector<ir::Var> vars(captured, -1);
    Substitution same;  // two handles of one value are one input
    for (std::size_t i = 0; i < s.constants.size(); ++i)
      if (same.keeps(i, s.constants[i])) vars[seen.at(identity(s.constants[i]))] = p.inputs[i];
    same.apply(p);
    for (std::size_t i = 0; i < captured; ++i) {
      if (vars[i] >= 0) continue;
      vars[i] = static_cast<ir::Var>(p.types.size());
      p.types.push_back(type_of(joined.inputs[i]));
    }
    vars.insert(vars.end(), p.inputs.begin() + p.constants, p.inputs.end());
    p.inputs = std::move(vars);
    p.constants = 0;
    joined.branches.push_back(std::move(p));
  }
  joined.inputs.insert(joined.inputs.end(), inputs.begin(), inputs.end());
  return joined;
}

Arrays bind_cond(BranchPrograms branches, const Array& index, std::span<const Array> operands, const Location& at) {
  auto params = [](std::vector<ir::ProgramRef> programs) {
    auto p = std::make_shared<CondParams>();
    p->branches = std::move(programs);
    return p;
  };
  return bind_branches(cond_row(), params, std::move(branches), {index}, operands, at);
}

namespace flat {
namespace {

// Output `i` of a branch, as this dtype.
void convert_output(ir::Program& p, std::size_t i, DType to, const Location& at) {
  ir::Atom& a = p.outputs[i];
  const Type from = p.type(a);
  if (from.dtype == to) return;
  p.eqns.push_back({&convert_row(), convert_params(to), {a}, {static_cast<ir::Var>(p.types.size())}, at, nullptr});
  a = static_cast<ir::Var>(p.types.size());
  p.types.push_back({from.shape, to});
}

std::string branch_name(std::string_view what, std::size_t b) {
  if (what == "cond") return b == 0 ? "branch 0 (on_false)" : "branch 1 (on_true)";
  return fmt::format("branch {}", b);
}

// Numbers that a branch returns take the dtype of the other branches; where all return numbers, so does the choice.
Forms agree(std::vector<Staged>& staged, std::string_view what, const Location& at) {
  for (std::size_t b = 1; b < staged.size(); ++b)
    if (staged[b].forms.size() != staged[0].forms.size())
      throw Error(
          fmt::format("[{}] branches return different numbers of arrays: {} returns {}, {} returns {}", what,
                      branch_name(what, 0), staged[0].forms.size(), branch_name(what, b), staged[b].forms.size()),
          at, "all branches must return the same structure");
  Forms forms;
  for (std::size_t i = 0; i < staged[0].forms.size(); ++i) {
    auto form = [&](std::size_t b) -> const Form& { return staged[b].forms[i]; };
    // The first array, or else the first number of a floating type, is what the others follow.
    auto rank = [&](std::size_t b) { return !form(b).number ? 2 : is_float(form(b).type.dtype) ? 1 : 0; };
    std::size_t model = 0;
    for (std::size_t b = 1; b < staged.size(); ++b)
      if (rank(b) > rank(model)) model = b;
    const Type want = form(model).type;
    const DType inside = form(model).number ? wide(want.dtype) : want.dtype;
    for (std::size_t b = 0; b < staged.size(); ++b) {
      const Type& type = form(b).type;
      bool follows =
          form(b).number && want.shape.ndim() == 0 && (is_float(inside) || is_integer(type.dtype)) && inside != bool_;
      if (!follows && !(type == want))
        throw Error(fmt::format("[{}] branches return different types: result {} is {} in {} but {} in {}", what, i,
                                form(std::min(b, model)).type.str(), branch_name(what, std::min(b, model)),
                                form(std::max(b, model)).type.str(), branch_name(what, std::max(b, model))),
                    at, "convert or reshape what a branch returns, so that all branches return the same types");
      if (follows) convert_output(staged[b].program, i, inside, at);
    }
    forms.push_back(form(model));
  }
  return forms;
}

Arrays choose(const Array& index, std::span<const FlatFunction> branches, std::span<const Array> operands,
              std::string_view what, const Location& at) {
  for (const FlatFunction& f : branches) detail::check_function(f, at);
  if (runs_uncompiled(std::span(&index, 1))) {
    Arrays out = branches[static_cast<std::size_t>(index.item<int>())](operands);
    for (const Array& y : out) check_operand(y, at);
    return out;
  }
  const Forms operand_forms = forms_of(operands, at);
  std::vector<Staged> staged;
  for (const FlatFunction& f : branches) staged.push_back(stage(f, operand_forms, what, at));
  const Forms forms = agree(staged, what, at);
  Joined j = join_captured(std::move(staged), exact(operands));
  return as_formed(bind_cond(std::move(j.branches), index, j.inputs, at), forms);
}

Array literal_index(std::int64_t i, std::size_t branches) {
  return make_literal(ir::Literal::of(i32, std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(branches) - 1)));
}

}  // namespace

Arrays switch_(const Array& index, const std::vector<FlatFunction>& branches, std::span<const Array> operands,
               const Location& at) {
  if (branches.empty()) throw Error("[switch_] got no branches", at, "give at least one function");
  check_operand(index, at);
  Type t = type_of(index);
  if (t.shape.ndim() != 0 || !is_integer(t.dtype))
    throw Error(fmt::format("[switch_] the index must be an integer scalar, got {}", t.str()), at,
                t.dtype == bool_ ? "for a bool use cond" : "");
  if (branches.size() == 1) {
    detail::check_function(branches[0], at);
    Arrays out = branches[0](operands);
    for (const Array& y : out) check_operand(y, at);
    return out;
  }
  Array i;
  if (index.value()->literal) {
    i = literal_index(literal_of(index).as_integer(), branches.size());
  } else {
    // Clamped before it is narrowed, so that no large number wraps into range.
    PinLine pin(at);
    i = lax::clamp(0, index, static_cast<std::int64_t>(branches.size()) - 1);
    if (t.dtype != i32) i = astype(i, i32);
  }
  return choose(i, branches, operands, "switch_", at);
}

Arrays cond(const Array& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
            std::span<const Array> operands, const Location& at) {
  check_operand(predicate, at);
  Type t = type_of(predicate);
  if (t.shape.ndim() != 0)
    throw Error(fmt::format("[cond] the predicate must be a scalar, got {}", t.str()), at,
                "reduce it with all or any, or choose element by element with where");
  if (is_float(t.dtype))
    throw Error(fmt::format("[cond] the predicate must be bool or an integer, got {}", t.str()), at,
                "compare it, e.g. x > 0");
  Array index;
  {
    PinLine pin(at);
    if (predicate.value()->literal) index = literal_index(literal_of(predicate).as_integer() != 0, 2);
    else index = astype(t.dtype == bool_ ? predicate : predicate != 0, i32);
  }
  return choose(index, std::vector{on_false, on_true}, operands, "cond", at);
}

}  // namespace flat
}  // namespace anew
