// Laws of bounds. Whatever the planner makes of a Program, in any form of its loops, is placed in no fewer bytes than
// were said to be the least: plans are passed over by that number. And no plan within a number of bytes takes less time
// than the bound says. And what a plan is said to take is what its steps take. And a curve has no holes.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// Nothing where the bound of time holds for all plans of the curve and falls as bytes rise, else where it does not.
inline std::string above_a_plan(passes::BudgetChoices& choices) {
  double last = 0;
  for (const passes::BudgetChoices::Choice& c : choices.curve()) {
    const double extra = choices.extra_time(c), bound = choices.extra_time_bound(choices.bytes(c));
    if (bound > extra * (1 + 1e-9) + 1e-12)
      return fmt::format("a plan of {} bytes takes {}, said to be at least {}", choices.bytes(c), extra, bound);
    if (bound < last * (1 - 1e-9))
      return fmt::format("at {} bytes the bound is {}, with more it is {}", choices.bytes(c), bound, last);
    last = bound;
  }
  return "";
}

// Nothing where a plan takes the time that it is said to take, else what its steps take: counted from these, loops as
// often as they run, by the model.
inline std::string other_time(passes::BudgetChoices& choices, passes::BudgetChoices::Choice c) {
  const double plain = passes::modelled_time(*choices.unplaced({}));
  const double counted = passes::modelled_time(*choices.unplaced(c)) - plain;
  const double said = choices.extra_time(c) * plain;
  if (std::abs(said - std::max(counted, 0.0)) <= 1e-9 * (plain + said)) return "";
  return fmt::format("plan {} of form {}, {} bytes, takes {} of the plain plan more, said to be {}", c.plan, c.form,
                     choices.bytes(c), counted / plain, said / plain);
}
inline std::string other_time(passes::BudgetChoices& choices) {
  for (const passes::BudgetChoices::Choice& c : choices.curve())
    if (std::string wrong = other_time(choices, c); !wrong.empty()) return wrong;
  return "";
}

// Nothing where the curve says of a budget about what the plan within it takes, else of which it does not: it has few
// of many plans. The time of the call, not what is added to it: of that nothing is little.
inline std::string hole_in_curve(passes::BudgetChoices& choices) {
  constexpr int budgets = 24;
  constexpr double most = 1.1;
  const std::vector<passes::BudgetChoices::Choice> curve = choices.curve();
  const auto first = static_cast<double>(choices.bytes(curve.front()));
  const double ratio = static_cast<double>(choices.bytes(curve.back())) / std::max(first, 1.0);
  for (int i = 1; i < budgets; ++i) {
    const auto budget = static_cast<std::size_t>(first * std::pow(ratio, static_cast<double>(i) / budgets));
    const auto point = std::find_if(curve.begin(), curve.end(), [&](auto c) { return choices.bytes(c) <= budget; });
    if (point == curve.end()) continue;  // rounding
    const double taken = 1 + choices.extra_time(*choices.first_within(budget)), said = 1 + choices.extra_time(*point);
    if (said > most * taken)
      return fmt::format("within {} bytes a call takes {} of the plain one, by the curve {}", budget, taken, said);
  }
  return "";
}

}  // namespace anew::test
