// Compiled kernels without a reduction against the interpreter.
#include "compiled.h"
#include "loops/build.h"
#include "loops/random_kernel.h"

namespace anew::codegen::test {
namespace {

using namespace loops;
using loops::test::Generator;

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
TEST(Elementwise, RandomKernelsWithoutMasksEqualTheInterpreter) { random_kernels(600, 900, plain_machine()); }

}  // namespace
}  // namespace anew::codegen::test
