// The cheapest way to run a small graph within a budget, by exhaustion: Dijkstra's algorithm over sets of values in
// memory. Any order of first runs, any number of repeats and fetches, of which each costs the same.
#pragma once
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "plan/remat_graph.h"

namespace anew::test {

class Oracle {
 public:
  explicit Oracle(const plan::RematGraph& g) : g_(g) {
    for (const plan::RematKernel& k : g.kernels) {
      reads_.push_back(mask(k.reads));
      makes_.push_back(mask(k.makes));
    }
    for (std::size_t v = 0; v < g.values.size(); ++v) {
      if (g.values[v].kept) kept_ |= 1u << v;
      if (g.values[v].bytes > 0) droppable_ |= 1u << v;
    }
    droppable_ &= ~kept_;
  }
  // Nothing where no sequence fits.
  std::optional<double> cost(std::int64_t budget) {
    using Entry = std::pair<double, std::uint32_t>;
    std::vector<double> best(std::size_t{1} << g_.values.size(), std::numeric_limits<double>::infinity());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    auto reach = [&](double cost, std::uint32_t state) {
      if (cost >= best[state]) return;
      best[state] = cost;
      queue.push({cost, state});
    };
    reach(0, 0);
    while (!queue.empty()) {
      const auto [cost, state] = queue.top();
      queue.pop();
      if (cost > best[state]) continue;
      if ((state & kept_) == kept_) return cost;
      for (std::size_t k = 0; k < g_.kernels.size(); ++k) run(k, cost, state, budget, reach);
      for (std::uint32_t rest = state & droppable_; rest; rest &= rest - 1) reach(cost, state & ~(rest & -rest));
    }
    return std::nullopt;
  }

 private:
  template <class Reach>
  void run(std::size_t k, double cost, std::uint32_t state, std::int64_t budget, Reach& reach) const {
    const plan::RematKernel& kernel = g_.kernels[k];
    if ((reads_[k] & state) != reads_[k] || (makes_[k] & state) == makes_[k]) return;
    const std::int64_t bytes = bytes_of(state | makes_[k]) + kernel.scratch;
    if (bytes <= budget) reach(cost + kernel.cost, state | makes_[k]);
    for (const auto& [read, made] : kernel.reuses)
      if (!g_.value(read).kept && bytes - g_.bytes(made) <= budget)
        reach(cost + kernel.cost, (state | makes_[k]) & ~(1u << read));
  }
  static std::uint32_t mask(const std::vector<int>& values) {
    std::uint32_t m = 0;
    for (int v : values) m |= 1u << v;
    return m;
  }
  std::int64_t bytes_of(std::uint32_t state) const {
    std::int64_t sum = 0;
    for (; state; state &= state - 1) sum += g_.bytes(__builtin_ctz(state));
    return sum;
  }
  const plan::RematGraph& g_;
  std::vector<std::uint32_t> reads_, makes_;
  std::uint32_t kept_ = 0, droppable_ = 0;
};

}  // namespace anew::test
