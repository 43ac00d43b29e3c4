// A budget does at least what a user does by hand: where every block of a network is checkpointed, a budget of that
// peak, given to the network without checkpoints, is met, and costs no more than computing every block twice.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <sstream>

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

// What a convolution copies for its gradient by the weights, it does without where memory is short.
Array convolutions(const std::vector<Array>& w, Array x) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::int64_t stride = i == 0 ? 1 : 2;
    x = nn::relu(
        conv_general_dilated(x, w[i], {stride, stride}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}));
  }
  return mean(square(x));
}
TEST(Budget, OfConvolutionsNeedsNoCopies) {
  const Array key = random::key(0);
  const std::vector<Array> w{random::normal(key, {3, 3, 3, 32}), random::normal(key, {3, 3, 32, 64}),
                             random::normal(key, {3, 3, 64, 128})};
  const Array x = random::normal(key, {64, 32, 32, 3});
  auto plain = jit(value_and_grad(convolutions));
  const MemoryPlan all = plain.plan(w, x);
  const std::size_t budget = all.peak_bytes * 17 / 20;
  auto within = jit(value_and_grad(convolutions), {.memory_budget = budget});
  EXPECT_LE(within.plan(w, x).peak_bytes, budget);
  std::ostringstream text;
  text << plain.budget_curve(w, x);
  EXPECT_EQ(text.str(), str(plain.budget_curve(w, x)));
  const auto [value, gradients] = plain(w, x);
  const auto [same_value, same_gradients] = within(w, x);
  EXPECT_TRUE(array_equal(value, same_value));
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_TRUE(array_equal(gradients[i], same_gradients[i]));
}

}  // namespace
}  // namespace anew::hand_checkpoints_test
