// Another order of the steps of a Body where it needs less memory. Effects keep their order; a storage that several
// steps write (parts of a concatenation) is written in the order given. Program order stays unless the peak falls.
// Where inputs are donated, a step that makes an update of one (reads it, and writes an output of its size) waits for
// all others that read it, so that the update can take its place: to the schedule it writes the input. That is done
// where no reader waits for the update itself, and unless it costs more than it saves. A temporary that only becomes an
// output, element by element (a gradient of which an optimizer makes new weights), will lie in that output: it is free,
// and its reader had better not wait, since a budget can not use the output's memory meanwhile.
#include <algorithm>
#include <map>
#include <set>

#include "passes/lowered.h"
#include "plan/list_schedule.h"

namespace anew::passes {
namespace {

bool has(const std::vector<int>& list, int x) { return std::find(list.begin(), list.end(), x) != list.end(); }
bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return has(b, x); });
}
bool depends(const plan::Task& later, const plan::Task& earlier) {
  return (later.fixed && earlier.fixed) || meet(later.reads, earlier.writes) || meet(later.writes, earlier.reads) ||
         meet(later.writes, earlier.writes);
}

struct Update {
  int step, input;  // a storage
  std::size_t bytes;
};

// Steps in an order, as tasks.
struct Tasks {
  std::vector<int> steps;
  std::vector<plan::Task> tasks;

  int last_reader(int storage) const {
    int i = static_cast<int>(tasks.size()) - 1;
    while (i >= 0 && !has(tasks[i].reads, storage)) --i;
    return i;
  }
  // Task u goes behind task `last`, and with it what depends on it, unless that reads `storage`.
  bool move_behind(int u, int last, int storage) {
    if (u == last) return true;
    std::vector<int> stay, go{u};
    for (int i = u + 1; i <= last; ++i) {
      const bool moves = std::any_of(go.begin(), go.end(), [&](int g) { return depends(tasks[i], tasks[g]); });
      if (moves && has(tasks[i].reads, storage)) return false;
      (moves ? go : stay).push_back(i);
    }
    stay.insert(stay.end(), go.begin(), go.end());
    Tasks moved;
    for (int i : stay) {
      moved.steps.push_back(steps[i]);
      moved.tasks.push_back(std::move(tasks[i]));
    }
    std::copy(moved.steps.begin(), moved.steps.end(), steps.begin() + u);
    std::move(moved.tasks.begin(), moved.tasks.end(), tasks.begin() + u);
    return true;
  }
  // Bytes of updates that are made where their input is read last.
  std::size_t in_place(const std::vector<int>& order, const std::vector<Update>& updates) const {
    std::vector<int> place(steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[steps[order[i]]] = static_cast<int>(i);
    std::size_t bytes = 0;
    for (const Update& u : updates) {
      bool last = true;
      for (std::size_t t = 0; t < tasks.size(); ++t)
        last = last && (!has(tasks[t].reads, u.input) || place[steps[t]] <= place[u.step]);
      if (last) bytes += u.bytes;
    }
    return bytes;
  }
};

Tasks tasks_of(const Body& body) {
  Tasks out;
  for (const Step& s : body.steps) {
    plan::Task t;
    for (ValueId v : s.in) t.reads.push_back(body.values[v].storage.number);
    for (ValueId v : s.out) t.writes.push_back(body.values[v].storage.number);
    t.scratch = s.scratch;
    t.fixed = s.effects;
    t.in_place = s.is_elementwise();
    out.steps.push_back(static_cast<int>(out.steps.size()));
    out.tasks.push_back(std::move(t));
  }
  return out;
}

// Makes updates of donated inputs wait for their readers; gives those that do.
std::vector<Update> wait_for_readers(const Body& body, Tasks& t) {
  std::vector<Update> out;
  std::set<StorageId> taken;
  auto target = [&](const Step& s, std::size_t bytes) {
    for (ValueId v : s.out)
      if (const Storage& o = body.storage_of(v);
          o.kind == Storage::Kind::output && o.bytes == bytes && !taken.count(body.values[v].storage))
        return body.values[v].storage;
    return StorageId{};
  };
  for (ValueId v : body.inputs) {
    const Storage& input = body.storage_of(v);
    const int number = body.values[v].storage.number, last = input.donated ? t.last_reader(number) : -1;
    for (int u = last; u >= 0; --u) {
      const Step& s = body.steps[t.steps[u]];
      if (!has(t.tasks[u].reads, number) || !s.is_elementwise()) continue;
      const StorageId output = target(s, input.bytes);
      if (!output || !t.move_behind(u, last, number)) continue;
      const int step = static_cast<int>(&s - body.steps.data());
      t.tasks[std::find(t.steps.begin(), t.steps.end(), step) - t.steps.begin()].writes.push_back(number);
      out.push_back({step, number, input.bytes});
      taken.insert(output);
      break;
    }
  }
  return out;
}

// Temporaries that `alias` can put into the output that is made of them: the only reader of one is an elementwise step
// that writes an output of its size, which no donated input provides. One for each output.
std::set<StorageId> lie_in_outputs(const Body& body) {
  std::map<StorageId, int> readers;
  for (const Step& s : body.steps) {
    std::set<StorageId> read;
    for (ValueId v : s.in) read.insert(body.values[v].storage);
    for (StorageId id : read) ++readers[id];
  }
  std::set<StorageId> out;
  for (const Step& s : body.steps) {
    auto donated = [&](ValueId v) { return body.storage_of(v).donated; };
    if (!s.is_elementwise() || std::any_of(s.in.begin(), s.in.end(), donated)) continue;
    for (ValueId o : s.out) {
      const Storage& output = body.storage_of(o);
      if (output.kind != Storage::Kind::output) continue;
      for (ValueId v : s.in) {
        const StorageId id = body.values[v].storage;
        const Storage& input = body.storage_of(v);
        if (input.kind != Storage::Kind::temporary || input.bytes != output.bytes || readers[id] != 1) continue;
        if (out.insert(id).second) break;
      }
    }
  }
  return out;
}

}  // namespace

void order(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) order(*nested);
  std::vector<plan::TaskValue> values;
  for (const Storage& s : body.storages)
    values.push_back({s.kind == Storage::Kind::temporary ? s.bytes : 0, s.kind != Storage::Kind::temporary});
  for (StorageId id : lie_in_outputs(body)) values[static_cast<std::size_t>(id.number)].free = true;
  Tasks tasks = tasks_of(body), waiting = tasks;
  std::vector<int> order = plan::list_schedule(tasks.tasks, values);
  if (const std::vector<Update> updates = wait_for_readers(body, waiting); !updates.empty()) {
    std::vector<int> later = plan::list_schedule(waiting.tasks, values);
    const std::size_t before = plan::evaluate_peak(tasks.tasks, values, order) + waiting.in_place(later, updates);
    const std::size_t after = plan::evaluate_peak(waiting.tasks, values, later) + tasks.in_place(order, updates);
    if (after <= before) {
      order = std::move(later);
      tasks = std::move(waiting);
    }
  }
  std::vector<Step> steps;
  steps.reserve(order.size());
  for (int i : order) steps.push_back(std::move(body.steps[tasks.steps[i]]));
  body.steps = std::move(steps);
}

}  // namespace anew::passes
