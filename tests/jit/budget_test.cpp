// A memory budget is a limit: kept to the byte, monotone, never changing a bit, for every program here and whoever runs
// the kernels; an impossible one says what is possible.
#include <atomic>

#include "jit/compiled_program.h"
#include "jit/plan_programs.h"
#include "support/budget_sweep.h"
#include "support/support.h"

namespace anew {
namespace {

using test::plan_programs;
using test::same_bits;

Array numbers(const Shape& shape, int seed) {
  return reshape(sin(arange(static_cast<double>(shape.size())) * (1 + 0.1 * seed)), shape);
}

// Eight layers, every second one with a skip.
Array network(const std::vector<Array>& ws, Array x) {
  for (std::size_t i = 0; i < ws.size(); ++i) {
    Array y = tanh(matmul(x, ws[i]));
    x = i % 2 ? x + y : sin(y);
  }
  return mean(square(x));
}
std::vector<Array> weights(int layers = 8) {
  std::vector<Array> ws;
  for (int i = 0; i < layers; ++i) ws.push_back(numbers({32, 32}, i) * 0.3);
  return ws;
}
const Array& batch() {
  static const Array x = numbers({64, 32}, 9);
  return x;
}

void sweep(const FlatFunction& f, const Arrays& x, int budgets) {
  test::BudgetSweep sweep(f, x);
  EXPECT_EQ(sweep.run(test::BudgetSweep::number_of_budgets(budgets)), "");
}

class Budgets : public testing::TestWithParam<std::size_t> {};

TEST_P(Budgets, AreKept) {
  const test::PlanProgram& p = plan_programs()[GetParam()];
  sweep(p.f, p.x, 6);
}
INSTANTIATE_TEST_SUITE_P(Programs, Budgets, testing::Range(std::size_t{0}, plan_programs().size()),
                         [](const auto& info) { return plan_programs()[info.param].name; });

TEST(Budget, OfANetwork) {
  FlatFunction f = [](std::span<const Array> x) {
    auto [l, g] = value_and_grad(network)(std::vector<Array>(x.begin() + 1, x.end()), x[0]);
    Arrays out{l};
    out.insert(out.end(), g.begin(), g.end());
    return out;
  };
  Arrays x{batch()};
  for (const Array& w : weights()) x.push_back(w);
  sweep(f, x, 20);
}

TEST(Budget, LargeOnesChangeNothing) {
  auto step = jit(value_and_grad(network)), roomy = jit(value_and_grad(network), {.memory_budget = 512_MiB});
  EXPECT_EQ(roomy.plan(weights(), batch()).str(), step.plan(weights(), batch()).str());
}

TEST(Budget, PlansSayWhatIsRecomputed) {
  const std::size_t plain = jit(value_and_grad(network)).plan(weights(), batch()).peak_bytes;
  const MemoryPlan plan = jit(value_and_grad(network), {.memory_budget = plain * 85 / 100}).plan(weights(), batch());
  ASSERT_FALSE(plan.recomputed.empty());
  double sum = 0;
  for (const Recomputed& r : plan.recomputed) {
    EXPECT_GT(r.times, 0);
    EXPECT_NE(r.at.line(), 0u);
    sum += r.extra_time;
  }
  EXPECT_NEAR(sum, plan.extra_time, 1e-9);
  EXPECT_GT(plan.price, 0);
  EXPECT_EQ(plan.disk_bytes, 0u);
  EXPECT_NE(plan.str().find("% time, at least"), std::string::npos) << plan;
}

TEST(Budget, ImpossibleOnesSayWhatIsPossible) {
  auto f = [](Array x) { return sum(sin(x) * x); };
  const Array x = ones({1000});
  const std::string text = ERROR_OF((void)jit(f, {.memory_budget = 100}).plan(x));
  EXPECT_EQ(
      text,
      "[jit] a memory budget of 100 bytes can not be met; the smallest that can is 4004 bytes (3.9 KiB): arguments "
      "4000, constants 0, outputs 4, arena 0; hint: smaller batches, or loops with few checkpoints, need less");
  EXPECT_EQ(ERROR_OF((void)jit(f, {.memory_budget = 100})(x)), text);
  EXPECT_EQ(jit(f, {.memory_budget = 4004}).plan(x).peak_bytes, 4004u);
  // What a closure captures is no argument, whoever asks.
  const Array w = ones({1000}) * 2;
  auto closure = [&](Array y) { return sum(sin(y) * w); };
  const std::string captured = ERROR_OF((void)jit(closure, {.memory_budget = 100})(x));
  EXPECT_EQ(
      captured,
      "[jit] a memory budget of 100 bytes can not be met; the smallest that can is 8004 bytes (7.8 KiB): arguments "
      "4000, constants 4000, outputs 4, arena 0; hint: smaller batches, or loops with few checkpoints, need less");
  EXPECT_EQ(ERROR_OF((void)jit(closure, {.memory_budget = 100}).plan(x)), captured);
  // With what is alive there, and its lines.
  try {
    (void)jit(value_and_grad(network), {.memory_budget = 1_KiB}).plan(weights(), batch());
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("where it is fullest"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("budget_test.cpp:"), std::string::npos) << e.what();
  }
}

TEST(Budget, EffectsHappenOnce) {
  int calls = 0;
  auto loss = [&](const std::vector<Array>& ws, Array x) {
    for (std::size_t i = 0; i < ws.size(); ++i) {
      x = sin(matmul(x, ws[i]));
      if (i % 3 == 0) io_callback([&](Array) { ++calls; }, none, stop_gradient(sum(x)));
    }
    return mean(square(x));
  };
  auto plain = jit(value_and_grad(loss));
  const std::size_t peak = plain.plan(weights(), batch()).peak_bytes;
  auto [l, g] = plain(weights(), batch());
  EXPECT_EQ(calls, 3);
  auto tight = jit(value_and_grad(loss), {.memory_budget = peak * 85 / 100});
  EXPECT_GT(tight.plan(weights(), batch()).extra_time, 0);
  auto [l2, g2] = tight(weights(), batch());
  EXPECT_EQ(calls, 6);
  EXPECT_TRUE(same_bits(l, l2) && same_bits(g[2], g2[2]));
}

// What a policy keeps by its name is not made again; without the policy it may be.
TEST(Budget, NamesThatAreKeptStayKept) {
  auto loss = [](const std::vector<Array>& ws, Array x) {
    for (const Array& w : ws) {
      Array y = matmul(x, w);
      x = sin(checkpoint_name(y, "product"));
    }
    return mean(square(x));
  };
  auto products = [](const MemoryPlan& plan) {
    int times = 0;
    for (const Recomputed& r : plan.recomputed) times += r.what.find("dot_general") != std::string::npos ? r.times : 0;
    return times;
  };
  auto kept = checkpoint(loss, checkpoint_policies::save_only_these_names("product"));
  const std::size_t smallest = jit(value_and_grad(kept)).budget_curve(weights(), batch()).back().peak_bytes;
  EXPECT_EQ(products(jit(value_and_grad(kept), {.memory_budget = smallest}).plan(weights(), batch())), 0);
  const std::size_t less = jit(value_and_grad(loss)).budget_curve(weights(), batch()).back().peak_bytes;
  EXPECT_LT(less, smallest);
  EXPECT_GT(products(jit(value_and_grad(loss), {.memory_budget = less}).plan(weights(), batch())), 0);
}

TEST(Budget, AutomaticIsLeftToThePlanner) {
  using checkpoint_policies::automatic;
  auto free = checkpoint(network, automatic);
  EXPECT_EQ(automatic.str(), "automatic");
  EXPECT_EQ(saved_residuals(free, weights(), batch()).size(), saved_residuals(network, weights(), batch()).size());
  const MemoryPlan plain = jit(value_and_grad(free)).plan(weights(), batch());
  const MemoryPlan tight =
      jit(value_and_grad(free), {.memory_budget = plain.peak_bytes * 9 / 10}).plan(weights(), batch());
  EXPECT_LE(tight.peak_bytes, plain.peak_bytes * 9 / 10);
}

// The planner does not keep what a checkpoint forgets.
TEST(Budget, CheckpointsStayCheckpoints) {
  auto forgets = checkpoint(network);
  const MemoryPlan plain = jit(value_and_grad(forgets)).plan(weights(), batch());
  const MemoryPlan roomy = jit(value_and_grad(forgets), {.memory_budget = 512_MiB}).plan(weights(), batch());
  EXPECT_EQ(roomy.str(), plain.str());
}

TEST(Budget, CurvesAreDataTextAndPicture) {
  const std::vector<BudgetPoint> curve = jit(value_and_grad(network)).budget_curve(weights(), batch());
  ASSERT_GE(curve.size(), 3u);
  const std::string text = str(curve), picture = svg(curve);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<std::ptrdiff_t>(curve.size()) + 1);
  EXPECT_EQ(text.substr(0, text.find('\n')), "    peak bytes                   time    at least");
  EXPECT_NE(text.find("+0.00%"), std::string::npos);
  EXPECT_EQ(picture.substr(0, 4), "<svg");
  EXPECT_NE(picture.find(std::to_string(curve.back().peak_bytes) + " bytes"), std::string::npos);
  const MemoryPlan least =
      jit(value_and_grad(network), {.memory_budget = curve.back().peak_bytes}).plan(weights(), batch());
  EXPECT_EQ(least.peak_bytes, curve.back().peak_bytes);
  EXPECT_EQ(
      ERROR_OF(
          (void)jit(value_and_grad(network), {.memory_budget = curve.back().peak_bytes - 1}).plan(weights(), batch()))
          .find("[jit] a memory budget of "),
      0u);
}

}  // namespace
}  // namespace anew
