// Another order of the steps of a Body where it needs less memory. Effects keep their order; a storage that several
// steps write (parts of a concatenation) is written in the order given. Program order stays unless the peak falls.
#include "plan/list_schedule.h"

#include "passes/lowered.h"

namespace anew::passes {

void order(Body& body) {
  std::vector<plan::Task> tasks;
  for (Step& s : body.steps) {
    for (const auto& nested : s.bodies) order(*nested);
    plan::Task t;
    for (ValueId v : s.in) t.reads.push_back(body.values[v].storage.number);
    for (ValueId v : s.out) t.writes.push_back(body.values[v].storage.number);
    t.scratch = s.scratch;
    t.fixed = s.effects;
    t.in_place = s.is_elementwise();
    tasks.push_back(std::move(t));
  }
  std::vector<plan::TaskValue> values;
  for (const Storage& s : body.storages)
    values.push_back({s.kind == Storage::Kind::temporary ? s.bytes : 0, s.kind != Storage::Kind::temporary});
  std::vector<int> order = plan::list_schedule(tasks, values);
  std::vector<Step> steps;
  steps.reserve(order.size());
  for (int i : order) steps.push_back(std::move(body.steps[i]));
  body.steps = std::move(steps);
}

}  // namespace anew::passes
