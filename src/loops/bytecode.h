// A kernel translated for the block interpreter: which step runs on which registers, which loops form which section.
// Everything in it follows from the kernel; strides and pointers come with a run (evaluator.h).
#pragma once
#include "loops/instruction.h"
#include "loops/interpreter.h"
#include "loops/nest.h"

namespace anew::loops {

struct Step {
  enum Kind : std::uint8_t { load, index, constant, operate } kind;
  DType dtype;              // of the node, in its register
  int node = 0;             // written
  int a = 0, b = 0, c = 0;  // nodes read
  int stream = -1;          // of a load or index
  Instruction instruction = nullptr;
};

// Canonical form of a reduction: results outer x inner, each over `reduced` elements. Rows have inner 1 and the reduced
// elements last; columns keep the last variable, which is then in the inner section.
enum class Form : std::uint8_t { elementwise, rows, columns };
inline constexpr std::int64_t row_block = 4096, row_lanes = 32, column_block = 128;

struct Bytecode::Body {
  Kernel kernel;
  Partition partition;
  Form form = Form::elementwise;
  std::int64_t iterations = 1, outer = 1, reduced = 1, inner = 1;
  std::int64_t blocks = 1;         // of one result: the last level's blocks
  bool by_blocks = false;          // a unit is a block of the reduction, not a result
  std::vector<Loop> loops;         // iteration order, with sections
  std::vector<Loop> result_loops;  // of a reduction: its results, row-major
  std::vector<Step> once;          // before the first block: what no loop changes
  std::vector<Step> steps;         // per block
  std::vector<int> slot;           // register of each node
  int slots = 0;
  int sources = 0;  // streams of loads and indices; those of the stores follow
  int direct = -1;  // the store whose node the last step makes, so that it may write to memory
};

}  // namespace anew::loops
