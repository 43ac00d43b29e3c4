// What plans within budgets say they take and what they take: for 90, 80 ... 40 % of the plain peak one JSON line each,
// of which extra_time.py makes a table and a picture. Calls of all plans take turns, and the least time of each counts,
// so that whatever else the machine does meets all of them. `steps` is the model itself: of each step of the plain
// plan what it should take and what it takes. `goals` is the model alone: what the planner is held to.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "jit/compiled_program.h"
#include "measure.h"
#include "passes/budget_choices.h"
#include "workloads.h"

namespace workloads {
namespace {

struct Plan {
  int percent;
  anew::flat::Compiled code;
  double wall = std::numeric_limits<double>::infinity(), cpu = wall;
};

void call(Plan& p, const Case& c) {
  const double cpu = cpu_seconds(), wall = wall_seconds();
  (void)p.code(c.inputs);
  p.wall = std::min(p.wall, wall_seconds() - wall);
  p.cpu = std::min(p.cpu, cpu_seconds() - cpu);
}

std::vector<anew::ir::Strides> strides_of(const anew::Program& p) {
  std::vector<anew::ir::Strides> out;
  for (const anew::Type& t : p.code()->input_types()) out.push_back(anew::row_major(t.shape));
  return out;
}

}  // namespace

void print_extra_time(const std::string& workload, const std::string& variant, const Case& c, int repeat,
                      double max_seconds) {
  std::vector<Plan> plans{{100, anew::flat::compile(c.flat, c.inputs)}};
  const std::size_t plain = plans[0].code.plan().peak_bytes;
  std::string refused;
  for (int percent = 90; percent >= 40; percent -= 10) try {
      plans.push_back({percent, anew::flat::compile(c.flat, c.inputs, {.memory_budget = plain / 100 * percent})});
    } catch (const anew::Error& e) {
      std::cerr << fmt::format("{} {} {} %: {}\n", workload, variant, percent, e.what());
    }
  for (Plan& p : plans) (void)p.code(c.inputs);
  const double start = wall_seconds();
  for (int i = 0; i < repeat && (i < 3 || wall_seconds() - start < max_seconds); ++i)
    for (Plan& p : plans) call(p, c);
  for (const Plan& p : plans) {
    const anew::MemoryPlan& m = p.code.plan();
    std::cout << fmt::format(
                     R"({{"workload": "{}", "variant": "{}", "threads": {}, "percent": {}, "peak_bytes": {}, )"
                     R"("modelled": {:.5f}, "bound": {:.5f}, "wall": {:.5f}, "cpu": {:.5f}, "plain_ms": {:.4g}}})",
                     workload, variant, anew::threads(), p.percent, m.peak_bytes, m.extra_time, m.extra_time_bound,
                     p.wall / plans[0].wall - 1, p.cpu / plans[0].cpu - 1, plans[0].wall * 1e3)
              << std::endl;
  }
}

bool meets_goals(const Case& c) {
  const anew::Program p = anew::flat::make_program(c.flat, c.inputs);
  const std::vector<anew::ir::Strides> inputs = strides_of(p);
  std::size_t outside = 0;
  for (const anew::Type& t : p.code()->input_types()) outside += t.bytes();
  anew::passes::BudgetChoices choices(*p.code(), inputs, {});
  const std::size_t plain = outside + choices.bytes({});
  bool good = true;
  for (const auto& [percent, goal] : {std::pair(90, 0.6), {80, 1.3}, {70, 2.0}, {60, 3.8}, {50, 6.5}, {40, 11.0}}) {
    const std::size_t bytes = plain / 100 * static_cast<std::size_t>(percent) - outside;
    const auto choice = choices.first_within(bytes);
    const double extra = choice ? 100 * choices.extra_time(*choice) : std::numeric_limits<double>::infinity();
    good &= extra <= goal;
    std::cout << fmt::format("{} %: {:.2f} % more time by the model, at least {:.2f} %, goal {:.1f} %{}\n", percent,
                             extra, 100 * choices.extra_time_bound(bytes), goal, extra <= goal ? "" : ": NOT MET");
  }
  return good;
}

void print_steps(const Case& c) {
  const anew::Program p = anew::flat::make_program(c.flat, c.inputs);
  const std::vector<anew::ir::Strides> inputs = strides_of(p);
  const anew::compiled::CompiledProgram code(p.code(), inputs);
  const anew::MemoryReport report = anew::flat::memory_report(c.flat, c.inputs);
  double modelled = 0, measured = 0;
  std::size_t next = 0;
  for (const anew::passes::Step& s : code.body().steps) {
    const double t = anew::passes::modelled_time(code.body(), s);
    modelled += t;
    if (const auto* k = s.as<anew::passes::Kernel>(); k && k->on_tiles) continue;  // part of the step before
    while (next < report.steps.size() && report.steps[next].depth > 0) ++next;
    const anew::MemoryReport::Step& r = report.steps.at(next++);
    measured += r.seconds;
    std::cout << fmt::format("{:9.1f} {:9.1f} us {:6.2f}  {} {}\n", t * 1e6, r.seconds * 1e6, t / r.seconds, r.what,
                             r.type);
  }
  std::cout << fmt::format("{:9.1f} {:9.1f} us {:6.2f}  all\n", modelled * 1e6, measured * 1e6, modelled / measured);
}

}  // namespace workloads
