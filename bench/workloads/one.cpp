// One program, run by itself: its compilation, memory and results as a line of JSON, then its times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "measure.h"
#include "runtime/pool.h"
#include "support/bits.h"
#include "workloads.h"

namespace workloads {
namespace {

// Two numbers of a result that every library computes: the value and the norm of the gradients; where there is no
// value, the elements of the first array weighted by their place, and the norm of all.
struct Numbers {
  double value, norm;
};
Numbers numbers_of(const Arrays& out) {
  const bool scalar = out[0].size() == 1 && out.size() > 1;
  double value = 0, squares = 0;
  if (scalar) value = out[0].item();
  for (std::size_t i = scalar ? 1 : 0; i < out.size(); ++i) {
    const std::vector<double> x = out[i].to_vector<double>();
    for (double e : x) squares += e * e;
    if (scalar || i > 0) continue;
    for (std::size_t k = 0; k < x.size(); ++k) value += x[k] * static_cast<double>(k % 7 + 1);
    value /= std::sqrt(static_cast<double>(x.size()));
  }
  return {value, std::sqrt(squares)};
}

// Arithmetic of one call by the cost model; nothing runs.
double flops_of(const Case& c) {
  Arrays types;
  for (const Array& x : c.inputs) types.push_back(Array(x.type()));
  double flops = 0;
  for (const anew::MemoryReport::Step& s : anew::flat::memory_report(c.flat, types).steps)
    if (s.depth == 0 && s.flops > 0) flops += s.flops;
  return flops;
}

class One {
 public:
  One(const Workload& w, const std::string& variant, const Sizes& sizes)
      : w_(w), variant_(variant), full_(sizes == w.full), case_(build(w, variant, sizes)) {
    line_ = fmt::format(
        R"({{"peer": "anew", "version": "0.1.0", "workload": "{}", "variant": "{}", "threads": {}, "sizes": {}, "double": {})",
        w.name, variant, anew::threads(), sizes.json(),
        std::any_of(case_.inputs.begin(), case_.inputs.end(), [](const Array& x) { return x.dtype() == anew::f64; }));
  }

  void compile() {
    if (eager()) return;
    const double cpu = cpu_seconds(), wall = wall_seconds();
    case_.compile();
    line_ +=
        fmt::format(R"(, "compile_s": {:.6f}, "compile_cpu_s": {:.6f})", wall_seconds() - wall, cpu_seconds() - cpu);
    const anew::MemoryPlan plan = case_.compiled_plan();
    line_ += fmt::format(
        R"(, "peak_bytes_reported": {}, "argument_bytes": {}, "constant_bytes": {}, "output_bytes": {}, "temp_bytes": {})",
        plan.peak_bytes, plan.argument_bytes, plan.constant_bytes, plan.output_bytes, plan.arena_bytes);
  }

  void first_call(bool eager_too) {
    const std::optional<long> before = reset_peak();
    const Arrays out = eager() ? case_.eager_result() : case_.result();
    if (before) line_ += fmt::format(R"(, "peak_rss_delta_bytes": {})", peak_bytes() - *before);
    const Numbers n = numbers_of(out);
    line_ += fmt::format(R"(, "value": {:.17g}, "grad_norm": {:.17g})", n.value, n.norm);
    if (!eager() && case_.high_water() != case_.compiled_plan().peak_bytes)
      complain(fmt::format("planned {} bytes, took {}", case_.compiled_plan().peak_bytes, case_.high_water()));
    auto compare = [&](const char* what, double ours, std::optional<double> theirs) {
      if (full_ && theirs && !(std::abs(ours - *theirs) <= w_.tolerance * std::abs(*theirs)))
        complain(fmt::format("{} {:.13g}, others have {:.13g}", what, ours, *theirs));
    };
    compare("value", n.value, w_.value);
    compare("grad_norm", n.norm, w_.norm);
    if (!eager_too || eager()) return;
    if (std::string d = difference(out, case_.eager_result()); !d.empty()) complain("not the bits of eager: " + d);
  }

  void count_flops() {
    if (!eager()) line_ += fmt::format(R"(, "flops": {:.6g})", flops_of(case_));
  }

  void times(const RunOptions& o) {
    const Samples s = sample(step(), calls_per_sample(step()), 3, o.repeat, o.max_seconds);
    line_ += fmt::format(
        R"(, "step_ms_best": {:.6g}, "step_ms_median": {:.6g}, "samples": {}, "cpu_ms_best": {:.6g}, "cpu_ms_median": {:.6g})",
        least(s.wall) * 1e3, median(s.wall) * 1e3, s.wall.size(), least(s.cpu) * 1e3, median(s.cpu) * 1e3);
    if (s.foreign_cores) line_ += fmt::format(R"(, "foreign_cores": {:.3f})", *s.foreign_cores);
  }

  // `through_jit` looks the code up at each call, as users of jit(f) do; the others call what was compiled ahead of
  // time.
  const std::function<void()>& step() const {
    return eager() ? case_.call_eager : variant_ == "through_jit" ? case_.call_jit : case_.call;
  }
  void print() const { std::cout << line_ << "}" << std::endl; }
  bool good() const { return good_; }

 private:
  bool eager() const { return variant_ == "eager"; }
  static double least(const std::vector<double>& x) { return *std::min_element(x.begin(), x.end()); }
  void complain(const std::string& what) {
    std::cerr << w_.name << " " << variant_ << ": " << what << "\n";
    good_ = false;
  }

  const Workload& w_;
  std::string variant_;
  bool full_;
  Case case_;
  std::string line_;
  bool good_ = true;
};

}  // namespace

std::string difference(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return fmt::format("{} results, not {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!anew::test::same_bits(a[i], b[i])) return fmt::format("result {} of {}: {}", i, a.size(), a[i].type().str());
  return "";
}

bool run_one(const Workload& w, const std::string& variant, const Sizes& sizes, const RunOptions& options) {
  One one(w, variant, sizes);
  one.compile();
  if (options.runs) one.first_call(options.eager_too);
  if (options.runs && options.timed) one.times(options);
  one.print();
  return one.good();
}

bool serve(const Workload& w, const std::string& variant, const Sizes& sizes) {
  One one(w, variant, sizes);
  one.compile();
  one.first_call(false);
  one.count_flops();
  one.print();
  int calls = 0;  // counted when first asked: until then others may run beside
  for (std::string seconds; std::getline(std::cin, seconds);) {
    if (calls == 0) calls = calls_per_sample(one.step());
    const Samples s = sample(one.step(), calls, 1, 1000, std::stod(seconds));
    std::string times;
    for (double t : s.wall) times += fmt::format("{}{:.7g}", times.empty() ? "" : ", ", t * 1e3);
    std::cout << fmt::format(R"({{"times_ms": [{}], "cpu_ms": {:.7g}, "foreign_cores": {}}})", times,
                             median(s.cpu) * 1e3, s.foreign_cores ? fmt::format("{:.3f}", *s.foreign_cores) : "null")
              << std::endl;
  }
  return one.good();
}

}  // namespace workloads
