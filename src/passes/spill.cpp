// States that a loop records and only its way back reads lie in a file in between, where the loop was given a folder.
// The storages stay, for what they are: each row is written and read once, by these two steps.
#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

// Of a loop, the values of the states that it records.
std::vector<ValueId> states_of(const Step& s) {
  const auto begin = s.out.end() - std::ssize(s.as<Loop>()->record);
  return {begin, s.out.end()};
}
std::vector<ValueId> stacks_of(const Step& s) {
  const Unwind& u = *s.as<Unwind>();
  const auto begin = s.in.begin() + u.constants + u.xs;
  return {begin, begin + u.carries};
}

}  // namespace

void spill(Body& body) {
  const auto spans = spans_of(body);
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    Loop* loop = body.steps[i].as<Loop>();
    if (!loop || loop->disk.empty() || loop->record.empty() || body.steps[i].bodies.size() > 1) continue;
    const std::vector<ValueId> states = states_of(body.steps[i]);
    const int last = spans[body.values[states[0]].storage].last;
    if (last <= static_cast<int>(i) || last >= static_cast<int>(body.steps.size())) continue;
    Unwind* unwind = body.steps[static_cast<std::size_t>(last)].as<Unwind>();
    if (!unwind || unwind->residuals < 0 || unwind->length < 0) continue;
    if (stacks_of(body.steps[static_cast<std::size_t>(last)]) != states) continue;
    if (std::count(unwind->own_stacks.begin(), unwind->own_stacks.end(), false) > 0) continue;
    auto between = [&](const Step& s) {
      return std::any_of(states.begin(), states.end(), [&](ValueId v) {
        auto same = [&](ValueId w) { return body.values[w].storage == body.values[v].storage; };
        return std::any_of(s.in.begin(), s.in.end(), same) || std::any_of(s.out.begin(), s.out.end(), same);
      });
    };
    if (std::any_of(body.steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.steps.begin() + last, between))
      continue;
    for (ValueId v : states) body.storage_of(v).kind = Storage::Kind::disk;
    loop->spilled = unwind->spilled = true;
  }
}

}  // namespace anew::passes
