// Every row of the language is elementwise or has its line, and every line its row.
#include <gtest/gtest.h>

#include "control/higher_order.h"
#include "stablehlo/module.h"

namespace anew::stablehlo {
namespace {

TEST(StableHloTable, EveryRowHasALine) {
  for (const ir::Primitive* row : all_rows())
    EXPECT_NE(line_of(*row), nullptr) << row->name
                                      << ": give it a line in src/stablehlo/table.cpp, with what writes it "
                                      << "or why StableHLO has no word for it";
}
TEST(StableHloTable, EveryLineHasARow) {
  for (const Line& l : lines()) {
    EXPECT_NE(find_row(l.row), nullptr) << l.row;
    EXPECT_EQ(l.emit == nullptr, !l.cannot.empty()) << l.row;
  }
}

}  // namespace
}  // namespace anew::stablehlo
