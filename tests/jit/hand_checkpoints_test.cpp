// A budget does at least what a user does by hand: where every block of a network is checkpointed, a budget of that
// peak, given to the network without checkpoints, is met, and costs no more than computing every block twice.
#include <anew/anew.h>
#include <gtest/gtest.h>

namespace anew::hand_checkpoints_test {
namespace {

struct Block {
  Array up, down;
};
using Blocks = std::vector<Block>;

struct Size {
  const char* name;
  int blocks;
  std::int64_t batch, width;
};

Array block(const Block& b, const Array& y) { return y + matmul(tanh(matmul(y, b.up)), b.down); }
Array loss(const Blocks& m, const Array& x, bool by_hand) {
  Array y = x;
  for (const Block& b : m) y = by_hand ? checkpoint(block)(b, y) : block(b, y);
  return mean(square(y - x * 2));
}
std::pair<Array, Blocks> gradient(Blocks m, Array x, bool by_hand) { return value_and_grad(loss)(m, x, by_hand); }
std::pair<Array, Blocks> descent(Blocks m, Array x, bool by_hand) {
  auto [value, g] = value_and_grad(loss)(m, x, by_hand);
  return {value, tree_map([](Array p, Array d) { return p - 0.1 * d; }, m, g)};
}

class HandCheckpoints : public testing::TestWithParam<Size> {
 protected:
  template <class F>
  void holds(F f) {
    const auto [name, blocks, batch, width] = GetParam();
    const Blocks m(static_cast<std::size_t>(blocks), Block{zeros({width, 2 * width}), zeros({2 * width, width})});
    const Array x = zeros({batch, width});
    const std::size_t plain = jit(f).plan(m, x, false).peak_bytes, by_hand = jit(f).plan(m, x, true).peak_bytes;
    ASSERT_LT(by_hand, plain);
    const MemoryPlan plan = jit(f, {.memory_budget = by_hand}).plan(m, x, false);
    EXPECT_LE(plan.peak_bytes, by_hand);
    EXPECT_LE(plan.extra_time, 0.34);  // a third of all work is the way forward
  }
};

TEST_P(HandCheckpoints, OfAGradient) { holds(gradient); }
TEST_P(HandCheckpoints, OfATrainingStep) { holds(descent); }

// Weights of more bytes than activations lend them memory, of fewer do not.
INSTANTIATE_TEST_SUITE_P(All, HandCheckpoints,
                         testing::Values(Size{"narrow", 8, 128, 64}, Size{"deep", 24, 128, 64},
                                         Size{"tall", 8, 1024, 64}, Size{"even", 6, 192, 96}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace anew::hand_checkpoints_test
