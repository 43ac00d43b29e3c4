// The list of all rows, and text read back as a Program by it.
#include "control/higher_order.h"

#include <mutex>
#include <unordered_map>

#include "base/float_mode.h"
#include "control/extension.h"
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

namespace {

using RowsByName = std::unordered_map<std::string_view, const ir::Primitive*>;
struct OtherRows {
  std::mutex guard;
  RowsByName by_name;
};
OtherRows& other_rows() {
  static auto& rows = *new OtherRows;
  return rows;
}

const ir::Primitive* named(const RowsByName& rows, std::string_view name) {
  auto it = rows.find(name);
  return it == rows.end() ? nullptr : it->second;
}

}  // namespace

void add_rows(std::span<const ir::Primitive* const> rows) {
  const std::lock_guard lock(other_rows().guard);
  for (const ir::Primitive* p : rows) other_rows().by_name.emplace(p->name, p);
}

const ir::Primitive* find_row(std::string_view name) {
  static const auto& by_name = *new RowsByName([] {
    RowsByName map;
    for (const ir::Primitive* p : all_rows()) map.emplace(p->name, p);
    return map;
  }());
  if (const ir::Primitive* row = named(by_name, name)) return row;
  const std::lock_guard lock(other_rows().guard);
  return named(other_rows().by_name, name);
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
