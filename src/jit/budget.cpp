// Plans within a memory budget, the curve of all of them, and what is said where none fits.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/base.h"
#include "jit/compiled_program.h"
#include "jit/describe.h"
#include "passes/budget_choices.h"

namespace anew::compiled {
namespace {

// Arguments and constants, which are there before a call.
std::size_t outside_of(const ir::Program& program) {
  std::size_t bytes = 0;
  for (const Type& t : program.input_types()) bytes += t.bytes();
  return bytes;
}

std::string line_of(const Location& at) { return at.line() ? " at " + source_line(at).str() : ""; }

// "8192 bytes of dot_general f32[64,32] at model.cpp:7", the largest first.
std::string alive(const MemoryPlan& plan) {
  constexpr std::size_t most = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, plan.live.size()); ++i) {
    const LiveValue& v = plan.live[i];
    out += fmt::format("{}{} bytes of {}{}{}", i ? ", " : "", v.bytes, v.what, v.scratch ? "" : " " + v.type.str(),
                       line_of(v.at));
  }
  if (plan.live.size() > most) out += fmt::format(" and {} more", plan.live.size() - most);
  return out;
}

[[noreturn]] void refuse(const ir::Program& program, passes::BudgetChoices& choices, std::size_t budget) {
  const MemoryPlan least = plan_of(program, *choices.body(choices.smallest()));
  std::string text = fmt::format(
      "[jit] a memory budget of {} bytes can not be met; the smallest that can is {} bytes ({}): arguments {}, "
      "constants {}, outputs {}, arena {}",
      budget, least.peak_bytes, readable_bytes(static_cast<double>(least.peak_bytes)), least.argument_bytes,
      least.constant_bytes, least.output_bytes, least.arena_bytes);
  if (!least.live.empty()) text += ", where it is fullest " + alive(least);
  throw Error(text, Location(), "smaller batches, or loops with few checkpoints, need less");
}

std::vector<Recomputed> recomputed(const std::vector<passes::BudgetChoices::Again>& again) {
  std::vector<Recomputed> out;
  for (const auto& a : again) {
    const std::string what = a.step ? step_name(*a.step) : a.loop ? a.loop->what : a.equation->primitive->name;
    const Location& at = a.step ? a.step->at : a.loop ? a.loop->at : a.equation->at;
    auto same = [&](const Recomputed& x) { return x.what == what && source_line(x.at).str() == source_line(at).str(); };
    auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) known = out.insert(known, {what, at});
    constexpr double most = std::numeric_limits<int>::max();
    known->times = static_cast<int>(std::min(most, known->times + a.times));
    known->extra_time += a.times * a.time;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Recomputed& a, const Recomputed& b) { return a.extra_time > b.extra_time; });
  return out;
}

}  // namespace

Budgeted plan_within(const ir::Program& program, std::span<const ir::Strides> inputs, const PlanOptions& options) {
  passes::BudgetChoices choices(program, inputs, options.donated, options.disk);
  return plan_within(program, choices, *options.budget);
}

Budgeted plan_within(const ir::Program& program, passes::BudgetChoices& choices, std::size_t budget) {
  const std::size_t outside = outside_of(program);
  const auto chosen = budget < outside ? std::nullopt : choices.first_within(budget - outside);
  if (!chosen) refuse(program, choices, budget);
  Budgeted out{choices.body(*chosen), plan_of(program, *choices.body(*chosen))};
  if (chosen->plain()) return out;
  out.plan.extra_time = choices.extra_time(*chosen);
  out.plan.extra_time_bound = std::min(out.plan.extra_time, choices.extra_time_bound(budget - outside));
  out.plan.price = choices.price(*chosen, budget - outside);
  out.plan.recomputed = recomputed(choices.again(*chosen));
  return out;
}

std::vector<BudgetPoint> budget_curve(const ir::Program& program, std::span<const ir::Strides> inputs,
                                      const PlanOptions& options) {
  passes::BudgetChoices choices(program, inputs, options.donated, options.disk);
  const std::size_t outside = outside_of(program);
  std::vector<BudgetPoint> out;
  for (const auto& c : choices.curve()) {
    const std::size_t bytes = choices.bytes(c);
    const double extra = choices.extra_time(c);
    const BudgetPoint point{outside + bytes, extra, c.plain() ? 0 : std::min(extra, choices.extra_time_bound(bytes)),
                            plan_of(program, *choices.body(c)).disk_bytes};
    if (!out.empty() && out.back().extra_time == extra) out.back() = point;  // less memory for nothing
    else out.push_back(point);
  }
  return out;
}

}  // namespace anew::compiled
