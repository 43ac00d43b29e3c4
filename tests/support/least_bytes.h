// The law of `least_bytes`: whatever the planner makes of a Program, in any form of its loops, is placed in no fewer
// bytes than were said to be the least. Plans are passed over by that number.
#pragma once
#include <fmt/format.h>

#include <algorithm>

#include "passes/budget_choices.h"

namespace anew::test {

// Nothing where it holds, else which plan is smaller. Of some of the forms, the last among them.
inline std::string below_least_bytes(const ir::Program& program, std::span<const ir::Strides> inputs,
                                     std::span<const int> donated = {}) {
  constexpr std::size_t most_forms = 8;
  const passes::LoopForms forms(program);
  const std::size_t last = forms.forms().size() - 1, every = 1 + last / most_forms;
  for (std::size_t form = 0; form <= last; form = form == last ? last + 1 : std::min(last, form + every)) {
    const ir::Program leveled = form == 0 ? program : forms.program(form);
    passes::BudgetPlans plans(leveled, inputs, donated);
    for (std::size_t plan = 0; plan < plans.size(); ++plan)
      if (plans.bytes(plan) < plans.least_bytes(plan))
        return fmt::format("plan {} of form {}: {} bytes, said to be at least {}", plan, form, plans.bytes(plan),
                           plans.least_bytes(plan));
  }
  return "";
}

}  // namespace anew::test
