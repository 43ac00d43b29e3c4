// The ladder: cuts give plans for many budgets at once; then eviction, from the largest budget down to where nothing
// fits; then, from the lowest rung up, plans of lower rungs with fewer repeats, and a search where the graph is not
// large.
#include "plan/remat.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plan/remat_plans.h"

namespace anew::plan {
namespace {

constexpr int most_rungs = 48;
constexpr int small = 64, large = 4000;  // kernels

// Settings of eviction that do well on one graph or another.
constexpr EvictOptions settings[] = {{1, 1, 1, false},       {1, 1, 0.5, false},  {1, 0.7, 1, false},
                                     {1, 0.5, 0.5, false},   {0.7, 1, 1, false},  {1, 0, 1, false},
                                     {1, 1, 1, false, true}, {1, 1, 1, true},     {1, 0.7, 0.5, true},
                                     {0.5, 0.5, 1, true},    {1.3, 1, 0.7, true}, {0.7, 0.7, 1.3, true}};

class Ladder {
 public:
  Ladder(const RematGraph& g, double effort) : g_(g), base_(g.total_cost()), least_(least_bytes(g)) {
    // Some 20 ns each: less than 0.3 s for 500 kernels, 1 s for 2,000, 5 s for 20,000.
    work_ = g.size() <= small ? 16'000'000 : 6'000'000 + 12'000 * static_cast<std::int64_t>(g.size());
    work_ = static_cast<std::int64_t>(effort * static_cast<double>(work_));
    cuts_ = work_ / (g.size() <= large && effort >= 1 ? 2 : 4);
  }

  // `known`: plans to begin with.
  std::vector<RematPlan> run(const std::vector<RematPlan>& known = {}) {
    found(plain_sequence(g_));
    for (const RematPlan& p : known) found(p.sequence);
    const std::int64_t top = plans_.rbegin()->first;
    if (g_.size() < 2 || top <= least_) return curve();
    step_ = std::max<std::int64_t>(1, (top - least_) / most_rungs);
    Work cuts{cuts_};
    cut_plans(g_, step_ / 4, cuts, [&](const Sequence& s, const Evaluation& e) { found(s, e); });
    go_down(top);
    remove_from_below(top);
    search();
    return curve();
  }

 private:
  void found(const Sequence& s) { found(s, evaluate(g_, s)); }
  // Keeps what no other plan beats in both.
  void found(const Sequence& s, const Evaluation& e) {
    if (!e.valid) return;
    const double extra = extra_of(s, e.cost);
    auto above = plans_.upper_bound(e.peak);
    if (above != plans_.begin() && std::prev(above)->second.extra <= extra * (1 + 1e-12)) return;
    while (above != plans_.end() && above->second.extra >= extra) above = plans_.erase(above);
    plans_[e.peak] = {s, extra, e.peak};
  }
  // Another order costs nothing; sums of the same numbers in another order differ by their rounding. What nobody reads
  // need not run, and pays for nothing else. A fetch is something more, however often it runs.
  double extra_of(const Sequence& s, double cost) const {
    std::vector<char> runs(g_.kernels.size());
    bool more = false;
    for (int k : s) more = std::exchange(runs[static_cast<std::size_t>(k)], true) || k >= g_.size() || more;
    double once = base_;
    for (int k = 0; k < g_.size(); ++k)
      if (!runs[static_cast<std::size_t>(k)]) once -= g_.kernel(k).cost;
    return more ? std::max(0.0, cost - once) : 0;
  }
  const RematPlan* best(std::int64_t budget) const {
    auto above = plans_.upper_bound(budget);
    return above == plans_.begin() ? nullptr : &std::prev(above)->second;
  }

  void go_down(std::int64_t top) {
    const std::int64_t share = work_ / 6 / most_rungs;
    for (std::int64_t budget = top - 1; budget >= least_;) {
      rungs_.push_back(budget);
      Work work{share};
      for (const EvictOptions& o : settings) evict_in(g_, {}, budget, o, work);
      if (g_.size() <= small) evict_at_random(budget, work, false);
      if (Work more{8 * share}; !best(budget) && g_.size() <= small) evict_at_random(budget, more, true);
      const RematPlan* here = best(budget);
      if (!here) break;
      budget = std::min(here->peak - 1, std::max(budget - step_, least_ - 1));
    }
  }
  void evict_in(const RematGraph& g, const Sequence& order, std::int64_t budget, const EvictOptions& o, Work& work) {
    if (work.left <= 0) return;
    std::optional<Sequence> s = evict(g, budget, o, work);
    if (!s) return;
    if (!order.empty())
      for (int& k : *s)
        if (k < g.size()) k = order[static_cast<std::size_t>(k)];
    found(*s);
  }
  // Small graphs: more settings, and other orders too.
  void evict_at_random(std::int64_t budget, Work& work, bool until_found) {
    std::uint64_t random = until_found ? 2 : 1;
    const Sequence plain = settled(g_, plain_sequence(g_), budget, work);
    found(plain);
    Sequence order = plain;
    for (int round = 0; work.left > 0 && !(until_found && best(budget)); ++round) {
      EvictOptions o{0.3 + 1.2 * next_random(random), 1.3 * next_random(random), 1.5 * next_random(random),
                     next_random(random) < 0.3,       next_random(random) < 0.5, next_random(random) < 0.5,
                     0.3 * next_random(random)};
      o.seed = random;
      if (round % 8 == 0) order = plain;
      else if (round % 2) order = shifted(g_, order, random);
      evict_in(reordered(g_, order), order, budget, o, work);
    }
  }
  // On many rungs, from below: repeats that a little more memory makes needless.
  void remove_from_below(std::int64_t top) {
    const std::int64_t lowest = plans_.begin()->first;
    const std::int64_t each = 40 * static_cast<std::int64_t>(g_.size());
    const std::int64_t rungs = std::clamp<std::int64_t>(work_ / 4 / each, most_rungs, 8 * most_rungs);
    const std::int64_t step = std::max<std::int64_t>(1, (top - lowest) / rungs);
    Work work{work_ / 4};
    for (std::int64_t budget = lowest; budget < top && work.left > 0; budget += step)
      found(remove_repeats(g_, best(budget)->sequence, budget, work));
  }
  void search() {
    if (g_.size() > 4 * small) return;  // the share of one rung would do nothing
    const std::int64_t share = work_ / 3 / most_rungs;
    const RematBounds bounds(g_);
    for (auto budget = rungs_.rbegin(); budget != rungs_.rend(); ++budget) {
      const RematPlan* start = best(*budget);
      if (!start) continue;
      Work work{share};
      const double bound = g_.size() <= small ? bounds.within(*budget).extra : 0;
      found(improve(g_, start->sequence, *budget, base_ + bound * (1 + 1e-9), work));
    }
  }
  std::vector<RematPlan> curve() {
    std::vector<RematPlan> out;
    for (auto p = plans_.rbegin(); p != plans_.rend(); ++p) out.push_back(std::move(p->second));
    return out;
  }

  const RematGraph& g_;
  double base_;
  std::int64_t least_, step_ = 1, work_, cuts_;
  std::vector<std::int64_t> rungs_;
  std::map<std::int64_t, RematPlan> plans_;  // by peak; extra falls as the peak rises
};

}  // namespace

std::vector<RematPlan> budget_curve(const RematGraph& g, double effort) {
  if (g.fetches == 0) return Ladder(g, effort).run();
  return Ladder(g, effort).run(Ladder(without_fetches(g), effort).run());
}

}  // namespace anew::plan
