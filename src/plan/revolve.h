// Walking back through a loop with fewer kept states than steps. `slots` counts kept states, the first included; the
// state that is being advanced is not one of them. Lengths known before the loop starts: revolve (Griewank and Walther
// 2000), whose number of steps is optimal. Lengths that only the end of the loop tells: the placement of Wang, Moin and
// Iaccarino 2009, then revolve on every stretch between kept states.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace anew::plan {

// The fewest steps, besides one per step taken back, that reverse `length` steps.
std::int64_t extra_steps(std::int64_t length, std::int64_t slots);
// Where the next state is kept: after this many steps of the stretch. length > 1, slots > 1.
std::int64_t next_stop(std::int64_t length, std::int64_t slots);
// Where the forward sweep keeps states, 0 first.
std::vector<std::int64_t> forward_stops(std::int64_t length, std::int64_t slots);

// Where a forward sweep of unknown length keeps states: at every time the states kept are a good start for going back.
class OnlineStops {
 public:
  explicit OnlineStops(int slots) : slots_(slots) {}
  // The slot for the state before step `step`; called with 0, 1, 2, ...
  int place(std::int64_t step);

 private:
  struct Stop {
    std::int64_t step;
    int level, slot;
  };
  int slots_;
  std::vector<Stop> stops_;  // by step
};

// Whether states kept at these steps (-1: none) can be those of a loop of this length: each of a step of its own, the
// first among them. A walk over others would leave its rows.
bool kept_steps_fit(std::vector<std::int64_t> steps, std::int64_t length);

// What a walk back does. States are named by their step; `keep`, `drop` and `back` come with the state at hand.
struct Walk {
  std::function<void(std::int64_t step)> load;                      // the state at hand is now the one kept at `step`
  std::function<void(std::int64_t from, std::int64_t to)> advance;  // steps from..to-1 with the state at hand
  std::function<void(std::int64_t step)> keep, drop;
  std::function<void(std::int64_t step)> back;  // take step `step` back; the state at hand is its start
};
// Takes steps length-1 .. 0 back. `stops`: steps whose states are kept at the start, ascending, 0 first; `slots` >=
// their number. If `at_last`, the state before the last step is at hand at the start.
void walk_back(std::int64_t length, std::int64_t slots, const std::vector<std::int64_t>& stops, bool at_last,
               const Walk& walk);

}  // namespace anew::plan
