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
  ir::Program program;
  std::vector<int> again;  // equations of the Program as it was that run again
  double flops = 0;        // of products among these
};
// Of a Program without calls: those that seem to take least memory for their time, of large Programs fewer. What has
// one of these names is not made twice.
std::vector<BlockForm> block_forms(const ir::Program& p, const std::set<std::string>& kept);
// Of an equation.
double flops_of(const ir::Program& p, const ir::Eqn& e);

}  // namespace anew::passes
