// The list of all rows, and text read back as a Program by it.
#include "control/higher_order.h"

#include <unordered_map>

#include "base/float_mode.h"
#include "control/loop.h"
#include "ops/rows.h"

namespace anew {

const std::vector<const ir::Primitive*>& all_rows() {
  static const auto& rows = *new std::vector<const ir::Primitive*>([] {
    std::vector<const ir::Primitive*> all = first_order_rows();
    for (const ir::Primitive* p :
         {&jit_row(), &checkpoint_row(), &scan_row(), &cond_row(), &custom_jvp_row(), &custom_vjp_row(),
          &custom_lin_row(), &linear_solve_row(), &custom_root_row(), &while_row(), &unwind_row()})
      all.push_back(p);
    return all;
  }());
  return rows;
}

const ir::Primitive* find_row(std::string_view name) {
  static const auto& by_name = *new std::unordered_map<std::string_view, const ir::Primitive*>([] {
    std::unordered_map<std::string_view, const ir::Primitive*> map;
    for (const ir::Primitive* p : all_rows()) map.emplace(p->name, p);
    return map;
  }());
  auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

Program parse_program(std::string_view text, const Location& at) {
  const FloatMode mode;
  try {
    return {std::make_shared<const ir::Program>(ir::parse(text, find_row)), {}};
  } catch (const Error& e) {
    if (e.line()) throw;  // the parser's own errors have no place in the user's code yet
    throw Error(e.what(), at);
  }
}

}  // namespace anew
