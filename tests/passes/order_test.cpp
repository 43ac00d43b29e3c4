// The order of steps, seen from outside: what a training step makes of gradients takes no memory of its own, and leaves
// a budget as much room as the gradients alone do.
#include <anew/anew.h>
#include <gtest/gtest.h>

namespace anew {
namespace {

struct Layer {
  Array up, down;
};
using Layers = std::vector<Layer>;

Layers layers(int n, std::int64_t width) {
  return Layers(static_cast<std::size_t>(n), Layer{zeros({width, 2 * width}), zeros({2 * width, width})});
}
Array loss(const Layers& m, const Array& x) {
  Array y = x;
  for (const Layer& l : m) y = y + matmul(tanh(matmul(y, l.up)), l.down);
  return mean(square(y - x * 2));
}
std::pair<Array, Layers> gradient(Layers m, Array x) { return value_and_grad(loss)(m, x); }
std::pair<Array, Layers> descent(Layers m, Array x) {
  auto [value, g] = value_and_grad(loss)(m, x);
  return {value, tree_map([](Array p, Array d) { return p - 0.1 * d; }, m, g)};
}
struct Adam {
  Layers p, mean, square;
};
std::pair<Array, Adam> adam(Adam s, Array x) {
  auto [value, g] = value_and_grad(loss)(s.p, x);
  Layers mean = tree_map([](Array m, Array d) { return 0.9 * m + 0.1 * d; }, s.mean, g);
  Layers square = tree_map([](Array v, Array d) { return 0.99 * v + 0.01 * anew::square(d); }, s.square, g);
  Layers p = tree_map([](Array p, Array m, Array v) { return p - 0.1 * m / (sqrt(v) + 1e-8); }, s.p, mean, square);
  return {value, {p, mean, square}};
}

TEST(Order, NewWeightsLieWhereGradientsWere) {
  const Layers m = layers(8, 64);
  const Array x = zeros({128, 64});
  const MemoryPlan bare = jit(gradient).plan(m, x), step = jit(descent).plan(m, x);
  EXPECT_EQ(step.output_bytes, bare.output_bytes);
  EXPECT_LE(step.arena_bytes, bare.arena_bytes);
  EXPECT_LE(jit(adam).plan(Adam{m, m, m}, x).arena_bytes, bare.arena_bytes);
}

// Gradients of weights that waited for the end would keep both of their factors, and a budget would pay for that.
TEST(Order, ATrainingStepWithinABudgetCostsWhatItsGradientDoes) {
  const Layers m = layers(8, 64);
  const Array x = zeros({128, 64});
  const MemoryPlan plain = jit(gradient).plan(m, x);
  for (const double part : {0.8, 0.65, 0.5}) {
    const auto arena = static_cast<std::size_t>(part * static_cast<double>(plain.arena_bytes));
    const std::size_t rest = plain.peak_bytes - plain.arena_bytes;
    const MemoryPlan bare = jit(gradient, {.memory_budget = rest + arena}).plan(m, x);
    const MemoryPlan step = jit(descent, {.memory_budget = rest + arena}).plan(m, x);
    EXPECT_LE(step.extra_time, 1.1 * bare.extra_time + 0.01) << part;
    const Adam s{m, m, m};
    const MemoryPlan all = jit(adam).plan(s, x);
    const MemoryPlan adams = jit(adam, {.memory_budget = all.peak_bytes - all.arena_bytes + arena}).plan(s, x);
    EXPECT_LE(adams.extra_time, 1.1 * bare.extra_time + 0.01) << part;
  }
}

}  // namespace
}  // namespace anew
