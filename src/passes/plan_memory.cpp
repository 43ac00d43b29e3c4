// One arena: how much scratch every step needs, and offsets of temporaries and scratch. A nested Body is planned first;
// to the plan outside it is scratch of that size (branches: the largest). A loop's condition never runs beside its
// body, so they share memory.
#include "plan/offsets.h"

#include <algorithm>
#include <limits>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

using plan::rounded;

// Parts of a step's scratch, one behind the other.
class Parts {
 public:
  explicit Parts(Step& s) : scratch_(s.scratch) { scratch_ = 0; }
  Part add(std::size_t bytes) {
    last_ = {rounded(end_), bytes};
    end_ = last_.offset + bytes;
    if (bytes) scratch_ = end_;
    return last_;
  }
  // From the same place on as the last one.
  Part beside_last(std::size_t bytes) {
    end_ = std::max(end_, last_.offset + bytes);
    if (bytes) scratch_ = std::max(scratch_, end_);
    return {last_.offset, bytes};
  }

 private:
  std::size_t& scratch_;
  std::size_t end_ = 0;
  Part last_;
};

void count_parts(const Body&, Step& s, Branch& branch) {
  std::size_t most = 0;
  for (const auto& nested : s.bodies) most = std::max(most, nested->bytes);
  branch.plan = Parts(s).add(most);
}

void count_parts(const Body&, Step& s, Tiles& tiles) {
  Parts parts(s);
  tiles.plans.clear();
  for (std::int64_t lane = 0; lane < tiles.lanes; ++lane) tiles.plans.push_back(parts.add(s.bodies[0]->bytes));
}

void count_parts(const Body& body, Step& s, Loop& loop) {
  Parts parts(s);
  const bool decides = s.bodies.size() > 1;
  loop.body = parts.add(s.bodies[0]->bytes);
  loop.condition = parts.beside_last(decides ? s.bodies[1]->bytes : 0);
  loop.decision = parts.add(decides ? 1 : 0);
  loop.others.clear();
  for (std::size_t c = 0; c < loop.moves.carries(); ++c)
    loop.others.push_back(parts.add(loop.moves.has_spare(c) ? body.type(s.out[c]).bytes() : 0));
}

void count_parts(const Body& body, Step& s, Unwind& u) {
  Parts parts(s);
  u.advance = parts.add(s.bodies[0]->bytes);
  u.step = parts.beside_last(s.bodies[1]->bytes);
  if (u.residuals >= 0) {
    u.tape = parts.beside_last(s.bodies[2]->bytes);
    const std::int64_t most = u.length < 0 ? std::numeric_limits<std::int32_t>::max() : u.length;
    const plan::MixedSchedule schedule = u.schedule ? *u.schedule : plan::quick_schedule(most, u.bytes);
    u.pool = parts.add(static_cast<std::size_t>(row_places(body, s).pool_bytes(schedule, most)));
  }
  u.stacks.clear(), u.others.clear();
  auto stack = s.in.begin() + u.constants + u.xs + (u.length < 0 ? 2 : 0);
  for (std::size_t c = 0; c < u.own_stacks.size(); ++c, ++stack) {
    const std::size_t state = s.bodies[0]->type(s.bodies[0]->outputs[c]).bytes();
    Unwind::Stack& to = u.stacks.emplace_back();
    to.buffers[0] = parts.add(state);
    to.buffers[1] = parts.add(state);
    to.copy = parts.add(u.own_stacks[c] ? 0 : body.type(*stack).bytes());
  }
  for (std::size_t c = 0; c < u.moves.carries(); ++c)
    u.others.push_back(parts.add(u.moves.has_spare(c) ? body.type(s.out[c]).bytes() : 0));
}

void count_parts(const Body&, Step& s, Kernel& kernel) { s.scratch = kernel.schedule.scratch; }

ir::Scratch scratch_of(const Body& body, const Step& s) {
  const Call* call = s.as<Call>();
  if (!call || !call->scratch_of) return {s.scratch, false};
  std::vector<Strides> in;
  for (ValueId v : s.in) in.push_back(body.values[v].strides);
  return call->scratch_of(in);
}

void count_parts(const Body& body, Step& s, Call&) { s.scratch = scratch_of(body, s).bytes; }

}  // namespace

void count_scratch(Body& body) {
  for (Step& s : body.steps) std::visit([&](auto& work) { count_parts(body, s, work); }, s.work);
}

bool spares_scratch(const Body& body, const Step& s) { return scratch_of(body, s).optional; }

// What a product packs in makes it faster, but no large arena larger: where it would be the peak, it is not given.
void spare_scratch(Body& body, std::size_t small) {
  const Table<StorageId, Span> spans = spans_of(body);
  std::vector<std::size_t> live(body.steps.size());
  for (StorageId i : body.storages.ids()) {
    if (body.storages[i].kind != Storage::Kind::temporary) continue;
    for (int k = std::max(0, spans[i].first); k <= std::min(spans[i].last, static_cast<int>(live.size()) - 1); ++k)
      live[k] += rounded(body.storages[i].bytes);
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
