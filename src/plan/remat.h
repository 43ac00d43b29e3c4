// The curve of memory against time of a graph: plans of falling peak and rising cost. Computed on a fixed ladder of
// budgets, without a clock and without chance, so that the plan for a budget, the first on the curve that fits, never
// has a larger peak for a smaller budget nor a higher cost for a larger one.
#pragma once
#include "plan/remat_cut.h"
#include "plan/remat_graph.h"

namespace anew::plan {

struct RematPlan {
  Sequence sequence;
  double extra = 0;  // cost besides running every kernel once
  std::int64_t peak = 0;
};
// The plain one first.
std::vector<RematPlan> budget_curve(const RematGraph& graph);

}  // namespace anew::plan
