// scan: the row's rules (scan_rules.cpp) and what they share with its front (scan.cpp).
#pragma once
#include "control/rows.h"
#include "transforms/nested.h"
#include "transforms/split.h"

namespace anew {

// Binds a scan in canonical form under the current trace; one array per carry and y. Inputs: constants, carries, xs.
// A carry that the body returns unchanged becomes a constant, equal constants are one, a y that is an x is that x,
// equal ys are one.
Arrays bind_scan(ScanParams params, const ir::Program& body, std::span<const Array> inputs, const Location& at);

ir::NestedJvp jvp_scan(const ParamsRef& p, std::span<const Array> x, std::span<const Array> t, const Location& at);
Arrays split_scan(const ir::SplitArgs& a);
Arrays transpose_scan(const ir::NestedTransposeArgs& a);
ir::DceResult dce_scan(const ir::Eqn& e, const std::vector<bool>& used_outputs);

Type stacked(const Type& t, std::int64_t length);

}  // namespace anew
