// Reductions against the scalar reference written from the Bits contract: random shapes, axes, strides, dtypes and
// cuts.
#include "loops/interpret_reduction.h"

#include "memory.h"
#include "random_kernel.h"

namespace anew::loops::test {
namespace {

TEST(Reduce, RandomShapesEqualTheReference) {
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    Random g(seed);
    const std::optional<Kernel> k = random_reduction(g);
    if (!k) continue;
    SCOPED_TRACE(seed);
    check(*k, g, seed % 4 == 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Reduce, EdgesOfBlocksEqualTheReference) {
  for (DType d : {f32, f64, i32, bf16})
    for (std::int64_t n : {31, 32, 33, 63, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097, 8192, 12321, 16384, 16385})
      for (Combine combine : combines_of(d)) {
        Random g(static_cast<std::uint64_t>(n));
        check(random_reduction(g, {{{n}, d}, {0}}, combine), g, true);
        check(random_reduction(g, {{{2, n}, d}, {1}}, combine), g, false);
        check(random_reduction(g, {{{n, 3}, d}, {0}}, combine), g, true);
        if (testing::Test::HasFatalFailure()) return;
      }
}

// Of equal values the first, of nans the first, whatever vector they are in; rows, columns, and values that are
// computed.
TEST(Reduce, TheFirstOfTheBestIsFound) {
  const auto find = [](Combine combine, std::vector<float> x, std::int64_t copies, bool rows, bool computed) {
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<float> all(static_cast<std::size_t>(n * copies));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < copies; ++c) all[rows ? c * n + i : i * copies + c] = x[i];
    const Shape shape = rows ? Shape{copies, n} : Shape{n, copies};
    std::vector<std::int32_t> found(static_cast<std::size_t>(copies));
    const std::vector<int> axes{rows ? 1 : 0};
    const Kernel k = computed ? reduction({shape, f32}, axes, combine, i32, [](Expr v) { return v + v; })
                              : reduction({shape, f32}, axes, combine, i32);
    run(k, std::vector<Operand>{{all.data()}, {found.data()}});
    for (std::int32_t f : found) EXPECT_EQ(f, found[0]);
    return found[0];
  };
  for (std::int64_t n : {1, 9, 31, 32, 33, 40, 129, 513, 4100, 9000})
    for (std::int64_t at : {std::int64_t{0}, n / 3, n / 2, n - 1})
      for (std::int64_t copies : {1, 3, 8, 33, 41})
        for (int form = 0; form < 4; ++form) {
          const auto place = [&](Combine combine, float others, float best) {
            std::vector<float> x(static_cast<std::size_t>(n), others);
            for (std::size_t i = static_cast<std::size_t>(at); i < x.size(); i += 7) x[i] = best;
            return find(combine, std::move(x), copies, form % 2, form / 2);
          };
          SCOPED_TRACE(testing::Message() << n << " at " << at << " x " << copies << " form " << form);
          EXPECT_EQ(place(Combine::argmax, 1, 2), at);
          EXPECT_EQ(place(Combine::argmin, -INFINITY, NAN), at);
          EXPECT_EQ(place(Combine::argmax, 0.0f, -0.0f), 0);
          EXPECT_EQ(place(Combine::argmin, INFINITY, 3), at);
        }
}

// The operand that no loop changes is not read either.
TEST(Reduce, NothingTimesAScalar) {
  Kernel k = reduction({{3, 0}, f32}, std::vector<int>{1}, Combine::sum, f32);
  k.operands.push_back({{}, f32});
  k.accesses.push_back({2, {}});
  k.nodes.push_back({.op = Op::load, .dtype = f32, .imm = 1});
  k.nodes.push_back(
      {.op = Op::mul, .dtype = f32, .a = k.stores[0].node, .b = static_cast<std::int32_t>(k.nodes.size()) - 1});
  k.stores[0].node = static_cast<int>(k.nodes.size()) - 1;
  std::vector<float> x = {7}, y = {1, 2, 3};
  run(k, std::vector<Operand>{{x.data()}, {y.data()}, {nullptr}});
  EXPECT_EQ(y, std::vector<float>(3));
}

TEST(Reduce, SeveralLevelsOfBlocks) {
  Random g(1);
  // 128 * 128 is past two levels of columns, 4096 * 4096 past two of rows.
  check(reduction({{128 * 128 * 2 + 5, 2}, f32}, std::vector<int>{0}, Combine::sum, f32), g, true);
  check(reduction({{128 * 128 + 1, 40}, f32}, std::vector<int>{0}, Combine::sum, f32, [](Expr x) { return x * x; }), g,
        false);
  std::vector<float> x((1 << 24) + 4099);
  std::vector<reference::Bits> bits;
  for (float& v : x) v = static_cast<float>(g() % 1000) * 0.001f, bits.push_back(reference::of(v));
  const auto n = static_cast<std::int64_t>(x.size());
  float sum = 0;
  run(reduction({{n}, f32}, std::vector<int>{0}, Combine::sum, f32), std::vector<Operand>{{x.data()}, {&sum}});
  EXPECT_EQ(reference::of(sum), reference::row(Combine::sum, f32, std::move(bits)));
}

TEST(Reduce, OrderDependsOnLogicalShapeOnly) {
  Random g(7);
  const Kernel k = reduction({{40, 3, 50}, f32}, std::vector<int>{0, 2}, Combine::sum, f32);
  Tensor dense(k.operands[0], g, true), out(k.operands[1], g, true);
  for (std::size_t i = 0; i < 6000; ++i)
    reinterpret_cast<float*>(dense.bytes.data())[i] = std::normal_distribution<float>()(g);
  Tensor other_out = out;
  run(k, std::vector<Operand>{dense.operand(), out.operand()});
  std::vector<float> turned(6000);  // the same logical array stored by columns
  const std::int64_t strides[] = {1, 40, 120};
  for (int a = 0; a < 40; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 50; ++c)
        turned[static_cast<std::size_t>(a + 40 * b + 120 * c)] =
            reinterpret_cast<float*>(dense.bytes.data())[a * 150 + b * 50 + c];
  run(k, std::vector<Operand>{{turned.data(), strides}, other_out.operand()});
  EXPECT_EQ(out.bytes, other_out.bytes);
}

TEST(Reduce, NothingIsTheIdentity) {
  const std::vector<std::pair<Combine, float>> expected = {
      {Combine::sum, 0.0f}, {Combine::product, 1.0f}, {Combine::max, -INFINITY}, {Combine::min, INFINITY}};
  for (auto [combine, value] : expected) {
    std::vector<float> y(3, 7.0f);
    run(reduction({{3, 0}, f32}, std::vector<int>{1}, combine, f32), std::vector<Operand>{{nullptr}, {y.data()}});
    for (float v : y) {
      EXPECT_EQ(v, value);
      EXPECT_FALSE(combine == Combine::sum && std::signbit(v));
    }
  }
}

TEST(Reduce, ASingleZeroKeepsItsSign) {
  float x = -0.0f, y = 1;
  run(reduction({{1}, f32}, std::vector<int>{0}, Combine::sum, f32), std::vector<Operand>{{&x}, {&y}});
  EXPECT_TRUE(std::signbit(y));
}

TEST(Reduce, ScheduleFollowsShapesOnly) {
  EXPECT_EQ(schedule_of(elementwise({{{8, 9}, f32}}, [](Expr x) { return -x; })).units, 72);
  const Schedule many = schedule_of(reduction({{64, 5000}, f32}, std::vector<int>{1}, Combine::sum, f32));
  EXPECT_EQ(many.units, 64);
  EXPECT_EQ(many.scratch, 0u);
  const Schedule few = schedule_of(reduction({{2, 10000}, f32}, std::vector<int>{1}, Combine::sum, f32));
  EXPECT_EQ(few.units, 6);
  EXPECT_EQ(few.scratch, 24u);
  const Schedule tall = schedule_of(reduction({{1000, 8}, f64}, std::vector<int>{0}, Combine::argmax, i32));
  EXPECT_EQ(tall.units, 8);
  EXPECT_EQ(tall.scratch, 8u * 8u * 16u);
}

}  // namespace
}  // namespace anew::loops::test
