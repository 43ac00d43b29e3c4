// cond: the row's rules (cond_rules.cpp) and what they share with its front (cond.cpp).
#pragma once
#include "control/higher_order.h"
#include "transforms/nested.h"

namespace anew {

using BranchPrograms = std::vector<ir::Program>;  // all take the same inputs and give outputs of the same types

// BranchPrograms traced one by one, each with captured arrays of its own: all take the captured arrays of all, then
// `inputs`.
struct Joined {
  BranchPrograms branches;
  Arrays inputs;
};
Joined join_captured(std::vector<Staged> staged, std::span<const Array> inputs);

// Binds a cond in canonical form (transforms/nested.h) under the current trace; one array per output of the branches.
Arrays bind_cond(BranchPrograms branches, const Array& index, std::span<const Array> operands, const Location& at);

ir::Tangents jvp_cond(const ir::JvpArgs& a);
Arrays split_cond(const ir::SplitArgs& a);
Arrays transpose_cond(const ir::TransposeArgs& a);
ir::Batched batch_cond(const ir::BatchArgs& a);
ir::DceResult dce_cond(const ir::Eqn& e, const std::vector<bool>& used_outputs);

}  // namespace anew
