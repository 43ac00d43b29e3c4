// workloads <workload> <variant>: one JSON line of what the compiled program took, in the form that the programs of
// other libraries print. `list` names all; `plan <workload> <variant>` prints the memory plan; `check [workload
// [variant]]` runs small sizes compiled, interpreted and eagerly and compares every bit, and the planned peak with the
// measured one.
#include <fmt/format.h>
#include <sched.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "jit/compiled_program.h"
#include "measure.h"
#include "runtime/pool.h"
#include "support/budget_sweep.h"
#include "workloads.h"

namespace workloads {

std::vector<Workload> all_workloads() {
  std::vector<Workload> all;
  for (auto& part : {mlp_workloads(), transformer_workloads(), loop_workloads(), small_workloads()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

namespace {

using anew::compiled::Backend;

struct Arguments {
  std::vector<std::string> words;
  int threads = 0, repeat = 50, budgets = 40;
  double max_seconds = 8;
  bool small = false, eager_too = false, timed = true, runs = true;
};

double norm_of(const Arrays& leaves, std::size_t from) {
  double total = 0;
  for (std::size_t i = from; i < leaves.size(); ++i)
    for (double x : leaves[i].to_vector<double>()) total += x * x;
  return std::sqrt(total);
}

std::string difference(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return fmt::format("{} results, not {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!anew::test::same_bits(a[i], b[i])) return fmt::format("result {} of {}: {}", i, a.size(), a[i].type().str());
  return "";
}

const Workload& find(const std::vector<Workload>& all, const std::string& name) {
  for (const Workload& w : all)
    if (w.name == name) return w;
  throw anew::Error(fmt::format("there is no workload {}", name));
}

int run_one(const Workload& w, const std::string& variant, const Arguments& a) {
  Case c = w.build(variant, a.small);
  const bool eager = variant == "eager";
  std::string line =
      fmt::format(R"({{"peer": "anew", "version": "0.1.0", "workload": "{}", "variant": "{}", "threads": {})", w.name,
                  variant, anew::threads());
  if (!eager) {
    const double cpu = cpu_seconds(), wall = wall_seconds();
    c.compile();
    line +=
        fmt::format(R"(, "compile_s": {:.6f}, "compile_cpu_s": {:.6f})", wall_seconds() - wall, cpu_seconds() - cpu);
    const anew::MemoryPlan plan = c.compiled_plan();
    line += fmt::format(
        R"(, "peak_bytes_reported": {}, "argument_bytes": {}, "constant_bytes": {}, "output_bytes": {}, "temp_bytes": {})",
        plan.peak_bytes, plan.argument_bytes, plan.constant_bytes, plan.output_bytes, plan.arena_bytes);
  }
  if (!a.runs) {
    std::cout << line << "}" << std::endl;
    return 0;
  }
  const std::optional<long> before = reset_peak();
  Arrays out = eager ? c.eager_result() : c.result();
  if (before) line += fmt::format(R"(, "peak_rss_delta_bytes": {})", peak_bytes() - *before);
  const double value = out[0].item(), norm = norm_of(out, 1);
  line += fmt::format(R"(, "value": {:.17g}, "grad_norm": {:.17g})", value, norm);
  bool good = true;
  auto complain = [&](const std::string& what) {
    std::cerr << w.name << " " << variant << ": " << what << "\n";
    good = false;
  };
  if (!eager && c.high_water() != c.compiled_plan().peak_bytes)
    complain(fmt::format("planned {} bytes, took {}", c.compiled_plan().peak_bytes, c.high_water()));
  if (!a.small) {
    auto far = [&](double x, double y) { return !(std::abs(x - y) <= w.tolerance * std::abs(y)); };
    if (far(value, w.value)) complain(fmt::format("value {:.13g}, others have {:.13g}", value, w.value));
    if (far(norm, w.grad_norm)) complain(fmt::format("grad_norm {:.13g}, others have {:.13g}", norm, w.grad_norm));
  }
  if (a.eager_too && !eager)
    if (std::string d = difference(out, c.eager_result()); !d.empty()) complain("not the bits of eager: " + d);
  out.clear();
  if (a.timed) {
    const Timing t = measure(eager ? c.call_eager : c.call, a.repeat, a.max_seconds, w.inner);
    line += fmt::format(
        R"(, "step_ms_best": {:.6g}, "step_ms_median": {:.6g}, "samples": {}, "cpu_ms_best": {:.6g}, "cpu_ms_median": {:.6g})",
        t.best * 1e3, t.median * 1e3, t.samples, t.cpu_best * 1e3, t.cpu_median * 1e3);
    if (t.foreign_cores) line += fmt::format(R"(, "foreign_cores": {:.3f})", *t.foreign_cores);
    if (w.inner > 1 && !eager)
      line +=
          fmt::format(R"(, "jit_ms_best": {:.6g})", measure(c.call_jit, a.repeat, a.max_seconds, w.inner).best * 1e3);
  }
  std::cout << line << "}" << std::endl;
  return good ? 0 : 1;
}

bool check_one(const Workload& w, const std::string& variant) {
  Case c = w.build(variant, true);
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
  const Case c = w.build(variant, a.small);
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

// All variants of all workloads, or those named.
template <class F>
void each(const std::vector<Workload>& all, std::span<const std::string> words, F f) {
  for (const Workload& w : all) {
    if (words.size() > 0 && words[0] != w.name) continue;
    for (const std::string& v : w.variants)
      if (words.size() < 2 || words[1] == v) f(w, v);
  }
}

int run(const Arguments& a) {
  const std::vector<Workload> all = all_workloads();
  const std::string command = a.words.empty() ? "" : a.words[0];
  if (command == "list") {
    each(all, {}, [](const Workload& w, const std::string& v) { std::cout << w.name << " " << v << "\n"; });
    return 0;
  }
  if (command == "check") {
    bool good = true;
    each(all, std::span(a.words).subspan(1), [&](const Workload& w, const std::string& v) { good &= check_one(w, v); });
    return good ? 0 : 1;
  }
  if (command == "budgets") {
    bool good = true;
    each(all, std::span(a.words).subspan(1),
         [&](const Workload& w, const std::string& v) { good &= v == "eager" || sweep_one(w, v, a); });
    return good ? 0 : 1;
  }
  if (command == "extra_time") {
    each(all, std::span(a.words).subspan(1), [&](const Workload& w, const std::string& v) {
      if (v != "eager") print_extra_time(w.name, v, w.build(v, a.small), a.repeat, a.max_seconds);
    });
    return 0;
  }
  if (command == "steps" && a.words.size() == 3) {
    print_steps(find(all, a.words[1]).build(a.words[2], a.small));
    return 0;
  }
  if (command == "curve" && a.words.size() == 3) {
    const Case c = find(all, a.words[1]).build(a.words[2], a.small);
    std::cout << anew::str(anew::flat::budget_curve(c.flat, c.inputs));
    return 0;
  }
  if (command == "plan" && a.words.size() == 3) {
    std::cout << find(all, a.words[1]).build(a.words[2], a.small).plan();
    return 0;
  }
  if (a.words.size() == 2) return run_one(find(all, a.words[0]), a.words[1], a);
  std::cerr << "usage: workloads <workload> <variant> [--threads n] [--backend interpreter] [--repeat n]\n"
               "                 [--max-seconds s] [--small] [--eager] [--no-time] [--no-run]\n"
               "       workloads list | check [workload [variant]] | plan | curve <workload> <variant> [--small]\n"
               "       workloads budgets [workload [variant]] [--small] [--budgets n]\n"
               "       workloads extra_time [workload [variant]] | steps <workload> <variant> [--small]\n";
  return 2;
}

Arguments parsed(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--threads") a.threads = std::stoi(next());
    else if (word == "--repeat") a.repeat = std::stoi(next());
    else if (word == "--budgets") a.budgets = std::stoi(next());
    else if (word == "--max-seconds") a.max_seconds = std::stod(next());
    else if (word == "--backend")
      anew::compiled::set_backend(next() == "interpreter" ? Backend::interpreter : Backend::machine_code);
    else if (word == "--small") a.small = true;
    else if (word == "--eager") a.eager_too = true;
    else if (word == "--no-time") a.timed = false;
    else if (word == "--no-run") a.runs = false;
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
