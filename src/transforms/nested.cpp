// Canonical form of equations that hold a Program.
#include "transforms/nested.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ops/known_rows.h"

namespace anew {
namespace {

// `p` with some inputs replaced: by another input (merged) or by a literal.
ir::Program substitute(const ir::Program& p, const std::vector<ir::Atom>& instead) {
  std::vector<ir::Atom> map(p.types.size());
  for (std::size_t v = 0; v < map.size(); ++v) map[v] = static_cast<ir::Var>(v);
  for (std::size_t i = 0; i < p.inputs.size(); ++i) map[static_cast<std::size_t>(p.inputs[i])] = instead[i];
  ir::Program q = p;
  auto replace = [&](ir::Atom& a) {
    if (a.is_var()) a = map[static_cast<std::size_t>(a.var)];
  };
  for (ir::Eqn& e : q.eqns)
    for (ir::Atom& a : e.inputs) replace(a);
  for (ir::Atom& a : q.outputs) replace(a);
  return q;
}

}  // namespace

ir::Program with_numbers_converted(ir::Program p) {
  std::unordered_map<ir::Var, ir::Atom> known;
  auto replace = [&](ir::Atom& a) {
    if (auto it = a.is_var() ? known.find(a.var) : known.end(); it != known.end()) a = it->second;
  };
  std::erase_if(p.eqns, [&](ir::Eqn& e) {
    std::for_each(e.inputs.begin(), e.inputs.end(), replace);
    if (e.inputs.size() != 1 || e.inputs[0].is_var() || e.primitive != &convert_row()) return false;
    const ir::Literal& l = e.inputs[0].literal;
    DType to = p.type(e.outputs[0]).dtype;
    known.emplace(e.outputs[0],
                  is_float(l.dtype) ? ir::Literal::of(to, l.as_double()) : ir::Literal::of(to, l.as_integer()));
    return true;
  });
  std::for_each(p.outputs.begin(), p.outputs.end(), replace);
  return p;
}

ir::ProgramRef share(ir::Program p) {
  p.depth = ir::nesting(p);
  return std::make_shared<const ir::Program>(std::move(p));
}

Arrays bind_nested(const Primitive& primitive, const MakeParams& params, const ir::Program& p,
                   std::span<const Array> inputs, const Location& at) {
  std::vector<ir::Atom> instead;
  std::map<Identity, ir::Var> seen;
  std::vector<ir::Var> kept_vars;
  Arrays kept;
  std::unordered_map<ir::Var, Array> outside;  // by variable of p: the array it is in the caller
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value()->literal) {
      instead.emplace_back(literal_of(inputs[i]));
    } else if (auto it = seen.find(identity(inputs[i])); it != seen.end()) {
      instead.emplace_back(it->second);
    } else {
      seen.emplace(identity(inputs[i]), p.inputs[i]);
      instead.emplace_back(p.inputs[i]);
      kept_vars.push_back(p.inputs[i]);
      kept.push_back(inputs[i]);
      outside.emplace(p.inputs[i], inputs[i]);
    }
  }
  ir::Program q = with_numbers_converted(substitute(p, instead));
  q.inputs = kept_vars;
  q.constants = 0;

  std::vector<ir::Atom> results = q.outputs;  // of the whole; those made inside are the new outputs
  std::unordered_map<ir::Var, std::size_t> inside;
  q.outputs.clear();
  for (const ir::Atom& a : results)
    if (a.is_var() && !outside.count(a.var) && inside.emplace(a.var, q.outputs.size()).second) q.outputs.push_back(a);

  Arrays made;
  if (!q.outputs.empty() || ir::has_effects(q)) {
    ir::Dce d = ir::eliminate_dead_code(q, std::vector<bool>(q.outputs.size(), true));
    Arrays used;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (d.used_inputs[i]) used.push_back(kept[i]);
    made = anew::bind(primitive, params(share(std::move(d.program))), used, at);
  }
  Arrays out;
  for (const ir::Atom& a : results) {
    if (!a.is_var()) out.push_back(make_literal(a.literal));
    else if (auto it = outside.find(a.var); it != outside.end()) out.push_back(it->second);
    else out.push_back(made[inside.at(a.var)]);
  }
  return out;
}

Closed close_over(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at) {
  Staged s = stage(f, forms_of(args, at), what, at);
  Closed c{std::move(s.program), std::move(s.constants), std::move(s.forms)};
  for (const Array& x : args) c.inputs.push_back(exact(x));
  c.program.constants = 0;
  return c;
}

}  // namespace anew
