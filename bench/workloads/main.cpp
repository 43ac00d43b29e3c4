// workloads <workload> <variant>: one JSON line of what the compiled program took, in the form that the programs of
// other libraries print. `serve` is the same for a runner that wants samples in portions; `list` names all; `plan
// <workload> <variant>` prints the memory plan; `check [workload [variant]]` runs small sizes compiled, interpreted and
// eagerly and compares every bit, and the planned peak with the measured one. `--size layers=4,width=100` changes
// sizes.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>

#include "jit/compiled_program.h"
#include "measure.h"
#include "runtime/pool.h"
#include "support/budget_sweep.h"
#include "workloads.h"

namespace workloads {
namespace {

using anew::compiled::Backend;

struct Arguments {
  std::vector<std::string> words;
  std::string size;
  int threads = 0, budgets = 40;
  bool small = false, json = false, one = false;
  RunOptions run;

  Sizes sizes(const Workload& w) const { return (small ? w.small : w.full).with(size); }
};

bool check_one(const Workload& w, const std::string& variant) {
  Case c = build(w, variant, w.small);
  std::string wrong;
  try {
    const Arrays eager = c.eager_result();
    for (Backend b : {Backend::machine_code, Backend::interpreter}) {
      anew::compiled::set_backend(b);
      for (int threads : {1, 3}) {
        anew::set_threads(threads);
        c.compile();
        for (int again = 0; again < 2 && wrong.empty(); ++again) wrong = difference(c.result(), eager);
        if (wrong.empty() && c.high_water() != c.compiled_plan().peak_bytes)
          wrong = fmt::format("planned {} bytes, took {}", c.compiled_plan().peak_bytes, c.high_water());
        if (!wrong.empty()) wrong += b == Backend::interpreter ? " (interpreted" : " (compiled";
        if (!wrong.empty()) wrong += fmt::format(", {} threads)", threads);
        if (!wrong.empty()) break;
      }
      if (!wrong.empty()) break;
    }
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  std::cout << fmt::format("{:<16} {:<16} {}", w.name, variant, wrong.empty() ? "same bits, planned peak" : wrong)
            << std::endl;
  return wrong.empty();
}

bool sweep_one(const Workload& w, const std::string& variant, const Arguments& a) {
  const Case c = build(w, variant, a.sizes(w));
  std::string wrong;
  const double start = wall_seconds();
  try {
    anew::test::BudgetSweep sweep(c.flat, c.inputs);
    wrong = sweep.run(a.budgets, a.small);
    if (wrong.empty()) wrong = fmt::format("{} plans within {} budgets", sweep.plans(), a.budgets);
    else wrong = "WRONG: " + wrong;
  } catch (const std::exception& e) {
    wrong = std::string("WRONG: ") + e.what();
  }
  std::cout << fmt::format("{:<16} {:<16} {} ({:.0f} s)", w.name, variant, wrong, wall_seconds() - start) << std::endl;
  return !wrong.starts_with("WRONG");
}

// What the plain call and calls within so many bytes take: the least CPU time of one.
void print_within(const Case& c, std::span<const std::string> bytes, int repeat) {
  std::vector<anew::flat::Compiled> codes{anew::flat::compile(c.flat, c.inputs)};
  for (const std::string& n : bytes)
    codes.push_back(anew::flat::compile(c.flat, c.inputs, {.memory_budget = std::stoull(n)}));
  for (const anew::flat::Compiled& code : codes) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repeat; ++i) {
      const double start = cpu_seconds();
      (void)code(c.inputs);
      least = std::min(least, cpu_seconds() - start);
    }
    const anew::MemoryPlan& p = code.plan();
    std::cout << fmt::format("{:>12} bytes {:9.1f} ms of CPU time, {:.1f} % more by the model, at least {:.1f} %\n",
                             p.peak_bytes, least * 1e3, 100 * p.extra_time, 100 * p.extra_time_bound);
  }
}

// All variants of all workloads, or those named.
template <class F>
void each(const std::vector<Workload>& all, std::span<const std::string> words, F f) {
  for (const Workload& w : all) {
    if (!words.empty() && words[0] != w.name) continue;
    for (const std::string& v : w.variants)
      if (words.size() < 2 || words[1] == v) f(w, v);
  }
}

// One line of JSON for each workload: what a runner of other libraries' programs has to know.
void print_list(const std::vector<Workload>& all) {
  for (const Workload& w : all) {
    std::string variants;
    for (const std::string& v : w.variants) variants += fmt::format("{}\"{}\"", variants.empty() ? "" : ", ", v);
    std::cout << fmt::format(R"({{"workload": "{}", "variants": [{}], "tolerance": {:g}, "full": {}, "small": {}}})"
                             "\n",
                             w.name, variants, w.tolerance, w.full.json(), w.small.json());
  }
}

int run(const Arguments& a) {
  const std::vector<Workload> all = all_workloads();
  const std::string command = a.words.empty() ? "" : a.words[0];
  if (command == "list") {
    if (a.json) print_list(all);
    else each(all, {}, [](const Workload& w, const std::string& v) { std::cout << w.name << " " << v << "\n"; });
    return 0;
  }
  if (command == "check") {
    bool good = true;
    each(all, std::span(a.words).subspan(1), [&](const Workload& w, const std::string& v) { good &= check_one(w, v); });
    return good ? 0 : 1;
  }
  if (command == "budgets") {
    bool good = true;
    each(all, std::span(a.words).subspan(1), [&](const Workload& w, const std::string& v) {
      // Of one variant each: which, another one for the next workload.
      const auto turn = static_cast<std::size_t>(&w - all.data());
      if (a.one && v != w.variants[turn % w.variants.size()]) return;
      good &= v == "eager" || sweep_one(w, v, a);
    });
    return good ? 0 : 1;
  }
  if (command == "extra_time") {
    each(all, std::span(a.words).subspan(1), [&](const Workload& w, const std::string& v) {
      if (v != "eager") print_extra_time(w.name, v, build(w, v, a.sizes(w)), a.run.repeat, a.run.max_seconds);
    });
    return 0;
  }
  if (command == "goals") {
    const Workload& w = find(all, "transformer");
    return meets_goals(build(w, "plain", a.sizes(w))) ? 0 : 1;
  }
  if (command == "within" && a.words.size() > 3) {
    const Workload& w = find(all, a.words[1]);
    print_within(build(w, a.words[2], a.sizes(w)), std::span(a.words).subspan(3), a.run.repeat);
    return 0;
  }
  if (command == "steps" && a.words.size() == 3) {
    const Workload& w = find(all, a.words[1]);
    print_steps(build(w, a.words[2], a.sizes(w)));
    return 0;
  }
  if (command == "curve" && a.words.size() == 3) {
    const Workload& w = find(all, a.words[1]);
    const Case c = build(w, a.words[2], a.sizes(w));
    std::cout << anew::str(anew::flat::budget_curve(c.flat, c.inputs));
    return 0;
  }
  if (command == "plan" && a.words.size() == 3) {
    const Workload& w = find(all, a.words[1]);
    std::cout << build(w, a.words[2], a.sizes(w)).plan();
    return 0;
  }
  if (command == "serve" && a.words.size() == 3) {
    const Workload& w = find(all, a.words[1]);
    return serve(w, a.words[2], a.sizes(w)) ? 0 : 1;
  }
  if (a.words.size() == 2) {
    const Workload& w = find(all, a.words[0]);
    return run_one(w, a.words[1], a.sizes(w), a.run) ? 0 : 1;
  }
  std::cerr
      << "usage: workloads <workload> <variant> [--threads n] [--backend interpreter] [--repeat n]\n"
         "                 [--max-seconds s] [--size name=n,...] [--small] [--eager] [--no-time] [--no-run]\n"
         "       workloads serve <workload> <variant> [--threads n] [--size name=n,...] [--small]\n"
         "       workloads list [--json] | check [workload [variant]] | plan | curve <workload> <variant> [--small]\n"
         "       workloads budgets [workload [variant]] [--small] [--budgets n] [--one]\n"
         "       workloads extra_time [workload [variant]] | goals | steps <workload> <variant> [--small]\n"
         "       workloads within <workload> <variant> <bytes>... [--repeat n] [--threads n]\n";
  return 2;
}

Arguments parsed(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--threads") a.threads = std::stoi(next());
    else if (word == "--size") a.size = next();
    else if (word == "--repeat") a.run.repeat = std::stoi(next());
    else if (word == "--budgets") a.budgets = std::stoi(next());
    else if (word == "--max-seconds") a.run.max_seconds = std::stod(next());
    else if (word == "--backend")
      anew::compiled::set_backend(next() == "interpreter" ? Backend::interpreter : Backend::machine_code);
    else if (word == "--small") a.small = true;
    else if (word == "--json") a.json = true;
    else if (word == "--one") a.one = true;
    else if (word == "--eager") a.run.eager_too = true;
    else if (word == "--no-time") a.run.timed = false;
    else if (word == "--no-run") a.run.runs = false;
    else a.words.push_back(word);
  }
  return a;
}

void use_threads(int n) {
  cpu_set_t all, some;
  CPU_ZERO(&some);
  if (n > 0 && sched_getaffinity(0, sizeof all, &all) == 0 && n < CPU_COUNT(&all)) {
    for (int cpu = 0; CPU_COUNT(&some) < n; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &some);
    sched_setaffinity(0, sizeof some, &some);
  }
  if (n > 0) anew::set_threads(n);
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) try {
  const workloads::Arguments a = workloads::parsed(argc, argv);
  workloads::use_threads(a.threads);
  return workloads::run(a);
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
