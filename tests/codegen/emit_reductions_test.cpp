// Compiled reductions against the interpreter: both orders of summation, all joins and dtypes, edges of blocks, levels
// of blocks, and expressions of every kind below a reduction.
#include "compiled.h"
#include "loops/build.h"
#include "loops/random_kernel.h"

namespace anew::codegen::test {
namespace {

using namespace loops;
using loops::test::combines_of;
using loops::test::Generator;
using loops::test::random_reduction;

// A random expression, joined over some of the variables of its nest.
Kernel random_join(Random& g) {
  Kernel k = Generator(g).kernel();
  const int rank = static_cast<int>(k.extents.size());
  const int node = k.stores[0].node;
  const DType dtype = k.nodes[static_cast<std::size_t>(node)].dtype;
  Store store{node, {static_cast<int>(k.operands.size()), {}}};
  ShapeDtype result{{}, dtype};
  for (int v = 0; v < rank; ++v) {
    const bool joined = uniform(g, 0, 1) == 1;
    k.reduced[static_cast<std::size_t>(v)] = joined;
    if (joined) continue;
    store.to.index.push_back(affine(rank, v));
    result.shape.push_back(k.extents[static_cast<std::size_t>(v)]);
  }
  do k.combine = pick(g, combines_of(dtype));
  while (k.combine >= Combine::argmax);
  k.operands.push_back(result);
  k.stores = {store};
  return k;
}

template <class Make>
void random_kernels(std::uint64_t from, std::uint64_t to, const Machine& machine, Make make) {
  for (std::uint64_t seed = from; seed < to;) {
    std::vector<Trial> trials;
    Random g(seed);
    for (int k = 0; k < 20 && seed < to; ++k, ++seed) {
      Random own(seed);
      if (std::optional<Kernel> kernel = make(own)) trials.emplace_back(std::move(*kernel), own, seed % 4 == 0);
    }
    SCOPED_TRACE(seed);
    test::check(trials, g, machine);
    if (testing::Test::HasFailure()) return;
  }
}
std::optional<Kernel> of_an_array(Random& g) { return random_reduction(g); }

TEST(Reduce, RandomShapesEqualTheInterpreter) { random_kernels(0, 800, host(), of_an_array); }
TEST(Reduce, RandomExpressionsEqualTheInterpreter) { random_kernels(0, 600, host(), random_join); }
TEST(Reduce, WithoutMasksEqualsTheInterpreter) {
  random_kernels(1000, 1300, plain_machine(), of_an_array);
  random_kernels(1000, 1200, plain_machine(), random_join);
}

TEST(Reduce, EdgesOfBlocksEqualTheInterpreter) {
  for (DType d : {f32, f64, i32, bf16}) {
    std::vector<Trial> trials;
    Random g(7);
    for (std::int64_t n :
         {1, 2, 31, 32, 33, 63, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097, 8192, 12321, 16384, 16385})
      for (Combine combine : combines_of(d)) {
        if (combine >= Combine::argmax) continue;
        trials.emplace_back(random_reduction(g, {{{n}, d}, {0}}, combine), g, true);
        trials.emplace_back(random_reduction(g, {{{2, n}, d}, {1}}, combine), g, false);
        trials.emplace_back(random_reduction(g, {{{n, 3}, d}, {0}}, combine), g, true);
        if (n <= 8192) trials.emplace_back(random_reduction(g, {{{40, n}, d}, {1}}, combine), g, true);
      }
    EXPECT_EQ(test::check(trials, g), trials.size());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Reduce, SeveralLevelsOfBlocks) {
  Random g(1);
  std::vector<Trial> trials;
  const std::vector<int> first{0};
  auto square = [](Expr x) { return x * x; };
  trials.emplace_back(reduction({{128 * 128 * 2 + 5, 2}, f32}, first, Combine::sum, f32), g, true);
  trials.emplace_back(reduction({{128 * 128 + 1, 40}, f32}, first, Combine::sum, f32, square), g, false);
  trials.emplace_back(reduction({{128 * 128 + 300, 1100}, f32}, first, Combine::sum, f32), g, true);
  trials.emplace_back(reduction({{(1 << 24) + 4099}, f32}, first, Combine::sum, f32), g, true);
  trials.emplace_back(reduction({{40, 20000}, f64}, std::vector<int>{1}, Combine::sum, f64), g, true);
  EXPECT_EQ(test::check(trials, g), trials.size());
}

TEST(Reduce, SearchesAreInterpreted) {
  const Kernel k = reduction({{7}, f32}, std::vector<int>{0}, Combine::argmax, i32);
  const std::vector<Source> sources{{&k, schedule_of(k), {Shape{1}, Shape{}}}};
  EXPECT_EQ(compile(sources)->functions()[0].run, nullptr);
  EXPECT_EQ(llvm_ir(sources[0]), "");
}

}  // namespace
}  // namespace anew::codegen::test
