// One walk over a Program, in order: what is known of a variable follows from what is known of the operands.
#include "jit/labels.h"

#include <algorithm>

#include "control/loop.h"

namespace anew::compiled {
namespace {

class Walk {
 public:
  explicit Walk(std::unordered_map<std::uint64_t, Label>& forward) : forward_(forward) {}

  // Of a variable.
  struct Known {
    int leaf = -1;  // the one that it is made of, if it is made of one alone
    Label label = {};
    int made = -1;  // how many equations came before its own
  };

  std::vector<Known> run(const ir::Program& p, const std::vector<Known>& inputs) {
    std::vector<Known> known(p.types.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) known[static_cast<std::size_t>(p.inputs[i])] = inputs[i];
    auto all = [&](const std::vector<ir::Atom>& atoms) {
      std::vector<Known> out;
      for (const ir::Atom& a : atoms) out.push_back(a.is_var() ? known[static_cast<std::size_t>(a.var)] : Known{});
      return out;
    };
    for (const ir::Eqn& e : p.eqns) {
      const std::vector<Known> results = equation(e, all(e.inputs));
      for (std::size_t k = 0; k < e.outputs.size(); ++k) known[static_cast<std::size_t>(e.outputs[k])] = results[k];
    }
    return all(p.outputs);
  }

 private:
  std::vector<Known> equation(const ir::Eqn& e, const std::vector<Known>& in) {
    if (e.primitive->higher_order()) {
      std::vector<Known> results = nested(e, in);
      if (!results.empty()) return results;
    }
    Known out{-1, {}, made_++};
    bool one = !e.primitive->higher_order() && !in.empty();  // made of one leaf, and nothing else
    int first = -1, last = -1;                               // the first leaf, the operand made last
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].leaf >= 0 && (first < 0 || in[i].leaf < first)) first = in[i].leaf;
      if (last < in[i].made) last = in[i].made, out.label = in[i].label;
    }
    for (std::size_t i = 0; i < in.size(); ++i) one = one && (in[i].leaf == first || !e.inputs[i].is_var());
    if (one) out.leaf = first;
    if (first >= 0) out.label = {first, false};
    if (e.mark.backward) {
      if (auto it = forward_.find(e.mark.operation); it != forward_.end()) out.label = it->second;
      out.label.backward = true;
    } else if (e.mark.operation && out.label.leaf >= 0) {
      forward_.emplace(e.mark.operation, out.label);
    }
    return std::vector<Known>(e.outputs.size(), out);
  }

  // Of a call: what its Program gives. Loops and branches are only walked: what they give is no leaf.
  std::vector<Known> nested(const ir::Eqn& e, const std::vector<Known>& in) {
    const ir::Params& params = *e.params;
    if (auto* loop = params.if_a<LoopParams>()) return walk_loop(form_of(*loop), in), std::vector<Known>();
    if (auto* unwind = params.if_a<UnwindParams>()) return walk_loop(form_of(*unwind), in), std::vector<Known>();
    const std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
    const bool call = e.primitive->facts.inlines && programs.size() == 1;
    for (const ir::ProgramRef& p : programs) {
      if (!p || p->inputs.size() > in.size()) continue;
      // The index of a branch comes first.
      std::vector<Known> results = run(*p, {in.end() - static_cast<std::ptrdiff_t>(p->inputs.size()), in.end()});
      if (call) return results;
    }
    return {};
  }
  void walk_loop(const LoopForm& f, const std::vector<Known>& in) {
    Lists<Known> operands = f.operands.partition(in);
    for (Role r : {Role::carries, Role::linear_carries})
      for (Known& k : operands[r]) k.leaf = -1;
    for (const LoopForm::Part& part : f.parts) run(*part.program, operands.merge(part.takes));
  }

  std::unordered_map<std::uint64_t, Label>& forward_;
  int made_ = 0;
};

}  // namespace

Labels::Labels(const ir::Program& program) {
  std::vector<Walk::Known> inputs(program.inputs.size());
  const auto constants = static_cast<std::size_t>(program.constants);
  for (std::size_t i = constants; i < inputs.size(); ++i) inputs[i].leaf = static_cast<int>(i - constants);
  Walk(forward_).run(program, inputs);
}

Label Labels::of(const ir::Mark& mark) const {
  auto it = forward_.find(mark.operation);
  Label label = it == forward_.end() ? Label{} : it->second;
  label.backward = label.backward || mark.backward;
  return label;
}

const ir::Mark& mark_of(const passes::Body& body, passes::ValueId value) {
  const passes::Value& v = body.values[value];
  if (!v.primitive || !v.primitive->higher_order()) return v.mark;
  for (const passes::Step& s : body.steps) {
    auto it = std::find(s.out.begin(), s.out.end(), value);
    if (it == s.out.end() || s.bodies.empty()) continue;
    const passes::Body& inner = *(s.is<passes::Unwind>() ? s.bodies.back() : s.bodies.front());
    const auto k = static_cast<std::size_t>(it - s.out.begin());
    if (k >= inner.outputs.size()) break;
    const ir::Mark& m = mark_of(inner, inner.outputs[k]);
    return m.operation ? m : v.mark;
  }
  return v.mark;
}

const ir::Mark& mark_of(const passes::Body& body, const passes::Step& step) {
  static const ir::Mark none;
  return step.out.empty() ? none : mark_of(body, step.out[0]);
}

}  // namespace anew::compiled
