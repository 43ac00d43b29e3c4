// Budgets from the plain peak down to the smallest, of one Program: kept to the byte, monotone both ways, same bits,
// on one, two and four threads and by both backends. The suite takes few of them, ANEW_LONG all forty. All choose from
// the same plans; some are planned once more from the beginning, and give the same.
#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "ir/program.h"
#include "jit/compiled_program.h"
#include "passes/budget_choices.h"
#include "runtime/pool.h"
#include "support/bits.h"
#include "trace/trace.h"

namespace anew::test {

class BudgetSweep {
 public:
  static int number_of_budgets(int in_the_suite) { return std::getenv("ANEW_LONG") ? 40 : in_the_suite; }

  BudgetSweep(ir::ProgramRef program, Arrays inputs) : program_(std::move(program)), in_(std::move(inputs)) {
    for (Array& a : in_) a = contiguous(a);
    for (const Type& t : program_->input_types()) strides_.push_back(row_major(t.shape));
  }
  BudgetSweep(const Program& p, std::span<const Array> x) : BudgetSweep(p.code(), joined(p.constants(), x)) {}
  BudgetSweep(const FlatFunction& f, std::span<const Array> x) : BudgetSweep(flat::make_program(f, x), x) {}

  // Nothing where all holds, else what does not. Large programs are too slow for the interpreter.
  std::string run(int budgets, bool interpreted = true) {
    const int threads = anew::threads();
    std::string wrong = find_wrong(budgets, interpreted);
    set_threads(threads);
    return wrong;
  }
  std::size_t plans() const { return plans_; }  // different ones that were run
  const ir::Program& program() const { return *program_; }
  const std::vector<ir::Strides>& strides() const { return strides_; }
  std::string disk = {};         // a folder where plans may keep values
  std::size_t most_on_disk = 0;  // of them

 private:
  using Code = compiled::CompiledProgram;
  static Arrays joined(Arrays a, std::span<const Array> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  std::string find_wrong(int budgets, bool interpreted) {
    const Code plain(program_, strides_);
    want_ = plain.run(in_, Location());
    const std::size_t most = plain.plan().peak_bytes;
    const std::vector<BudgetPoint> curve = compiled::budget_curve(*program_, strides_, {{}, {}, disk});
    if (curve.empty() || curve[0].extra_time != 0 || curve[0].peak_bytes > most) return "the curve has another begin";
    for (std::size_t i = 1; i < curve.size(); ++i)
      if (curve[i].peak_bytes >= curve[i - 1].peak_bytes || curve[i].extra_time <= curve[i - 1].extra_time ||
          curve[i].extra_time < curve[i].extra_time_bound || curve[i].extra_time_bound < curve[i - 1].extra_time_bound)
        return fmt::format("point {} of the curve", i);
    const std::size_t least = curve.back().peak_bytes;
    passes::BudgetChoices choices(*program_, strides_, {}, disk);
    const int again_every = budgets < 12 ? budgets : budgets / 3;
    const bool named = !passes::kept_names(*program_).empty();
    std::size_t peak = most;
    double extra = -1;
    for (int i = 0; i <= budgets; ++i) {
      const std::size_t budget =
          most - (most - least) * static_cast<std::size_t>(i) / static_cast<std::size_t>(budgets);
      const Code c(program_, strides_, {budget, {}, disk}, compiled::plan_within(*program_, choices, budget));
      const MemoryPlan& p = c.plan();
      const std::string at =
          fmt::format(" with {} of {} bytes: peak {}, extra {}", budget, most, p.peak_bytes, p.extra_time);
      if (i > 0 && i % again_every == 0) {
        const MemoryPlan again = compiled::plan_within(*program_, strides_, {budget, {}, disk}).plan;
        if (again.peak_bytes != p.peak_bytes || again.extra_time != p.extra_time)
          return "another plan than before" + at;
      }
      if (p.peak_bytes > budget) return "not kept" + at;
      if (p.peak_bytes > peak || p.extra_time < extra) return "not monotone" + at;
      if (p.extra_time < p.extra_time_bound) return "below its bound" + at;
      const bool nothing = p.recomputed.empty() && (disk.empty() || p.offloaded.empty());
      // Where names are kept, steps are others than the plain ones, and may take more time without running again.
      if (nothing != (p.extra_time == 0) && !(nothing && named))
        return "takes time: " + (p.recomputed.empty() ? "nothing" : p.recomputed[0].what) + at;
      most_on_disk = std::max(most_on_disk, p.disk_bytes);
      const bool known = p.peak_bytes == peak && p.extra_time == extra;
      peak = p.peak_bytes;
      extra = p.extra_time;
      if (known) continue;
      ++plans_;
      std::optional<compiled::Budgeted> same;
      if (i < budgets) same = compiled::plan_within(*program_, choices, budget);  // the last is planned again
      if (std::string wrong = run_one(c, budget, interpreted, std::move(same)); !wrong.empty()) return wrong + at;
    }
    return "";
  }
  std::string run_one(const Code& c, std::size_t budget, bool interpreted, std::optional<compiled::Budgeted> planned) {
    for (int threads : {1, 2, 4})
      if (std::string wrong = compare(c, threads); !wrong.empty()) return wrong;
    if (!interpreted || compiled::backend() == compiled::Backend::interpreter) return "";
    compiled::set_backend(compiled::Backend::interpreter);
    const Code again = planned ? Code(program_, strides_, {budget, {}, disk}, std::move(*planned))
                               : Code(program_, strides_, {budget, {}, disk});
    compiled::set_backend(compiled::Backend::machine_code);
    if (again.plan().peak_bytes != c.plan().peak_bytes) return "another plan by the interpreter";
    for (int threads : {1, 2})
      if (std::string wrong = compare(again, threads); !wrong.empty()) return wrong + " by the interpreter";
    return "";
  }
  std::string compare(const Code& c, int threads) const {
    set_threads(threads);
    std::size_t high = 0;
    const Arrays got = c.run(in_, Location(), &high);
    if (high != c.plan().peak_bytes) return fmt::format("{} bytes used on {} threads", high, threads);
    for (std::size_t k = 0; k < want_.size(); ++k)
      if (!same_bits(got[k], want_[k])) return fmt::format("other bits of result {} on {} threads", k, threads);
    return "";
  }

  ir::ProgramRef program_;
  Arrays in_, want_;
  std::vector<ir::Strides> strides_;
  std::size_t plans_ = 0;
};

}  // namespace anew::test
