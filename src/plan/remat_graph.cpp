// One pass gives the last read of every instance, a difference array the bytes at each position.
#include "plan/remat_graph.h"

#include <algorithm>
#include <numeric>

namespace anew::plan {
namespace {

void sort_once(std::vector<int>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// Instances of values, numbered in the order in which they are made.
struct Instance {
  int value, from, last;
};

// A made value that may take the memory of an instance read at this position.
struct Reuse {
  int position, instance, made;
};

struct Lives {
  std::vector<Instance> instances;
  std::vector<Reuse> reuses;
  bool valid = true;
};

Lives lives_of(const RematGraph& g, const Sequence& sequence) {
  Lives lives;
  lives.instances.reserve(sequence.size() + sequence.size() / 4);
  std::vector<int> current(g.values.size(), -1);
  const int end = static_cast<int>(sequence.size()) - 1;
  for (int i = 0; i <= end; ++i) {
    const RematKernel& k = g.kernel(sequence[i]);
    for (int v : k.reads) {
      if (current[v] < 0) return {{}, {}, false};
      Instance& read = lives.instances[current[v]];
      read.last = std::max(read.last, i);
    }
    for (const auto& [read, made] : k.reuses) lives.reuses.push_back({i, current[read], made});
    for (int v : k.makes) {
      if (current[v] >= 0 && !k.repeatable) return {{}, {}, false};
      const bool kept = g.value(v).kept;
      lives.instances.push_back({v, i, kept && current[v] < 0 ? end : i});
      if (!kept || current[v] < 0) current[v] = static_cast<int>(lives.instances.size()) - 1;
    }
  }
  for (std::size_t v = 0; v < g.values.size(); ++v)
    if (g.values[v].kept && current[v] < 0) lives.valid = false;
  return lives;
}

}  // namespace

int RematGraph::add_value(std::int64_t bytes, bool kept) {
  values.push_back({bytes, kept});
  return static_cast<int>(values.size()) - 1;
}

int RematGraph::add_kernel(RematKernel kernel) {
  const int id = static_cast<int>(kernels.size());
  sort_once(kernel.reads);
  for (int v : kernel.reads) values[v].readers.push_back(id);
  for (int v : kernel.makes) (kernel.fetch ? values[v].fetch : values[v].maker) = id;
  fetches += kernel.fetch;
  kernels.push_back(std::move(kernel));
  return id;
}

int RematGraph::add_fetch(int value, double write, double read) {
  const int left = add_value(0), maker = values[value].maker;
  values[left].maker = maker;
  kernels[maker].makes.push_back(left);
  RematKernel k{read, {left}, {value}};
  k.first_cost = write;
  k.fetch = true;
  return add_kernel(std::move(k));
}

double RematGraph::total_cost() const {
  return std::accumulate(kernels.begin(), kernels.begin() + size(), 0.0,
                         [](double s, const RematKernel& k) { return s + k.cost; });
}

Evaluation evaluate(const RematGraph& g, const Sequence& sequence) {
  const Lives lives = lives_of(g, sequence);
  Evaluation e;
  e.valid = lives.valid;
  if (!e.valid) return e;
  e.live.assign(sequence.size() + 1, 0);
  for (const Instance& x : lives.instances) {
    e.live[x.from] += g.bytes(x.value);
    e.live[x.last + 1] -= g.bytes(x.value);
  }
  std::partial_sum(e.live.begin(), e.live.end(), e.live.begin());
  e.live.pop_back();
  std::vector<int> taken;  // of this position: instances, and ~ of the values made
  auto has = [&](int x) { return std::find(taken.begin(), taken.end(), x) != taken.end(); };
  for (std::size_t r = 0; r < lives.reuses.size(); ++r) {
    const Reuse& x = lives.reuses[r];
    if (r == 0 || lives.reuses[r - 1].position != x.position) taken.clear();
    if (lives.instances[x.instance].last != x.position || has(x.instance) || has(~x.made)) continue;
    taken.push_back(x.instance), taken.push_back(~x.made);
    e.live[x.position] -= g.bytes(x.made);
  }
  std::vector<char> fetched(g.fetches);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const RematKernel& k = g.kernel(sequence[i]);
    e.cost += k.cost;
    if (k.fetch && !std::exchange(fetched[sequence[i] - g.size()], true)) e.cost += k.first_cost;
    e.live[i] += k.scratch;
    if (e.live[i] > e.peak) e.peak = e.live[i], e.at = static_cast<int>(i);
  }
  return e;
}

RematGraph reordered(const RematGraph& g, const Sequence& order) {
  RematGraph out;
  for (const RematValue& v : g.values) out.add_value(v.bytes, v.kept);
  for (int k : order) out.add_kernel(g.kernel(k));
  for (std::size_t k = order.size(); k < g.kernels.size(); ++k) out.add_kernel(g.kernels[k]);
  return out;
}

RematGraph without_fetches(const RematGraph& g) {
  RematGraph out;
  for (const RematValue& v : g.values) out.add_value(v.bytes, v.kept);
  for (int k = 0; k < g.size(); ++k) out.add_kernel(g.kernel(k));
  return out;
}

Sequence without_dead_runs(const RematGraph& g, const Sequence& sequence) {
  std::vector<char> needed(g.values.size());
  std::vector<int> runs(g.kernels.size());
  for (std::size_t v = 0; v < g.values.size(); ++v) needed[v] = g.values[v].kept;
  for (int k : sequence) ++runs[k];
  Sequence out;
  for (auto k = sequence.rbegin(); k != sequence.rend(); ++k) {
    const RematKernel& kernel = g.kernel(*k);
    const bool first = --runs[*k] == 0;
    // A kept value is made by the first run.
    const bool used = std::any_of(kernel.makes.begin(), kernel.makes.end(),
                                  [&](int v) { return needed[v] && (first || !g.value(v).kept); });
    if (!used && !(first && (!kernel.repeatable || kernel.makes.empty()))) continue;
    for (int v : kernel.makes)
      if (!g.value(v).kept) needed[v] = false;
    for (int v : kernel.reads) needed[v] = true;
    out.push_back(*k);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Sequence plain_sequence(const RematGraph& g) {
  Sequence out(g.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::int64_t most_reused(const RematGraph& g, const RematKernel& k) {
  std::vector<int> reads, made;
  for (const auto& [r, m] : k.reuses) reads.push_back(r), made.push_back(m);
  std::int64_t bytes[2] = {0, 0};
  sort_once(reads), sort_once(made);
  for (int v : reads) bytes[0] += g.bytes(v);
  for (int v : made) bytes[1] += g.bytes(v);
  return std::min(bytes[0], bytes[1]);
}

std::int64_t least_bytes(const RematGraph& g) {
  std::int64_t least = 0, kept = 0;
  for (const RematValue& v : g.values) kept += v.kept ? v.bytes : 0;
  for (const RematKernel& k : g.kernels) {  // a fetch takes no more than the maker
    std::int64_t bytes = k.scratch - most_reused(g, k);
    for (int v : k.reads) bytes += g.bytes(v);
    for (int v : k.makes) bytes += g.bytes(v);
    least = std::max(least, bytes);
  }
  return std::max(least, kept);
}

}  // namespace anew::plan
