// Plans within a memory budget, the curve of all of them, and what is said where none fits.
#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "jit/compiled_program.h"
#include "jit/describe.h"
#include "passes/rematerialize.h"

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

[[noreturn]] void refuse(const ir::Program& program, passes::BudgetPlans& plans, std::size_t budget) {
  const MemoryPlan least = plan_of(program, *plans.body(plans.smallest()));
  std::string text = fmt::format(
      "[jit] a memory budget of {} bytes can not be met; the smallest that can is {} bytes ({}): arguments {}, "
      "constants {}, outputs {}, arena {}",
      budget, least.peak_bytes, readable_bytes(static_cast<double>(least.peak_bytes)), least.argument_bytes,
      least.constant_bytes, least.output_bytes, least.arena_bytes);
  if (!least.live.empty()) text += ", where it is fullest " + alive(least);
  throw Error(text, Location(), "smaller batches, or loops with few checkpoints, need less");
}

std::vector<Recomputed> recomputed(const std::vector<passes::BudgetPlans::Repeat>& repeats) {
  std::vector<Recomputed> out;
  for (const auto& r : repeats) {
    const std::string what = step_name(*r.step);
    auto same = [&](const Recomputed& x) {
      return x.what == what && source_line(x.at).str() == source_line(r.step->at).str();
    };
    auto known = std::find_if(out.begin(), out.end(), same);
    if (known == out.end()) known = out.insert(known, {what, r.step->at});
    known->times += r.times;
    known->extra_time += r.times * r.time;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Recomputed& a, const Recomputed& b) { return a.extra_time > b.extra_time; });
  return out;
}

}  // namespace

Budgeted plan_within(const ir::Program& program, std::span<const ir::Strides> inputs, const PlanOptions& options) {
  passes::BudgetPlans plans(program, inputs, options.donated);
  const std::size_t budget = *options.budget;
  const std::size_t outside = outside_of(program);
  const auto chosen = budget < outside ? std::nullopt : plans.first_within(budget - outside);
  if (!chosen) refuse(program, plans, budget);
  Budgeted out{plans.body(*chosen), plan_of(program, *plans.body(*chosen))};
  if (*chosen == 0) return out;
  out.plan.extra_time = plans.extra_time(*chosen);
  out.plan.extra_time_bound = std::min(out.plan.extra_time, plans.extra_time_bound(budget - outside));
  out.plan.price = plans.price(budget - outside);
  out.plan.recomputed = recomputed(plans.repeats(*chosen));
  return out;
}

std::vector<BudgetPoint> budget_curve(const ir::Program& program, std::span<const ir::Strides> inputs,
                                      std::span<const int> donated) {
  constexpr std::size_t most = 48;
  passes::BudgetPlans plans(program, inputs, donated);
  const std::size_t outside = outside_of(program), all = plans.size(), smallest = plans.smallest();
  std::vector<BudgetPoint> out;
  for (std::size_t i = 0; i < all; ++i) {
    if (i != smallest && all > most && i % (1 + all / most) != 0) continue;
    const std::size_t bytes = plans.bytes(i);
    if (!out.empty() && outside + bytes >= out.back().peak_bytes) continue;
    const double extra = plans.extra_time(i);
    const BudgetPoint point{outside + bytes, extra, i == 0 ? 0 : std::min(extra, plans.extra_time_bound(bytes))};
    if (!out.empty() && out.back().extra_time == extra) out.back() = point;  // less memory for nothing
    else out.push_back(point);
  }
  return out;
}

}  // namespace anew::compiled
