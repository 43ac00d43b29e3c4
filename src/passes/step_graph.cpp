// A value of the graph is a storage. Steps that write parts of one storage, one behind the other, are one kernel. Where
// others stand between them they run once and keep their order, by values without bytes that each hands to the next.
#include "passes/step_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strides.h"
#include "ops/device_put.h"
#include "plan/offsets.h"

namespace anew::passes {
namespace {

struct Group {
  std::vector<int> steps;
  std::set<StorageId> reads, writes;  // in memory that is planned
};

bool planned(const Storage& s) {
  return s.kind == Storage::Kind::temporary || s.kind == Storage::Kind::output || s.kind == Storage::Kind::disk;
}
// In memory: nothing of what lies on disk.
std::size_t bytes_of(const Storage& s) { return s.on_disk() ? 0 : s.bytes; }

std::vector<Group> groups_of(const Body& body) {
  std::vector<Group> groups;
  for (int i = 0; i < std::ssize(body.steps); ++i) {
    Group g{{i}, {}, {}};
    for (ValueId v : body.steps[i].in)
      if (planned(body.storage_of(v))) g.reads.insert(body.values[v].storage);
    for (ValueId v : body.steps[i].out)
      if (planned(body.storage_of(v))) g.writes.insert(body.values[v].storage);
    Group* last = groups.empty() ? nullptr : &groups.back();
    if (last && std::any_of(g.writes.begin(), g.writes.end(), [&](StorageId s) { return last->writes.count(s); })) {
      last->steps.push_back(i);
      last->reads.insert(g.reads.begin(), g.reads.end());
      last->writes.insert(g.writes.begin(), g.writes.end());
    } else {
      groups.push_back(std::move(g));
    }
  }
  for (Group& g : groups)
    for (StorageId s : g.writes) g.reads.erase(s);
  return groups;
}

// Temporaries that one group makes and others read; what is in flight stays where it is.
std::vector<StorageId> fetchable(const Body& body, const std::vector<Group>& groups) {
  Table<StorageId, int> writes(body.storages.size()), reads(body.storages.size());
  for (const Step& s : body.steps)
    if (auto* call = s.as<Call>(); call && call->half == Call::Half::start)
      for (ValueId v : s.out) ++writes[body.values[v].storage];
  for (const Group& g : groups) {
    for (StorageId s : g.writes) ++writes[s];
    for (StorageId s : g.reads) ++reads[s];
  }
  std::vector<StorageId> out;
  for (StorageId s : body.storages.ids())
    if (body.storages[s].kind == Storage::Kind::temporary && body.storages[s].bytes > 0 && writes[s] == 1 &&
        reads[s] > 0)
      out.push_back(s);
  return out;
}

// Whether `alias` could let output o of a step take the place of input i, as far as can be told without lifetimes.
bool may_take_place(const Body& body, const Step& s, std::size_t i, std::size_t o) {
  const Value &in = body.values[s.in[i]], &out = body.values[s.out[o]];
  if (!in.dense() || !out.dense() || in.type.shape != out.type.shape) return false;
  if (auto* call = s.as<Call>()) return o == 0 && call->in_place == static_cast<int>(i);
  if (auto* loop = s.as<Loop>())
    return static_cast<int>(o) < loop->carries && static_cast<int>(i - o) == loop->constants;
  if (auto* tiles = s.as<Tiles>()) return tiles->in[i] == tiles->out[o];
  return s.is_elementwise();
}

// Pairs of storages that a step reads and writes, of equal bytes: the second could take the place of the first.
std::vector<std::pair<StorageId, StorageId>> pairs_of(const Body& body, const Step& s, bool any) {
  std::vector<std::pair<StorageId, StorageId>> out;
  for (std::size_t o = 0; o < s.out.size(); ++o)
    for (std::size_t i = 0; i < s.in.size(); ++i) {
      const Storage &read = body.storage_of(s.in[i]), &made = body.storage_of(s.out[o]);
      if (read.kind != Storage::Kind::temporary || read.bytes != made.bytes || read.bytes == 0) continue;
      if (any || may_take_place(body, s, i, o))
        out.push_back({body.values[s.in[i]].storage, body.values[s.out[o]].storage});
    }
  return out;
}

// How much of an output's memory temporaries could lie in until it is written: those that are no larger, each in one
// output.
Table<StorageId, std::int64_t> lendable(const Body& body) {
  std::vector<std::pair<std::size_t, StorageId>> outputs;
  std::vector<std::size_t> temporaries;
  for (StorageId s : body.storages.ids()) {
    const Storage& storage = body.storages[s];
    if (storage.kind == Storage::Kind::output) outputs.push_back({bytes_of(storage), s});
    if (storage.kind == Storage::Kind::temporary) temporaries.push_back(storage.bytes);
  }
  std::sort(outputs.begin(), outputs.end());
  std::sort(temporaries.begin(), temporaries.end());
  Table<StorageId, std::int64_t> out(body.storages.size());
  std::int64_t left = 0;
  auto next = temporaries.begin();
  for (const auto& [bytes, s] : outputs) {
    for (; next != temporaries.end() && *next <= bytes; ++next) left += static_cast<std::int64_t>(*next);
    out[s] = std::min(left, static_cast<std::int64_t>(bytes));
    left -= out[s];
  }
  return out;
}

// The graph in the making: storages become values when they are first written.
class Builder {
 public:
  using Outputs = Table<StorageId, std::int64_t>;  // bytes of each, from when it is written
  Builder(const Body& body, const Body& placed, const std::vector<StorageId>& kept, const std::vector<Group>& groups,
          const std::vector<StorageId>& fetched)
      : b_(body),
        placed_(placed),
        groups_(groups),
        fetched_(fetched),
        kept_(kept.begin(), kept.end()),
        writes_(body.storages.size()),
        written_(body.storages.size()),
        value_(body.storages.size(), -1),
        tokens_(body.storages.size()) {
    for (const Group& g : groups)
      for (StorageId s : g.writes) ++writes_[s];
  }

  plan::RematGraph run(const Outputs& outputs, bool least) {
    outputs_ = &outputs;
    plan::RematGraph g;
    for (const Group& group : groups_) {
      plan::RematKernel k;
      for (int i : group.steps) {
        const Step& s = b_.steps[i];
        k.cost += modelled_time(b_, s);
        if (!least || i == group.steps[0])
          k.scratch = std::max(k.scratch, static_cast<std::int64_t>(scratch(i, least)));
        if (s.effects) k.repeatable = false;
      }
      read(g, group, k);
      write(g, group, k, least);
      // The least that several steps need is what the first does: all they read is there, not all they write.
      if (least) k.scratch -= written_later(g, group);
      if (least || group.steps.size() == 1)
        for (const auto& [from, to] : pairs_of(b_, b_.steps[group.steps[0]], least))
          if (written_[to] == 1 && g.bytes(value_[from]) == g.bytes(value_[to]))
            k.reuses.push_back({value_[from], value_[to]});
      g.add_kernel(std::move(k));
    }
    for (StorageId s : fetched_) {
      const std::size_t bytes = b_.storages[s].bytes;
      g.add_fetch(value_[s], modelled_time_to_write(bytes), modelled_time_to_read(bytes));
    }
    return g;
  }

 private:
  std::size_t scratch(int step, bool least) const {
    const Step& s = placed_.steps[step];
    if (spares_scratch(placed_, s)) return 0;
    if (!least) return plan::rounded(s.scratch);
    // A tile of a result lends its memory unless it lies over one of an operand, which is seen when values are placed.
    if (s.is<Tiles>()) return 0;
    if (!s.is<Loop>() && !s.is<Unwind>()) return s.scratch;
    // Second buffers of carries and copies of states are needed or not as values live, in this order or another.
    std::size_t most = 0;
    for (const auto& nested : s.bodies) most = std::max(most, nested->bytes);
    return most;
  }
  // Bytes of what a group begins to write behind its first step.
  std::int64_t written_later(const plan::RematGraph& g, const Group& group) const {
    std::set<StorageId> first;
    for (ValueId v : b_.steps[group.steps[0]].out) first.insert(b_.values[v].storage);
    std::int64_t bytes = 0;
    for (StorageId s : group.writes)
      if (written_[s] == 1 && !first.count(s)) bytes += g.bytes(value_[s]);
    return bytes;
  }
  void read(plan::RematGraph& g, const Group& group, plan::RematKernel& k) {
    for (StorageId s : group.reads) {
      k.reads.push_back(value_[s]);
      if (writes_[s] == 1) continue;
      // Between two writers: after the one before, once, and before the next.
      k.reads.insert(k.reads.end(), tokens_[s].begin(), tokens_[s].end());
      if (written_[s] == writes_[s]) continue;
      k.repeatable = false;
      later_.push_back({s, g.add_value(0)});
      k.makes.push_back(later_.back().second);
    }
  }
  void write(plan::RematGraph& g, const Group& group, plan::RematKernel& k, bool least) {
    for (const auto& [s, token] : std::exchange(later_, {})) tokens_[s].push_back(token);
    for (StorageId s : group.writes) {
      const Storage& storage = b_.storages[s];
      if (kept_.count(s)) k.repeatable = false;
      if (++written_[s] == 1) {
        const bool output = storage.kind == Storage::Kind::output;
        // States of a loop with a folder of its own lie there.
        const std::size_t held = placed_.storages[s].on_disk() ? 0 : bytes_of(storage);
        const auto bytes = static_cast<std::int64_t>(least ? held : plan::rounded(held));
        k.makes.push_back(value_[s] = g.add_value(output ? (*outputs_)[s] : bytes, output));
      } else {
        k.reads.push_back(value_[s]);
        k.reads.insert(k.reads.end(), tokens_[s].begin(), tokens_[s].end());
      }
      if (writes_[s] == 1) continue;
      k.repeatable = false;
      tokens_[s] = {g.add_value(0)};
      k.makes.push_back(tokens_[s][0]);
    }
  }

  const Body &b_, &placed_;
  const Outputs* outputs_ = nullptr;
  const std::vector<Group>& groups_;
  const std::vector<StorageId>& fetched_;
  std::set<StorageId> kept_;
  Table<StorageId, int> writes_, written_;  // groups that write it, in all and so far
  Table<StorageId, int> value_;
  Table<StorageId, std::vector<int>> tokens_;
  std::vector<std::pair<StorageId, int>> later_;  // tokens of this group's reads
};

// Storages and values of repeats and of what lies in files.
class Repeats {
 public:
  explicit Repeats(Body& to) : to_(to), current_(to.storages.size()) {
    for (StorageId s : to.storages.ids()) current_[s] = s;
  }
  // Before the steps of a kernel are added. What it writes when it first runs stays where it is, also where another has
  // written a part of that before.
  void begin(const Body& from, const std::vector<int>& steps, bool again) {
    temporary_.clear();
    if (!again) return;
    std::set<StorageId> written;
    for (int i : steps)
      for (ValueId v : from.steps[i].out)
        if (planned(from.storage_of(v))) written.insert(from.values[v].storage);
    for (StorageId s : written) {
      const auto kind = from.storages[s].kind == Storage::Kind::disk ? Storage::Kind::disk : Storage::Kind::temporary;
      const StorageId fresh = to_.storages.add({kind, -1, {}, from.storages[s].bytes});
      // A result stays where it was first made, and is read there.
      (from.storages[s].kind == Storage::Kind::output ? temporary_[s] : current_[s]) = fresh;
    }
  }
  void add(const Step& step, bool again) {
    Step s = step;
    if (again)
      for (auto& nested : s.bodies) nested = std::make_shared<Body>(clone(*nested));
    for (ValueId& v : s.in) v = look(v, current_[to_.values[v].storage]);
    for (ValueId& v : s.out) {
      const StorageId was = to_.values[v].storage;
      auto t = temporary_.find(was);
      v = look(v, t == temporary_.end() ? current_[was] : t->second);
    }
    to_.steps.push_back(std::move(s));
  }
  // What the steps that were added last have made, to a file.
  void store(StorageId s, const std::string& folder) {
    const Value whole = whole_value(s);
    Storage file{Storage::Kind::disk, -1, {}, to_.storages[s].bytes};
    file.folder = folder;
    const StorageId there = to_.storages.add(std::move(file));
    files_[s] = move(whole, s, there, true);
  }
  void fetch(StorageId s) {
    const StorageId fresh = to_.storages.add({Storage::Kind::temporary, -1, {}, to_.storages[s].bytes});
    move(to_.values[files_.at(s)], to_.values[files_.at(s)].storage, fresh, false);
    current_[s] = fresh;
  }

 private:
  // All of a storage: as the value that lies there, or as bytes where several do.
  Value whole_value(StorageId s) const {
    for (auto step = to_.steps.rbegin(); step != to_.steps.rend(); ++step)
      for (ValueId v : step->out) {
        Value whole = to_.values[v];
        if (whole.storage != s) continue;
        if (whole.type.bytes() != to_.storages[s].bytes || !whole.packed())
          whole.type = {{static_cast<std::int64_t>(to_.storages[s].bytes)}, bool_};
        whole.offset = 0;
        whole.strides = row_major(whole.type.shape);
        return whole;
      }
    throw InternalError("[rematerialize] what goes to a file was not made");
  }
  // Gives the value there.
  ValueId move(Value value, StorageId from, StorageId to, bool out) {
    const ir::ParamsRef params = device_put_params(out);
    const Type types[] = {value.type};
    ir::Lowered lowered = device_put_row().lower(*params, types, types);
    Step s;
    for (const auto& [at, operands] : {std::pair(from, &s.in), std::pair(to, &s.out)}) {
      value.storage = at;
      operands->push_back(to_.values.add(value));
    }
    Call call{std::move(lowered.call), std::move(lowered.scratch_of)};
    call.moves = out ? Call::Moves::out : Call::Moves::in;
    s.work = std::move(call);
    s.primitive = &device_put_row();
    s.at = value.at;
    s.made.push_back({s.primitive, s.at});
    to_.steps.push_back(std::move(s));
    return to_.steps.back().out[0];
  }
  ValueId look(ValueId v, StorageId at) {
    if (to_.values[v].storage == at) return v;
    auto [known, fresh] = looks_.try_emplace({v, at});
    if (fresh) {
      Value copy = to_.values[v];
      copy.storage = at;
      known->second = to_.values.add(std::move(copy));
    }
    return known->second;
  }
  Body& to_;
  Table<StorageId, StorageId> current_;
  std::map<StorageId, StorageId> temporary_;
  std::map<std::pair<ValueId, StorageId>, ValueId> looks_;
  std::map<StorageId, ValueId> files_;  // where a storage lies on disk
};

}  // namespace

StepGraph::StepGraph(const Body& body, const Body& placed, const std::vector<StorageId>& kept, std::string folder)
    : body_(body), folder_(std::move(folder)) {
  const std::vector<Group> groups = groups_of(body);
  if (!folder_.empty()) fetched_ = fetchable(body, groups);
  for (const Group& g : groups) steps_.push_back(g.steps);
  const Table<StorageId, std::int64_t> lent = lendable(body), none(body.storages.size());
  Table<StorageId, std::int64_t> all = none;
  for (StorageId s : body.storages.ids())
    if (body.storages[s].kind == Storage::Kind::output) {
      all[s] = static_cast<std::int64_t>(bytes_of(body.storages[s]));
      unlent_ += all[s] - lent[s];
    }
  graph_ = Builder(body, placed, kept, groups, fetched_).run(lent, false);
  std::int64_t outputs = 0;
  for (StorageId s : body.storages.ids()) outputs += all[s];
  if (16 * outputs > plan::evaluate(graph_, plan::plain_sequence(graph_)).peak)
    alone_ = Builder(body, placed, kept, groups, fetched_).run(none, false);
  written_ = Builder(body, placed, kept, groups, fetched_).run(all, true);
  always_ = Builder(body, placed, kept, groups, fetched_).run(none, true);
}

std::size_t StepGraph::least_bytes(const plan::Sequence& sequence) const {
  return static_cast<std::size_t>(
      std::max(plan::evaluate(written_, sequence).peak, unlent_ + plan::evaluate(always_, sequence).peak));
}

plan::RematBound StepGraph::bound(std::size_t bytes) {
  if (!written_bounds_) written_bounds_.emplace(written_), always_bounds_.emplace(always_);
  const auto budget = static_cast<std::int64_t>(bytes);
  const plan::RematBound a = written_bounds_->within(budget), b = always_bounds_->within(budget - unlent_);
  return a.extra > b.extra ? a : b;
}

std::shared_ptr<Body> StepGraph::with_sequence(const plan::Sequence& sequence) const {
  auto out = std::make_shared<Body>(clone(body_));
  std::vector<Step> steps = std::exchange(out->steps, {});
  std::vector<char> ran(steps_.size());
  std::set<StorageId> stored;
  for (int k : sequence)
    if (k >= graph_.size()) stored.insert(fetched_of(k));
  Repeats repeats(*out);
  for (int k : sequence) {
    if (k >= graph_.size()) {
      repeats.fetch(fetched_of(k));
      continue;
    }
    const bool again = std::exchange(ran[static_cast<std::size_t>(k)], true);
    repeats.begin(body_, steps_of(k), again);
    for (int i : steps_of(k)) repeats.add(steps[static_cast<std::size_t>(i)], again);
    for (int v : graph_.kernel(k).makes)
      if (const int f = graph_.value(v).fetch; !again && f >= 0 && stored.count(fetched_of(f)))
        repeats.store(fetched_of(f), folder_);
  }
  return out;
}

}  // namespace anew::passes
