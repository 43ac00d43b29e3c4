// Rules shared by the rows that hold one Program and evaluate it once: jit and checkpoint.
#pragma once
#include <anew/policy.h>

#include "transforms/nested.h"
#include "transforms/split.h"

namespace anew {

Types infer_nested(const ir::ProgramRef& p, const ir::InferArgs& a, std::string_view name);
ir::Tangents jvp_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p, const ir::JvpArgs& a);

struct NestedSplit {
  std::optional<Policy> policy = {};                    // that the body is split by
  bool inline_known = false;                            // run the known half as plain equations
  MakeParams known = {}, staged = {};                   // params of the two halves
  std::string residual_reason = {}, input_reason = {};  // given to what the staged half keeps; empty: none
  std::function<void(const Split&)> inspect = {};       // sees the two halves
};
Arrays split_nested(const Primitive& row, const ir::ProgramRef& p, const ir::SplitArgs& a, const NestedSplit& how);

// What exists of several lists of arrays, as one list of operands; and operands in those places again.
class Present {
 public:
  Present(std::initializer_list<std::span<const Array>> lists);
  const Arrays& operands() const { return operands_; }
  std::vector<Arrays> lists(std::span<const Array> operands) const;

 private:
  Arrays operands_;
  std::vector<std::vector<bool>> exist_;
};

// Now, under the current trace: what does not depend on linear inputs, then the backward pass.
Arrays transpose_program(const ir::ProgramRef& p, const ir::TransposeArgs& a);
// One equation that first recomputes what does not depend on linear inputs, then runs the backward pass.
Arrays transpose_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p,
                        const ir::TransposeArgs& a);

ir::Batched batch_nested(const Primitive& row, const MakeParams& params, const ir::ProgramRef& p,
                         const ir::BatchArgs& a);

ir::DceResult dce_nested(const MakeParams& params, const ir::ProgramRef& p, const ir::Eqn& e,
                         const std::vector<bool>& used_outputs);

}  // namespace anew
