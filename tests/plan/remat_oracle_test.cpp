// Plans against the cheapest there are, found by exhaustion. A part of the graphs, or with ANEW_LONG all of them: more
// than 500 chains, uneven chains, residual blocks, U-nets and random graphs of up to 20 kernels, four budgets of each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "plan/remat.h"
#include "plan/remat_graphs.h"
#include "plan/remat_oracle.h"

namespace anew::test {
namespace {

using namespace plan;

struct Tally {
  int graphs = 0, budgets = 0, found = 0, optimal = 0;
  double gaps = 0;  // as parts of the whole time
};

// Budgets between the smallest there is and the plain peak.
void compare(const RematGraph& g, Tally& tally) {
  ++tally.graphs;
  const std::vector<RematPlan> curve = budget_curve(g);
  Oracle oracle(g);
  std::int64_t low = least_bytes(g), high = curve[0].peak;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (oracle.cost(middle)) high = middle;
    else low = middle + 1;
  }
  for (int percent : {75, 50, 25, 0}) {
    const std::int64_t budget = low + (curve[0].peak - low) * percent / 100;
    const double least = *oracle.cost(budget) - g.total_cost();
    EXPECT_LE(RematBounds(g).within(budget).extra, least + 1e-6);
    ++tally.budgets;
    auto plan = std::find_if(curve.begin(), curve.end(), [&](const RematPlan& p) { return p.peak <= budget; });
    if (plan == curve.end()) continue;
    ++tally.found;
    const double gap = (plan->extra - least) / (least + g.total_cost());
    EXPECT_GE(gap, -1e-9);
    tally.gaps += gap;
    tally.optimal += gap < 1e-9;
  }
}

TEST(RematOracle, PlansAreOptimal) {
  const int each = std::getenv("ANEW_LONG") ? 125 : 5;
  Tally tally;
  for (int i = 0; i < each; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    for (const RematGraph& g :
         {chain_graph(4 + i % 7), uneven_chain_graph(5 + i % 5, seed), residual_graph(1 + i % 2, seed),
          small_unet_graph(1 + i % 3, seed), random_graph(5 + i % 5, seed)})
      if (g.values.size() <= 20) compare(g, tally);
  }
  EXPECT_GE(tally.graphs, each * 4);
  EXPECT_GE(tally.optimal, 0.95 * tally.budgets);
  EXPECT_LE(tally.gaps, 0.001 * tally.budgets);
  std::cout << fmt::format("[ figures  ] {} graphs, {} budgets: {} met, {} at the optimum, gap {:.4f} % on average\n",
                           tally.graphs, tally.budgets, tally.found, tally.optimal, 100 * tally.gaps / tally.found);
}

// Some values can be fetched, for less or more than what making them again costs.
RematGraph with_fetches(RematGraph g, std::uint64_t seed) {
  const auto values = static_cast<int>(g.values.size());
  const double mean = g.total_cost() / g.size();
  for (int v = 0; v < values && g.values.size() < 20; ++v)
    if (!g.value(v).kept && g.value(v).readers.size() > 1 && next_random(seed) < 0.7)
      g.add_fetch(v, 0, mean * (0.1 + 2 * next_random(seed)));
  return g;
}

TEST(RematOracle, PlansWithFetchesAreOptimal) {
  const int each = std::getenv("ANEW_LONG") ? 60 : 5;
  Tally tally;
  int fetched = 0;
  for (int i = 0; i < each; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    for (const RematGraph& plain : {chain_graph(4 + i % 3), uneven_chain_graph(5, seed), residual_graph(1, seed),
                                    small_unet_graph(1 + i % 2, seed), random_graph(5 + i % 2, seed)}) {
      if (plain.values.size() > 16) continue;
      const RematGraph g = with_fetches(plain, seed + 1);
      compare(g, tally);
      for (const RematPlan& p : budget_curve(g))
        fetched += std::any_of(p.sequence.begin(), p.sequence.end(), [&](int k) { return g.kernel(k).fetch; });
    }
  }
  EXPECT_GE(fetched, tally.budgets / 3);
  EXPECT_GE(tally.budgets, each * 12);
  EXPECT_GE(tally.optimal, 0.95 * tally.budgets);
  EXPECT_LE(tally.gaps, 0.001 * tally.budgets);
  RecordProperty("budgets", tally.budgets);
  RecordProperty("optimal", tally.optimal);
}

}  // namespace
}  // namespace anew::test
