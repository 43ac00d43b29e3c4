// One arena: how much scratch every step needs, and offsets of temporaries and scratch. A nested Body is planned first;
// to the plan outside it is scratch of that size (branches: the largest). A loop's condition never runs beside its
// body, so they share memory.
#include "plan/offsets.h"

#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {

void count_scratch(Body& body) {
  for (Step& s : body.steps) std::visit([&](auto& work) { work.count(body, s); }, s.work);
}

bool spares_scratch(const Body& body, const Step& s) {
  const Call* call = s.as<Call>();
  return call && call->scratch(body, s).optional;
}

// What a product packs in makes it faster, but no large arena larger: where it would be the peak, it is not given.
void spare_scratch(Body& body, std::size_t small) {
  const Table<StorageId, Span> spans = spans_of(body);
  std::vector<std::size_t> live(body.steps.size());
  for (StorageId i : body.storages.ids()) {
    if (body.storages[i].kind != Storage::Kind::temporary) continue;
    for (int k = std::max(0, spans[i].first); k <= std::min(spans[i].last, static_cast<int>(live.size()) - 1); ++k)
      live[k] += plan::rounded(body.storages[i].bytes);
  }
  std::size_t most = small;
  for (std::size_t k = 0; k < live.size(); ++k)
    most = std::max(most, live[k] + (spares_scratch(body, body.steps[k]) ? 0 : body.steps[k].scratch));
  for (std::size_t k = 0; k < live.size(); ++k)
    if (Step& s = body.steps[k]; live[k] + s.scratch > most && spares_scratch(body, s)) s.scratch = 0;
}

void place(Body& body) {
  const Table<StorageId, Span> spans = spans_of(body);
  std::vector<plan::Interval> intervals;
  std::vector<std::size_t*> to;
  body.offsets = Table<StorageId, std::size_t>(body.storages.size());
  body.scratch_offsets.assign(body.steps.size(), 0);
  for (StorageId i : body.storages.ids()) {
    if (body.storages[i].kind != Storage::Kind::temporary || spans[i].last < 0) continue;
    intervals.push_back({spans[i].first, spans[i].last, body.storages[i].bytes});
    to.push_back(&body.offsets[i]);
  }
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    if (body.steps[i].scratch == 0) continue;
    intervals.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(i), body.steps[i].scratch});
    to.push_back(&body.scratch_offsets[i]);
  }
  plan::Placement placement = plan::place(intervals);
  for (std::size_t k = 0; k < to.size(); ++k) *to[k] = placement.offsets[k];
  body.bytes = placement.bytes;
}

}  // namespace anew::passes
