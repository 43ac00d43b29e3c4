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
// The plain one first. `effort`: of the work that is usual for a graph of this size, which part is done.
std::vector<RematPlan> budget_curve(const RematGraph& graph, double effort = 1);

}  // namespace anew::plan
