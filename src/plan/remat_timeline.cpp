// Changes are counted as bytes over stretches of positions before anything is changed.
#include "plan/remat_timeline.h"

#include <algorithm>

namespace anew::plan {
Timeline::Timeline(const RematGraph& g, const Sequence& sequence) : g_(g) {
  std::vector<std::pair<int, int>> current(g.values.size(), {-1, 0});
  std::vector<int> previous(g.kernels.size(), -1);
  runs_.reserve(sequence.size());
  for (int i = 0; i < static_cast<int>(sequence.size()); ++i) {
    const RematKernel& k = g.kernel(sequence[i]);
    Run run{sequence[i], std::exchange(previous[sequence[i]], i), false, {}, {}, 0};
    for (int v : k.reads) {
      const auto [from, which] = current[v];
      run.reads.push_back({from, which});
      runs_[from].makes[which].readers.push_back(i);
    }
    for (int v : k.makes) {
      if (!g.value(v).kept || current[v].first < 0) current[v] = {i, static_cast<int>(run.makes.size())};
      run.makes.push_back({v, {}});
    }
    runs_.push_back(std::move(run));
  }
  live_ = evaluate(g, sequence).live;
  for (int i = 0; i < static_cast<int>(runs_.size()); ++i) {
    std::vector<int> taken;
    Run& run = runs_[i];
    for (const auto& [read, made] : g.kernel(run.kernel).reuses) {
      const auto& reads = g.kernel(run.kernel).reads;
      const auto r = static_cast<std::size_t>(std::lower_bound(reads.begin(), reads.end(), read) - reads.begin());
      const auto [from, which] = run.reads[r];
      if (last(from, runs_[from].makes[which]) != i) continue;
      if (std::find(taken.begin(), taken.end(), read) != taken.end() ||
          std::find(taken.begin(), taken.end(), ~made) != taken.end())
        continue;
      taken.push_back(read), taken.push_back(~made);
      run.reused += g.bytes(made);
    }
  }
}

bool Timeline::lives_on(int position, const Made& made) const {
  if (!g_.value(made.value).kept) return false;
  for (int p = runs_[position].previous; p >= 0; p = runs_[p].previous)
    if (!runs_[p].gone) return false;
  return true;
}

int Timeline::last(int position, const Made& made) const {
  if (lives_on(position, made)) return static_cast<int>(runs_.size()) - 1;
  return made.readers.empty() ? position : made.readers.back();
}

Sequence Timeline::sequence() const {
  Sequence out;
  for (const Run& r : runs_)
    if (!r.gone) out.push_back(r.kernel);
  return out;
}

// What taking out a run would change: runs that go, and bytes over positions.
struct Timeline::Change {
  Timeline& t;
  std::vector<int> gone = {};                            // the run, then those that nobody reads then
  std::vector<std::pair<int, int>> touched = {};         // instances that lose a reader
  std::vector<std::pair<int, std::int64_t>> steps = {};  // from this position on so many bytes more

  bool goes(int p) const { return std::find(gone.begin(), gone.end(), p) != gone.end(); }
  // The last reader that stays, or the run itself.
  int last_left(int p, const Made& made) const {
    for (auto r = made.readers.rbegin(); r != made.readers.rend(); ++r)
      if (!goes(*r)) return *r;
    return p;
  }
  bool unread(int p) const {
    const Run& run = t.runs_[p];
    return std::all_of(run.makes.begin(), run.makes.end(), [&](const Made& m) {
      return !t.lives_on(p, m) && std::all_of(m.readers.begin(), m.readers.end(), [&](int r) { return goes(r); });
    });
  }
  void add(int from, int to, std::int64_t bytes) {  // over from..to
    if (from > to || bytes == 0) return;
    steps.push_back({from, bytes});
    steps.push_back({to + 1, -bytes});
  }

  void collect(int position, int heir) {
    gone.push_back(position);
    for (std::size_t i = 0; i < gone.size(); ++i)
      for (const auto& [from, which] : t.runs_[gone[i]].reads) {
        if (goes(from)) continue;
        if (std::find(touched.begin(), touched.end(), std::pair(from, which)) == touched.end())
          touched.push_back({from, which});
        if (from != heir && t.g_.kernel(t.runs_[from].kernel).repeatable && unread(from)) gone.push_back(from);
      }
  }
  void count(int position, int heir) {
    const Run& run = t.runs_[position];
    for (std::size_t o = 0; o < run.makes.size(); ++o) {
      const Made& made = run.makes[o];
      const std::int64_t bytes = t.g_.bytes(made.value);
      if (made.readers.empty()) {
        add(position, position, -bytes);
        continue;
      }
      const Made& before = t.runs_[heir].makes[o];
      add(t.last(heir, before) + 1, position - 1, bytes);
    }
    for (int p : gone) {
      const Run& r = t.runs_[p];
      add(p, p, r.reused - t.g_.kernel(r.kernel).scratch);
      if (p != position)
        for (const Made& m : r.makes) add(p, t.last(p, m), -t.g_.bytes(m.value));
    }
    for (const auto& [from, which] : touched) {
      const Made& made = t.runs_[from].makes[which];
      if (goes(from) || t.lives_on(from, made)) continue;
      if (from == heir && !run.makes[which].readers.empty()) continue;
      add(last_left(from, made) + 1, t.last(from, made), -t.g_.bytes(made.value));
    }
    // What was written over something that now lives longer needs memory of its own.
    for (std::size_t o = 0; o < run.makes.size(); ++o) {
      if (run.makes[o].readers.empty()) continue;
      const int p = t.last(heir, t.runs_[heir].makes[o]);
      if (p > heir && !goes(p)) add(p, p, t.runs_[p].reused);
    }
  }
  bool fits(std::int64_t budget) {
    std::sort(steps.begin(), steps.end());
    std::int64_t more = 0;
    for (std::size_t i = 0; i < steps.size();) {
      const int from = steps[i].first;
      for (; i < steps.size() && steps[i].first == from; ++i) more += steps[i].second;
      if (i == steps.size()) break;
      if (more <= 0) continue;
      for (int p = from; p < steps[i].first; ++p)
        if (t.live_[p] + more > budget) return false;
    }
    return true;
  }
  void commit(int position, int heir) {
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      // Steps are bytes from a position on; ranges are short next to the whole.
      if (i > 0) steps[i].second += steps[i - 1].second;
      for (int p = steps[i].first; p < steps[i + 1].first; ++p) t.live_[p] += steps[i].second;
    }
    for (std::size_t o = 0; o < t.runs_[position].makes.size(); ++o) {
      Made &made = t.runs_[position].makes[o], &before = t.runs_[heir].makes[o];
      if (made.readers.empty()) continue;
      if (const int p = t.last(heir, before); p > heir) t.runs_[p].reused = 0;
      for (int r : made.readers) {
        for (auto& read : t.runs_[r].reads)
          if (read == std::pair(position, static_cast<int>(o))) read = {heir, static_cast<int>(o)};
        before.readers.push_back(r);
      }
    }
    for (int p : gone) t.runs_[p].gone = true;
    for (const auto& [from, which] : touched)
      std::erase_if(t.runs_[from].makes[which].readers, [&](int r) { return t.runs_[r].gone; });
  }
};

bool Timeline::remove(int position, std::int64_t budget) {
  int heir = runs_[position].previous;
  while (heir >= 0 && runs_[heir].gone) heir = runs_[heir].previous;
  if (heir < 0 || runs_[position].gone) return false;
  Change change{*this};
  change.collect(position, heir);
  change.count(position, heir);
  if (!change.fits(budget)) return false;
  change.commit(position, heir);
  return true;
}

}  // namespace anew::plan
