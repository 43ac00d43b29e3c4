// Random programs with their gradients within budgets, from the plain peak down to the smallest, every second with a
// folder where plans may keep values: 500 of them and forty budgets with ANEW_LONG, else few. How to run one of them:
// shard.h.
#include <filesystem>

#include "fuzz/program.h"
#include "fuzz/shard.h"
#include "support/budget_sweep.h"
#include "support/plan_laws.h"
#include "support/support.h"

namespace anew::fuzz {
namespace {

constexpr std::uint64_t shards = 4;

std::string sweep_budgets(const Block& b, std::uint64_t seed, int budgets) {
  const test::Warnings quiet;
  const SmallPieces pieces;
  const Interpreted interpreted(seed % 8 != 0);
  return failure_of([&] {
    auto both = [&](In x) {
      auto [y, linear] = flat::linearize(function(b), x);
      Arrays ct;
      for (const Array& a : y) ct.push_back(is_float(a.dtype()) ? ones_like(a) : Array());
      Arrays g = linear.pullback(ct);
      y.insert(y.end(), g.begin(), g.end());
      return y;
    };
    test::BudgetSweep sweep(both, inputs_of(b, seed));
    const std::string below = test::below_least_bytes(sweep.program(), sweep.strides());
    require(below.empty(), "least: " + below);
    if (seed / shards % 2) sweep.disk = std::filesystem::temp_directory_path().string();
    passes::BudgetChoices choices(sweep.program(), sweep.strides(), {}, sweep.disk);
    const std::string above = test::above_a_plan(choices), time = test::other_time(choices);
    require(above.empty(), "bound: " + above);
    require(time.empty(), "time: " + time);
    const std::string wrong = sweep.run(budgets);
    require(wrong.empty(), wrong);
  });
}
std::string check_budgets(const Block& b, std::uint64_t seed) {
  return sweep_budgets(b, seed, test::BudgetSweep::number_of_budgets(4));
}

Block program(std::uint64_t seed) {
  return generate(seed, {.nodes = 24, .scale = seed % 3 ? 8 : 1, .attention = seed % 5 == 4});
}

class FuzzBudgets : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FuzzBudgets, Shard) { Shard{GetParam(), shards, 1, 125, program, check_budgets, 500000}.run(); }
// Budgets were refused that can be met: of a step with several results not all were counted in place.
TEST(FuzzBudget, ResultsInPlaceOfOperands) {
  const Block b = parse(R"(
in 1:f32[] 2:f32[16,1,16] ;
122 = expand[0] 1 ;
123 = matmul 122 2 ;
125 = vdot 123 123 ;
156 = min 123 1 ;
out 156 125 ;
)");
  EXPECT_EQ(check_budgets(b, 500365), "");
}
// A kernel that runs again makes an output once more, which nobody reads: that took the place of an operand, and
// another output the place of both.
TEST(FuzzBudget, WhatNobodyReadsHasAPlace) { EXPECT_EQ(check_budgets(program(500308), 500308), ""); }
// Plans of a form were ordered by what runs again, not by the time of their steps: of two budgets among forty the
// larger one got the plan that takes more.
TEST(FuzzBudget, LargerBudgetsNeverTakeMoreTime) { EXPECT_EQ(sweep_budgets(program(500308), 500308, 40), ""); }
// The plain plan was within the bytes, and the bound was that of the steps of other plans, where names are kept.
TEST(FuzzBudget, BoundOfThePlainPlan) { EXPECT_EQ(check_budgets(program(500021), 500021), ""); }
// Steps of a plan that ran nothing again were not the plain ones, and took more time.
TEST(FuzzBudget, NamesMakeOtherSteps) { EXPECT_EQ(check_budgets(program(500282), 500282), ""); }
// A form of blocks fitted as it is, and the bound was that of other steps, where names are kept.
TEST(FuzzBudget, BoundOfAFormAsItIs) { EXPECT_EQ(check_budgets(program(500261), 500261), ""); }
INSTANTIATE_TEST_SUITE_P(All, FuzzBudgets, testing::Range(std::uint64_t{0}, shards));

}  // namespace
}  // namespace anew::fuzz
