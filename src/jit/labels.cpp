// One walk over a Program, in order, notes for each equation the leaves that it reads and the operand made last. Leaves are
// then chosen: of several that an equation reads, the one that the fewest equations read (a weight rather than a mask).
#include "jit/labels.h"

#include <algorithm>

#include "control/loop.h"

namespace anew::compiled {
namespace {

class Walk {
 public:
  // What is known of a variable: the one leaf that it is made of, if it is; the note of the equation that made it.
  struct Known {
    int leaf = -1;
    int note = -1;
  };
  struct Note {
    std::uint64_t operation;
    bool backward;
    std::vector<int> leaves;
    int operand;  // the note of the operand made last
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
  const std::vector<Note>& notes() const { return notes_; }

 private:
  std::vector<Known> equation(const ir::Eqn& e, const std::vector<Known>& in) {
    if (e.primitive->higher_order()) {
      std::vector<Known> results = nested(e, in);
      if (!results.empty()) return results;
    }
    Note note{e.mark.operation, e.mark.backward, {}, -1};
    bool one = !e.primitive->higher_order() && !e.inputs.empty();  // made of one leaf, and nothing else
    for (std::size_t i = 0; i < in.size(); ++i) {
      note.operand = std::max(note.operand, in[i].note);
      if (in[i].leaf >= 0 && std::find(note.leaves.begin(), note.leaves.end(), in[i].leaf) == note.leaves.end())
        note.leaves.push_back(in[i].leaf);
      one = one && (in[i].leaf >= 0 || !e.inputs[i].is_var());
    }
    const int leaf = one && note.leaves.size() == 1 ? note.leaves[0] : -1;
    notes_.push_back(std::move(note));
    return std::vector<Known>(e.outputs.size(), {leaf, static_cast<int>(notes_.size()) - 1});
  }

  // Of a call: what its Program gives. Loops and branches are only walked: what they give is no leaf.
  std::vector<Known> nested(const ir::Eqn& e, const std::vector<Known>& in) {
    const ir::Params& params = *e.params;
    if (auto* loop = dynamic_cast<const LoopParams*>(&params))
      return walk_loop(form_of(*loop), in), std::vector<Known>();
    if (auto* unwind = dynamic_cast<const UnwindParams*>(&params))
      return walk_loop(form_of(*unwind), in), std::vector<Known>();
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

  std::vector<Note> notes_;
};

}  // namespace

Labels::Labels(const ir::Program& program) {
  std::vector<Walk::Known> inputs(program.inputs.size());
  const auto constants = static_cast<std::size_t>(program.constants);
  for (std::size_t i = constants; i < inputs.size(); ++i) inputs[i].leaf = static_cast<int>(i - constants);
  Walk walk;
  walk.run(program, inputs);
  std::vector<int> readers(inputs.size()), label;
  for (const Walk::Note& n : walk.notes())
    for (int leaf : n.leaves) readers[static_cast<std::size_t>(leaf)] += !n.backward;
  for (const Walk::Note& n : walk.notes()) {
    auto fewer = [&](int a, int b) {
      return readers[static_cast<std::size_t>(a)] < readers[static_cast<std::size_t>(b)];
    };
    auto least = std::min_element(n.leaves.begin(), n.leaves.end(), fewer);
    auto forward = n.backward ? leaves_.find(n.operation) : leaves_.end();
    label.push_back(forward != leaves_.end()  ? forward->second
                    : least != n.leaves.end() ? *least
                    : n.operand >= 0          ? label[static_cast<std::size_t>(n.operand)]
                                              : -1);
    if (n.operation && !n.backward && label.back() >= 0) leaves_.emplace(n.operation, label.back());
  }
}

int Labels::leaf(const ir::Mark& mark) const {
  auto it = leaves_.find(mark.operation);
  return it == leaves_.end() ? -1 : it->second;
}

const ir::Mark& mark_of(const passes::Body& body, int value) {
  const passes::Value& v = body.values[static_cast<std::size_t>(value)];
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
