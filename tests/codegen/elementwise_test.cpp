// Compiled kernels without a reduction against the interpreter.
#include "compiled.h"
#include "loops/build.h"
#include "loops/random_kernel.h"

namespace anew::codegen::test {
namespace {

using namespace loops;
using loops::test::Generator;

// A processor with vectors of 32 bytes and no masks, which every machine of the build can run.
Machine plain_machine() { return {"x86-64-v3", "", 32, false}; }

void random_kernels(std::uint64_t from, std::uint64_t to, const Machine& machine) {
  for (std::uint64_t seed = from; seed < to;) {
    std::vector<Trial> trials;
    Random g(seed);
    for (int k = 0; k < 20 && seed < to; ++k, ++seed) {
      Random own(seed);
      Kernel kernel = Generator(own).kernel();
      trials.emplace_back(std::move(kernel), own, seed % 4 == 0);
    }
    SCOPED_TRACE(seed);
    EXPECT_EQ(test::check(trials, g, machine), trials.size());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Elementwise, RandomKernelsEqualTheInterpreter) { random_kernels(0, 600, host()); }
#if defined(__x86_64__)
TEST(Elementwise, RandomKernelsWithoutMasksEqualTheInterpreter) { random_kernels(600, 900, plain_machine()); }
#endif

}  // namespace
}  // namespace anew::codegen::test
