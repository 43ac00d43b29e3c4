// From one plan to a better one: taking repeats and fetches out, putting others in where memory is fullest, and a
// search over both with a fixed seed.
#include <algorithm>
#include <cmath>

#include "plan/remat_plans.h"
#include "plan/remat_timeline.h"

namespace anew::plan {
namespace {

// Runs that a sequence could do without.
std::vector<int> repeats_of(const RematGraph& g, const Sequence& sequence) {
  std::vector<char> seen(g.kernels.size());
  std::vector<int> out;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    if (std::exchange(seen[sequence[i]], true) || g.kernel(sequence[i]).fetch) out.push_back(static_cast<int>(i));
  return out;
}

// Runs to put in before position `before`, so that an instance need not live where memory is fullest.
struct Repeat {
  double score = 1e300;
  int before = -1;
  std::vector<int> kernels = {};
};

class Repair {
 public:
  Repair(const RematGraph& g, const Sequence& s, std::int64_t budget, double noise, std::uint64_t& random, Work& work)
      : g_(g),
        t_(g, s),
        budget_(budget),
        noise_(noise),
        random_(random),
        work_(work),
        over_(s.size() + 1),
        positions_(g.kernels.size()) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      over_[i + 1] = over_[i] + (t_.live()[i] > budget ? 1 : 0);
      positions_[s[i]].push_back(static_cast<int>(i));
    }
    peak_ = static_cast<int>(std::max_element(t_.live().begin(), t_.live().end()) - t_.live().begin());
  }

  Repeat best() {
    Repeat best;
    for (int i = 0; i < peak_; ++i)
      for (const Timeline::Made& m : t_.runs()[i].makes)
        if (t_.last(i, m) > peak_ && !t_.lives_on(i, m)) look(i, m, best);
    work_.spend(static_cast<std::int64_t>(t_.runs().size()) * 12);
    return best;
  }

 private:
  int over(int from, int to) const { return from > to ? 0 : over_[to + 1] - over_[from]; }
  void look(int i, const Timeline::Made& m, Repeat& best) {
    const auto next = std::lower_bound(m.readers.begin(), m.readers.end(), peak_);
    if (next == m.readers.end() || *next == peak_) return;  // read right there
    const int until = next == m.readers.begin() ? i : *(next - 1);
    auto start = [&] {
      closure_.clear();
      cost_ = 0;
      gain_ = static_cast<double>(g_.bytes(m.value));
      benefit_ = gain_ * over(until + 1, *next - 1);
    };
    auto compare = [&] {
      if (gain_ <= 0 || benefit_ <= 0) return;
      double score = (cost_ + nothing_) / benefit_;
      if (noise_ > 0) score *= std::exp(noise_ * 2 * (next_random(random_) + next_random(random_) - 1));
      if (score < best.score) best = {score, *next, closure_};
    };
    for (bool hold : {false, true})
      if (start(); close(g_.value(m.value).maker, *next, hold, 0)) compare();
    if (start(); fetch(m.value)) compare();
  }
  bool fetch(int v) {
    const int kernel = g_.value(v).fetch;
    if (kernel < 0) return false;
    cost_ += g_.fetch_cost(v, !positions_[kernel].empty());
    closure_.push_back(kernel);
    return true;
  }
  // The kernel, after what it reads and is not alive before position q.
  bool close(int kernel, int q, bool hold, int depth) {
    if (!g_.kernel(kernel).repeatable || depth > 400 || closure_.size() > 400) return false;
    work_.spend(4 + static_cast<std::int64_t>(closure_.size()) / 4);
    cost_ += g_.kernel(kernel).cost;
    for (int u : g_.kernel(kernel).reads) {
      const int maker = g_.value(u).maker;
      auto runs = [&](int k) { return std::find(closure_.begin(), closure_.end(), k) != closure_.end(); };
      if (runs(maker) || (g_.value(u).fetch >= 0 && runs(g_.value(u).fetch))) continue;
      const int last = last_before(u, q);
      if (last < 0) return false;
      if (last >= q - 1) continue;
      const std::int64_t bytes = g_.bytes(u);
      if (last >= peak_ && free(last + 1, q - 1, bytes)) continue;
      if (hold && depth == 0 && last < peak_ && static_cast<double>(bytes) < gain_) {
        gain_ -= static_cast<double>(bytes);
        benefit_ -= static_cast<double>(bytes) * over(last + 1, q - 1);
        continue;
      }
      if (g_.value(u).fetch >= 0 && (!g_.kernel(maker).repeatable || g_.fetch_cost(u) <= g_.kernel(maker).cost))
        fetch(u);
      else if (!close(maker, q, hold, depth + 1)) return false;
    }
    closure_.push_back(kernel);
    return true;
  }
  // Where the latest instance of value u before position q is last read.
  int last_before(int u, int q) const {
    int latest = -1;
    for (int kernel : {g_.value(u).maker, g_.value(u).fetch}) {
      if (kernel < 0) continue;
      const std::vector<int>& runs = positions_[kernel];
      auto run = std::lower_bound(runs.begin(), runs.end(), q);
      if (run == runs.begin()) continue;
      if (g_.value(u).kept) run = runs.begin() + 1;
      latest = std::max(latest, *(run - 1));
    }
    if (latest < 0) return -1;
    for (const Timeline::Made& m : t_.runs()[latest].makes)
      if (m.value == u) return t_.last(latest, m);
    return -1;
  }
  bool free(int from, int to, std::int64_t bytes) const {
    if (to - from > 2000) return false;
    for (int p = from; p <= to; ++p)
      if (t_.live()[p] + bytes > budget_) return false;
    return true;
  }

  const RematGraph& g_;
  Timeline t_;
  std::int64_t budget_;
  double noise_;
  std::uint64_t& random_;
  Work& work_;
  std::vector<int> over_;  // positions before this one with more than the budget
  std::vector<std::vector<int>> positions_;
  int peak_ = 0;
  std::vector<int> closure_;
  double cost_ = 0, gain_ = 0, benefit_ = 0;
  double nothing_ = 1e-12 * g_.total_cost();  // of what is free, the more useful first
};

// Some repeats forgotten: a share of all, those near one, or a few.
Sequence forget_some(const RematGraph& g, const Sequence& sequence, std::uint64_t& random) {
  const std::vector<int> repeats = repeats_of(g, sequence);
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(next_random(random) * static_cast<double>(n)); };
  std::vector<char> gone(sequence.size());
  const std::size_t way = below(3);
  if (way == 0) {
    const double share = 0.02 + 0.3 * next_random(random);
    for (int i : repeats) gone[i] = next_random(random) < share;
  } else if (way == 1) {
    const int middle = repeats[below(repeats.size())];
    const int reach = 2 + static_cast<int>(below(std::max<std::size_t>(3, sequence.size() / 6)));
    for (int i : repeats) gone[i] = std::abs(i - middle) < reach;
  } else {
    for (std::size_t count = 1 + below(5); count > 0; --count) gone[repeats[below(repeats.size())]] = true;
  }
  Sequence out;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    if (!gone[i]) out.push_back(sequence[i]);
  return out;
}

}  // namespace

Sequence remove_repeats(const RematGraph& g, Sequence sequence, std::int64_t budget, Work& work) {
  auto cost = [&](int k) { return g.kernel(k).cost + g.kernel(k).first_cost; };
  for (bool changed = true; changed && work.left > 0;) {
    changed = false;
    Timeline t(g, sequence);
    std::vector<int> repeats = repeats_of(g, sequence);
    std::stable_sort(repeats.begin(), repeats.end(),
                     [&](int a, int b) { return cost(sequence[a]) > cost(sequence[b]); });
    work.spend(static_cast<std::int64_t>(8 * sequence.size()));
    for (int i : repeats) {
      if (!work.spend(20)) break;
      changed |= t.remove(i, budget);
    }
    if (changed) sequence = without_dead_runs(g, t.sequence());
  }
  return sequence;
}

std::optional<Sequence> repair(const RematGraph& g, Sequence sequence, std::int64_t budget, double noise,
                               std::uint64_t& random, Work& work) {
  for (int round = 0; round < 400 && work.left > 0; ++round) {
    const Evaluation e = evaluate(g, sequence);
    work.spend(static_cast<std::int64_t>(2 * sequence.size()));
    if (!e.valid) return std::nullopt;
    if (e.peak <= budget) return sequence;
    if (sequence.size() > 30 * g.kernels.size()) return std::nullopt;
    const Repeat best = Repair(g, sequence, budget, noise, random, work).best();
    if (best.before < 0) return std::nullopt;
    sequence.insert(sequence.begin() + best.before, best.kernels.begin(), best.kernels.end());
    if (round % 16 == 15) sequence = without_dead_runs(g, sequence);
  }
  return std::nullopt;
}

Sequence improve(const RematGraph& g, Sequence sequence, std::int64_t budget, double enough, Work& work) {
  std::uint64_t random = 1;
  Sequence best = sequence;
  double cost = evaluate(g, sequence).cost, best_cost = cost;
  const std::int64_t all = work.left;
  while (work.left > 0 && best_cost > enough && best.size() > static_cast<std::size_t>(g.size())) {
    const double left = static_cast<double>(work.left) / static_cast<double>(all);
    Sequence start = sequence.size() > static_cast<std::size_t>(g.size()) ? forget_some(g, sequence, random) : best;
    for (double more = next_random(random); more < 0.6; more += 0.2) start = shifted(g, std::move(start), random);
    auto next = repair(g, std::move(start), budget, 0.1 + 0.7 * next_random(random), random, work);
    if (!next) continue;
    Sequence cleaned = remove_repeats(g, without_dead_runs(g, *next), budget, work);
    const Evaluation e = evaluate(g, cleaned);
    if (!e.valid || e.peak > budget) continue;
    const double heat = 2e-4 * best_cost * left * left;
    if (e.cost < cost || std::exp((cost - e.cost) / (heat + 1e-300)) > next_random(random)) {
      sequence = cleaned;
      cost = e.cost;
    }
    if (e.cost < best_cost * (1 - 1e-12)) best = std::move(cleaned), best_cost = e.cost;
  }
  return best;
}

}  // namespace anew::plan
