// Common subexpressions, per Program: two equations with the same primitive, params and operands are one, the first,
// with its line. Equations with effects are never merged. A nested Program is a closed world: the recomputation inside
// a differentiated checkpoint is not found again in the forward pass outside, or checkpointing would be undone. So this
// runs before calls are inlined, and nothing is merged afterwards.
#include <unordered_map>

#include "passes/passes.h"

namespace anew::passes {
namespace {

std::size_t hash_of(const ir::Eqn& e) {
  std::size_t h = std::hash<const ir::Primitive*>{}(e.primitive);
  hash_combine(h, e.params->hash());
  for (const ir::Atom& a : e.inputs)
    hash_combine(h, a.is_var() ? static_cast<std::size_t>(a.var)
                               : a.literal.bits ^ (static_cast<std::size_t>(a.literal.dtype) + 1) << 56);
  return h;
}
bool same(const ir::Eqn& a, const ir::Eqn& b) {
  return a.primitive == b.primitive && a.inputs == b.inputs && (a.params == b.params || a.params->equals(*b.params));
}

bool merge(ir::Program& p) {
  std::vector<ir::Var> instead(p.types.size());
  for (std::size_t v = 0; v < instead.size(); ++v) instead[v] = static_cast<ir::Var>(v);
  auto replace = [&](ir::Atom& a) {
    if (a.is_var()) a.var = instead[a.var];
  };
  std::unordered_multimap<std::size_t, std::size_t> seen;  // hash -> place in `kept`
  std::vector<ir::Eqn> kept;
  kept.reserve(p.eqns.size());
  for (ir::Eqn& e : p.eqns) {
    for (ir::Atom& a : e.inputs) replace(a);
    if (!ir::has_effects(e)) {
      const std::size_t h = hash_of(e);
      auto [first, last] = seen.equal_range(h);
      while (first != last && !same(kept[first->second], e)) ++first;
      if (first != last) {
        const ir::Eqn& earlier = kept[first->second];
        for (std::size_t i = 0; i < e.outputs.size(); ++i) instead[e.outputs[i]] = earlier.outputs[i];
        continue;
      }
      seen.emplace(h, kept.size());
    }
    kept.push_back(std::move(e));
  }
  for (ir::Atom& a : p.outputs) replace(a);
  const bool changed = kept.size() != p.eqns.size();
  p.eqns = std::move(kept);
  return changed;
}

}  // namespace

ir::Program eliminate_common(const ir::Program& p) { return rewrite(p, merge); }

}  // namespace anew::passes
