// One arena: how much scratch every step needs, and offsets of temporaries and scratch. A nested Body is planned first; to
// the plan outside it is scratch of that size (branches: the largest). A loop's condition never runs beside its body, so
// they share memory.
#include "plan/place.h"

#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

using plan::rounded;

// Pieces of scratch one behind the other.
class Pieces {
 public:
  explicit Pieces(Step& s) : s_(s) { s.parts.clear(), s.scratch = 0; }
  void add(std::size_t bytes) {
    s_.parts.push_back(rounded(end_));
    end_ = s_.parts.back() + bytes;
    if (bytes) s_.scratch = end_;
  }
  // From the same place on as the last one.
  void beside_last(std::size_t bytes) {
    s_.parts.push_back(s_.parts.back());
    end_ = std::max(end_, s_.parts.back() + bytes);
    s_.scratch = std::max(s_.scratch, bytes ? end_ : 0);
  }

 private:
  Step& s_;
  std::size_t end_ = 0;
};

void place_scratch(Body& body, Step& s) {
  Pieces pieces(s);
  auto bytes_of = [&](int v) { return body.type(v).bytes(); };
  switch (s.kind) {
    case Step::Kind::kernel:
    case Step::Kind::call: return;
    case Step::Kind::branch: {
      std::size_t most = 0;
      for (const auto& nested : s.bodies) most = std::max(most, nested->bytes);
      return pieces.add(most);
    }
    case Step::Kind::tiles:
      for (std::int64_t lane = 0; lane < s.tiles.lanes; ++lane) pieces.add(s.bodies[0]->bytes);
      return;
    case Step::Kind::loop:
      pieces.add(s.bodies[0]->bytes);
      pieces.beside_last(s.bodies.size() > 1 ? s.bodies[1]->bytes : 0);
      pieces.add(s.bodies.size() > 1 ? 1 : 0);
      for (int c = 0; c < s.loop.carries; ++c)
        pieces.add(s.loop.in_place[static_cast<std::size_t>(c)] ? 0 : bytes_of(s.out[static_cast<std::size_t>(c)]));
      return;
    case Step::Kind::unwind: {
      const UnwindInfo& u = s.unwind;
      pieces.add(s.bodies[0]->bytes);
      pieces.beside_last(s.bodies[1]->bytes);
      auto stack = s.in.begin() + u.constants + u.xs + (u.length < 0 ? 2 : 0);
      for (int c = 0; c < u.carries; ++c, ++stack) {
        std::size_t state = s.bodies[0]->type(s.bodies[0]->outputs[static_cast<std::size_t>(c)]).bytes();
        pieces.add(state);
        pieces.add(state);
        pieces.add(u.own_stacks[static_cast<std::size_t>(c)] ? 0 : bytes_of(*stack));
      }
      for (int c = 0; c < u.linear_carries; ++c)
        pieces.add(u.in_place[static_cast<std::size_t>(c)] ? 0 : bytes_of(s.out[static_cast<std::size_t>(c)]));
      return;
    }
  }
}

ir::Scratch scratch_of(const Body& body, const Step& s) {
  if (!s.scratch_of) return {s.scratch, false};
  std::vector<Strides> in;
  for (int v : s.in) in.push_back(body.values[static_cast<std::size_t>(v)].strides);
  return s.scratch_of(in);
}

// What a product packs in makes it faster, but no large arena larger: where it would be the peak, it is not given.
constexpr std::size_t small_arena = std::size_t{16} << 20;

}  // namespace

void count_scratch(Body& body) {
  for (Step& s : body.steps) {
    if (s.kind == Step::Kind::kernel) s.scratch = s.schedule.scratch;
    else if (s.kind == Step::Kind::call) s.scratch = scratch_of(body, s).bytes;
    else place_scratch(body, s);
  }
}

void spare_scratch(Body& body) {
  const std::vector<Span> spans = spans_of(body);
  std::vector<std::size_t> live(body.steps.size());
  for (std::size_t i = 0; i < body.storages.size(); ++i) {
    if (body.storages[i].kind != Storage::Kind::temporary) continue;
    for (int k = std::max(0, spans[i].first); k <= std::min(spans[i].last, static_cast<int>(live.size()) - 1); ++k)
      live[static_cast<std::size_t>(k)] += rounded(body.storages[i].bytes);
  }
  std::size_t most = small_arena;
  for (std::size_t k = 0; k < live.size(); ++k)
    most = std::max(most, live[k] + (scratch_of(body, body.steps[k]).optional ? 0 : body.steps[k].scratch));
  for (std::size_t k = 0; k < live.size(); ++k)
    if (Step& s = body.steps[k]; live[k] + s.scratch > most && scratch_of(body, s).optional) s.scratch = 0;
}

void place(Body& body) {
  std::vector<Span> spans = spans_of(body);
  std::vector<plan::Interval> intervals;
  std::vector<std::size_t*> to;
  body.offsets.assign(body.storages.size(), 0);
  body.scratch_offsets.assign(body.steps.size(), 0);
  for (std::size_t i = 0; i < body.storages.size(); ++i) {
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
