// Schedules of states in memory and on disk.
#include "plan/two_level.h"

#include <algorithm>
#include <utility>

namespace anew::plan {

TwoLevel::TwoLevel(std::int64_t length, std::int64_t slots, std::int64_t disk_slots, double io)
    : length_(length), slots_(slots) {
  if (disk_slots == 0) return;
  auto in_memory = [=](std::int64_t l, std::int64_t) { return io + static_cast<double>(plan::extra_steps(l, slots)); };
  constexpr double work = 3e7;
  table_ = std::make_shared<const CutTable>(
      CutTable::Problem{length, std::max<std::int64_t>(disk_slots, 1) - 1, io, in_memory, in_memory}, work);
}

double TwoLevel::cost() const {
  return table_ ? table_->cost(std::max<std::int64_t>(length_, 1), 0)
                : static_cast<double>(plan::extra_steps(length_, slots_));
}

std::vector<Stop> TwoLevel::forward_stops() const {
  std::vector<Stop> stops{{0, table_ != nullptr}};
  std::int64_t at = 0;
  for (std::int64_t depth = 0; table_ && length_ - at > 1; ++depth) {
    const Cut c = table_->cut(length_ - at, depth);
    at += c.steps;
    if (!c.keeps) break;
    stops.push_back({at, true});
  }
  for (std::int64_t s : plan::forward_stops(length_ - at, slots_))
    if (at + s > stops.back().step) stops.push_back({at + s, false});
  return stops;
}

namespace {

// A walk over two levels. What is at hand is known here, so that nothing is loaded or run that need not be.
class LevelWalker {
 public:
  LevelWalker(const CutTable* table, std::int64_t slots, std::int64_t at_hand, const LevelWalk& walk)
      : table_(table), slots_(slots), at_hand_(at_hand), walk_(walk) {}

  // Steps [begin, begin + length) from a state in memory, `slots` of them for this stretch, that one included.
  void in_memory(std::int64_t begin, std::int64_t length, std::int64_t slots) {
    const bool at_last = at_hand_ == begin + length - 1;
    if (!at_last && at_hand_ > begin && at_hand_ < begin + length) at_hand_ = -1;
    plan::walk_back(length, slots, {0}, at_last,
                    {.load = [&](std::int64_t s) { walk_.load(begin + s); },
                     .advance = [&](std::int64_t from, std::int64_t to) { walk_.advance(begin + from, begin + to); },
                     .keep = [&](std::int64_t s) { walk_.keep({begin + s, false}); },
                     .drop = [&](std::int64_t s) { walk_.drop({begin + s, false}); },
                     .back = [&](std::int64_t s) { walk_.back(begin + s); }});
    at_hand_ = -1;
  }
  // Steps [begin, begin + length) from a state on disk, with `depth` others before it, of which `before` is the last,
  // and nothing in memory.
  void from_disk(std::int64_t begin, std::int64_t length, std::int64_t depth, std::int64_t before) {
    struct Stretch {
      std::int64_t begin, length;
    };
    std::vector<Stretch> open{{begin, length}};
    while (!open.empty()) {
      Stretch& s = open.back();
      if (s.length == 0) {
        if (open.size() > 1) walk_.drop({s.begin, true});
        open.pop_back();
        continue;
      }
      const Cut c = table_->cut(s.length, depth + std::ssize(open) - 1);
      const std::int64_t at = s.begin + c.steps, rest = s.length - c.steps;
      go(s.begin, at);
      s.length = c.steps;
      if (c.keeps) {
        walk_.keep({at, true});
        open.push_back({at, rest});
      } else {
        const std::int64_t next = c.steps > 0 ? s.begin : open.size() > 1 ? open[open.size() - 2].begin : before;
        if (next >= 0) walk_.soon(next);
        one_leaf(at, rest);
      }
    }
  }

 private:
  // From the state at hand, which is that of `begin`: it is kept in memory where there is more than one step.
  void one_leaf(std::int64_t begin, std::int64_t length) {
    if (length > 1) walk_.keep({begin, false});
    in_memory_or_one(begin, length);
    if (length > 1) walk_.drop({begin, false});
  }
  void in_memory_or_one(std::int64_t begin, std::int64_t length) {
    if (length > 1) return in_memory(begin, length, slots_);
    walk_.back(begin);
    at_hand_ = -1;
  }
  void go(std::int64_t from, std::int64_t to) {
    if (at_hand_ < from || at_hand_ > to) {
      walk_.load(from);
      at_hand_ = from;
    }
    if (at_hand_ < to) walk_.advance(at_hand_, to);
    at_hand_ = to;
  }

  const CutTable* table_;
  std::int64_t slots_, at_hand_;
  const LevelWalk& walk_;
};

}  // namespace

void TwoLevel::walk_back(std::int64_t length, const std::vector<Stop>& stops, bool at_last,
                         const LevelWalk& walk) const {
  LevelWalker w(table_.get(), slots_, at_last ? length - 1 : -1, walk);
  const std::int64_t on_disk = std::count_if(stops.begin(), stops.end(), [](const Stop& s) { return s.on_disk; });
  std::int64_t end = length;
  for (std::int64_t k = std::ssize(stops); k-- > 0;) {
    const Stop& s = stops[static_cast<std::size_t>(k)];
    if (k == on_disk && k > 0) walk.soon(stops[static_cast<std::size_t>(k) - 1].step);
    if (end > s.step) {
      const std::int64_t before = k > 0 ? stops[static_cast<std::size_t>(k) - 1].step : -1;
      if (s.on_disk) w.from_disk(s.step, end - s.step, k, before);
      else w.in_memory(s.step, end - s.step, slots_ - (k - on_disk));
    }
    end = s.step;
    if (k > 0) walk.drop(s);
  }
}

OnlineLevels::OnlineLevels(std::int64_t slots, std::int64_t disk_slots)
    : slots_(slots),
      disk_slots_(disk_slots),
      group_(slots + 1),
      memory_{OnlineStops(static_cast<int>(slots)), std::vector<std::int64_t>(static_cast<std::size_t>(slots), -1)},
      disk_{OnlineStops(static_cast<int>(disk_slots)),
            std::vector<std::int64_t>(static_cast<std::size_t>(disk_slots), -1)} {}

// The step whose state is not kept any more, -1 where there is none; -2 where `step` is not kept itself.
std::int64_t OnlineLevels::put(Level& level, std::int64_t count, std::int64_t step) {
  const int slot = level.online.place(count);
  return slot < 0 ? -2 : std::exchange(level.steps[static_cast<std::size_t>(slot)], step);
}

OnlineLevels::Placed OnlineLevels::place(std::int64_t step) {
  // As many steps lie between states on disk as memory takes back with each run twice at most.
  if (disk_slots_ > 0 && step % group_ == 0) {
    const std::int64_t old = put(disk_, step / group_, step);
    if (old != -2) {
      Placed placed{true, true, {}};
      if (old >= 0) placed.dropped.push_back({old, true});
      for (std::int64_t& s : memory_.steps)
        if (s >= 0) placed.dropped.push_back({std::exchange(s, -1), false});
      memory_.online = OnlineStops(static_cast<int>(slots_));
      last_on_disk_ = step;
      return placed;
    }
  }
  const std::int64_t old = put(memory_, step - last_on_disk_, step);
  Placed placed{old != -2, false, {}};
  if (old >= 0) placed.dropped.push_back({old, false});
  return placed;
}

std::vector<Stop> OnlineLevels::stops() const {
  std::vector<Stop> all;
  for (std::int64_t s : disk_.steps)
    if (s >= 0) all.push_back({s, true});
  for (std::int64_t s : memory_.steps)
    if (s >= 0) all.push_back({s, false});
  std::sort(all.begin(), all.end(), [](const Stop& a, const Stop& b) { return a.step < b.step; });
  return all;
}

}  // namespace anew::plan
