// scan: the row's rules (scan_rules.cpp) and what they share with its front (scan.cpp).
#pragma once
#include "control/rows.h"
#include "transforms/nested.h"
#include "transforms/split.h"

namespace anew {

using Flags = std::vector<bool>;

// Binds a scan in canonical form under the current trace; one array per carry and y. Inputs: constants, carries, xs.
// A carry that the body returns unchanged becomes a constant, equal constants are one, a y that is an x is that x,
// equal ys are one.
Arrays bind_scan(ScanParams params, const ir::Program& body, std::span<const Array> inputs, const Location& at);

ir::NestedJvp jvp_scan(const ParamsRef& p, std::span<const Array> x, std::span<const Array> t, const Location& at);
Arrays split_scan(const ir::SplitArgs& a);
Arrays transpose_scan(const ir::NestedTransposeArgs& a);
ir::Batched batch_scan(const ir::BatchArgs& a);
ir::DceResult dce_scan(const ir::Eqn& e, const std::vector<bool>& used_outputs);

// Sizes of the three groups of inputs.
struct Groups {
  std::size_t constants, carries, xs;
  explicit Groups(const ScanParams& p)
      : constants(static_cast<std::size_t>(p.constants)),
        carries(static_cast<std::size_t>(p.carries)),
        xs(p.program->inputs.size() - constants - carries) {}
  std::size_t inputs() const { return constants + carries + xs; }
  bool is_constant(std::size_t i) const { return i < constants; }
  bool is_carry(std::size_t i) const { return i >= constants && i < constants + carries; }
  Flags carried(const Flags& in) const {  // of flags of the inputs: those of the carries
    auto begin = in.begin() + static_cast<std::ptrdiff_t>(constants);
    return {begin, begin + static_cast<std::ptrdiff_t>(carries)};
  }
};

// Repeats `step` (flags of all inputs -> flags of the carries it returns) until none is added to those of the `count`
// carries, which are the inputs from `first` on.
template <class Step>
void reach_fixpoint(Flags& in, std::size_t first, std::size_t count, Step step) {
  for (bool changed = true; changed;) {
    changed = false;
    Flags out = step(in);
    for (std::size_t i = 0; i < count; ++i) {
      if (!out[i] || in[first + i]) continue;
      in[first + i] = changed = true;
    }
  }
}

Type stacked(const Type& t, std::int64_t length);

}  // namespace anew
