// Schedules of loops with few kept states.
#include "plan/revolve.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/base.h"
#include "base/saturate.h"

namespace anew::plan {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 4;

// n over k, at most `huge`.
std::int64_t choose(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  k = std::min(k, n - k);
  std::int64_t r = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    if (r > huge / (n - k + i)) return huge;
    r = r * (n - k + i) / i;
  }
  return r;
}
// The longest stretch that `slots` states reverse with every step run at most `times` times more.
std::int64_t reach(std::int64_t slots, std::int64_t times) { return choose(slots + times, slots); }

std::int64_t repetitions(std::int64_t length, std::int64_t slots) {
  std::int64_t r = 0;
  if (slots == 1) return length - 1;
  while (reach(slots, r) < length) ++r;
  return r;
}

}  // namespace

std::int64_t count_steps(std::int64_t from, std::int64_t to) {
  return to > from ? saturating_add(to, saturating_mul(from, -1)) : 0;
}

std::int64_t extra_steps(std::int64_t length, std::int64_t slots) {
  if (length <= 1) return 0;
  if (slots == 1) return length * (length - 1) / 2;
  std::int64_t r = repetitions(length, slots);
  return r * length - choose(slots + r, r - 1);
}

std::int64_t next_stop(std::int64_t length, std::int64_t slots) {
  std::int64_t r = repetitions(length, slots);
  // Any cut is optimal that leaves [reach(slots, r-2), reach(slots, r-1)] steps before and [reach(slots-1, r-1),
  // reach(slots-1, r)] steps after it; the last of them keeps the stretch behind short.
  return std::clamp<std::int64_t>(std::min(reach(slots, r - 1), length - reach(slots - 1, r - 1)), 1, length - 1);
}

std::vector<std::int64_t> forward_stops(std::int64_t length, std::int64_t slots) {
  std::vector<std::int64_t> stops{0};
  for (std::int64_t at = 0; slots > 1 && length - at > 1; --slots) {
    at += next_stop(length - at, slots);
    stops.push_back(at);
  }
  return stops;
}

int OnlineStops::place(std::int64_t step) {
  int kept = static_cast<int>(stops_.size());
  if (kept < slots_) {
    stops_.push_back({step, step == 0 ? std::numeric_limits<int>::max() : 0, kept});
    return kept;
  }
  if (slots_ == 1) return -1;
  // Of no more use: a state with one of a higher level behind it.
  int highest = -1;
  for (int i = kept - 1; i >= 1; --i) {
    Stop s = stops_[i];
    if (s.level < highest) {
      stops_.erase(stops_.begin() + i);
      stops_.push_back({step, 0, s.slot});
      return s.slot;
    }
    highest = std::max(highest, s.level);
  }
  Stop& last = stops_.back();
  last = {step, last.level + 1, last.slot};
  return last.slot;
}

namespace {

class BackwardWalk {
 public:
  BackwardWalk(std::int64_t length, bool at_last, const Walk& walk)
      : walk_(walk), at_hand_(at_last ? length - 1 : -1) {}

  // Steps [begin, begin + length) with the state of `begin` kept, `slots` states for this stretch, that one included.
  // It is cut in two, what is behind the cut comes first; stretches lie inside each other as deep as there are states,
  // so those that wait are a list, not the stack.
  void stretch(std::int64_t begin, std::int64_t length, std::int64_t slots) {
    struct Stretch {
      std::int64_t begin, length, slots, cut = -1;
    };
    std::vector<Stretch> open{{begin, length, slots}};
    while (!open.empty()) {
      Stretch& s = open.back();
      if (s.cut >= 0) {
        walk_.drop(s.cut);
        s.length = std::exchange(s.cut, -1) - s.begin;
      }
      if (s.length > 1 && s.slots > 1) {
        s.cut = s.begin + next_stop(s.length, s.slots);
        go(s.begin, s.cut);
        walk_.keep(s.cut);
        open.push_back({s.cut, s.begin + s.length - s.cut, s.slots - 1});
        continue;
      }
      for (std::int64_t i = s.begin + s.length - 1; i >= s.begin; --i) {
        go(s.begin, i);
        walk_.back(i);
        at_hand_ = -1;
      }
      open.pop_back();
    }
  }

 private:
  // From the kept state of `begin`, or from the one at hand if it lies between.
  void go(std::int64_t begin, std::int64_t to) {
    if (at_hand_ < begin || at_hand_ > to) {
      walk_.load(begin);
      at_hand_ = begin;
    }
    if (at_hand_ < to) walk_.advance(at_hand_, to);
    at_hand_ = to;
  }
  const Walk& walk_;
  std::int64_t at_hand_;
};

}  // namespace

void walk_back(std::int64_t length, std::int64_t slots, const std::vector<std::int64_t>& stops, bool at_last,
               const Walk& walk) {
  BackwardWalk w(length, at_last, walk);
  std::int64_t end = length;
  for (std::size_t k = stops.size(); k-- > 0;) {
    if (end > stops[k]) w.stretch(stops[k], end - stops[k], slots - static_cast<std::int64_t>(k));
    end = stops[k];
    if (k > 0) walk.drop(stops[k]);
  }
}

Recorder::Recorder(std::int64_t length, std::int64_t slots) : steps_(slots, -1) {
  if (length < 0) online_.emplace(static_cast<int>(slots));
  else if (length > 0) stops_ = forward_stops(length, slots);
}

Recorder::Recorder(std::vector<std::int64_t> stops) : stops_(std::move(stops)), steps_(stops_.size(), -1) {}

std::int64_t Recorder::slot_for(std::int64_t step) {
  std::int64_t slot = -1;
  if (online_) slot = online_->place(step);
  else if (next_ < stops_.size() && stops_[next_] == step) slot = static_cast<std::int64_t>(next_++);
  if (slot >= 0) steps_[slot] = static_cast<std::int32_t>(step);
  return slot;
}

std::vector<std::int64_t> Recorder::unused() const {
  std::vector<std::int64_t> slots;
  for (std::size_t s = 0; s < steps_.size(); ++s)
    if (steps_[s] < 0) slots.push_back(static_cast<std::int64_t>(s));
  return slots;
}

Rewind::Rewind(std::int64_t length, std::int64_t slots) : length_(length), slots_(slots) {
  if (length <= 0 || slots == 0) return;
  const std::vector<std::int64_t> stops = forward_stops(length, slots);
  for (std::int64_t s = 0; s < slots; ++s) {
    if (s < std::ssize(stops)) slot_of_.emplace(stops[s], s);
    else free_.push_back(s);
  }
}

Rewind::Rewind(std::int64_t length, const std::vector<std::int64_t>& steps)
    : length_(length), slots_(std::ssize(steps)) {
  if (length <= 0) return;
  bool fits = true;
  for (std::int64_t s = 0; s < slots_; ++s) {
    const std::int64_t step = steps[s];
    if (step == -1) free_.push_back(s);
    else fits = step < length && slot_of_.emplace(step, s).second && fits;
  }
  if (!fits || slot_of_.empty() || slot_of_.begin()->first != 0)
    throw Error("[unwind] the kept states fit no loop", Location());
}

void Rewind::forward(std::int64_t length, const Moves& moves) {
  if (length > 0) moves.load(0);
  for (std::int64_t i = 0; i < length; ++i) {
    moves.step(i);
    if (i + 1 < length) moves.advance(i, i + 1);
  }
}

void Rewind::back(const Moves& moves) {
  if (slots_ == 0)
    for (std::int64_t i = length_; i-- > 0;) moves.step(i);
  if (slots_ == 0 || length_ <= 0) return;
  std::vector<std::int64_t> stops;
  for (const auto& [step, slot] : slot_of_) stops.push_back(step);
  walk_back(length_, slots_, stops, false,
            {.load = [&](std::int64_t step) { moves.load(slot_of_.at(step)); },
             .advance = moves.advance,
             .keep =
                 [&](std::int64_t step) {
                   moves.store(free_.back());
                   slot_of_.emplace(step, free_.back());
                   free_.pop_back();
                 },
             .drop =
                 [&](std::int64_t step) {
                   free_.push_back(slot_of_.at(step));
                   slot_of_.erase(step);
                 },
             .back = moves.step});
}

}  // namespace anew::plan
