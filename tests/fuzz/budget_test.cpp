// Random programs with their gradients, and such gradients inside of loops and branches, within budgets: from the plain
// peak down to the smallest, every second with a folder where plans may keep values: 500 of each and forty budgets with
// ANEW_LONG, else few. How to run one of them: shard.h.
#include <filesystem>

#include "fuzz/program.h"
#include "fuzz/shard.h"
#include "support/budget_sweep.h"
#include "support/plan_laws.h"
#include "support/support.h"

namespace anew::fuzz {
namespace {

constexpr std::uint64_t shards = 4;

// Results, and the cotangents of the inputs where those of the results are ones.
std::pair<Arrays, Arrays> with_gradient(const Block& b, In x) {
  auto [y, linear] = flat::linearize(function(b), x);
  Arrays ct;
  for (const Array& a : y) ct.push_back(is_float(a.dtype()) ? ones_like(a) : Array());
  return {y, linear.pullback(ct)};
}

// What holds of a function within budgets, else what does not.
std::string sweep_budgets(const FlatFunction& f, const Arrays& inputs, std::uint64_t seed, int budgets) {
  const test::Warnings quiet;
  const SmallPieces pieces;
  const Interpreted interpreted(seed % 8 != 0);
  return failure_of([&] {
    test::BudgetSweep sweep(f, inputs);
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
std::string sweep_budgets(const Block& b, std::uint64_t seed, int budgets) {
  auto both = [&](In x) {
    auto [y, g] = with_gradient(b, x);
    y.insert(y.end(), g.begin(), g.end());
    return y;
  };
  return sweep_budgets(both, inputs_of(b, seed), seed, budgets);
}
std::string check_budgets(const Block& b, std::uint64_t seed) {
  return sweep_budgets(b, seed, test::BudgetSweep::number_of_budgets(4));
}

// The gradient of a program inside of the bodies of another: of microbatches that a loop goes over, of one side of a
// branch, of a loop of updates, of loops in loops. Its inputs stay, a number of each turn scales them.
Arrays gradient_inside(const Block& b, const Arrays& x, std::uint64_t form) {
  auto gradient = [&](In at, const Array& scale) {
    Arrays scaled;
    for (const Array& a : at) scaled.push_back(is_float(a.dtype()) ? a * astype(scale, a.dtype()) : a);
    Arrays g = with_gradient(b, scaled).second;
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!is_float(at[i].dtype())) g[i] = at[i];
    return g;
  };
  auto add = [&](In sums, In scale) {
    Arrays g = gradient(x, scale[0]);
    for (std::size_t i = 0; i < g.size(); ++i)
      if (is_float(g[i].dtype())) g[i] = sums[i] + g[i];
    return flat::ScanResult{g, {}};
  };
  auto update = [&](In at) {
    Arrays g = gradient(at, array(0.5));
    for (std::size_t i = 0; i < g.size(); ++i)
      if (is_float(g[i].dtype())) g[i] = at[i] - 0.125 * tanh(g[i]);
    return g;
  };
  const Arrays scales{linspace(0.25, 1, 3)};
  auto either = [&](In at, const FlatFunction& f) {
    const FlatFunction same = [](In at) { return Arrays(at.begin(), at.end()); };
    return flat::cond(sum(astype(x[0], f64)) < 100, f, same, at);
  };
  switch (form % 5) {
    case 0: return flat::scan(add, x, scales).carry;
    case 1: return either(x, update);
    case 2: return flat::fori_loop(0, 2, [&](In c) { return update(c.subspan(1)); }, x);
    case 3: {
      auto outer = [&](In sums, In) {
        return flat::ScanResult{flat::scan(add, Arrays(sums.begin(), sums.end()), scales).carry, {}};
      };
      return flat::scan(outer, x, {}, {.length = 2}).carry;
    }
    default: return either(flat::scan(add, x, scales).carry, update);
  }
}

Block program(std::uint64_t seed) {
  return generate(seed, {.nodes = 24, .scale = seed % 3 ? 8 : 1, .attention = seed % 5 == 4});
}

std::string check_inside(const Block& b, std::uint64_t seed) {
  auto f = [&](In x) { return gradient_inside(b, Arrays(x.begin(), x.end()), seed / shards); };
  return sweep_budgets(f, inputs_of(b, seed), seed, test::BudgetSweep::number_of_budgets(4));
}

class FuzzBudgets : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FuzzBudgets, Shard) { Shard{GetParam(), shards, 1, 125, program, check_budgets, 500000}.run(); }
TEST_P(FuzzBudgets, GradientsInside) { Shard{GetParam(), shards, 1, 125, program, check_inside, 700000}.run(); }
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
// Menus of loops, and products of what runs again, were taken for the least time that a form adds: small loops and
// blocks take less time than the plain ones.
TEST(FuzzBudget, FormsThatTakeLessTime) {
  EXPECT_EQ(check_inside(program(700135), 700135), "");
  EXPECT_EQ(check_inside(program(700508), 700508), "");
}
INSTANTIATE_TEST_SUITE_P(All, FuzzBudgets, testing::Range(std::uint64_t{0}, shards));

}  // namespace
}  // namespace anew::fuzz
