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

// Rare cases inside of rare cases, some of which others need too; none, some and all of the lanes are rare.
TEST(Elementwise, RareCasesEqualTheInterpreter) {
  Random g(7);
  std::vector<Trial> trials;
  for (DType d : {f32, f64})
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{1000}, Shape{7, 40}})
      for (const double limit : {0.0, 3.0, 1e300}) {
        const ShapeDtype t{shape, d};
        trials.emplace_back(elementwise({t, t},
                                        [&](Expr x, Expr y) {
                                          const Expr outer = abs(x) > like(x, limit), inner = y > like(y, limit);
                                          const Expr square = y * y, ratio = x / y;
                                          const Expr in_both = rarely(inner, square, x), also = rarely(inner, ratio, y);
                                          const Expr z = rarely(outer, sin(in_both * x), y);
                                          return z + rarely(outer, in_both, also) + cos(x) + sin(x);
                                        }),
                            g, true);
      }
  EXPECT_EQ(test::check(trials, g), trials.size());
  EXPECT_EQ(test::check(trials, g, plain_machine()), trials.size());
}

// Results from zero over subnormal numbers to infinity, on scalars, vectors and both widths at once.
TEST(Elementwise, ExponentialsEqualTheInterpreter) {
  Random g(8);
  std::vector<Trial> trials;
  for (DType d : {f32, f64, bf16})
    for (std::int64_t n : {1, 3, 100, 20000})
      for (Math m : {Math::exp, Math::exp2, Math::sinh, Math::cosh, Math::tanh, Math::logistic, Math::erf, Math::erfc,
                     Math::pow}) {
        const ShapeDtype t{n == 1 ? Shape{} : Shape{n}, d};
        trials.emplace_back(elementwise({t, t},
                                        [&](Expr x, Expr y) {
                                          const Expr big = x * like(x, d == f64 ? 1100 : 150);
                                          return arity(m) == 2 ? call(m, abs(y), big) : call(m, big);
                                        }),
                            g, true);
        for (Tensor& operand : trials.back().memory)
          for (std::size_t at = 0; at < operand.bytes.size(); at += size_of(d)) {
            const double x = std::uniform_real_distribution<double>(-1, 1)(g);
            const auto bits = loops::reference::converted(f64, loops::reference::of(x), d);
            std::memcpy(&operand.bytes[at], &bits, size_of(d));
          }
      }
  EXPECT_EQ(test::check(trials, g), trials.size());
  EXPECT_EQ(test::check(trials, g, plain_machine()), trials.size());
}

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
