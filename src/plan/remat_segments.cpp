// Segmented parametric min-cut. The turn is where the most bytes pass from what has run to what has not: in a gradient,
// the loss. At the turn a cut says what is kept, for a price of a byte; repeats behind it are run on demand. Segments
// are the stretches between moments at which little passes; what passes between groups of them is kept, which bounds
// how deep repeats reach and so what they hold meanwhile. Costs rise with the position by 2 %: of equal layers some are
// kept and some not, where one price would treat all alike.
#include <algorithm>
#include <map>

#include "plan/remat_cut.h"
#include "plan/remat_plans.h"

namespace anew::plan {
namespace {

// Bytes that kernels before position i+1 pass on to kernels before `end`, for each i.
std::vector<std::int64_t> passed_on(const RematGraph& g, int end) {
  std::vector<std::int64_t> bytes(end + 1);
  for (const RematValue& v : g.values) {
    if (v.maker < 0 || v.maker >= end) continue;
    int last = v.kept && end == g.size() ? end : v.maker;
    for (int r : v.readers)
      if (r < end) last = std::max(last, r);
    bytes[v.maker] += v.bytes;
    bytes[last] -= v.bytes;
  }
  for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] += bytes[i - 1];
  bytes.pop_back();
  return bytes;
}

// Positions behind which less is passed on than around them; those among these, and so on.
std::vector<std::vector<int>> minima_of(const std::vector<std::int64_t>& bytes) {
  std::vector<std::vector<int>> levels;
  std::vector<int> here;
  for (int i = 0; i < static_cast<int>(bytes.size()); ++i) here.push_back(i);
  while (true) {
    std::vector<int> lower;
    for (std::size_t i = 1; i + 1 < here.size(); ++i) {
      std::size_t j = i;  // the end of a plain
      while (j + 1 < here.size() && bytes[here[j + 1]] == bytes[here[i]]) ++j;
      if (j + 1 < here.size() && bytes[here[i]] < bytes[here[i - 1]] && bytes[here[i]] < bytes[here[j + 1]])
        for (std::size_t k = levels.empty() ? j : i; k <= j; ++k) lower.push_back(here[k]);
      i = j;
    }
    if (lower.empty() || (!levels.empty() && lower.size() == levels.back().size())) return levels;
    levels.push_back(lower);
    here = std::move(lower);
  }
}

class Cuts {
 public:
  Cuts(const RematGraph& g, int turn, std::int64_t spacing, Work& work, const Found& found)
      : g_(g), turn_(turn), spacing_(spacing), work_(work), found_(found) {
    double cost = 0;
    std::int64_t bytes = 1;
    for (int k = 0; k < turn; ++k) {
      cost += g.kernel(k).cost;
      for (int v : g.kernel(k).makes) bytes += g.bytes(v);
    }
    unit_ = cost / static_cast<double>(bytes);
  }

  // With the values that pass between groups kept: `group` of each position before the turn.
  void run(const std::vector<int>& group) {
    const ParametricCut cut(g_, problem(group));
    peaks_.clear();
    ParametricCut low = cut;
    std::int64_t low_peak = look(low);
    for (double price = 1e-4 * unit_; price < 100 * unit_ && work_.left > 0; price *= 2) {
      ParametricCut high = low;
      high.set_price(price);
      const std::int64_t high_peak = look(high);
      between(low, low_peak, high, high_peak, 10);
      low = std::move(high);
      low_peak = high_peak;
    }
  }

 private:
  CutProblem problem(const std::vector<int>& group) const {
    CutProblem p;
    p.needed.assign(g_.values.size(), false);
    p.free.assign(g_.values.size(), false);
    p.rerun.assign(g_.kernels.size(), 0.0);
    p.fetch.assign(g_.values.size(), never);
    for (int k = 0; k < turn_; ++k) {
      const RematKernel& kernel = g_.kernel(k);
      const double position = 1 + 0.02 * (static_cast<double>(k) / turn_ - 0.5);
      p.rerun[k] = kernel.cost * position;
      if (!kernel.repeatable) p.rerun[k] = never;
      for (int v : kernel.makes) {
        if (g_.value(v).fetch >= 0) p.fetch[v] = g_.fetch_cost(v) * position;
        for (int r : g_.value(v).readers) {
          if (g_.kernel(r).fetch) continue;
          if (r >= turn_) p.needed[v] = true;
          else if (group[r] != group[k]) p.rerun[k] = never;
        }
      }
    }
    return p;
  }
  // The peak of the plan that follows; plans of one set of kept values are one.
  std::int64_t look(const ParametricCut& cut) {
    const std::vector<Place> places = cut.places();
    if (auto known = peaks_.find(places); known != peaks_.end()) return known->second;
    const Sequence sequence = expand(g_, turn_, places);
    const Evaluation e = evaluate(g_, sequence);
    work_.spend(static_cast<std::int64_t>(6 * sequence.size()) + 20 * turn_);
    if (e.valid) found_(sequence, e);
    return peaks_[places] = e.peak;
  }
  void between(const ParametricCut& low, std::int64_t low_peak, const ParametricCut& high, std::int64_t high_peak,
               int depth) {
    if (depth == 0 || work_.left <= 0 || std::abs(low_peak - high_peak) <= spacing_) return;
    ParametricCut middle = low;
    middle.set_price((low.price() + high.price()) / 2);
    const std::int64_t peak = look(middle);
    between(low, low_peak, middle, peak, depth - 1);
    between(middle, peak, high, high_peak, depth - 1);
  }

  const RematGraph& g_;
  int turn_;
  std::int64_t spacing_;
  Work& work_;
  const Found& found_;
  double unit_ = 0;
  std::map<std::vector<Place>, std::int64_t> peaks_;
};

std::vector<int> groups(int turn, const std::vector<int>& ends, std::size_t together) {
  std::vector<int> group(turn);
  std::size_t segment = 0;
  for (int i = 0; i < turn; ++i) {
    group[i] = static_cast<int>(segment / together);
    if (segment < ends.size() && i == ends[segment]) ++segment;
  }
  return group;
}

}  // namespace

Sequence expand(const RematGraph& g, int turn, const std::vector<Place>& places) {
  Sequence out;
  std::vector<char> available(g.values.size());
  for (int k = 0; k < turn; ++k) {
    out.push_back(k);
    for (int v : g.kernel(k).makes)
      available[v] =
          g.value(v).kept || places[v] == Place::kept || (!g.kernel(k).repeatable && places[v] != Place::fetched);
  }
  std::vector<std::pair<int, std::size_t>> stack;  // kernels, and how many of their reads have been seen to
  for (int k = turn; k < g.size(); ++k) {
    stack.push_back({k, 0});
    while (!stack.empty()) {
      auto& [kernel, seen] = stack.back();
      const RematKernel& here = g.kernel(kernel);
      if (seen < here.reads.size()) {
        const int v = here.reads[seen++];
        if (available[v]) continue;
        if (places[v] != Place::fetched) {
          stack.push_back({g.value(v).maker, 0});
        } else {
          out.push_back(g.value(v).fetch);
          available[v] = true;
        }
        continue;
      }
      // What ran for an earlier read may have been this kernel.
      const bool done =
          kernel != k && std::all_of(here.makes.begin(), here.makes.end(), [&](int v) { return available[v] != 0; });
      if (!done) out.push_back(kernel);
      for (int v : here.makes) available[v] = true;
      stack.pop_back();
    }
  }
  return without_dead_runs(g, out);
}

static int turn_of(const RematGraph& g) {
  const std::vector<std::int64_t> all = passed_on(g, g.size());
  return static_cast<int>(std::max_element(all.begin(), all.end()) - all.begin()) + 1;
}

std::vector<std::vector<int>> block_groups(const RematGraph& g) {
  const int turn = turn_of(g);
  std::vector<std::vector<int>> out;
  for (const std::vector<int>& ends : minima_of(passed_on(g, turn)))
    for (std::size_t together = 1; together <= ends.size(); together += 1 + together / 6) {
      std::vector<int> now = groups(turn, ends, together);
      if (std::find(out.begin(), out.end(), now) == out.end()) out.push_back(std::move(now));
    }
  return out;
}

void cut_plans(const RematGraph& g, std::int64_t spacing, Work& work, const Found& found) {
  const int turn = turn_of(g);
  Cuts cuts(g, turn, spacing, work, found);
  cuts.run(std::vector<int>(turn));
  for (const std::vector<int>& ends : minima_of(passed_on(g, turn)))
    for (std::size_t together = 1; together < ends.size() && work.left > 0; together += 1 + together / 6)
      cuts.run(groups(turn, ends, together));
}

}  // namespace anew::plan
