// Equations that give a part of what others give. Dead code says what each result alone takes: results for which the
// same is left are the same.
#include <algorithm>

#include "passes/passes.h"

namespace anew::passes {
namespace {

// What is left of an equation for one of its results.
struct Alone {
  ir::ParamsRef params;
  std::vector<ir::Atom> inputs;
  std::ptrdiff_t result;  // among those that are left

  friend bool operator==(const Alone& a, const Alone& b) {
    return a.inputs == b.inputs && a.result == b.result && (a.params == b.params || a.params->equals(*b.params));
  }
};

std::vector<Alone> results_of(const ir::Eqn& e) {
  std::vector<Alone> out;
  for (std::size_t k = 0; k < e.outputs.size(); ++k) {
    std::vector<bool> only(e.outputs.size());
    only[k] = true;
    const ir::DceResult left = e.primitive->dce(e, only);
    Alone alone{left.params, {}, std::count(left.kept_outputs.begin(), left.kept_outputs.begin() + k, true)};
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      if (left.used_inputs[i]) alone.inputs.push_back(e.inputs[i]);
    out.push_back(std::move(alone));
  }
  return out;
}

struct Earlier {
  const ir::Eqn* equation;
  std::vector<Alone> results;
};

}  // namespace

ir::Program eliminate_parts(const ir::Program& p) {
  ir::Program now = p;
  std::vector<ir::Var> instead(now.types.size());
  for (std::size_t v = 0; v < instead.size(); ++v) instead[v] = static_cast<ir::Var>(v);
  auto replace = [&](ir::Atom& a) {
    if (a.is_var()) a.var = instead[a.var];
  };
  std::vector<Earlier> earlier;
  for (ir::Eqn& e : now.eqns) {
    for (ir::Atom& a : e.inputs) replace(a);
    // What calls hold is seen when they are inlined; a checkpoint computes again on purpose.
    if (!e.primitive->dce || e.primitive->facts.inlines || ir::has_effects(e)) continue;
    Earlier here{&e, results_of(e)};
    for (const Earlier& other : earlier) {
      if (other.equation->primitive != e.primitive) continue;
      for (std::size_t k = 0; k < here.results.size(); ++k)
        for (std::size_t j = 0; j < other.results.size(); ++j)
          if (instead[e.outputs[k]] == e.outputs[k] && here.results[k] == other.results[j])
            instead[e.outputs[k]] = other.equation->outputs[j];
    }
    earlier.push_back(std::move(here));
  }
  for (ir::Atom& a : now.outputs) replace(a);
  return eliminate_dead_code(now);
}

}  // namespace anew::passes
