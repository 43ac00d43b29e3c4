// Ways to a plan of a lower peak, each a pure function of graph and budget; `budget_curve` puts them together. None
// knows a clock: what they may do is counted in `work`, about one unit for each read or instance looked at.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "plan/remat_cut.h"
#include "plan/remat_graph.h"

namespace anew::plan {

// What is left to spend. Every way ends soon after it is used up.
struct Work {
  std::int64_t left;
  bool spend(std::int64_t units) { return (left -= units) > 0; }
};

// Everything before kernel `turn` once, then the rest, with what is not kept there fetched or made again right before
// its first read.
Sequence expand(const RematGraph& graph, int turn, const std::vector<Place>& places);

// Segmented parametric min-cut. Tells plans one by one; `spacing`: peaks closer to each other than this are not worth a
// cut.
using Found = std::function<void(const Sequence&, const Evaluation&)>;
void cut_plans(const RematGraph& graph, std::int64_t spacing, Work& work, const Found& found);

// Groups of segments, for each way to put them together: the group of each kernel before the turn.
std::vector<std::vector<int>> block_groups(const RematGraph& graph);

// Offline eviction, after DTR (Kirisame et al. 2021): run in order; where memory is short, forget what is cheap to make
// again or fetch, large and not read for long, and do so when it is.
struct EvictOptions {
  double cost = 1, bytes = 1, distance = 1;  // exponents of the score
  bool readers = false;                      // what was evicted and depends on it counts as its cost too
  bool late = false;       // what a kernel reads may still go to make room for the rest of what it reads
  bool backwards = false;  // which is made last to first
  double noise = 0;
  std::uint64_t seed = 0;
};
std::optional<Sequence> evict(const RematGraph& graph, std::int64_t budget, const EvictOptions& options, Work& work);

// Without repeats and fetches that the budget does not ask for, the most expensive first.
Sequence remove_repeats(const RematGraph& graph, Sequence sequence, std::int64_t budget, Work& work);
// Repeats and fetches of values that are not read where memory is fullest, the cheapest for what they free first, until
// it fits.
std::optional<Sequence> repair(const RematGraph& graph, Sequence sequence, std::int64_t budget, double noise,
                               std::uint64_t& random, Work& work);
// One run that may be repeated, moved at random between what it needs and what needs it.
Sequence shifted(const RematGraph& graph, Sequence sequence, std::uint64_t& random);
// Runs moved as far as they go where that leaves fewer bytes above the budget.
Sequence settled(const RematGraph& graph, Sequence sequence, std::int64_t budget, Work& work);
// Local search: forget some repeats, move some runs, repair, remove; what is better stays.
Sequence improve(const RematGraph& graph, Sequence sequence, std::int64_t budget, double enough, Work& work);

// A number in [0, 1), and the next state.
double next_random(std::uint64_t& state);

}  // namespace anew::plan
