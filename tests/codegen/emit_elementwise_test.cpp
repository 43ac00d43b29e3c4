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

// Operands in any order of the axes, so that inputs, outputs or both lie the other way round.
TEST(Elementwise, TurnedOperandsEqualTheInterpreter) {
  Random g(5);
  std::vector<Trial> trials;
  for (DType d : loops::test::all_types)
    for (const Shape& shape :
         {Shape{16, 16}, Shape{129, 130}, Shape{17, 33, 31}, Shape{2, 3, 64, 50}, Shape{5000, 5}}) {
      const ShapeDtype t{shape, d};
      trials.emplace_back(elementwise({t, t, t}, [&](Expr x, Expr y, Expr z) { return select(x == y, z, x); }), g,
                          false);
      for (Tensor& m : trials.back().memory)
        if (uniform(g, 0, 1)) {  // the last two axes exchanged, the others outside them
          std::int64_t size = 1;
          for (int k = 0; k < shape.ndim(); ++k) {
            const int axis = k == 0 ? shape.ndim() - 2 : k == 1 ? shape.ndim() - 1 : shape.ndim() - 1 - k;
            m.strides[static_cast<std::size_t>(axis)] = size;
            size *= shape[axis];
          }
          m.origin = 0;
        }
    }
  EXPECT_EQ(test::check(trials, g), trials.size());
  EXPECT_EQ(test::check(trials, g, plain_machine()), trials.size());
}

}  // namespace
}  // namespace anew::codegen::test
