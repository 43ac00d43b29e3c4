// Walking back through a loop within a number of bytes, which hold states (carries) and residuals of steps. In memory
// lie some kept states and, above them, the residuals of a run of steps; so all memory that states leave is used for
// residuals, which spare a step its repetition. A stretch whose residuals fit is run once, keeping them; a longer one
// is cut (plan/cuts.h), and where all behind the cut is one run, the state at the cut need not be kept. No schedule
// runs fewer steps than the exact one. For long loops it is cut as revolve cuts, by how far one comes if no step is run
// more than so often: within 4 % of the exact one where both were computed. The state that the loop starts from is not
// counted.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "plan/cuts.h"

namespace anew::plan {

struct LoopBytes {
  std::int64_t memory = 0, carry = 0, residual = 0;  // what there is; of one state; of the residuals of one step
  friend bool operator==(const LoopBytes&, const LoopBytes&) = default;
};

class MixedSchedule {
 public:
  // memory >= residual. `work` bounds that of choosing; the usual one is exact up to about a thousand steps.
  MixedSchedule(std::int64_t length, const LoopBytes& bytes, double work = CutTable::usual_work);

  std::int64_t length() const { return length_; }
  const LoopBytes& bytes() const { return bytes_; }
  std::int64_t deepest() const { return deepest_; }  // the largest number of states that are kept besides the first
  // The longest run of steps whose residuals fit above `depth` kept states.
  std::int64_t run(std::int64_t depth) const;
  // Of a stretch whose start is kept above `depth` other states. If the state at the cut is not kept, what is behind it
  // is a run, above the same states.
  Cut cut(std::int64_t length, std::int64_t depth) const;
  // Steps run besides those of the forward sweep; of long loops not quite exact.
  std::int64_t extra_steps() const;
  // No schedule runs fewer: some time a step must run that so many runs of each do not reach. Within 25 % of the exact
  // one, and mostly closer.
  static std::int64_t least_extra_steps(std::int64_t length, const LoopBytes& bytes);
  // Where the forward sweep keeps states, 0 first, and from which step on it keeps residuals.
  struct Forward {
    std::vector<std::int64_t> stops;
    std::int64_t taped;
  };
  Forward forward() const;

 private:
  bool is_exact() const { return table_ != nullptr; }
  std::int64_t reach(std::int64_t depth, std::int64_t times) const;
  std::int64_t times_for(std::int64_t length, std::int64_t depth) const;
  Cut cut_by_reach(std::int64_t length, std::int64_t depth) const;

  std::int64_t length_, deepest_ = 0;
  LoopBytes bytes_;
  std::shared_ptr<const CutTable> table_;
  std::vector<std::vector<std::int64_t>> reach_;  // by depth, then times
};

// The schedule of a loop of known length, made once; and one that is made quickly, for a length that only a run tells.
std::shared_ptr<const MixedSchedule> schedule_of(std::int64_t length, const LoopBytes& bytes);
MixedSchedule quick_schedule(std::int64_t length, const LoopBytes& bytes);

// What a row of such pieces takes where rows lie beside each other: elements are aligned to their size, and no more is.
// Where pieces are of one dtype that is their bytes.
struct RowPiece {
  std::int64_t bytes, element;  // of all, and of one
};
using RowPieces = std::vector<RowPiece>;
std::int64_t row_bytes(const RowPieces& pieces);

// Where rows of residuals lie: behind the states in use, in what the stacks of states (one per carry, `slots` states
// each) have left, and in a pool, in which states past the stacks come first. A row is several pieces.
class RowPlaces {
 public:
  struct Place {
    std::int64_t stack;  // -1: the pool
    std::int64_t offset;
  };
  RowPlaces(std::int64_t slots, RowPieces states, RowPieces pieces);
  // Of `rows` rows above `used` states, row by row.
  void place(std::int64_t used, std::int64_t rows, std::vector<Place>& out) const;
  // Of a state past the stacks, carry by carry.
  Place state(std::int64_t slot, std::size_t carry) const;
  // The size of the pool for all that a schedule asks for.
  std::int64_t pool_bytes(const MixedSchedule& schedule, std::int64_t length) const;

 private:
  std::int64_t begin(std::int64_t used) const;                        // of rows in the pool
  std::int64_t pool_end(std::int64_t used, std::int64_t rows) const;  // after `place`

  std::int64_t slots_;
  RowPieces states_, pieces_;
  std::vector<std::size_t> order_;      // in which pieces of a row follow each other
  std::vector<std::int64_t> state_at_;  // carry by carry, from where a state begins
};

// What a loop costs by what it may keep: ascending bytes, descending steps; the first is the least that is possible,
// the last keeps the residuals of all steps.
struct LoopPoint {
  std::int64_t bytes, extra_steps;
};
std::vector<LoopPoint> loop_menu(std::int64_t length, std::int64_t carry, std::int64_t residual);

// What a walk back does. Slot 0 holds the first state; a row holds the residuals of one step, above the slots in use.
struct MixedMoves {
  std::function<void(std::int64_t slot)> load;                      // the state at hand is now the one in this slot
  std::function<void(std::int64_t from, std::int64_t to)> advance;  // steps from..to-1 with the state at hand
  std::function<void(std::int64_t slot)> store;                     // the state at hand, into this slot
  // Runs steps from..to-1 with the state at hand, keeping residuals in rows 0, 1, ... above `slots` slots.
  std::function<void(std::int64_t from, std::int64_t to, std::int64_t slots)> tape;
  std::function<void(std::int64_t step, std::int64_t row, std::int64_t slots)> back;  // takes a step back
};
// Takes steps length-1 .. 0 back. The states before `kept.stops` are in slots 0, 1, ..., and the residuals of the steps
// from `kept.taped` on in rows above these.
void walk_back(const MixedSchedule& schedule, std::int64_t length, const MixedSchedule::Forward& kept,
               const MixedMoves& moves);

// States that lie in slots in any order, as a sweep of unknown length keeps them (-1: none): swaps slots until they
// ascend, the first one in slot 0, and gives their steps. They are those of a loop, which Rewind can tell.
std::vector<std::int64_t> sort_slots(std::vector<std::int64_t> steps,
                                     const std::function<void(std::int64_t, std::int64_t)>& swap);

}  // namespace anew::plan
