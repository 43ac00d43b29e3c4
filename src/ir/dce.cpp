// Dead-code elimination, recursive through higher-order rows: an equation stays if one of its outputs is used or it
// must run; a row with a dce rule may shrink its equation. Variables are renumbered, so that a Program has no holes.
#include <algorithm>

#include "ir/effects.h"

namespace anew::ir {
namespace {

class Renumber {
 public:
  explicit Renumber(const Program& from) : from_(from), map_(from.types.size(), -1) {}
  Var operator()(Var v) {
    Var& to = map_[static_cast<std::size_t>(v)];
    if (to < 0) {
      to = static_cast<Var>(types.size());
      types.push_back(from_.type(v));
    }
    return to;
  }
  Atom operator()(const Atom& a) { return a.is_var() ? Atom((*this)(a.var)) : a; }
  std::vector<Type> types;

 private:
  const Program& from_;
  std::vector<Var> map_;
};

template <class T>
std::vector<T> select(const std::vector<T>& xs, const std::vector<bool>& keep) {
  std::vector<T> out;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (keep[i]) out.push_back(xs[i]);
  return out;
}

}  // namespace

Dce eliminate_dead_code(const Program& p, const std::vector<bool>& used_outputs, bool keep_inputs) {
  std::vector<bool> live(p.types.size());
  auto mark = [&](const Atom& a) {
    if (a.is_var()) live[static_cast<std::size_t>(a.var)] = true;
  };
  for (std::size_t i = 0; i < p.outputs.size(); ++i)
    if (used_outputs[i]) mark(p.outputs[i]);

  std::vector<Eqn> kept;
  for (std::size_t i = p.eqns.size(); i-- > 0;) {
    const Eqn& e = p.eqns[i];
    std::vector<bool> used;
    bool any = false;
    for (Var v : e.outputs) {
      used.push_back(live[static_cast<std::size_t>(v)]);
      any = any || used.back();
    }
    if (!any && !must_run(e)) continue;
    Eqn copy = e;
    if (e.primitive->dce) {
      DceResult r = e.primitive->dce(e, used);
      copy.params = r.params;
      copy.inputs = select(e.inputs, r.used_inputs);
      copy.outputs = select(e.outputs, r.kept_outputs);
    }
    for (const Atom& a : copy.inputs) mark(a);
    kept.push_back(std::move(copy));
  }

  Dce d;
  Renumber name(p);
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    bool used = keep_inputs || live[static_cast<std::size_t>(p.inputs[i])];
    d.used_inputs.push_back(used);
    if (!used) continue;
    d.program.inputs.push_back(name(p.inputs[i]));
    if (static_cast<int>(i) < p.constants) ++d.program.constants;
  }
  for (std::size_t i = kept.size(); i-- > 0;) {
    Eqn& e = kept[i];
    for (Atom& a : e.inputs) a = name(a);
    for (Var& v : e.outputs) v = name(v);
    d.program.eqns.push_back(std::move(e));
  }
  for (std::size_t i = 0; i < p.outputs.size(); ++i)
    if (used_outputs[i]) d.program.outputs.push_back(name(p.outputs[i]));
  d.program.types = std::move(name.types);
  verify_if_asked(d.program);
  return d;
}

namespace {

struct DceKey {
  std::vector<bool> used_outputs;
  bool keep_inputs;
  friend bool operator==(const DceKey&, const DceKey&) = default;
};

// Nothing was dropped: `p` may stand for the result. A rule that drops nothing gives its params back.
bool unchanged(const Program& p, const Dce& d) {
  const Program& q = d.program;
  return q.types.size() == p.types.size() && q.inputs.size() == p.inputs.size() && q.constants == p.constants &&
         q.outputs.size() == p.outputs.size() &&
         std::equal(p.eqns.begin(), p.eqns.end(), q.eqns.begin(), q.eqns.end(), [](const Eqn& a, const Eqn& b) {
           return a.params == b.params && a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size();
         });
}

}  // namespace

SharedDce eliminate_dead_code(const ProgramRef& p, const std::vector<bool>& used_outputs, bool keep_inputs) {
  auto made = p->memo.get(DceKey{used_outputs, keep_inputs}, [&] {
    Dce d = eliminate_dead_code(*p, used_outputs, keep_inputs);
    if (unchanged(*p, d)) return SharedDce{nullptr, std::move(d.used_inputs)};  // not p: it would hold itself
    auto q = std::make_shared<const Program>(std::move(d.program));
    q->memo.add(DceKey{std::vector<bool>(q->outputs.size(), true), keep_inputs},
                SharedDce{nullptr, std::vector<bool>(q->inputs.size(), true)});
    return SharedDce{std::move(q), std::move(d.used_inputs)};
  });
  return {made->program ? made->program : p, made->used_inputs};
}

}  // namespace anew::ir
