// Plans of one Program for every budget: which steps run again, and which values lie in a file meanwhile, so that less
// is in memory at once. Only that changes: a step that runs again is the same step on storages of its own, so every bit
// stays. Plans are found on a fixed ladder (plan/remat.h), ordered by time; the plan for a budget is the first that
// fits, the plain one where it does and none of those takes less time. So a smaller budget never has a larger peak, and
// a larger one never takes more time.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "passes/step_graph.h"
#include "plan/remat.h"

namespace anew::passes {

// Names that the policies of the Program's checkpoints keep: what has one is not made twice.
std::set<std::string> kept_names(const ir::Program& program);

class BudgetPlans {
 public:
  // The arguments outlive it. `effort`: as that of `plan::budget_curve`.
  BudgetPlans(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated = {},
              std::string disk = {}, double effort = 1);

  // The first is the plan without a budget; the others are found when that does not do.
  std::size_t size() { return find_plans(), plans_.size(); }
  std::shared_ptr<const Body> body(std::size_t plan);
  std::size_t bytes(std::size_t plan);  // of its arena and the outputs
  // In seconds, by the model: of all its steps, as often as they run.
  double time(std::size_t plan = 0) const { return plans_[plan].time; }
  // No plan takes less. One with repeats may take less than the first, which runs what nobody reads, or whose steps are
  // others where names are kept.
  double least_time();
  // Its steps before they are placed, of which that is the sum.
  std::shared_ptr<const Body> unplaced(std::size_t plan);
  double extra_time_bound(std::size_t bytes);  // besides the first; below 0 where that runs what nobody reads
  double price(std::size_t bytes);             // for a byte
  // The one of least time within so many bytes of arena and outputs; nothing where there is none.
  std::optional<std::size_t> first_within(std::size_t bytes);
  std::size_t smallest();  // the plan of the fewest bytes
  std::size_t donated_bytes() const { return donated_bytes_; }
  std::size_t least_bytes(std::size_t plan) const { return plans_[plan].least; }  // no placement has fewer
  // Steps that run more than once, and how often more.
  struct Repeat {
    const Step* step;
    int times;
    double time;  // of one
  };
  std::vector<Repeat> repeats(std::size_t plan) const;

 private:
  struct Plan {
    plan::Sequence sequence;  // of the plain one: none
    double time = 0;
    std::size_t least = 0;  // no placement has fewer bytes
    std::shared_ptr<const Body> body = {};
  };
  StepGraph& steps();  // made when first asked for
  double time_once();  // of the steps of which plans are sequences, without what nobody reads
  void find_plans();
  const ir::Program& program_;
  std::span<const Strides> inputs_;
  Planned plain_;
  std::shared_ptr<const Body> repeated_;  // the steps of which plans are sequences
  std::span<const int> donated_;
  std::string disk_;
  double effort_;
  std::size_t donated_bytes_ = 0;
  std::unique_ptr<StepGraph> steps_;
  std::optional<double> least_time_;
  bool found_ = false;
  std::vector<Plan> plans_;
};

}  // namespace anew::passes
