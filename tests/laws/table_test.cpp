// The table of laws and rows: how many cells each law has, and that no row slips through one: each (row, law) has a
// cell, or every sample of the row is left out for a reason that the law states. Counted without running, so that the
// table is whole in whatever process it is printed.
#include <fmt/format.h>

#include <map>

#include "laws/cells.h"

namespace anew::test {
namespace {

TEST(Table, EveryRowIsUnderEveryLawOrAReasonIsStated) {
  ASSERT_FALSE(laws().empty());
  std::map<const ir::Primitive*, std::vector<Cell>> samples;
  for (const ir::Primitive* row : all_rows()) samples[row] = cells(*row);
  int total = 0;
  for (const LawInfo* law : laws()) {
    int count = 0, under = 0;
    std::map<std::string, std::string> left_out;  // rows by reason
    for (const ir::Primitive* row : all_rows()) {
      int of_row = 0;
      std::string reasons = samples[row].empty() ? made_by_derivatives(*row) : "";
      for (const Cell& c : samples[row]) {
        std::string why = law->skip(c);
        if (why.empty()) ++of_row;
        else if (reasons.find(why) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + why;
      }
      EXPECT_TRUE(of_row > 0 || !reasons.empty()) << row->name << " has no cell of " << law->name << " and no reason";
      if (of_row == 0) left_out[reasons] += " " + row->name;
      count += of_row;
      under += of_row > 0;
    }
    std::cout << fmt::format("[ cells    ] {:>6} of {} on {} of {} rows\n", count, law->name, under, all_rows().size());
    for (const auto& [reason, rows] : left_out) std::cout << fmt::format("               {}:{}\n", reason, rows);
    total += count;
  }
  std::cout << fmt::format("[ cells    ] {:>6} of {} laws\n", total, laws().size());
}

// A row is higher-order if and only if its params hold Programs.
TEST(Table, RowsSayWhetherTheyHoldPrograms) {
  for (const ir::Primitive* row : all_rows())
    for (const Cell& c : cells(*row)) EXPECT_EQ(row->higher_order(), !c.sample.params->programs().empty()) << row->name;
}

// Every differentiable row is in the table in f32 and in f64.
TEST(Table, SamplesAreInBothFloatingTypes) {
  for (const ir::Primitive* row : all_rows()) {
    bool narrow = false, wide = false, any = false;
    for (const Cell& c : cells(*row)) {
      if (!skip_not_differentiable(c).empty()) continue;
      any = true;
      for (const ir::SampleInput& in : c.sample.inputs) {
        narrow = narrow || in.type.dtype == f32;
        wide = wide || in.type.dtype == f64 || c.can_be_wide();
      }
    }
    EXPECT_TRUE(!any || narrow) << row->name << " has no sample in f32";
    EXPECT_TRUE(!any || wide) << row->name << " has no sample in f64";
  }
}

}  // namespace
}  // namespace anew::test
