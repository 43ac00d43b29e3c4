// Warnings and log lines about checkpoints.
#include "control/checkpoint_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/environment.h"

namespace anew {

void report_unmatched_names(const Policy& policy, const ir::Program& body, const Location& at) {
  std::vector<std::string> wanted = policy.mentioned_names();
  if (wanted.empty()) return;
  std::set<std::string> found;
  ir::for_each_program(body, [&](const ir::Program& p) {
    for (const ir::Eqn& e : p.eqns)
      if (e.primitive->facts.name) found.insert(e.primitive->facts.name(*e.params));
  });
  for (const std::string& name : wanted)
    if (!found.count(name))
      warn(
          fmt::format("[checkpoint] policy {} mentions the name '{}', but no value in the checkpointed function has it",
                      policy.str(), name),
          at);
}

void report_nothing_repeated(const Split& s, const Location& at) {
  // A recomputed equation is a copy: same row, same parameters object, same line.
  auto same = [](const ir::Eqn& a, const ir::Eqn& b) {
    return a.primitive == b.primitive && a.params == b.params && a.rule_of == b.rule_of && a.at.line() == b.at.line() &&
           a.at.column() == b.at.column();
  };
  for (const ir::Eqn& again : s.staged.eqns)
    if (again.primitive->run ||
        std::any_of(s.known.eqns.begin(), s.known.eqns.end(), [&](const ir::Eqn& e) { return same(e, again); }))
      return;
  warn("[checkpoint] this checkpoint changes nothing: the backward pass repeats none of its equations", at);
}

void log_residuals(const Split& s, const ir::Program& split, const std::vector<bool>& unknown, const Location& at) {
  if (!environment::logged("residuals")) return;
  std::string inputs, intermediates;
  for (int i : s.staged_inputs)
    if (!unknown[static_cast<std::size_t>(i)])
      inputs += "  " + split.type(split.inputs[static_cast<std::size_t>(i)]).str() + "\n";
  for (auto a = s.known.outputs.end() - s.residuals; a != s.known.outputs.end(); ++a) {
    intermediates += "  " + s.known.type(*a).str();
    for (const ir::Eqn& e : s.known.eqns)
      if (a->is_var() && std::count(e.outputs.begin(), e.outputs.end(), a->var))
        intermediates += " output of " + e.primitive->name + " from " + source_line(e.at).str();
    intermediates += "\n";
  }
  std::string text;
  if (!inputs.empty()) text += "remat-decorated function saving inputs with shapes:\n" + inputs;
  if (!intermediates.empty())
    text += (inputs.empty() ? "remat-decorated function saving these intermediates:\n"
                            : "and saving these intermediates:\n") +
            intermediates;
  if (!text.empty()) environment::log(fmt::format("[anew] {}: {}", source_line(at).str(), text));
}

}  // namespace anew
