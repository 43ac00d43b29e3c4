// List schedules. Two moves are tried on the order given, forwards and backwards: hoisting (a task that is ready and
// frees more than it makes runs at once) and the same on the reversed order, which is sinking (a task that makes more
// than it frees runs as late as it can). Then greedy schedules: always the ready task that grows least. Reversed, a
// value lives from its last task to its first, so one procedure does for both directions.
#include "plan/list_schedule.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace anew::plan {
namespace {

struct Graph {
  std::vector<std::vector<int>> before, after;  // per task: direct dependences
  std::vector<std::vector<int>> touches;        // per task: values, each once
  std::vector<std::vector<int>> touched_by;     // per value: tasks, each once
  std::vector<bool> from_start;                 // per value: no task writes it first
};

void insert_once(std::vector<int>& list, int x) {
  if (std::find(list.begin(), list.end(), x) == list.end()) list.push_back(x);
}

Graph graph_of(std::span<const Task> tasks, std::span<const TaskValue> values) {
  Graph g;
  g.before.resize(tasks.size());
  g.after.resize(tasks.size());
  g.touches.resize(tasks.size());
  g.touched_by.resize(values.size());
  g.from_start.resize(values.size());
  std::vector<int> writer(values.size(), -1);
  std::vector<std::vector<int>> readers(values.size());  // since the last write
  int last_fixed = -1;
  auto depend = [&](int task, int earlier) {
    if (earlier >= 0 && earlier != task) g.before[task].push_back(earlier);
  };
  for (int t = 0; t < static_cast<int>(tasks.size()); ++t) {
    const Task& task = tasks[t];
    for (int v : task.reads) {
      if (g.touched_by[v].empty()) g.from_start[v] = true;
      depend(t, writer[v]);
    }
    for (int v : task.writes) {
      depend(t, writer[v]);
      for (int r : readers[v]) depend(t, r);
    }
    if (task.fixed) depend(t, std::exchange(last_fixed, t));
    for (int v : task.reads) readers[v].push_back(t), insert_once(g.touches[t], v);
    for (int v : task.writes) {
      writer[v] = t;
      readers[v].clear();
      insert_once(g.touches[t], v);
    }
    for (int v : g.touches[t]) g.touched_by[v].push_back(t);
    std::vector<int>& before = g.before[t];
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (int b : before) g.after[b].push_back(t);
  }
  return g;
}

// One schedule. Positions in `base` break ties; where `greedy` is off they decide, unless a ready task frees memory.
class ListScheduler {
 public:
  ListScheduler(const Graph& g, std::span<const TaskValue> values, const std::vector<int>& base, bool backwards,
                bool greedy)
      : g_(g), values_(values), backwards_(backwards), greedy_(greedy) {
    const std::size_t n = base.size();
    position_.resize(n);
    for (std::size_t i = 0; i < n; ++i) position_[base[i]] = static_cast<int>(backwards ? n - 1 - i : i);
    waits_.resize(n);
    gain_.assign(n, 0);
    for (std::size_t t = 0; t < n; ++t) waits_[t] = (backwards ? g.after[t] : g.before[t]).size();
    left_.resize(values.size());
    begun_.resize(values.size());
    for (std::size_t v = 0; v < values.size(); ++v) {
      left_[v] = g.touched_by[v].size();
      begun_[v] = opens_before(static_cast<int>(v));
      if (!begun_[v])
        for (int t : g.touched_by[v]) gain_[t] -= bytes(static_cast<int>(v));
      if (left_[v] == 1) last_one(static_cast<int>(v), g.touched_by[v][0]);
    }
    done_.resize(n);
  }

  std::vector<int> run() {
    const std::size_t n = position_.size();
    std::vector<int> order;
    order.reserve(n);
    for (std::size_t t = 0; t < n; ++t)
      if (!waits_[t]) add(static_cast<int>(t));
    while (!ready_.empty()) {
      int t = choose();
      remove(t);
      done_[t] = true;
      order.push_back(t);
      for (int v : g_.touches[t]) touch(v);
      for (int next : backwards_ ? g_.before[t] : g_.after[t])
        if (--waits_[next] == 0) add(next);
    }
    if (backwards_) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  std::int64_t bytes(int v) const { return static_cast<std::int64_t>(values_[v].bytes); }
  bool opens_before(int v) const { return backwards_ ? values_[v].kept : g_.from_start[v]; }
  bool stays_open(int v) const { return backwards_ ? g_.from_start[v] : values_[v].kept; }

  void add(int t) {
    ready_.insert({-gain_[t], position_[t], t});
    in_order_.insert({position_[t], t});
  }
  void remove(int t) {
    ready_.erase({-gain_[t], position_[t], t});
    in_order_.erase({position_[t], t});
  }
  void gain(int t, std::int64_t more) {
    if (done_.empty() || done_[t] || waits_[t] > 0) return void(gain_[t] += more);
    remove(t);
    gain_[t] += more;
    add(t);
  }
  // Task t alone still waits for v: when it runs, v is free.
  void last_one(int v, int t) {
    if (!stays_open(v)) gain(t, bytes(v));
  }
  void touch(int v) {
    if (!begun_[v]) {
      begun_[v] = true;
      for (int t : g_.touched_by[v])
        if (!done_[t]) gain(t, bytes(v));
    }
    if (--left_[v] == 1)
      for (int t : g_.touched_by[v])
        if (!done_[t]) last_one(v, t);
  }
  int choose() const {
    const Ready& best = *ready_.begin();
    return greedy_ || best.loss < 0 ? best.task : in_order_.begin()->second;
  }

  struct Ready {
    std::int64_t loss;
    int position, task;
    auto operator<=>(const Ready&) const = default;
  };
  const Graph& g_;
  std::span<const TaskValue> values_;
  bool backwards_, greedy_;
  std::vector<int> position_;
  std::vector<std::size_t> waits_, left_;
  std::vector<bool> begun_, done_;
  std::vector<std::int64_t> gain_;  // bytes freed less bytes made, were the task to run now
  std::set<Ready> ready_;
  std::set<std::pair<int, int>> in_order_;
};

// What an order takes: the peak; then the bytes of free values after each task, added up.
struct Cost {
  std::size_t peak = 0, waiting = 0;
  auto operator<=>(const Cost&) const = default;
};
Cost cost_of(const Graph& g, std::span<const Task> tasks, std::span<const TaskValue> values,
             std::span<const int> order) {
  std::vector<std::size_t> left(values.size());
  std::vector<bool> begun(values.size());
  std::size_t live = 0, peak = 0, waiting = 0, sum = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    left[v] = g.touched_by[v].size();
    begun[v] = g.from_start[v];
    if (begun[v]) (values[v].free ? waiting : live) += values[v].bytes;
  }
  peak = live;
  for (int t : order) {
    std::size_t made = 0, freed = 0;
    for (int v : g.touches[t]) {
      const TaskValue& value = values[v];
      if (!begun[v]) (value.free ? waiting : made) += value.bytes;
      begun[v] = true;
      if (--left[v] > 0 || value.kept) continue;
      if (value.free) waiting -= value.bytes;
      else freed += value.bytes;
    }
    std::size_t growth = !tasks[t].in_place ? made : made > freed ? made - freed : 0;
    peak = std::max(peak, live + growth + tasks[t].scratch);
    live = live + made - freed;
    sum += waiting;
  }
  return {peak, sum};
}

}  // namespace

std::size_t evaluate_peak(std::span<const Task> tasks, std::span<const TaskValue> values, std::span<const int> order) {
  return cost_of(graph_of(tasks, values), tasks, values, order).peak;
}

std::vector<int> list_schedule(std::span<const Task> tasks, std::span<const TaskValue> values) {
  Graph g = graph_of(tasks, values);
  std::vector<int> given(tasks.size());
  std::iota(given.begin(), given.end(), 0);
  std::vector<int> best = given;
  Cost least = cost_of(g, tasks, values, best);
  auto try_schedule = [&](const std::vector<int>& base, bool backwards, bool greedy) {
    std::vector<int> order = ListScheduler(g, values, base, backwards, greedy).run();
    if (const Cost cost = cost_of(g, tasks, values, order); cost < least) {
      least = cost;
      best = order;
    }
    return order;
  };
  std::vector<int> hoisted = try_schedule(given, false, false), sunk = try_schedule(given, true, false);
  try_schedule(hoisted, true, false);
  try_schedule(sunk, false, false);
  try_schedule(given, false, true);
  try_schedule(given, true, true);
  return best;
}

}  // namespace anew::plan
