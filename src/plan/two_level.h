// Walking back through a loop whose states are kept in memory or, dearer, on disk. A stretch that starts from a state
// on disk is cut at states that go to disk as well, or it is left to memory: what is behind a cut goes back by revolve
// from the state at hand, with all slots in memory. A state written or read costs as much as one step unless told
// otherwise; the total is the optimum of H-Revolve (Herrmann and Pallez 2020) or below it, and near that for long
// loops. Without disk: revolve. States on disk lie before those in memory; the first state is one of them.
#pragma once
#include <memory>

#include "plan/cuts.h"
#include "plan/revolve.h"

namespace anew::plan {

struct Stop {
  std::int64_t step;
  bool on_disk;
  friend bool operator==(const Stop&, const Stop&) = default;
};

// What a walk back does. States are named by their step, as in plan::Walk.
struct LevelWalk {
  std::function<void(std::int64_t step)> load;
  std::function<void(std::int64_t step)> soon;  // the state on disk that is loaded next, some steps before it is
  std::function<void(std::int64_t from, std::int64_t to)> advance;
  std::function<void(const Stop& stop)> keep, drop;
  std::function<void(std::int64_t step)> back;
};

class TwoLevel {
 public:
  // slots >= 1; disk_slots may be 0. `io`: what writing or reading a state costs, in steps.
  TwoLevel(std::int64_t length, std::int64_t slots, std::int64_t disk_slots, double io = 1);
  // Steps besides one per step taken back, and the cost of states that are written and read.
  double cost() const;
  // Where a forward sweep of this length keeps states, 0 first.
  std::vector<Stop> forward_stops() const;
  // Takes steps length-1 .. 0 back, at most `length()` of them. `stops` ascend, 0 first, those on disk before those in
  // memory. If `at_last`, the state before the last step is at hand.
  void walk_back(std::int64_t length, const std::vector<Stop>& stops, bool at_last, const LevelWalk& walk) const;

 private:
  std::int64_t length_, slots_;
  std::shared_ptr<const CutTable> table_;
};

// Where a forward sweep of unknown length keeps states: every so often one on disk, those that stay there placed as
// OnlineStops places them; since the last of these, states in memory.
class OnlineLevels {
 public:
  OnlineLevels(std::int64_t slots, std::int64_t disk_slots);
  // Called with 0, 1, 2, ...: whether the state before `step` is kept, and which ones are not any more.
  struct Placed {
    bool kept, on_disk;
    std::vector<Stop> dropped;
  };
  Placed place(std::int64_t step);
  std::vector<Stop> stops() const;  // that are kept, ascending

 private:
  struct Level {
    OnlineStops online;
    std::vector<std::int64_t> steps;  // by slot
  };
  static std::int64_t put(Level& level, std::int64_t count, std::int64_t step);

  std::int64_t slots_, disk_slots_, group_;
  Level memory_, disk_;
  std::int64_t last_on_disk_ = 0;
};

}  // namespace anew::plan
