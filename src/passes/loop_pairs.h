// Loops of a Program and their ways back, as pairs of equations: a scan that stacks residuals and the reverse scan that
// reads them, a while that records states and its unwind, a cond whose branches hold one half of such loops each. For
// a budget they may be rewritten to keep less: the scan and its reverse then have the form that they have where the
// user gave bytes (`.memory`). Users' own bytes, checkpoints and policies show in the equations, and are left alone.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/loop.h"

namespace anew::passes {

struct LoopPair;
struct NestedLoops;
struct LoopsIn {
  std::vector<LoopPair> pairs;      // by their second equation
  std::vector<NestedLoops> nested;  // in Programs that other equations hold
  bool empty() const { return pairs.empty() && nested.empty(); }
};
struct LoopPair {
  enum class Kind { scans, whiles, conds } kind = Kind::scans;
  int number = -1;  // among all loops that may keep less; of conds -1: theirs do
  std::size_t first = 0, second = 0;
  // Of a scan or cond. Per operand of the second equation: the output of the first that it reads and nobody keeps for
  // it any more, or -1; and which outputs of the first others read.
  std::vector<int> made = {};
  Flags kept = {};
  // Both equations at one step, or both halves of a branch: what the first takes, what else the second takes; the kept
  // outputs of the first, those of the second.
  std::vector<ir::ProgramRef> whole = {};
  std::vector<LoopsIn> inner = {};  // of each whole
  // The same pair where the second makes, at each step, what was made for it of constants of the first and is read by
  // nobody else: that is not in memory meanwhile. Of `made` such an operand has a number past the outputs of the first.
  // Absent where there is none, or loops are inside.
  std::shared_ptr<const LoopPair> sunk = {};
};
struct NestedLoops {
  std::size_t equation = 0, program = 0;
  LoopsIn loops = {};
};

// Calls are inlined, so that a loop and its way back stand in one Program; checkpoints are not, but for automatic ones.
ir::Program without_calls(const ir::Program& p);
// `count`: of loops that have a number, so far. Scans that stack what has one of these names are left alone.
LoopsIn find_loops(const ir::Program& p, const std::set<std::string>& kept, int& count);

// What a scan keeps for its way back.
struct ScanBack {
  UnwindParams unwind;  // of all steps, without a budget
  // Steps of loops: where states are kept; where residuals are stacked, and back over these.
  ir::ProgramRef recording, tape, over_rows;
  int constants;                 // of the last
  std::vector<int> recorded;     // carries of which states are kept
  std::int64_t carry, residual;  // bytes of a state, and of the residuals of a step
  std::int64_t least;            // no row of a stack of residuals has fewer
};
// `policy`: which residuals of a step are kept, where any are; the others are made again where they are used.
ScanBack scan_back(const ir::Program& p, const LoopPair& pair, const ir::ProgramRef& whole,
                   const Policy& policy = checkpoint_policies::everything_saveable);

// What a loop keeps: the bytes of a scan, the states of a while; -1: as it is. A scan may go back as one unwind, though
// that takes the last steps once more: their rows are then not made apart from those of the others, and put together.
// `disk`: a folder for the states of a scan; empty: they stay in memory. `states`: it counts states of a scan, too, as
// users' `.checkpoints` do: residuals of a step are never kept, its way back makes them and uses them up at once.
struct LoopLevel {
  std::int64_t keeps = -1;
  bool as_one = false;
  std::string disk = {};
  bool states = false, sunk = false;  // the second only of states: of LoopPair::sunk
  bool whole = false;                 // `keeps` is all that the policy keeps of each step
  Policy policy = checkpoint_policies::everything_saveable;
};
using LoopLevels = std::vector<LoopLevel>;  // by the number of a loop
ir::Program with_levels(const ir::Program& p, const LoopsIn& loops, const LoopLevels& levels);

}  // namespace anew::passes
