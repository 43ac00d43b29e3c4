// The backward pass.
#include "transforms/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ops/known_rows.h"
#include "trace/donation.h"
#include "transforms/split.h"

namespace anew {

Array add_cotangents(const Array& so_far, const Array& more, const Location& at) {
  if (!so_far.value()) return more;
  if (!more.value()) return so_far;
  return bind1(add_any_row(), {}, {so_far, more}, at);
}

namespace {

// Whether an earlier operand is the same variable: two carries of a loop may start from one value.
bool repeats(const ir::Eqn& e, std::size_t k) {
  auto end = e.inputs.begin() + static_cast<std::ptrdiff_t>(k);
  return std::find(e.inputs.begin(), end, e.inputs[k]) != end;
}

}  // namespace

Arrays backward_pass(const ir::Program& p, Arrays x, const std::vector<bool>& linear, std::span<const Array> ct,
                     Arrays accumulated) {
  auto index = [](ir::Var v) { return static_cast<std::size_t>(v); };
  std::vector<bool> is_linear(p.types.size());
  std::vector<int> maker(p.types.size(), -1);  // the equation of a value that is not linear (a constant made here)
  std::vector<std::size_t> first_use(p.types.size(), p.eqns.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) is_linear[index(p.inputs[i])] = linear[i];
  for (std::size_t i = 0; i < p.eqns.size(); ++i) {
    bool any = never_runs(*p.eqns[i].primitive);
    for (const ir::Atom& a : p.eqns[i].inputs) {
      if (!a.is_var()) continue;
      any = any || is_linear[index(a.var)];
      first_use[index(a.var)] = std::min(first_use[index(a.var)], i);
    }
    for (ir::Var v : p.eqns[i].outputs) {
      is_linear[index(v)] = any;
      if (!any) maker[index(v)] = static_cast<int>(i);
    }
  }

  std::vector<Array> value(p.types.size()), cts(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    if (linear[i]) cts[index(p.inputs[i])] = accumulated[i];
    else value[index(p.inputs[i])] = std::move(x[i]);
  }
  x.clear();
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const ir::Atom& a = p.outputs[i];
    if (a.is_var() && is_linear[index(a.var)])
      cts[index(a.var)] = add_cotangents(cts[index(a.var)], ct[i], Location::current());
  }

  // Values that are not linear: inputs, and constants made in the program, when they are first asked for.
  std::function<Array(const ir::Atom&)> read = [&](const ir::Atom& a) {
    if (!a.is_var()) return make_literal(a.literal);
    Array& v = value[index(a.var)];
    if (v.value() || maker[index(a.var)] < 0) return v;
    const ir::Eqn& e = p.eqns[static_cast<std::size_t>(maker[index(a.var)])];
    Arrays operands;
    for (const ir::Atom& x : e.inputs) operands.push_back(read(x));
    RuleScope rule(e.rule_of, e.at, e.mark);
    Arrays made = anew::bind(*e.primitive, e.params, operands, e.at);
    for (std::size_t k = 0; k < made.size(); ++k) value[index(e.outputs[k])] = made[k];
    return v;
  };

  auto linear_atom = [&](const ir::Atom& a) { return a.is_var() && is_linear[index(a.var)]; };
  Arrays in, out_ct, so_far;
  Types types;
  std::vector<bool> in_linear;
  for (std::size_t i = p.eqns.size(); i-- > 0;) {
    const ir::Eqn& e = p.eqns[i];
    bool any = false;
    if (e.outputs.empty() || !is_linear[index(e.outputs[0])]) continue;
    out_ct.clear();
    for (ir::Var v : e.outputs) {
      out_ct.push_back(std::move(cts[index(v)]));
      any = any || out_ct.back().value();
    }
    any = any && std::any_of(e.inputs.begin(), e.inputs.end(), linear_atom);  // else the cotangents go nowhere
    if (any) {
      in.clear(), so_far.clear(), types.clear(), in_linear.clear();
      for (const ir::Atom& a : e.inputs) {
        bool lin = linear_atom(a);
        in_linear.push_back(lin);
        types.push_back(p.type(a));
        in.push_back(lin ? Array() : read(a));
        so_far.push_back(lin && !repeats(e, so_far.size()) ? cts[index(a.var)] : Array());
      }
      for (const ir::Atom& a : e.inputs)
        if (a.is_var() && first_use[index(a.var)] == i) value[index(a.var)] = {};  // `in` has the last handles
      RuleScope rule(e.rule_of, e.at, {e.mark.region, e.mark.operation, true});
      if (e.primitive->higher_order()) {
        if (!e.primitive->nested_transpose) ir::missing_rule(*e.primitive, "nested_transpose", "control", e.at);
        Donation donation(in);
        Arrays now = e.primitive->nested_transpose({e.params, out_ct, in, types, in_linear, so_far, e.at});
        for (std::size_t k = 0; k < now.size(); ++k) {
          if (!in_linear[k]) continue;
          Array& c = cts[index(e.inputs[k].var)];
          c = repeats(e, k) ? add_cotangents(c, now[k], e.at) : now[k];
        }
      } else {
        if (!e.primitive->transpose) ir::missing_rule(*e.primitive, "transpose", "ops", e.at);
        Arrays more = e.primitive->transpose({e.params, out_ct, in, types, in_linear});
        for (std::size_t k = 0; k < more.size(); ++k) {
          if (!in_linear[k] || !more[k].value()) continue;
          if (!(type_of(more[k]) == types[k]))
            throw InternalError(fmt::format("[{}] transpose gave a cotangent {} for an input {}", e.primitive->name,
                                            type_of(more[k]).str(), types[k].str()));
          Array& c = cts[index(e.inputs[k].var)];
          c = add_cotangents(c, more[k], e.at);
        }
      }
      in.clear(), so_far.clear();
    }
    for (const ir::Atom& a : e.inputs)
      if (a.is_var() && first_use[index(a.var)] == i) value[index(a.var)] = {};
  }

  Arrays result(p.inputs.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (linear[i]) result[i] = cts[index(p.inputs[i])];
  return result;
}

}  // namespace anew
