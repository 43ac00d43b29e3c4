// Kernels on tiles of a product: the bits of the kernel behind the whole product, whatever the shapes, and none where
// the kernel would overwrite what the product still reads.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "runtime/pool.h"
#include "runtime/product.h"
#include "support/support.h"

namespace anew {
namespace {

using Xs = std::span<const Array>;

Array data(const Shape& s, int seed, DType t = f32) { return astype(random::normal(random::key(seed), s), t); }

void expect_same(const FlatFunction& f, const Arrays& x, const std::string& what) {
  const Arrays want = f(x);
  const compiled::Backend backend = compiled::backend();
  const int before = threads();
  for (compiled::Backend b : {compiled::Backend::interpreter, backend})
    for (int n : {1, 2}) {
      set_threads(n);
      compiled::set_backend(b);
      compiled::clear_compiled();
      EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), want)) << what << ", " << n << " threads";
    }
  compiled::set_backend(backend);
  set_threads(before);
}

TEST(Epilogue, BiasAndActivationOfEveryShape) {
  auto layer = [](Xs x) { return Arrays{tanh(matmul(x[0], x[1]) + x[2]) * 2}; };
  for (DType t : {f32, f64})
    for (auto [m, k, n] :
         {std::tuple{1, 5, 7}, {7, 300, 1}, {64, 64, 64}, {200, 600, 300}, {1000, 20, 700}, {3, 2000, 1500}})
      expect_same(layer, {data({m, k}, 0, t), data({k, n}, 1, t), data({n}, 2, t)},
                  std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
}

TEST(Epilogue, SeveralOutputsAndTheProductItself) {
  auto f = [](Xs x) {
    Array y = matmul(x[0], x[1]);
    return Arrays{exp(y), y + x[0], y};
  };
  expect_same(f, {data({150, 150}, 0), data({150, 150}, 1)}, "three outputs");
}

TEST(Epilogue, BatchesTransposesAndManyColumns) {
  expect_same([](Xs x) { return Arrays{sin(matmul(x[0], x[1])) + 1}; }, {data({6, 50, 40}, 0), data({6, 40, 60}, 1)},
              "batched");
  expect_same([](Xs x) { return Arrays{sin(einsum("bij,jkl->bikl", x[0], x[1])) + 1}; },
              {data({3, 50, 40}, 0), data({40, 6, 7}, 1)}, "columns of two dimensions");
  expect_same([](Xs x) { return Arrays{transpose(matmul(x[0], x[1])) * 2 + x[2]}; },
              {data({50, 40}, 0), data({40, 60}, 1), data({60, 50}, 2)}, "transposed");
}

// The output of the kernel may lie where an operand of the product was.
TEST(Epilogue, OperandsThatDie) {
  auto f = [](Xs x) {
    Array h = x[0];
    for (int i = 0; i < 5; ++i) h = tanh(matmul(h, h) * 0.01f + h);
    return Arrays{h};
  };
  expect_same(f, {data({160, 160}, 0)}, "chain");
}

}  // namespace
}  // namespace anew
