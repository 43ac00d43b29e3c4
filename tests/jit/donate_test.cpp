// Donated arguments: results in their memory, the same bits, plans that count it; nothing taken from others; what was
// given away says so, with both lines.
#include <sstream>

#include "jit/compiled_program.h"
#include "support/support.h"

namespace anew::donate_test {
namespace {

using test::same_bits;

Array numbers(const Shape& shape, int seed) {
  return reshape(sin(arange(static_cast<double>(shape.size())) * (1 + 0.1 * seed)), shape);
}

struct Layer {
  Array w, b;
};
using Layers = std::vector<Layer>;
Layers make_layers(int n) {
  Layers p;
  for (int i = 0; i < n; ++i) p.push_back({numbers({32, 32}, i) * 0.2, numbers({32}, i)});
  return p;
}
Layers copies(const Layers& p) {
  return tree_map([](Array a) { return copy(a); }, p);
}
Array loss(const Layers& p, Array x) {
  for (const Layer& l : p) x = tanh(matmul(x, l.w) + l.b);
  return mean(square(x));
}
Layers descend(Layers p, Array x) {
  Layers g = grad(loss)(p, x);
  return tree_map([](Array a, Array d) { return a - 0.1 * d; }, p, g);
}
struct State {
  Layers p, m, v;
  Array t;
};
// Adam: four trees in place.
State adam(State s, Array x) {
  Layers g = grad(loss)(s.p, x);
  s.t = s.t + 1;
  s.m = tree_map([](Array m, Array d) { return 0.9 * m + 0.1 * d; }, s.m, g);
  s.v = tree_map([](Array v, Array d) { return 0.99 * v + 0.01 * d * d; }, s.v, g);
  Array c = 1 - pow(Array(0.9), s.t);
  s.p = tree_map([&](Array a, Array m, Array v) { return a - 0.01 * (m / c) / (sqrt(v) + 1e-8); }, s.p, s.m, s.v);
  return s;
}

void expect_same(const Layers& a, const Layers& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i].w, b[i].w) && same_bits(a[i].b, b[i].b)) << i;
}

TEST(Donate, WeightsAreUpdatedInPlace) {
  const Layers p = make_layers(4);
  const Array x = numbers({16, 32}, 9);
  auto kept = jit(descend), given = jit(descend, {.donate = {0}});
  const MemoryPlan plain = kept.plan(p, x), plan = given.plan(p, x);
  EXPECT_EQ(plan.donated_bytes, plain.output_bytes) << plan;
  EXPECT_EQ(plan.output_bytes, 0U) << plan;
  EXPECT_LT(plan.peak_bytes, plain.peak_bytes);
  EXPECT_NE(plan.str().find("donated"), std::string::npos);
  Layers mine = copies(p);
  const void* memory = mine[0].b.data<float>().data();
  Layers next = given(mine, x);
  EXPECT_EQ(next[0].b.data<float>().data(), memory);
  expect_same(next, kept(p, x));
  for (int i = 0; i < 3; ++i) next = given(next, x);  // as a training loop does
  Layers want = p;
  for (int i = 0; i < 4; ++i) want = kept(want, x);
  expect_same(next, want);
}

TEST(Donate, StatesOfAnOptimizer) {
  const Layers p = make_layers(3), zero = tree_map([](Array a) { return copy(zeros_like(a)); }, p);
  const Array x = numbers({16, 32}, 3);
  auto kept = jit(adam), given = jit(adam, {.threads = 2, .donate = {0}});
  State a{p, zero, zero, Array(0.0)}, b{copies(p), copies(zero), copies(zero), Array(0.0)};
  const MemoryPlan plain = kept.plan(a, x), plan = given.plan(b, x);
  EXPECT_EQ(plan.output_bytes, 0U) << plan;
  EXPECT_LT(plan.peak_bytes + 2 * 3 * 32 * 32 * 4, plain.peak_bytes) << plain << plan;
  for (int i = 0; i < 3; ++i) {
    a = kept(a, x);
    b = given(b, x);
  }
  expect_same(a.p, b.p);
  expect_same(a.m, b.m);
  expect_same(a.v, b.v);
}

TEST(Donate, WhatOthersHoldIsCopiedWithAWarning) {
  auto twice = jit([](Array x) { return x * 2; }, {.donate = {0}});
  Array x = numbers({64}, 1), other = x;
  {
    test::Warnings warnings;
    EXPECT_TRUE(same_bits(twice(x), other * 2));
    ASSERT_EQ(warnings.texts().size(), 1U);
    EXPECT_EQ(
        warnings.texts()[0],
        "[jit] 1 of 1 donated arrays are held elsewhere too (the first is array 0 of the arguments, f32[64]): they "
        "were copied");
    EXPECT_TRUE(same_bits(x, other));
  }
  std::vector<double> memory(64, 1.5);
  Array borrowed = Array::borrow(memory.data(), {64}, f64);
  test::Warnings warnings;
  EXPECT_TRUE(same_bits(twice(borrowed), full({64}, 3.0, f64)));
  EXPECT_EQ(memory[0], 1.5);
  Array whole = copy(other), part = whole[slice(0, 32)];
  const Array want = copy(part);
  twice(whole);
  EXPECT_TRUE(same_bits(part, want));
  EXPECT_EQ(warnings.texts().size(), 2U);
}

TEST(Donate, UsedAgainIsAnErrorWithBothLines) {
  auto twice = jit([](Array x) { return x * 2; }, {.donate = {0}});
  const int line = __LINE__ - 1;
  Array x = copy(ones({8}));
  Array y = twice(x);
  EXPECT_TRUE(same_bits(y, full({8}, 2.0)));
  const std::string text = ERROR_OF((void)(x + 1));
  EXPECT_NE(text.find("an array of type f32[8] is used that was donated to the function jitted at donate_test.cpp:" +
                      std::to_string(line)),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("hint: use the result, or donate copy(x)"), std::string::npos) << text;
  std::ostringstream printed;
  printed << x;
  EXPECT_EQ(printed.str(), "Donated<f32[8]>");
  EXPECT_THROW((void)x.to_vector(), Error);
  EXPECT_THROW((void)x.item(), Error);
  EXPECT_THROW((void)twice(x), Error);
  EXPECT_THROW((void)grad([](Array a) { return sum(a); })(x), Error);
}

TEST(Donate, StoppedBeforeItBeginsACallTakesNothing) {
  StopToken token;
  auto count = [](Array x) {
    return scan([](Array c, none_t) { return std::pair(c + 1, none); }, x, none, {.length = 10}).first;
  };
  auto f = jit(count, {.donate = {0}, .stop = token});
  Array x = copy(arange(100.0));
  auto compiled = f.compile(x);
  token.stop();
  const char* text = "[jit] stopped before the call took its donated arguments";
  EXPECT_TRUE(ERROR_OF((void)f(x)).starts_with(text));
  EXPECT_TRUE(ERROR_OF((void)compiled(x)).starts_with(text));
  token.reset();
  EXPECT_EQ(f(x)[3].item(), 13);
  Array y = copy(arange(100.0));
  EXPECT_EQ(compiled(y)[3].item(), 13);
  // What has no loops ends by itself.
  auto g = jit([](Array x) { return x + 1; }, {.donate = {0}, .stop = token});
  token.stop();
  EXPECT_EQ(g(copy(arange(4.0)))[3].item(), 4);
}
TEST(Donate, CompiledAheadAndClosures) {
  const Array w = numbers({32, 32}, 5);
  auto f = [](Array a, Array b) { return std::pair(a + b, sum(a)); };
  auto compiled = jit(f, {.donate = {0}}).compile(w, w);
  Array mine = copy(w);
  auto [y, s] = compiled(mine, w);
  EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
  EXPECT_TRUE(same_bits(y, w + w) && same_bits(s, sum(w)));
  EXPECT_THROW((void)(mine + 1), Error);
  auto closure = jit([w](Array a) { return std::tuple(sin(a) + w, a); }, {.donate = {0}});  // a passes through
  Array other = copy(w);
  auto [z, same] = closure(other);
  EXPECT_TRUE(same_bits(z, sin(w) + w) && same_bits(same, w));
  EXPECT_THROW((void)(other + 1), Error);
}

// An update waits for whoever reads the weight, but not for one who reads the update too.
TEST(Donate, UpdatesWaitForReaders) {
  auto early = [](Array w, Array x) {
    Array next = w - 0.1 * x;
    return std::pair(next, sum(matmul(sin(matmul(x, x)), w)));
  };
  auto both = [](Array w, Array x) {
    Array next = w - 0.1 * x;
    return std::pair(next, sum(matmul(next, w)));
  };
  const Array w = numbers({32, 32}, 1), x = numbers({32, 32}, 2);
  EXPECT_EQ(jit(early, {.donate = {0}}).plan(w, x).donated_bytes, 4096U);
  EXPECT_EQ(jit(both, {.donate = {0}}).plan(w, x).donated_bytes, 0U);
  auto check = [&](auto f) {
    auto [n, s] = jit(f, {.donate = {0}})(copy(w), x);
    auto [want_n, want_s] = jit(f)(w, x);
    EXPECT_TRUE(same_bits(n, want_n) && same_bits(s, want_s));
  };
  check(early);
  check(both);
}

// What the function itself reads from its surroundings is not its caller's alone.
TEST(Donate, CapturedArraysAreCopied) {
  Array w = numbers({64}, 1);
  const Array want = w * 2 + w;
  test::Warnings warnings;
  EXPECT_TRUE(same_bits(jit([&](Array x) { return x * 2 + w; }, {.donate = {0}})(w), want));
  EXPECT_EQ(warnings.texts().size(), 1U);
  EXPECT_TRUE(same_bits(w, numbers({64}, 1)));
}

TEST(Donate, PartsAndNothing) {
  auto twice = jit([](Array x) { return x * 2; }, {.donate = {0}});
  test::Warnings warnings;
  Array part = numbers({2, 64}, 3)[1];  // the rest of its memory is nobody's
  const Array want = copy(part) * 2;
  EXPECT_TRUE(same_bits(twice(part), want));
  EXPECT_THROW((void)(part + 1), Error);
  Array empty = zeros({3, 0});
  EXPECT_EQ(twice(empty).shape(), Shape({3, 0}));
  EXPECT_EQ(warnings.texts().size(), 0U);
}

// A few bytes in place of an argument may cost an arena more, which is rounded up.
TEST(Donate, NeverCostsMemory) {
  auto f = [](Array x) {
    Array y = cond(x > 0, [](Array a) { return sin(a); }, [](Array a) { return a; }, x);
    return y - cos(y);
  };
  const Array x = copy(Array(0.5));
  EXPECT_LE(jit(f, {.donate = {0}}).plan(x).peak_bytes, jit(f).plan(x).peak_bytes);
}

// Memory of an argument that no output fits into holds temporaries once it has been read.
TEST(Donate, MemoryThatNoOutputTakesIsLent) {
  auto f = [](Array x) {
    Array y = x;
    for (int i = 0; i < 3; ++i) y = sin(matmul(y, y));
    return sum(y);
  };
  const Array x = numbers({64, 64}, 2);
  const MemoryPlan plain = jit(f).plan(x), plan = jit(f, {.donate = {0}}).plan(x);
  EXPECT_LT(plan.arena_bytes, plain.arena_bytes) << plain << plan;
  EXPECT_TRUE(same_bits(jit(f, {.donate = {0}})(copy(x)), jit(f)(x)));
}

TEST(Donate, ReportsTakeNothing) {
  auto twice = jit([](Array x) { return x * 2; }, {.donate = {0}});
  Array x = copy(ones({64}));
  const MemoryReport report = memory_report(twice, x);
  EXPECT_EQ(report.measured_bytes, report.plan.peak_bytes);
  EXPECT_NE(report.str().find("donated 256 B of results in the memory of arguments\n"), std::string::npos) << report;
  EXPECT_NE(report.json().find("\"donated_bytes\""), std::string::npos);
  EXPECT_NE(report.html().find("results in donated arguments"), std::string::npos);
  EXPECT_TRUE(same_bits(x, ones({64})));
}

TEST(Donate, WithABudget) {
  const Layers p = make_layers(6);
  const Array x = numbers({64, 32}, 4);
  const std::size_t plain = jit(descend, {.donate = {0}}).plan(p, x).peak_bytes;
  auto tight = jit(descend, {.memory_budget = plain * 9 / 10, .donate = {0}});
  EXPECT_LE(tight.plan(p, x).peak_bytes, plain * 9 / 10);
  expect_same(tight(copies(p), x), jit(descend)(p, x));
}

TEST(Donate, NumbersAndNestedCallsGiveNothingAway) {
  auto f = jit([](Array x, Array lr) { return x * lr; }, {.donate = {0, 1}});
  EXPECT_TRUE(same_bits(f(copy(ones({4})), 0.5), full({4}, 0.5)));
  Array x = copy(ones({4}));
  EXPECT_TRUE(same_bits(grad([&](Array a) { return sum(f(a, 2.0)); })(x), full({4}, 2.0)));
  EXPECT_TRUE(same_bits(x, ones({4})));
}

TEST(DonateErrors, OfNumbersThatNameNothing) {
  auto f = [](Array x, int n) { return x * n; };
  EXPECT_EQ(ERROR_OF((void)jit(f, {.donate = {2}})(ones({2}), 3)),
            "[jit] .donate names argument 2 of 2; hint: arguments are counted from 0");
  EXPECT_EQ(ERROR_OF((void)jit(f, {.donate = {-1}}).plan(ones({2}), 3)),
            "[jit] .donate names argument -1 of 2; hint: arguments are counted from 0");
  EXPECT_EQ(ERROR_OF((void)jit(f, {.donate = {1}})(ones({2}), 3)),
            "[jit] .donate names argument 1, which holds no arrays; hint: donate arguments that hold arrays");
  EXPECT_EQ(ERROR_OF((void)jit(f, {.donate = {0, 0}})(ones({2}), 3)),
            "[jit] .donate names argument 0 twice; hint: name each argument once");
  const Arrays one{ones({2})};
  EXPECT_EQ(ERROR_OF((void)flat::plan([](std::span<const Array> x) { return Arrays{x[0]}; }, one, {.donate = {1}})),
            "[jit] .donate names array 1 of 1; hint: arrays are counted from 0");
}

}  // namespace
}  // namespace anew::donate_test
