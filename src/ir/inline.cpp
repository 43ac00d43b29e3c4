// Inlining, and which Programs hold functions of users.
#include "ir/inline.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/primitive.h"

namespace anew::ir {
namespace {

class Inliner {
 public:
  Inliner(const Callee& callee, const Stays& stays) : callee_(callee), stays_(stays) {}

  // Nothing where p has no call, and holds none.
  std::optional<Program> run(const Program& p) {
    Program out;
    bool changed = false;
    std::vector<Atom> inputs;
    for (Var v : p.inputs) {
      out.inputs.push_back(add(out, p.type(v)));
      inputs.emplace_back(out.inputs.back());
    }
    out.constants = p.constants;
    out.outputs = splice(p, inputs, out, changed);
    if (!changed) return {};
    return out;
  }

 private:
  static Var add(Program& out, const Type& type) {
    out.types.push_back(type);
    return static_cast<Var>(out.types.size()) - 1;
  }

  // Adds the equations of p on these operands to `out`; gives its outputs.
  std::vector<Atom> splice(const Program& p, const std::vector<Atom>& operands, Program& out, bool& changed) {
    std::vector<Atom> here(p.types.size());
    for (std::size_t i = 0; i < operands.size(); ++i) here[static_cast<std::size_t>(p.inputs[i])] = operands[i];
    auto all = [&](const std::vector<Atom>& atoms) {
      std::vector<Atom> named;
      named.reserve(atoms.size());
      for (const Atom& a : atoms) named.push_back(a.is_var() ? here[static_cast<std::size_t>(a.var)] : a);
      return named;
    };
    for (const Eqn& e : p.eqns) {
      Eqn copy{e.primitive, e.params, all(e.inputs), {}, e.at, e.rule_of, e.mark};
      std::vector<Atom> results;
      if (ProgramRef called = call(copy, out)) {
        changed = true;
        results = splice(*called, copy.inputs, out, changed);
      } else {
        if (e.primitive->higher_order()) changed = rewrite(copy) || changed;
        for (Var v : e.outputs) copy.outputs.push_back(add(out, p.type(v)));
        results.assign(copy.outputs.begin(), copy.outputs.end());
        out.eqns.push_back(std::move(copy));
      }
      for (std::size_t i = 0; i < results.size(); ++i) here[static_cast<std::size_t>(e.outputs[i])] = results[i];
    }
    return all(p.outputs);
  }

  ProgramRef call(const Eqn& e, const Program& out) const {
    if (!e.primitive->run) return nullptr;
    std::vector<Type> in;
    for (const Atom& a : e.inputs) in.push_back(out.type(a));
    return callee_(e, in);
  }

  bool rewrite(Eqn& e) {
    std::vector<ProgramRef> programs = nested_programs(e);
    bool changed = false;
    for (ProgramRef& q : programs) {
      if (stays_ && stays_(e, q)) continue;
      const ProgramRef& now = rewritten(q);
      changed = changed || now != q;
      q = now;
    }
    if (changed) e.params = e.params->with_programs(programs);
    return changed;
  }
  const ProgramRef& rewritten(const ProgramRef& p) {
    if (auto it = done_.find(p); it != done_.end()) return it->second;
    auto changed = run(*p);
    return done_.emplace(p, changed ? std::make_shared<const Program>(std::move(*changed)) : p).first->second;
  }

  const Callee& callee_;
  const Stays& stays_;
  std::unordered_map<ProgramRef, ProgramRef> done_;
};

bool is_function(const ParamValue& v) {
  if (std::holds_alternative<ParamFunction>(v.v)) return true;
  if (const auto* list = std::get_if<ParamList>(&v.v))
    return std::any_of(list->items.begin(), list->items.end(), is_function);
  if (const auto* call = std::get_if<ParamCall>(&v.v))
    return std::any_of(call->args.begin(), call->args.end(), is_function);
  return false;
}
struct AskFunctions {
  friend bool operator==(AskFunctions, AskFunctions) = default;
};
bool holds_functions(const Eqn& e) {
  if (!e.primitive->run && !e.primitive->facts.effects) return false;
  for (const ProgramRef& p : nested_programs(e))
    if (p && *p->memo.get(AskFunctions{}, [&] { return ir::holds_functions(*p); })) return true;
  NamedParams list = e.params->list();
  return std::any_of(list.begin(), list.end(), [](const auto& param) { return is_function(param.second); });
}

}  // namespace

Program inline_calls(const Program& p, const Callee& callee, const Stays& stays) {
  if (auto changed = Inliner(callee, stays).run(p)) return std::move(*changed);
  return p;
}

bool holds_functions(const Program& p) {
  return std::any_of(p.eqns.begin(), p.eqns.end(), [](const Eqn& e) { return holds_functions(e); });
}

}  // namespace anew::ir
