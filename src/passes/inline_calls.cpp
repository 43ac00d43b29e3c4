// Calls become their equations, where they stand: program order is kept, so what a checkpoint recomputes stays as late as
// the checkpoint was. Rows say by a fact that they may be inlined (jit, checkpoint, custom rules, softmax). A row that
// holds no Program is made of other rows: its run is staged.
#include <fmt/format.h>

#include <algorithm>

#include "passes/passes.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

// The equations that a row without a Program binds when it runs.
ir::Program expanded(const ir::Eqn& e, std::span<const ir::Type> in) {
  auto run = [&](std::span<const Array> x) {
    RuleScope line(e.rule_of, e.at);
    return e.primitive->run(e.params, x, e.at);
  };
  Staged s = stage(run, in, e.primitive->name, e.at);
  if (!s.constants.empty())
    throw InternalError(fmt::format("[inline_calls] {} captures arrays where it is inlined", e.primitive->name), e.at);
  return std::move(s.program);
}

// A Program made of another one's equations, and of those of the calls among them.
class Inliner {
 public:
  explicit Inliner(const ir::Program& p) {
    std::vector<ir::Atom> inputs;
    for (ir::Var v : p.inputs) {
      out_.inputs.push_back(add(p.type(v)));
      inputs.emplace_back(out_.inputs.back());
    }
    out_.constants = p.constants;
    out_.outputs = splice(p, inputs);
  }
  ir::Program out() && { return std::move(out_); }

 private:
  ir::Var add(const ir::Type& type) {
    out_.types.push_back(type);
    return static_cast<ir::Var>(out_.types.size()) - 1;
  }

  // Adds the equations of p on these operands; gives its outputs.
  std::vector<ir::Atom> splice(const ir::Program& p, const std::vector<ir::Atom>& operands) {
    std::vector<ir::Atom> here(p.types.size());
    for (std::size_t i = 0; i < operands.size(); ++i) here[static_cast<std::size_t>(p.inputs[i])] = operands[i];
    auto all = [&](const std::vector<ir::Atom>& atoms) {
      std::vector<ir::Atom> named;
      for (const ir::Atom& a : atoms) named.push_back(a.is_var() ? here[static_cast<std::size_t>(a.var)] : a);
      return named;
    };
    for (const ir::Eqn& e : p.eqns) {
      ir::Eqn copy{e.primitive, e.params, all(e.inputs), {}, e.at, e.rule_of};
      std::vector<ir::Atom> results;
      if (e.primitive->facts.inlines) {
        results = call(copy);
      } else {
        for (ir::Var v : e.outputs) copy.outputs.push_back(add(p.type(v)));
        results.assign(copy.outputs.begin(), copy.outputs.end());
        out_.eqns.push_back(std::move(copy));
      }
      for (std::size_t i = 0; i < results.size(); ++i) here[static_cast<std::size_t>(e.outputs[i])] = results[i];
    }
    return all(p.outputs);
  }

  std::vector<ir::Atom> call(const ir::Eqn& e) {
    if (std::vector<ir::ProgramRef> programs = ir::nested_programs(e); programs.size() == 1)
      return splice(*programs[0], e.inputs);
    std::vector<ir::Type> in;
    for (const ir::Atom& a : e.inputs) in.push_back(out_.type(a));
    return splice(expanded(e, in), e.inputs);
  }

  ir::Program out_;
};

bool inline_in(ir::Program& p) {
  auto inlines = [](const ir::Eqn& e) { return e.primitive->facts.inlines; };
  if (std::none_of(p.eqns.begin(), p.eqns.end(), inlines)) return false;
  p = Inliner(p).out();
  return true;
}

}  // namespace

ir::Program inline_calls(const ir::Program& p) { return rewrite(p, inline_in); }

}  // namespace anew::passes
