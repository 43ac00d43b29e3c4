// Offline eviction: the order of first runs is that of the graph, so the next read of every value is known. A value's
// score is what making it again costs (what it needs and is gone included), or fetching it where that is less, over its
// bytes and the distance to its next read. Victims come from a heap whose scores may be old: the top is scored again,
// and taken if it is still the lowest.
#include <algorithm>
#include <cmath>
#include <queue>

#include "plan/remat_plans.h"

namespace anew::plan {
namespace {

class Eviction {
 public:
  Eviction(const RematGraph& g, std::int64_t budget, const EvictOptions& o, Work& work)
      : g_(g), budget_(budget), o_(o), work_(work), states_(g.values.size()), mark_(g.kernels.size()) {
    std::uint64_t random = o.seed;
    for (std::size_t v = 0; v < states_.size(); ++v) {
      double noise = 0;  // about normal
      if (o.noise > 0) noise = (next_random(random) + next_random(random) + next_random(random) - 1.5) * 2 * o.noise;
      states_[v].fixed_score =
          noise - o.bytes * std::log(static_cast<double>(std::max<std::int64_t>(1, g.values[v].bytes)));
    }
  }

  std::optional<Sequence> run() {
    while (front_ < g_.size())
      if (!make(front_)) return std::nullopt;
    return without_dead_runs(g_, out_);
  }

 private:
  struct State {
    bool resident = false;
    int pins = 0;
    std::size_t next = 0;  // reader
    std::uint32_t version = 0;
    double fixed_score = 0;
    bool fetched = false;
  };
  struct Entry {
    double score;
    int value;
    std::uint32_t version;
    bool operator<(const Entry& other) const {  // the lowest score on top
      return score != other.score ? score > other.score : value > other.value;
    }
  };
  struct Frame {
    int kernel;
    std::size_t next;          // of its reads
    std::vector<char> pinned;  // of its reads
  };
  static constexpr double lowest = -1e300, highest = 1e300;
  static constexpr int far = 1 << 30;

  State& state(int v) { return states_[v]; }
  int next_read(int v) {
    const std::vector<int>& readers = g_.value(v).readers;
    std::size_t& next = state(v).next;
    while (next < readers.size() && readers[next] < front_) ++next;
    return next < readers.size() ? readers[next] : far;
  }
  // The first read of anything that a gone kernel behind it makes.
  int next_indirect_read(int v) {
    int first = far;
    for (int r : g_.value(v).readers) {
      if (r >= front_) break;
      for (int w : g_.kernel(r).makes)
        if (!state(w).resident) first = std::min(first, next_read(w));
    }
    return first;
  }
  double cost_to_fetch(int v) { return g_.value(v).fetch < 0 ? highest : g_.fetch_cost(v, state(v).fetched); }
  double cost_to_get(int v) { return std::min(cost_to_fetch(v), cost_again(g_.value(v).maker)); }
  // Of the kernel and what it reads that is gone, and what that reads. Infinite: something can not be made again.
  double cost_again(int kernel) {
    constexpr int most = 200;
    ++stamp_;
    stack_.assign(1, kernel);
    mark_[kernel] = stamp_;
    double cost = 0;
    int count = 0;
    while (!stack_.empty() && count < most) {
      const RematKernel& k = g_.kernel(stack_.back());
      stack_.pop_back();
      if (!k.repeatable) return highest;
      cost += k.cost;
      ++count;
      for (int v : k.reads)
        if (int m = g_.value(v).maker; !state(v).resident && mark_[m] != stamp_) {
          const bool fetched =
              g_.value(v).fetch >= 0 && (!g_.kernel(m).repeatable || cost_to_fetch(v) <= g_.kernel(m).cost);
          if (fetched) {
            cost += cost_to_fetch(v);
            continue;
          }
          mark_[m] = stamp_;
          stack_.push_back(m);
        }
    }
    work_.spend(count);
    return cost;
  }
  double cost_of_readers(int kernel) {
    double cost = 0;
    ++stamp_;
    stack_.assign(1, kernel);
    for (int count = 0; !stack_.empty() && count < 200; ++count) {
      const int k = stack_.back();
      stack_.pop_back();
      for (int v : g_.kernel(k).makes)
        for (int r : g_.value(v).readers) {
          if (r >= front_) break;
          if (mark_[r] == stamp_) continue;
          mark_[r] = stamp_;
          const std::vector<int>& makes = g_.kernel(r).makes;
          if (std::none_of(makes.begin(), makes.end(),
                           [&](int w) { return !state(w).resident && next_read(w) != far; }))
            continue;
          cost += g_.kernel(r).cost;
          stack_.push_back(r);
        }
    }
    return cost;
  }
  double score(int v) {
    if (g_.value(v).kept) return highest;
    int next = next_read(v);
    const bool direct = next != far;
    if (!direct) next = next_indirect_read(v);
    if (next == far) return lowest;
    double cost = cost_to_get(v);
    if (cost == highest) return highest;
    if (o_.readers) cost += cost_of_readers(g_.value(v).maker);
    if (!direct) cost *= 0.5;
    const double distance = std::max(1, next - front_ + 1);
    return state(v).fixed_score + o_.cost * std::log(std::max(cost, 1e-30)) - o_.distance * std::log(distance);
  }
  void enter(int v) {
    if (g_.bytes(v) > 0) heap_.push({score(v), v, ++state(v).version});
  }

  bool forget_one() {
    std::vector<Entry> aside;
    bool found = false;
    while (!heap_.empty() && !found) {
      Entry top = heap_.top();
      heap_.pop();
      State& s = state(top.value);
      if (!s.resident || s.version != top.version) continue;
      if (s.pins) {
        aside.push_back(top);
        continue;
      }
      top.score = score(top.value);
      if (top.score == highest) {
        aside.push_back(top);
        continue;
      }
      if (!heap_.empty() && top.score > heap_.top().score) {
        heap_.push(top);
        if (!work_.spend(1)) return false;
        continue;
      }
      s.resident = false;
      bytes_ -= g_.bytes(top.value);
      found = true;
    }
    for (const Entry& e : aside) heap_.push(e);
    return found;
  }

  // What it reads stays from now on, or only from when it is seen to: then what is there may go to make room for the
  // rest.
  Frame frame(int kernel) {
    const std::vector<int>& reads = g_.kernel(kernel).reads;
    Frame f{kernel, 0, std::vector<char>(reads.size())};
    for (std::size_t r = 0; r < reads.size() && !o_.late; ++r)
      if (state(reads[r]).resident) ++state(reads[r]).pins, f.pinned[r] = true;
    return f;
  }
  // All that it reads is resident and pinned.
  bool execute(int kernel) {
    const RematKernel& k = g_.kernel(kernel);
    std::int64_t more = k.scratch;
    for (int v : k.makes)
      if (!state(v).resident) more += g_.bytes(v);
    // What it makes may take the place of something that it is the last to read.
    for (const auto& [read, made] : k.reuses)
      if (kernel == front_ && g_.value(read).readers.back() == kernel) {
        more -= g_.bytes(made);
        break;
      }
    while (bytes_ + more > budget_)
      if (!forget_one()) return false;
    out_.push_back(kernel);
    if (kernel == front_) ++front_;  // reads by this kernel are done when scores are counted
    for (int v : k.reads) --state(v).pins;
    for (int v : k.makes) {
      if (!std::exchange(state(v).resident, true)) bytes_ += g_.bytes(v);
      enter(v);
    }
    for (int v : k.reads) enter(v);
    return work_.spend(8) && out_.size() < 20 * g_.kernels.size() + 1000;
  }
  bool fetch(int v) {
    while (bytes_ + g_.bytes(v) > budget_)
      if (!forget_one()) return false;
    out_.push_back(g_.value(v).fetch);
    state(v).resident = state(v).fetched = true;
    bytes_ += g_.bytes(v);
    return work_.spend(8);
  }
  bool make(int kernel) {
    std::vector<Frame> stack{frame(kernel)};
    while (!stack.empty()) {
      Frame& f = stack.back();
      const std::vector<int>& reads = g_.kernel(f.kernel).reads;
      if (f.next == reads.size()) {
        if (!execute(f.kernel)) return false;
        stack.pop_back();
        continue;
      }
      const std::size_t r = o_.backwards ? reads.size() - 1 - f.next : f.next;
      const int v = reads[r];
      if (state(v).resident) {
        if (!f.pinned[r]) ++state(v).pins;
        ++f.next;
        continue;
      }
      if (const double cost = cost_to_fetch(v); cost < highest && cost <= cost_again(g_.value(v).maker)) {
        if (!fetch(v)) return false;
        continue;
      }
      if (stack.size() > 5000 || !g_.kernel(g_.value(v).maker).repeatable) return false;
      stack.push_back(frame(g_.value(v).maker));
    }
    return true;
  }

  const RematGraph& g_;
  std::int64_t budget_, bytes_ = 0;
  EvictOptions o_;
  Work& work_;
  std::vector<State> states_;
  std::vector<int> mark_, stack_;
  int stamp_ = 0;
  int front_ = 0;  // kernels before this one have run
  std::priority_queue<Entry> heap_;
  Sequence out_;
};

}  // namespace

double next_random(std::uint64_t& state) {
  std::uint64_t x = state += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

std::optional<Sequence> evict(const RematGraph& g, std::int64_t budget, const EvictOptions& options, Work& work) {
  return Eviction(g, budget, options, work).run();
}

}  // namespace anew::plan
