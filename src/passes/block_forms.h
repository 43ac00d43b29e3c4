// The forms of a Program in which stretches of it run again where what they made is read later, as checkpoints around
// the blocks of a network have it. Of equations, before they are fused: what runs again is then fused with what reads
// it, and residuals of a block are never all in memory, which no sequence of the kernels of the whole can do. Where a
// stretch ends follows from the bytes that pass. Of each some values may be kept, by a policy.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace anew::passes {

struct BlockForm {
  struct Again {
    const ir::Eqn* equation;  // of the Program as it was
    double flops, times;      // of one run; how often more it runs
  };
  ir::Program program;
  std::vector<Again> again;
};
// Of a Program without calls: those that seem to take least memory for their time, of large Programs fewer. What has
// one of these names is not made twice.
std::vector<BlockForm> block_forms(const ir::Program& p, const std::set<std::string>& kept);
// At most about so many, those among them that seem to be beaten.
std::vector<BlockForm> block_forms(const ir::Program& p, const std::set<std::string>& kept, std::size_t most,
                                   bool beaten_too);
// The same inside of loops and branches, for gradients that each turn takes: in one form all bodies have the first of
// theirs, in another the next, and so on. Of a body more, since no steps of it run again besides, which would make up
// for what seemed to take more and does not; of one that makes no more than `few` bytes none.
std::vector<BlockForm> body_forms(const ir::Program& p, const std::set<std::string>& kept, std::size_t few);
// Of an equation.
double flops_of(const ir::Program& p, const ir::Eqn& e);

}  // namespace anew::passes
