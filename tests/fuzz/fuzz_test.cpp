// Random programs under every property, in shards that take turns at the seeds. A shard stops when its time is up:
// ANEW_FUZZ_SECONDS, by default 6; with ANEW_LONG it runs 1,250 programs however long they take. A failing seed
// prints the smallest program that fails like it: add its text to regressions_test.cpp.
//   ANEW_FUZZ_SEED=123 test_fuzz --gtest_filter='*Shard/0'    one program, printed
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "fuzz/program.h"
#include "runtime/pool.h"

namespace anew::fuzz {
namespace {

constexpr std::uint64_t shards = 16;

double number_of(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atof(text) : otherwise;
}
void expect_holds(std::uint64_t seed) {
  Block b = generate(seed);
  std::string failure = check(b, seed);
  if (failure.empty()) return;
  Block small = shrink(b, seed, failure);
  ADD_FAILURE() << "seed " << seed << ": " << failure << "\n"
                << print(b) << "smallest:\n"
                << print(small) << "\n"
                << check(small, seed);
}

class Fuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Fuzz, Shard) {
  set_threads(1);
  if (std::getenv("ANEW_FUZZ_SEED")) {
    auto seed = static_cast<std::uint64_t>(number_of("ANEW_FUZZ_SEED", 0));
    std::cout << print(generate(seed));
    return expect_holds(seed);
  }
  bool whole = std::getenv("ANEW_LONG") != nullptr;
  double seconds = number_of("ANEW_FUZZ_SECONDS", 6);
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  int programs = 0, failures = 0;
  auto first = static_cast<std::uint64_t>(number_of("ANEW_FUZZ_FIRST", 0));
  for (std::uint64_t seed = first + GetParam(); whole ? programs < 1250 : elapsed() < seconds; seed += shards) {
    bool failed = HasFailure();
    expect_holds(seed);
    ++programs;
    if (HasFailure() && !failed && ++failures == 1) break;
  }
  std::cout << "[ programs ] " << programs << ", " << programs / elapsed() << " per second\n";
}
INSTANTIATE_TEST_SUITE_P(All, Fuzz, testing::Range(std::uint64_t{0}, shards));

// The data structure itself.
TEST(FuzzPrograms, TextIsTheProgram) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string text = print(generate(seed));
    EXPECT_EQ(print(parse(text)), text);
    EXPECT_EQ(print(generate(seed)), text);
  }
}

}  // namespace
}  // namespace anew::fuzz
