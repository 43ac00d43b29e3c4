// The least time that loops add within a number of bytes, whatever they keep. A step of a loop runs again unless its
// residuals are in memory when the way back begins; a loop alone has no more than all bytes, where no schedule runs
// fewer steps than plan/mixed.h says; and loops that have all gone forward when one of them begins its way back share
// them, at any price of a byte. Nothing else is counted, so it holds beside any plan for the rest of the Program.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace anew::passes {

struct LoopFloor {
  std::int64_t length = 0;
  double step = 0;        // seconds that a step which runs again takes, at least
  std::int64_t back = 0;  // bytes that the way back has besides, from its first step on
  std::int64_t rows = 0;  // and of what it stacks at a step, beside all residuals that it reads
  // With the loops inside of it as they are, or keeping less, and some residuals of a step kept, or all: what is run
  // again anyway, in all steps; bytes of a state and of the residuals of a step. `states`: none are kept, only states;
  // a step that is taken back from its state has been counted.
  struct Inside {
    double time;
    std::int64_t carry, residual;
    bool states = false;
  };
  std::vector<Inside> inside = {};  // of a loop of which nothing is known: none
  double runs = 1;                  // how often the whole of it runs
  int first = -1, second = -1;      // its equations, where they are of the outermost Program
};

class LoopBound {
 public:
  LoopBound() = default;
  LoopBound(const ir::Program& program, std::vector<LoopFloor> loops);
  double within(std::int64_t bytes) const;  // seconds; falls as bytes rise

 private:
  std::vector<LoopFloor> loops_;
  struct Moment {
    std::int64_t back;               // of the loop that begins its way back
    std::vector<std::size_t> loops;  // those that have gone forward and not yet back, this one among them
  };
  std::vector<Moment> moments_;
};

}  // namespace anew::passes
