// Dead code, through higher-order rows: ir::eliminate_dead_code with every output used. The inputs are the caller's and
// stay, read or not.
#include "passes/passes.h"

namespace anew::passes {

ir::Program eliminate_dead_code(const ir::Program& p) {
  return ir::eliminate_dead_code(p, std::vector<bool>(p.outputs.size(), true), true).program;
}

}  // namespace anew::passes
