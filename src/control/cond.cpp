// cond: one of several branches, chosen by an index when it runs; every branch is traced (spec/checkpoint.md 3.6).
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

const CondParams& of(const ParamsRef& p) { return static_cast<const CondParams&>(*p); }

Types infer_cond(const ir::InferArgs& a) {
  const auto& p = static_cast<const CondParams&>(a.params);
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
  const CondParams& p = of(params);
  std::int32_t index = 0;
  std::memcpy(&index, x[0].value()->data(), sizeof index);
  index = std::clamp(index, 0, static_cast<std::int32_t>(p.branches.size()) - 1);
  return evaluate(*p.branches[static_cast<std::size_t>(index)], x.subspan(1));
}

// `p` with its inputs replaced by other variables or literals, and given `inputs` instead.
void substitute(ir::Program& p, const std::vector<ir::Atom>& instead, const std::vector<ir::Var>& inputs) {
  std::vector<ir::Atom> map(p.types.size());
  for (std::size_t v = 0; v < map.size(); ++v) map[v] = static_cast<ir::Var>(v);
  for (std::size_t i = 0; i < p.inputs.size(); ++i) map[static_cast<std::size_t>(p.inputs[i])] = instead[i];
  auto replace = [&](ir::Atom& a) {
    if (a.is_var()) a = map[static_cast<std::size_t>(a.var)];
  };
  for (ir::Eqn& e : p.eqns) std::for_each(e.inputs.begin(), e.inputs.end(), replace);
  std::for_each(p.outputs.begin(), p.outputs.end(), replace);
  p.inputs = inputs;
}

}  // namespace

const ir::Primitive& cond_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "cond",
      .infer = infer_cond,
      .parse = &CondParams::parse,
      .batch = batch_cond,
      .run = run_cond,
      .nested_jvp = jvp_cond,
      .split = split_cond,
      .nested_transpose = transpose_cond,
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
    // Two handles of one value are one input.
    std::map<ir::Var, ir::Var> again;
    for (std::size_t i = 0; i < s.constants.size(); ++i) {
      ir::Var& v = vars[seen.at(identity(s.constants[i]))];
      if (v < 0) v = p.inputs[i];
      else again.emplace(p.inputs[i], v);
    }
    auto replace = [&](ir::Atom& a) {
      if (auto it = a.is_var() ? again.find(a.var) : again.end(); it != again.end()) a = it->second;
    };
    if (!again.empty()) {
      for (ir::Eqn& e : p.eqns) std::for_each(e.inputs.begin(), e.inputs.end(), replace);
      std::for_each(p.outputs.begin(), p.outputs.end(), replace);
    }
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
  // Operands: literals go inside, equal ones are one.
  std::map<Identity, std::size_t> seen;
  std::vector<std::size_t> kept, same_as(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].value()->literal) continue;
    auto [it, fresh] = seen.emplace(identity(operands[i]), i);
    same_as[i] = it->second;
    if (fresh) kept.push_back(i);
  }
  for (ir::Program& p : branches) {
    std::vector<ir::Atom> instead;
    std::vector<ir::Var> inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].value()->literal) instead.emplace_back(literal_of(operands[i]));
      else instead.emplace_back(p.inputs[same_as[i]]);
    }
    for (std::size_t i : kept) inputs.push_back(p.inputs[i]);
    substitute(p, instead, inputs);
    p = with_numbers_converted(std::move(p));
  }

  // Outputs, each the list of what it is in the branches: an operand and a literal are known by themselves.
  struct Place {
    std::vector<ir::Atom> atoms;
    std::size_t made = 0;  // which output of the equation it is, unless it goes around
    Array around;
  };
  std::size_t outputs = branches[0].outputs.size();
  std::vector<Place> places(outputs);
  std::vector<std::size_t> made;  // outputs of the equation, as outputs of the whole
  for (std::size_t i = 0; i < outputs; ++i) {
    Place& place = places[i];
    std::vector<std::size_t> operand;  // that it is, per branch
    bool literal = true;
    for (const ir::Program& p : branches) {
      const ir::Atom& a = p.outputs[i];
      place.atoms.push_back(a);
      literal = literal && !a.is_var() && a == branches[0].outputs[i];
      auto in = a.is_var() ? std::find(p.inputs.begin(), p.inputs.end(), a.var) : p.inputs.end();
      operand.push_back(static_cast<std::size_t>(in - p.inputs.begin()));
    }
    bool same = std::all_of(operand.begin(), operand.end(), [&](std::size_t k) { return k == operand[0]; });
    if (literal) place.around = make_literal(place.atoms[0].literal);
    else if (same && operand[0] < kept.size()) place.around = operands[kept[operand[0]]];
    if (place.around.value()) continue;
    auto twin = std::find_if(made.begin(), made.end(), [&](std::size_t k) { return places[k].atoms == place.atoms; });
    place.made = static_cast<std::size_t>(twin - made.begin());
    if (twin == made.end()) made.push_back(i);
  }

  Arrays out;
  bool effects = std::any_of(branches.begin(), branches.end(), [](const ir::Program& p) { return ir::has_effects(p); });
  if (!made.empty() || effects) {
    std::vector<bool> used(kept.size());
    for (ir::Program& p : branches) {
      std::vector<ir::Atom> wanted;
      for (std::size_t i : made) wanted.push_back(p.outputs[i]);
      p.outputs = std::move(wanted);
      p.constants = 0;
      std::vector<bool> needed = ir::eliminate_dead_code(p, std::vector<bool>(made.size(), true)).used_inputs;
      for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || needed[i];
    }
    auto params = std::make_shared<CondParams>();
    for (ir::Program& p : branches) {
      std::vector<ir::Var> inputs;
      for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i]) inputs.push_back(p.inputs[i]);
      p.inputs = std::move(inputs);
      params->branches.push_back(share(ir::eliminate_dead_code(p, std::vector<bool>(made.size(), true), true).program));
    }
    Arrays in{index};
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) in.push_back(operands[kept[i]]);
    out = anew::bind(cond_row(), params, in, at);
  }
  Arrays result;
  for (const Place& place : places) result.push_back(place.around.value() ? place.around : out[place.made]);
  return result;
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
