// Random programs with their gradients within budgets, from the plain peak down to the smallest: 500 of them and forty
// budgets with ANEW_LONG, else few.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "fuzz/program.h"
#include "loops/schedule.h"
#include "passes/lowered.h"
#include "support/budget_sweep.h"
#include "support/support.h"

namespace anew::fuzz {
namespace {

std::string check_budgets(const Block& b, std::uint64_t seed) {
  test::Warnings quiet;
  const double threshold = loops::set_thread_threshold(0);
  const passes::TileLimits limits = passes::set_tile_limits({4, 2});
  const compiled::Backend before = compiled::backend();
  if (seed % 8 != 0) compiled::set_backend(compiled::Backend::interpreter);  // LLVM would take most of the time
  std::string failure;
  try {
    auto both = [&](In x) {
      auto [y, linear] = flat::linearize(function(b), x);
      Arrays ct;
      for (const Array& a : y) ct.push_back(is_float(a.dtype()) ? ones_like(a) : Array());
      Arrays g = linear.pullback(ct);
      y.insert(y.end(), g.begin(), g.end());
      return y;
    };
    test::BudgetSweep sweep(both, inputs_of(b, seed));
    failure = sweep.run(test::BudgetSweep::number_of_budgets(4));
  } catch (const std::exception& e) {
    failure = std::string("thrown: ") + e.what();
  }
  compiled::set_backend(before);
  passes::set_tile_limits(limits);
  loops::set_thread_threshold(threshold);
  return failure;
}

class FuzzBudgets : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t shards = 4;

TEST_P(FuzzBudgets, Shard) {
  const bool whole = std::getenv("ANEW_LONG") != nullptr;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 500000 + GetParam(); seed < 500500; seed += shards) {
    const Block b = generate(seed, {.nodes = 24, .scale = seed % 3 ? 8 : 1});
    const std::string failure = check_budgets(b, seed);
    if (!failure.empty()) {
      const Block small = shrink(b, seed, failure, check_budgets);
      FAIL() << "seed " << seed << ": " << failure << "\n"
             << print(b) << "smallest:\n"
             << print(small) << "\n"
             << check_budgets(small, seed);
    }
    if (!whole && std::chrono::steady_clock::now() - start > std::chrono::seconds(1)) break;
  }
}
INSTANTIATE_TEST_SUITE_P(All, FuzzBudgets, testing::Range(std::uint64_t{0}, shards));

}  // namespace
}  // namespace anew::fuzz
