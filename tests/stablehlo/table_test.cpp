// Every row of the language is elementwise or has its line, and every line its row.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

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

// Tests run in the root of the sources.
TEST(StableHloTable, ThePageListsWhatCannotBeSaid) {
  std::ostringstream page;
  page << std::ifstream("docs/stablehlo.md").rdbuf();
  for (const Line& l : lines())
    if (!l.emit) {
      EXPECT_NE(page.str().find("`" + std::string(l.row) + "`"), std::string::npos)
          << l.row << ": not in docs/stablehlo.md";
    }
}

}  // namespace
}  // namespace anew::stablehlo
