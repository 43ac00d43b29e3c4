// Changes are counted as bytes over stretches of positions before anything is changed.
#include "plan/remat_timeline.h"

#include <algorithm>

namespace anew::plan {
Timeline::Timeline(const RematGraph& g, const Sequence& sequence) : g_(g) {
  std::vector<Instance> current(g.values.size(), {-1, 0});
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
      const Instance here{i, static_cast<int>(run.makes.size())};
      run.makes.push_back({v, {}, current[v]});
      if (!g.value(v).kept || current[v].first < 0) current[v] = here;
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
  int position;
  std::vector<Instance> heirs = {};                      // of each value that it makes, what is read instead
  std::vector<int> gone = {};                            // the run, then those that nobody reads then
  std::vector<Instance> touched = {};                    // that lose a reader
  std::vector<std::pair<int, std::int64_t>> steps = {};  // from this position on so many bytes more

  const Run& run() const { return t.runs_[position]; }
  bool goes(int p) const { return std::find(gone.begin(), gone.end(), p) != gone.end(); }
  // False: it is no repeat.
  bool find_heirs() {
    for (const Made& m : run().makes) {
      Instance heir = m.before;
      while (heir.first >= 0 && t.runs_[heir.first].gone) heir = t.made(heir).before;
      if (heir.first < 0) return false;
      heirs.push_back(heir);
    }
    return !heirs.empty();
  }
  // Whether some heir is that instance, and is read more than before.
  bool inherits(const Instance& i) const {
    for (std::size_t o = 0; o < heirs.size(); ++o)
      if (heirs[o] == i && !run().makes[o].readers.empty()) return true;
    return false;
  }
  bool is_heir(int p) const {
    return std::any_of(heirs.begin(), heirs.end(), [&](const Instance& i) { return i.first == p; });
  }
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

  void collect() {
    gone.push_back(position);
    for (std::size_t i = 0; i < gone.size(); ++i)
      for (const Instance& read : t.runs_[gone[i]].reads) {
        const int from = read.first;
        if (goes(from)) continue;
        if (std::find(touched.begin(), touched.end(), read) == touched.end()) touched.push_back(read);
        if (!is_heir(from) && t.g_.kernel(t.runs_[from].kernel).repeatable && unread(from)) gone.push_back(from);
      }
  }
  void count() {
    for (std::size_t o = 0; o < heirs.size(); ++o) {
      const Made& made = run().makes[o];
      const std::int64_t bytes = t.g_.bytes(made.value);
      if (made.readers.empty()) add(position, position, -bytes);
      else add(t.last(heirs[o].first, t.made(heirs[o])) + 1, position - 1, bytes);
    }
    for (int p : gone) {
      const Run& r = t.runs_[p];
      add(p, p, r.reused - t.g_.kernel(r.kernel).scratch);
      if (p != position)
        for (const Made& m : r.makes) add(p, t.last(p, m), -t.g_.bytes(m.value));
    }
    for (const Instance& i : touched) {
      const Made& made = t.made(i);
      if (goes(i.first) || t.lives_on(i.first, made) || inherits(i)) continue;
      add(last_left(i.first, made) + 1, t.last(i.first, made), -t.g_.bytes(made.value));
    }
    // What was written over something that now lives longer needs memory of its own.
    for (std::size_t o = 0; o < heirs.size(); ++o) {
      if (run().makes[o].readers.empty()) continue;
      const int p = t.last(heirs[o].first, t.made(heirs[o]));
      if (p > heirs[o].first && !goes(p)) add(p, p, t.runs_[p].reused);
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
  void commit() {
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      // Steps are bytes from a position on; ranges are short next to the whole.
      if (i > 0) steps[i].second += steps[i - 1].second;
      for (int p = steps[i].first; p < steps[i + 1].first; ++p) t.live_[p] += steps[i].second;
    }
    for (std::size_t o = 0; o < heirs.size(); ++o) {
      const Instance here{position, static_cast<int>(o)};
      Made &made = t.runs_[position].makes[o], &before = t.runs_[heirs[o].first].makes[heirs[o].second];
      if (made.readers.empty()) continue;
      if (const int p = t.last(heirs[o].first, before); p > heirs[o].first) t.runs_[p].reused = 0;
      for (int r : made.readers) {
        std::replace(t.runs_[r].reads.begin(), t.runs_[r].reads.end(), here, heirs[o]);
        before.readers.push_back(r);
      }
    }
    for (int p : gone) t.runs_[p].gone = true;
    for (const Instance& i : touched)
      std::erase_if(t.runs_[i.first].makes[i.second].readers, [&](int r) { return t.runs_[r].gone; });
  }
};

bool Timeline::remove(int position, std::int64_t budget) {
  if (runs_[position].gone) return false;
  Change change{*this, position};
  if (!change.find_heirs()) return false;
  change.collect();
  change.count();
  if (!change.fits(budget)) return false;
  change.commit();
  return true;
}

}  // namespace anew::plan
