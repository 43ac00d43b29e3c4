// Warnings about checkpoints.
#include "control/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/known_rows.h"

namespace anew {

void report_unmatched_names(const Policy& policy, const ir::Program& body, const Location& at) {
  std::vector<std::string> wanted = policy.mentioned_names();
  if (wanted.empty()) return;
  std::set<std::string> found;
  ir::for_each_program(body, [&](const ir::Program& p) {
    for (const ir::Eqn& e : p.eqns)
      if (e.primitive == &name_row()) found.insert(static_cast<const NameParams&>(*e.params).name);
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
    if (again.primitive->higher_order() ||
        std::any_of(s.known.eqns.begin(), s.known.eqns.end(), [&](const ir::Eqn& e) { return same(e, again); }))
      return;
  warn("[checkpoint] this checkpoint changes nothing: the backward pass repeats none of its equations", at);
}

}  // namespace anew
