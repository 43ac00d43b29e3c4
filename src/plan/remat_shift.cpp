// Other orders of the same runs. A run may move past another that neither makes what it reads nor reads what it makes;
// runs that may not be repeated stay where they are among each other, so effects keep their order.
#include <algorithm>

#include "plan/remat_plans.h"

namespace anew::plan {
namespace {

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

bool independent(const RematGraph& g, int a, int b) {
  const RematKernel &x = g.kernel(a), &y = g.kernel(b);
  return a != b && !meet(x.reads, y.makes) && !meet(x.makes, y.reads);
}

// The first and last position to which the run at `from` can move.
std::pair<int, int> reach(const RematGraph& g, const Sequence& s, int from) {
  int low = from, high = from;
  if (!g.kernel(s[from]).repeatable) return {low, high};
  while (low > 0 && independent(g, s[from], s[low - 1])) --low;
  while (high + 1 < static_cast<int>(s.size()) && independent(g, s[from], s[high + 1])) ++high;
  return {low, high};
}

void move(Sequence& s, int from, int to) {
  const int kernel = s[from];
  s.erase(s.begin() + from);
  s.insert(s.begin() + to, kernel);
}

std::int64_t above(const RematGraph& g, const Sequence& s, std::int64_t budget) {
  std::int64_t sum = 0;
  for (std::int64_t bytes : evaluate(g, s).live) sum += std::max<std::int64_t>(0, bytes - budget);
  return sum;
}

}  // namespace

Sequence shifted(const RematGraph& g, Sequence s, std::uint64_t& random) {
  const auto from = static_cast<int>(next_random(random) * static_cast<double>(s.size()));
  const auto [low, high] = reach(g, s, from);
  const double where = 3 * next_random(random);  // to either end, or between
  move(s, from, where < 1 ? low : where < 2 ? high : low + static_cast<int>((where - 2) * (high - low + 1)));
  return s;
}

Sequence settled(const RematGraph& g, Sequence s, std::int64_t budget, Work& work) {
  std::int64_t now = above(g, s, budget);
  for (bool changed = true; changed && now > 0;) {
    changed = false;
    for (int from = 0; from < static_cast<int>(s.size()) && now > 0; ++from) {
      const auto [low, high] = reach(g, s, from);
      for (int to : {low, high}) {
        if (to == from) continue;
        if (!work.spend(static_cast<std::int64_t>(4 * s.size()))) return s;
        Sequence other = s;
        move(other, from, to);
        const std::int64_t then = above(g, other, budget);
        if (then >= now) continue;
        now = then;
        s = std::move(other);
        changed = true;
        break;
      }
    }
  }
  return s;
}

}  // namespace anew::plan
