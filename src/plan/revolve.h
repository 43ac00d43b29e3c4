// Walking back through a loop with fewer kept states than steps. `slots` counts kept states, the first included; the
// state that is being advanced is not one of them. Lengths known before the loop starts: revolve (Griewank and Walther
// 2000), whose number of steps is optimal. Lengths that only the end of the loop tells: the placement of Wang, Moin and
// Iaccarino 2009, then revolve on every stretch between kept states.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace anew::plan {

// How often a loop that counts from `from` up to `to` runs its body.
std::int64_t count_steps(std::int64_t from, std::int64_t to);
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

// Which states a forward sweep keeps, and in which slots. A default one keeps none.
class Recorder {
 public:
  Recorder() = default;
  // `length` is -1 where only the end of the loop tells it.
  Recorder(std::int64_t length, std::int64_t slots);
  // At these steps, 0 first.
  explicit Recorder(std::vector<std::int64_t> stops);
  // The slot for the state before step `step`, or -1; called with 0, 1, 2, ...
  std::int64_t slot_for(std::int64_t step);
  // The step whose state is in each slot, -1 where there is none.
  const std::vector<std::int32_t>& steps() const { return steps_; }
  std::vector<std::int64_t> unused() const;  // slots in which there is none

 private:
  std::vector<std::int64_t> stops_;
  std::size_t next_ = 0;
  std::optional<OnlineStops> online_;
  std::vector<std::int32_t> steps_;
};

// The walk over the steps of a loop whose states were recorded, in terms of slots. States kept on the way back take the
// slots of those that are done with.
class Rewind {
 public:
  struct Moves {
    std::function<void(std::int64_t slot)> load;                      // the state at hand is now the one in this slot
    std::function<void(std::int64_t from, std::int64_t to)> advance;  // steps from..to-1 with the state at hand
    std::function<void(std::int64_t slot)> store;                     // the state at hand, into this slot
    std::function<void(std::int64_t step)> step;                      // the linear part; the state at hand is its start
  };
  // Of a loop whose length was known before, recorded in this many slots; 0: it has no state.
  Rewind(std::int64_t length, std::int64_t slots);
  // Of one that recorded these steps, one per slot (-1: none). Throws where no loop of this length can have kept them:
  // each is a step of its own, the first among them. A walk over others would leave its slots.
  Rewind(std::int64_t length, const std::vector<std::int64_t>& steps);
  void back(const Moves& moves);
  static void forward(std::int64_t length, const Moves& moves);  // from slot 0 on

 private:
  std::int64_t length_, slots_;
  std::map<std::int64_t, std::int64_t> slot_of_;  // of each kept state, by its step
  std::vector<std::int64_t> free_;
};

}  // namespace anew::plan
