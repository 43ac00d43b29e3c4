// Random programs under every property, in shards that take turns at the seeds (shard.h); with ANEW_LONG 20,000 of
// them. A failing seed prints the smallest program that fails like it: add its text to regressions_test.cpp.
#include "fuzz/program.h"
#include "fuzz/shard.h"
#include "runtime/pool.h"

namespace anew::fuzz::fuzz_test {
namespace {

constexpr std::uint64_t shards = 16;
class Fuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Fuzz, Shard) {
  set_threads(1);
  auto program = [](std::uint64_t seed) {
    return generate(seed, {.scale = seed % 6 == 5 ? 2 : 1, .attention = seed % 3 == 2});
  };
  Shard{GetParam(), shards, 1.5, 1250, program, check}.run();
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
}  // namespace anew::fuzz::fuzz_test
