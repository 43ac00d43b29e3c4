// Budgets reach into loops: what a scan or while keeps for its way back is chosen so that all fits, kept to the byte,
// monotone, with the same bits; what users said of their loops stands.
#include "jit/plan_programs.h"
#include "support/budget_sweep.h"
#include "support/support.h"

namespace anew::loop_budget_test {
namespace {

using test::same_bits;
using Leaves = std::span<const Array>;

Array numbers(const Shape& shape, int seed = 0) {
  return reshape(sin(arange(static_cast<double>(shape.size())) * (1 + 0.1 * seed)), shape);
}

// A string of 64 points, plucked: 60 steps.
Array wave(Array speed, Array start, const ScanOptions& options = {}) {
  auto step = [&](const std::pair<Array, Array>& s, none_t) {
    Array pull = roll(s.first, 1, 0) - 2 * s.first + roll(s.first, -1, 0);
    Array velocity = s.second + speed * sin(pull);
    return std::pair(std::pair(s.first + velocity, velocity), none);
  };
  ScanOptions o = options;
  o.length = 60;
  return sum(square(scan(step, std::pair(start, zeros_like(start)), none, o).first.first));
}
// All states are looked at, not only the last one.
Array pendulum(Array force, Array start) {
  auto step = [](const std::pair<Array, Array>& s, Array f) {
    Array velocity = s.second + 0.1 * (f - sin(s.first));
    Array angle = s.first + 0.1 * velocity;
    return std::pair(std::pair(angle, velocity), angle);
  };
  auto [last, angles] = scan(step, std::pair(start, zeros_like(start)), force);
  return mean(square(angles)) + sum(last.first);
}
Array nested(Array w, Array xs) {
  auto outer = [&](Array h, Array x) {
    auto inner = [&](Array g, none_t) { return std::pair(sin(matmul(g, w)), none); };
    return std::pair(scan(inner, h + x, none, {.length = 7}).first, none);
  };
  return sum(square(scan(outer, zeros({4, 8}), xs).first));
}
// Layers in a scan, and a head of several more.
Array network(Array layers, Array head, Array x) {
  auto layer = [](Array y, Array w) { return std::pair(y + tanh(matmul(y, w)), none); };
  Array y = scan(layer, x, layers).first;
  for (int i = 0; i < 6; ++i) y = sin(matmul(y, head)) + y;
  return mean(square(y));
}
Array counted(Array w, Array x, Array n) {
  return sum(fori_loop(0, n, [&](Array, Array y) { return sin(matmul(y, w)); }, x));
}
Array newton(Array x) {
  auto more = [](const std::pair<Array, Array>& c) { return max(abs(c.second)) > 1e-3; };
  auto step = [&](const std::pair<Array, Array>& c) {
    Array y = c.first - (square(c.first) - x) / (2 * c.first);
    return std::pair(y, y - c.first);
  };
  return sum(while_loop(more, step, std::pair(x + 1, x)).first);
}
Array branched(Array w, Array xs) {
  auto loop = [&](Array x) {
    auto step = [&](Array h, Array u) { return std::pair(tanh(matmul(h, w) + u), none); };
    return scan(step, zeros({4, 8}), x).first;
  };
  auto other = [](Array x) { return sin(x[0]); };
  return sum(square(cond(sum(w) > -100, loop, other, xs)));
}
// A loop that goes through its rows from the last to the first, in a jit, in a checkpoint.
Array reversed(Array w, Array xs) {
  auto step = [&](Array h, Array u) {
    Array y = tanh(matmul(h, w) + u);
    return std::pair(y, y * u);
  };
  auto [h, ys] = scan(step, zeros({4, 8}), xs, {.reverse = true});
  return sum(h) + sum(sin(ys));
}

template <class F>
FlatFunction of_one(F f) {
  return test::gradient([f](Leaves x) { return Arrays{f(x[0])}; });
}
template <class F>
FlatFunction of_two(F f) {
  return test::gradient([f](Leaves x) { return Arrays{f(x[0], x[1])}; });
}
template <class F>
FlatFunction of_three(F f) {
  return test::gradient([f](Leaves x) { return Arrays{f(x[0], x[1], x[2])}; });
}

struct LoopProgram {
  std::string name;
  FlatFunction f;
  Arrays x;
  double most;  // the smallest budget is at most this part of the plain peak
};
const std::vector<LoopProgram>& programs() {
  static const auto& all = *new std::vector<LoopProgram>{
      {"wave", of_two([](Array c, Array x) { return wave(c, x); }), {array(0.1f), numbers({64})}, 0.3},
      {"pendulum", of_two(pendulum), {numbers({80, 16}), numbers({16}, 1)}, 0.9},
      {"nested", of_two(nested), {numbers({8, 8}) * 0.5, numbers({12, 4, 8})}, 0.35},
      {"network", of_three(network), {numbers({20, 16, 16}) * 0.3, numbers({16, 16}, 1) * 0.3, numbers({32, 16})}, 0.8},
      {"counted", of_three(counted), {numbers({8, 8}) * 0.5, numbers({4, 8}), array(20)}, 0.3},
      {"newton", of_one(newton), {square(numbers({100})) + 2}, 0.3},
      {"branched", of_two(branched), {numbers({8, 8}) * 0.5, numbers({30, 4, 8})}, 0.8},
      {"reversed", of_two(jit(reversed)), {numbers({8, 8}) * 0.5, numbers({30, 4, 8})}, 0.9},
      {"checkpointed", of_two(checkpoint(reversed)), {numbers({8, 8}) * 0.5, numbers({30, 4, 8})}, 0.9},
      {"automatic",
       of_two(checkpoint(reversed, checkpoint_policies::automatic)),
       {numbers({8, 8}) * 0.5, numbers({30, 4, 8})},
       0.9},
      {"mapped",
       of_two([](Array w, Array xs) { return sum(vmap([w](Array x) { return reversed(w, x); })(xs)); }),
       {numbers({8, 8}) * 0.5, numbers({3, 20, 4, 8})},
       0.9},
  };
  return all;
}

class LoopBudgets : public testing::TestWithParam<std::size_t> {};

TEST_P(LoopBudgets, AreKept) {
  const LoopProgram& p = programs()[GetParam()];
  const std::size_t plain = flat::plan(p.f, p.x).peak_bytes, smallest = flat::budget_curve(p.f, p.x).back().peak_bytes;
  EXPECT_LE(static_cast<double>(smallest), p.most * static_cast<double>(plain));
  EXPECT_EQ(test::BudgetSweep(p.f, p.x).run(test::BudgetSweep::number_of_budgets(8)), "");
}
INSTANTIATE_TEST_SUITE_P(Programs, LoopBudgets, testing::Range(std::size_t{0}, programs().size()),
                         [](const auto& info) { return programs()[info.param].name; });

TEST(LoopBudget, PlansSayWhichStepsRunAgain) {
  auto f = grad([](Array c, Array x) { return wave(c, x); });
  const std::size_t plain = jit(f).plan(array(0.1f), numbers({64})).peak_bytes;
  const MemoryPlan plan = jit(f, {.memory_budget = plain / 2}).plan(array(0.1f), numbers({64}));
  ASSERT_FALSE(plan.recomputed.empty());
  EXPECT_EQ(plan.recomputed[0].what, "scan[60]");
  EXPECT_NE(plan.recomputed[0].at.line(), 0u);
  double sum = 0;
  for (const Recomputed& r : plan.recomputed) sum += r.extra_time;
  EXPECT_NEAR(sum, plan.extra_time, 1e-9);
  EXPECT_GT(plan.price, 0);
  EXPECT_GT(plan.extra_time_bound, 0.8 * plan.extra_time);
}

// Loops that users gave checkpoints keep them.
TEST(LoopBudget, CheckpointsOfUsersStay) {
  const Array c = array(0.1f), x = numbers({64});
  for (const ScanOptions& o : {ScanOptions{.checkpoints = 20}, ScanOptions{.memory = 10_KiB}}) {
    auto f = grad([o](Array c, Array x) { return wave(c, x, o); });
    const MemoryPlan plain = jit(f).plan(c, x);
    for (const BudgetPoint& p : jit(f).budget_curve(c, x))
      for (const Recomputed& r : jit(f, {.memory_budget = p.peak_bytes}).plan(c, x).recomputed)
        EXPECT_EQ(r.what.find("scan[60]"), std::string::npos);
    EXPECT_GT(jit(f).budget_curve(c, x).back().peak_bytes, plain.peak_bytes / 2);
  }
}

// What a policy keeps by its name in every step stays stacked.
TEST(LoopBudget, NamesStayKept) {
  auto loss = [](Array w, Array xs) {
    auto step = [&](Array h, Array x) {
      Array y = checkpoint_name(matmul(h, w), "product");
      return std::pair(sin(y + x), none);
    };
    return sum(square(scan(step, zeros({4, 8}), xs).first));
  };
  auto kept = checkpoint(loss, checkpoint_policies::save_only_these_names("product"));
  const Array w = numbers({8, 8}) * 0.5, xs = numbers({30, 4, 8});
  const std::size_t stack = 30 * 4 * 8 * 4, arguments = w.nbytes() + xs.nbytes();
  EXPECT_GT(jit(grad(kept)).budget_curve(w, xs).back().peak_bytes, arguments + stack);
  EXPECT_LT(jit(grad(loss)).budget_curve(w, xs).back().peak_bytes, arguments + stack);
  const std::size_t smallest = jit(grad(kept)).budget_curve(w, xs).back().peak_bytes;
  EXPECT_TRUE(same_bits(jit(grad(kept), {.memory_budget = smallest})(w, xs), grad(loss)(w, xs)));
  // In the body, too.
  auto body = [](const Policy& policy) {
    return [policy](Array w, Array xs) {
      auto step = [w](Array h, Array x) { return std::pair(sin(checkpoint_name(matmul(h, w), "product") + x), none); };
      return sum(square(scan(checkpoint(step, policy), zeros({4, 8}), xs).first));
    };
  };
  const auto by_name = grad(body(checkpoint_policies::save_only_these_names("product")));
  EXPECT_GT(jit(by_name).budget_curve(w, xs).back().peak_bytes, arguments + stack);
  const auto none_kept = grad(body(checkpoint_policies::nothing_saveable));
  EXPECT_LT(jit(none_kept).budget_curve(w, xs).back().peak_bytes, arguments + stack);
}

TEST(LoopBudget, ImpossibleOnesSayWhatIsPossible) {
  auto f = grad([](Array c, Array x) { return wave(c, x); });
  const Array c = array(0.1f), x = numbers({64});
  const std::size_t smallest = jit(f).budget_curve(c, x).back().peak_bytes;
  const std::string text = ERROR_OF((void)jit(f, {.memory_budget = smallest - 1}).plan(c, x));
  EXPECT_EQ(text.find("[jit] a memory budget of " + std::to_string(smallest - 1) +
                      " bytes can not be met; the smallest that can is " + std::to_string(smallest) + " bytes ("),
            0u)
      << text;
  EXPECT_NE(text.find("unwind"), std::string::npos) << text;
  EXPECT_NE(text.find("loop_budget_test.cpp:"), std::string::npos) << text;
}

// Ten thousand steps of 12 MB within 300 MB. Planning does not depend on the number of steps.
TEST(LoopBudget, LongLoopsOfLargeStates) {
  auto loss = [](Array c, Array x) {
    auto step = [&](Array s, none_t) { return std::pair(sin(s * c) + s, none); };
    return sum(scan(step, x, none, {.length = 10'000}).first);
  };
  const ShapeDtype c{{}, f32}, x{{3'000'000}, f32};
  const std::size_t plain = jit(grad(loss)).plan(c, x).peak_bytes;
  EXPECT_GT(plain, 100'000'000'000u);
  const MemoryPlan plan = jit(grad(loss), {.memory_budget = 300'000'000}).plan(c, x);
  EXPECT_LE(plan.peak_bytes, 300'000'000u);
  EXPECT_GT(plan.peak_bytes, 200'000'000u);
  ASSERT_FALSE(plan.recomputed.empty());
  EXPECT_LT(plan.recomputed[0].times, 60'000);
}

// Loops with effects run once, whatever the budget.
TEST(LoopBudget, EffectsHappenOnce) {
  int calls = 0;
  auto loss = [&](Array w, Array xs) {
    auto step = [&](Array h, Array x) {
      io_callback([&](Array) { ++calls; }, none, stop_gradient(sum(x)));
      return std::pair(sin(matmul(h, w) + x), none);
    };
    return sum(scan(step, zeros({4, 8}), xs).first);
  };
  const Array w = numbers({8, 8}), xs = numbers({10, 4, 8});
  const std::size_t smallest = jit(grad(loss)).budget_curve(w, xs).back().peak_bytes;
  (void)jit(grad(loss), {.memory_budget = smallest})(w, xs);
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace anew::loop_budget_test
