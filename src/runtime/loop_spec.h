// What a loop and its way back are, apart from where things lie: said once when an equation is lowered, kept by the
// step of a Body and handed on to the step that runs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/mixed.h"

namespace anew {

// How the memory of carries changes hands from step to step. Of n carries, buffers 0 ... n - 1 hold their values, n + i
// is a spare one of the size of carry i, where there is one. Buffer i of the next step is buffer from[i] of this one: a
// permutation of buffers of one size. So the body writes a carry over itself (i), over another one that is no longer
// read, to a spare one (n + i), or not at all: another carry's value is then its next one (u_prev' = u).
struct CarryMoves {
  std::vector<int> from = {};
  std::size_t carries() const { return from.size() / 2; }
  bool has_spare(std::size_t carry) const { return from[carries() + carry] != static_cast<int>(carries() + carry); }
  bool to_spare(std::size_t carry) const { return from[carry] >= static_cast<int>(carries()); }
  // The buffer whose memory is that of buffer i so many steps later.
  std::size_t source(std::size_t i, std::int64_t steps) const;
};

struct LoopSpec {
  int constants = 0, carries = 0;
  std::int64_t length = -1;  // of a loop without condition
  bool reverse = false;      // xs from the last to the first
  bool records = false;
  std::vector<int> record = {};          // carries whose states are kept
  std::int64_t slots = 0;                // states kept
  bool fill = false;                     // slots that no state was kept in are zero; else only the way back may look
  std::vector<std::int64_t> stops = {};  // of a scan within bytes: at which steps
  std::string disk = {};                 // where its states shall lie, if they can
  bool spilled = false;                  // they do
  // A while that counts: its number of steps is max(0, end - carry `counter`), known before it starts.
  int counter = -1, end_constant = -1;  // -1: it does not; the end is the literal
  std::int64_t end_literal = 0;
};

struct UnwindSpec {
  int constants = 0, xs = 0, carries = 0, linear_constants = 0, linear_carries = 0;
  std::int64_t length = -1;  // -1: an operand says it
  bool reverse = false;      // xs from the last to the first
  bool backward = false;     // from the last step to the first
  // Back within bytes.
  int residuals = -1;  // pieces of a row of residuals, which the step takes in place of states; -1: not within bytes
  plan::LoopBytes bytes = {};
  std::shared_ptr<const plan::MixedSchedule> schedule = {};          // of a known length
  std::vector<std::int64_t> stops = {};                              // likewise: at which steps states were kept
  bool spilled = false;                                              // these lie on disk
  int taken() const { return residuals < 0 ? carries : residuals; }  // by the step, between constants and xs
};

}  // namespace anew
