// The block interpreter against the scalar reference, bit for bit: random kernels, shapes, strides and dtypes.
#include "loops/interpreter.h"

#include "memory.h"
#include "random_kernel.h"

namespace anew::loops::test {
namespace {

TEST(Interpreter, RandomKernelsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Random g(seed);
    const Kernel k = Generator(g).kernel();
    SCOPED_TRACE(seed);
    check(k, g, seed % 4 == 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Interpreter, ScalarsBesideArrays) {
  const Kernel k = elementwise({{{3, 5}, f32}, {{}, f32}}, [](Expr x, Expr y) { return x * y + 1.0; });
  std::vector<float> x(15), out(15), y = {3};
  for (int i = 0; i < 15; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
  run(k, std::vector<Operand>{{x.data()}, {y.data()}, {out.data()}});
  for (int i = 0; i < 15; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(3 * i + 1));
}

TEST(Interpreter, ABroadcastElementSurvivesAllBlocks) {
  const ShapeDtype t{{5000}, f32};
  const Kernel k = elementwise({t, t}, [](Expr x, Expr y) {
    const Expr first = y * 2.0, second = first + 1.0, third = second * second;
    return third - x;
  });
  std::vector<float> x(5000, 1.0f), out(5000), y = {3};
  const std::int64_t nowhere[] = {0};
  run(k, std::vector<Operand>{{x.data()}, {y.data(), nowhere}, {out.data()}});
  for (float v : out) ASSERT_EQ(v, 48.0f);
}

TEST(Interpreter, TurnedOperandsEqualTheReference) {
  Random g(3);
  for (Shape shape : {Shape{40, 300}, Shape{3, 20, 130}, Shape{9, 128}}) {
    const std::vector<std::int64_t> extents(shape.begin(), shape.end());
    const int rank = shape.ndim();
    std::vector<Affine> same, reversed;
    Shape turned;
    for (int d = 0; d < rank; ++d)
      same.push_back(affine(rank, d)), reversed.push_back(affine(rank, rank - 1 - d)),
          turned.push_back(shape[rank - 1 - d]);
    check(copy(extents, {turned, f32}, reversed, {shape, f32}, same), g, true);
    check(copy(extents, {shape, f64}, same, {turned, f64}, reversed), g, true);
  }
}

TEST(Interpreter, InPlace) {
  const Kernel k = elementwise({{{2000}, f32}}, [](Expr x) { return (x + 1.0) * x; });
  std::vector<float> x(2000, 2.0f);
  run(k, std::vector<Operand>{{x.data()}, {x.data()}});
  for (float v : x) ASSERT_EQ(v, 6.0f);
}

TEST(Interpreter, CopiesPartsOfAPad) {
  const ShapeDtype in{{2, 3}, i32}, out{{4, 7}, i32};
  const Kernel background = fill(out);
  const Kernel inside = copy(std::vector<std::int64_t>{2, 3}, in, {affine(2, 0), affine(2, 1)}, out,
                             {affine(2, 0, 1, 1), affine(2, 1, 2, 1)});
  std::vector<std::int32_t> x = {1, 2, 3, 4, 5, 6}, y(28), nine = {9};
  run(background, std::vector<Operand>{{nine.data()}, {y.data()}});
  run(over(inside, {in, {{}, i32}, out}, std::vector<int>{0, 2}),
      std::vector<Operand>{{x.data()}, {nine.data()}, {y.data()}});
  EXPECT_EQ(y, (std::vector<std::int32_t>{9, 9, 9, 9, 9, 9, 9, 9, 1, 9, 2, 9, 3, 9,
                                          9, 4, 9, 5, 9, 6, 9, 9, 9, 9, 9, 9, 9, 9}));
}

TEST(Interpreter, GeneratesFromIndices) {
  const Kernel eye = generate({3, 4}, [](Graph& g, std::span<const Expr> i) {
    return select(i[0] == i[1], constant(g, f32, 1.0), constant(g, f32, 0.0));
  });
  std::vector<float> y(12);
  run(eye, std::vector<Operand>{{y.data()}});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(y[i], i / 4 == i % 4 ? 1.0f : 0.0f);
}

TEST(Interpreter, CallersFloatModeDoesNotMatter) {
#if defined(__SSE__)
  const Kernel k = elementwise({{{9}, f32}}, [](Expr x) { return x * 0.5; });
  std::vector<float> x(9, 1e-38f), y(9);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  run(k, std::vector<Operand>{{x.data()}, {y.data()}});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0x8040u, 0x8040u);
  for (float v : y) EXPECT_EQ(v, 1e-38f * 0.5f);
#endif
}

TEST(Interpreter, NamesAMissingOperand) {
  const Kernel k = elementwise({{{9}, f32}}, [](Expr x) { return -x; });
  EXPECT_THROW(run(k, std::vector<Operand>{{nullptr}}), InternalError);
}

}  // namespace
}  // namespace anew::loops::test
