// Calls in two halves. A call that other ranks or threads carry out is begun as soon as its operands exist, and waited
// for where it stood; what stands in between runs meanwhile. Starts keep their order among each other and among other
// steps with effects, so that all ranks begin the same things in the same order. At most `most` calls are in flight: a
// start beyond that is preceded by the finish of the first of them, which bounds what their memory adds, and lets what
// reads the results (an optimizer) begin before the last of them is there. A call before which nothing else could run
// stays whole.
#include <algorithm>
#include <deque>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

constexpr std::size_t most = 3;
using Half = Call::Half;

Half half_of(const Step& s) { return s.is<Call>() ? s.as<Call>()->half : Half::whole; }

// Behind which step the operands of a step exist, by the steps that were seen: the number of the next one.
class Written {
 public:
  explicit Written(const Body& body) : b_(body), next_(body.storages.size()) {}
  std::size_t before(const Step& s) const {
    std::size_t ready = 0;
    for (ValueId v : s.in) ready = std::max(ready, next_[b_.values[v].storage]);
    return ready;
  }
  void add(const Step& s, std::size_t at) {
    for (ValueId v : s.out) next_[b_.values[v].storage] = at + 1;
  }

 private:
  const Body& b_;
  Table<StorageId, std::size_t> next_;
};

// Which calls could start before their place.
std::vector<bool> could_start_early(const Body& body) {
  std::vector<bool> out(body.steps.size());
  Written written(body);
  std::size_t behind_effects = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Step& s = body.steps[i];
    out[i] = s.is<Call>() && s.as<Call>()->halves && std::max(behind_effects, written.before(s)) < i;
    if (s.effects && !out[i]) behind_effects = i + 1;
    written.add(s, i);
  }
  return out;
}

// The step itself becomes the finish.
Step cut_start(Body& body, Step& s) {
  const auto halves = s.as<Call>()->halves;
  Step start;
  start.in = s.in;
  start.effects = s.effects;
  start.primitive = s.primitive;
  start.at = s.at;
  const ir::Mark mark = body.values[s.out[0]].mark;
  for (const Type& t : halves->flight) start.out.push_back(body.add_temporary(t, s.primitive, s.at, mark));
  const int in_place = halves->in_place ? 0 : -1;
  start.work = Call{.call = halves->start, .in_place = in_place, .half = Half::start};
  s.in = start.out;
  s.scratch = 0;
  s.work = Call{.call = halves->finish, .in_place = in_place, .half = Half::finish};
  return start;
}

}  // namespace

void overlap(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) overlap(*nested);
  const std::vector<bool> early = could_start_early(body);
  if (std::find(early.begin(), early.end(), true) == early.end()) return;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < early.size(); ++i) {
    if (early[i]) steps.push_back(cut_start(body, body.steps[i]));
    steps.push_back(std::move(body.steps[i]));
  }
  body.steps = std::move(steps);
  hasten(body);
}

void hasten(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) hasten(*nested);
  const std::size_t n = body.steps.size();
  std::vector<std::vector<std::size_t>> moved(n);  // before each step of the old order
  std::vector<bool> moves(n);
  Written written(body);
  std::deque<std::size_t> flying;  // finishes of what is in flight, in the order of their starts
  std::size_t behind_effects = 0;
  auto move = [&](std::size_t step, std::size_t to) {
    moved[to].push_back(step);
    moves[step] = true;
  };
  auto finish_of = [&](std::size_t start) {
    std::size_t i = start + 1;
    while (half_of(body.steps[i]) != Half::finish || body.steps[i].in != body.steps[start].out) ++i;
    return i;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const Step& s = body.steps[i];
    if (half_of(s) == Half::start) {
      const std::size_t at = std::max(behind_effects, written.before(s));
      while (!flying.empty() && flying.front() < at) flying.pop_front();
      if (flying.size() == most) {
        move(flying.front(), at);
        flying.pop_front();
      }
      move(i, at);
      flying.push_back(finish_of(i));
      behind_effects = at;
    } else if (s.effects && half_of(s) == Half::whole) {
      behind_effects = i + 1;
    }
    written.add(s, i);
  }
  std::vector<Step> steps;
  steps.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t m : moved[i]) steps.push_back(std::move(body.steps[m]));
    if (!moves[i]) steps.push_back(std::move(body.steps[i]));
  }
  body.steps = std::move(steps);
}

}  // namespace anew::passes
