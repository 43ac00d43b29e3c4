// What a loop and its way back are, apart from where things lie: said once when an equation is lowered, kept by the step of
// a Body and handed on to the step that runs.
#pragma once
#include <cstdint>
#include <vector>

namespace anew {

struct LoopSpec {
  int constants = 0, carries = 0;
  std::int64_t length = -1;  // of a loop without condition
  bool reverse = false;      // xs from the last to the first
  bool records = false;
  std::vector<int> record = {};  // carries whose states are kept
  std::int64_t slots = 0;        // states kept
  // A while that counts: its number of steps is max(0, end - carry `counter`), known before it starts.
  int counter = -1, end_constant = -1;  // -1: it does not; the end is the literal
  std::int64_t end_literal = 0;
};

struct UnwindSpec {
  int constants = 0, xs = 0, carries = 0, linear_constants = 0, linear_carries = 0;
  std::int64_t length = -1;  // -1: an operand says it
  bool reverse = false;      // xs from the last to the first
  bool backward = false;     // from the last step to the first
};

}  // namespace anew
