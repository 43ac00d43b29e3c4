// Schedules of loops with few kept states.
#include "plan/revolve.h"

#include <algorithm>
#include <limits>
#include <utility>

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
    Stop s = stops_[static_cast<std::size_t>(i)];
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

class Walker {
 public:
  Walker(std::int64_t length, bool at_last, const Walk& walk) : walk_(walk), at_hand_(at_last ? length - 1 : -1) {}

  // Steps [begin, begin + length) with the state of `begin` kept, `slots` states for this stretch, that one included. It is
  // cut in two, what is behind the cut comes first; stretches lie inside each other as deep as there are states, so those
  // that wait are a list, not the stack.
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
  Walker w(length, at_last, walk);
  std::int64_t end = length;
  for (std::size_t k = stops.size(); k-- > 0;) {
    if (end > stops[k]) w.stretch(stops[k], end - stops[k], slots - static_cast<std::int64_t>(k));
    end = stops[k];
    if (k > 0) walk.drop(stops[k]);
  }
}

bool kept_steps_fit(std::vector<std::int64_t> steps, std::int64_t length) {
  std::erase(steps, -1);
  std::sort(steps.begin(), steps.end());
  return !steps.empty() && steps.front() == 0 && steps.back() < length &&
         std::adjacent_find(steps.begin(), steps.end()) == steps.end();
}

}  // namespace anew::plan
