// A kernel translated for the block interpreter: which step runs on which registers, by the kernel's schedule.
// Everything in it follows from the kernel; strides and pointers come with a run (evaluator.h).
#pragma once
#include "loops/instruction.h"
#include "loops/interpreter.h"
#include "loops/nest.h"

namespace anew::loops {

struct BlockStep {
  enum Kind : std::uint8_t { load, index, constant, operate } kind;
  DType dtype;              // of the node, in its register
  int node = 0;             // written
  int a = 0, b = 0, c = 0;  // nodes read
  int stream = -1;          // of a load or index
  Instruction instruction = nullptr;
};

struct Bytecode::Body : Schedule {
  Kernel kernel;
  std::vector<BlockStep> once;   // before the first block: what no loop changes
  std::vector<BlockStep> steps;  // per block
  std::vector<int> slot;         // register of each node
  int slots = 0;
  int sources = 0;  // streams of loads and indices; those of the stores follow
  int direct = -1;  // the store whose node the last step makes, so that it may write to memory
  // Where all is one instruction on operands of the kernel's extents: run on memory where that is dense.
  struct Plain {
    Instruction instruction = nullptr;
    int in[3] = {}, out = 0;  // operands
  } plain;
};

}  // namespace anew::loops
