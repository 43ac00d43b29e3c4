// while_loop, fori_loop and scan with checkpoints: values, every transformation, the number of steps and of states
// kept.
#include <anew/ops.h>
#include <gtest/gtest.h>

#include "control/higher_order.h"
#include "control/loop.h"
#include "plan/revolve.h"
#include "runtime/buffer.h"
#include "support/check_grads.h"
#include "support/support.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

// A gradient with respect to what no step has read is a zero of either sign.
void same_or_zero(const Array& got, const Array& want) {
  EXPECT_TRUE(same_bits(got + 0.0, want + 0.0)) << got << "\nis not\n" << want;
}
void same(const Array& got, const Array& want) { EXPECT_TRUE(same_bits(got, want)) << got << "\nis not\n" << want; }
std::string brief_error(const std::string& text) { return text.substr(0, text.find("; hint: ")); }

// while (i < 3 + shift(x)) x = sin(x) * w, with a counter beside.
FlatFunction sines(int steps, flat::LoopCondition condition = {}, std::optional<int> checkpoints = {}) {
  return [=](In x) {
    auto body = [&](In c) { return Arrays{c[0] + 1, sin(c[1]) * x[1]}; };
    auto fewer = [&](In c) { return condition ? condition(c) : c[0] < steps; };
    return Arrays{flat::while_loop(fewer, body, {0, x[0]}, {checkpoints})[1]};
  };
}
FlatFunction unrolled(int steps) {
  return [=](In x) {
    Array y = x[0];
    for (int i = 0; i < steps; ++i) y = sin(y) * x[1];
    return Arrays{y};
  };
}
const Array a = array({0.3, 1.2, -0.7}, f64), w = array({1.1, 0.9, 1.3}, f64);

Arrays gradient(const FlatFunction& f, const Arrays& x) {
  return flat::grad([&](In in) { return Arrays{sum(square(f(in)[0]))}; }, x);
}

TEST(While, ValueAndForwardMode) {
  Arrays x{a, w};
  for (int n : {0, 1, 5}) {
    same(sines(n)(x)[0], unrolled(n)(x)[0]);
    auto [y, t] = flat::jvp(sines(n), x, Arrays{w, a});
    auto [y2, t2] = flat::jvp(unrolled(n), x, Arrays{w, a});
    same(y[0], y2[0]);
    same(t[0], t2[0]);
  }
}

TEST(While, GradientEqualsUnrolledWithAnyNumberOfStates) {
  Arrays x{a, w};
  auto unknown = [](In c) { return (c[0] < 9) & (c[0] < 100); };
  for (int k : {1, 2, 3, 5, 20}) {
    for (int n : {0, 1, 2, 9}) {
      Arrays want = gradient(unrolled(n), x);
      Arrays got = gradient(sines(n, {}, k), x);
      same(got[0], want[0]);
      same_or_zero(got[1], want[1]);
    }
    Arrays want = gradient(unrolled(9), x), got = gradient(sines(9, unknown, k), x);
    same(got[0], want[0]);
    same(got[1], want[1]);
  }
}

// The backward loop goes on with the cotangent that later uses of a constant have left.
TEST(While, AConstantThatIsUsedAgain) {
  auto again = [](FlatFunction f) -> FlatFunction {
    return [=](In x) {
      Array y = f(x)[0];  // first the loop
      return Arrays{y * cos(x[1])};
    };
  };
  Arrays x{a, w}, want = gradient(again(unrolled(9)), x);
  for (int k : {1, 3, 20}) {
    Arrays got = gradient(again(sines(9, {}, k)), x);
    same(got[0], want[0]);
    same(got[1], want[1]);
  }
}

TEST(While, LinearizeAndPullbackTwice) {
  Arrays x{a, w};
  auto [y, l] = flat::linearize(sines(4), x);
  auto [y2, l2] = flat::linearize(unrolled(4), x);
  same(l(Arrays{w, a})[0], l2(Arrays{w, a})[0]);
  for (int i = 0; i < 2; ++i) same(l.pullback(Arrays{w})[0], l2.pullback(Arrays{w})[0]);
  // With fewer states than steps walking back reuses their memory: not that of residuals which somebody still holds.
  auto [z, few] = flat::linearize(sines(9, {}, 2), x);
  auto [z2, all] = flat::linearize(unrolled(9), x);
  for (int i = 0; i < 3; ++i) same(few.pullback(Arrays{w})[0], all.pullback(Arrays{w})[0]);
  same(std::move(few).consume(Arrays{w})[0], all.pullback(Arrays{w})[0]);
  check_grads(sines(3), x, {.order = 1});
}

TEST(While, ForwardOverReverse) {
  Arrays x{a, w};
  for (int k : {1, 2, 8}) {
    auto hvp = [&](const FlatFunction& f) {
      return flat::jvp([&](In in) { return gradient(f, Arrays(in.begin(), in.end())); }, x, Arrays{w, a}).second;
    };
    Arrays got = hvp(sines(5, {}, k)), want = hvp(unrolled(5));
    same(got[0], want[0]);
    same(got[1], want[1]);
  }
}

TEST(While, ReverseOverReverseIsAnError) {
  auto f = [](In x) { return Arrays{sum(gradient(sines(5), Arrays(x.begin(), x.end()))[0])}; };
  EXPECT_EQ(ERROR_OF(flat::grad(f, Arrays{a, w})),
            "[while_loop] reverse-mode differentiation of reverse-mode differentiation is not available; odeint has "
            "such a loop inside; hint: differentiate the gradient in forward mode (jvp, hvp, jacfwd of grad), or, in "
            "place of a while_loop of your own, use scan or a fori_loop with static bounds");
}

TEST(While, Checkpointed) {
  Arrays x{a, w};
  for (const Policy& p : {checkpoint_policies::nothing_saveable, checkpoint_policies::everything_saveable}) {
    auto f = [&](In in) { return flat::checkpoint(sines(6, {}, 2), in, p); };
    Arrays got = gradient(f, x), want = gradient(unrolled(6), x);
    same(got[0], want[0]);
    same(got[1], want[1]);
  }
}

TEST(While, BatchOfExamplesThatEndAtDifferentSteps) {
  // Newton for a square root: the number of steps depends on the example.
  auto root = [](In x) {
    auto far = [&](In c) { return abs(c[0] * c[0] - x[0]) > 1e-9; };
    return Arrays{flat::while_loop(far, [&](In c) { return Arrays{0.5 * (c[0] + x[0] / c[0])}; }, {x[0]}, {3})[0]};
  };
  Array xs = array({1.0, 2.0, 30.0, 0.01, 1.0}, f64);
  auto batched = [&](const FlatFunction& f) { return flat::vmap(f, Arrays{xs}, {{0}})[0]; };
  auto slope = [&](In x) { return flat::grad(root, x); };
  auto curvature = [&](In x) { return flat::jvp(slope, x, Arrays{array(1.0, f64)}).second; };
  Array y = batched(root), g = batched(slope), h = batched(curvature);
  for (int i = 0; i < 5; ++i) {
    Arrays one{xs[i]};
    same(y[i], root(one)[0]);
    same(g[i], slope(one)[0]);
    same(h[i], curvature(one)[0]);
  }
  // grad of vmap: the loop runs in step, the examples that have ended stand still.
  Array all = flat::grad([&](In x) { return Arrays{sum(flat::vmap(root, x, {{0}})[0])}; }, Arrays{xs})[0];
  same(all, g);
}

TEST(Fori, StaticBoundsAreAScan) {
  auto f = [](In x) { return flat::fori_loop(2, 6, [](In c) { return Arrays{c[1] * c[0] + sin(c[1])}; }, {x[0]}); };
  Program p = flat::make_program(f, Arrays{a});
  EXPECT_EQ(p.count("scan"), 1);
  Array y = a;
  for (int i = 2; i < 6; ++i) y = y * i + sin(y);
  same(f(Arrays{a})[0], y);
}

TEST(Fori, DynamicBounds) {
  auto f = [](In x) {
    return flat::fori_loop(x[1], x[2], [&](In c) { return Arrays{sin(c[1]) + astype(c[0], f64)}; }, {x[0]}, {2});
  };
  Arrays x{a, array(1), array(6)};
  EXPECT_EQ(flat::make_program(f, x).count("while"), 1);
  Array y = a;
  for (int i = 1; i < 6; ++i) y = sin(y) + static_cast<double>(i);
  same(f(x)[0], y);
  auto loss = [&](In in) { return Arrays{sum(f(Arrays{in[0], x[1], x[2]})[0])}; };
  check_grads(loss, {a}, CheckGradsOptions{.order = 1});
  same(f(Arrays{a, array(6), array(1)})[0], a);
}

TEST(Fori, Errors) {
  auto body = [](In c) { return Arrays{c[1]}; };
  EXPECT_EQ(brief_error(ERROR_OF(flat::fori_loop(1.5, 3, body, {a}))),
            "[fori_loop] bounds must be integer scalars, got f32[]");
  EXPECT_EQ(brief_error(ERROR_OF(flat::fori_loop(0, 3, body, {a}, {0}))),
            "[fori_loop] .checkpoints is 0, but at least one state, the first, is kept");
  EXPECT_EQ(brief_error(ERROR_OF(flat::fori_loop(0, 3, [](In) { return Arrays{}; }, {a}))),
            "[fori_loop] the carry has 1 arrays, the body returns 0");
  // As a scan, as a while loop, and step by step.
  auto grows = [](In c) { return Arrays{concatenate({c[1], c[1]})}; };
  for (const Array& to : {Array(3), asarray(3)}) {
    auto f = [&](In x) { return flat::fori_loop(0, to, grows, {x[0]}); };
    for (const std::string& said : {ERROR_OF(f(Arrays{a})), ERROR_OF(flat::make_program(f, Arrays{a}))})
      EXPECT_TRUE(said.starts_with("[fori_loop] ")) << said;
  }
}

TEST(While, Errors) {
  auto yes = [](In c) { return c[0][0] > 0; };
  auto same = [](In c) { return Arrays(c.begin(), c.end()); };
  EXPECT_EQ(brief_error(ERROR_OF(flat::while_loop([](In c) { return c[0]; }, same, {a}))),
            "[while_loop] the condition must give a bool scalar, got f64[3]");
  EXPECT_EQ(brief_error(ERROR_OF(flat::while_loop(yes, same, {a}, {0}))),
            "[while_loop] .checkpoints is 0, but at least one state, the first, is kept");
  EXPECT_EQ(brief_error(ERROR_OF(flat::while_loop(yes, [](In) { return Arrays{}; }, {a}))),
            "[while_loop] the carry has 1 arrays, the body returns 0");
  EXPECT_EQ(brief_error(ERROR_OF(flat::while_loop(yes, [](In c) { return Arrays{sum(c[0])}; }, {a}))),
            "[while_loop] the body must return a carry of the type it takes: carry[0] is f64[3] but the body returns "
            "f64[], so the shapes do not match");
}

// ---- scan with checkpoints
FlatFunction scanned(std::optional<int> checkpoints, bool reverse) {
  return [=](In x) {
    auto body = [&](In c, In e) {
      Array y = sin(c[0]) * e[0] + x[1];
      return flat::ScanResult{{y, c[1] + 1}, {y * c[0]}};
    };
    flat::ScanResult r = flat::scan(body, {x[0], 0}, {x[2]}, {.reverse = reverse, .checkpoints = checkpoints});
    return Arrays{r.carry[0] + sum(r.ys[0], 0)};
  };
}

TEST(Sweep, EqualsPlainScan) {
  Array xs = reshape(sin(arange(27.0, f64)), {9, 3});
  Arrays x{a, w, xs};
  for (bool reverse : {false, true}) {
    FlatFunction plain = scanned({}, reverse);
    for (int k : {1, 2, 3, 7, 50}) {
      FlatFunction f = scanned(k, reverse);
      same(f(x)[0], plain(x)[0]);
      Arrays got = gradient(f, x), want = gradient(plain, x);
      for (int i = 0; i < 3; ++i) same(got[i], want[i]);
      auto hvp = [&](const FlatFunction& g) {
        return flat::jvp([&](In in) { return gradient(g, Arrays(in.begin(), in.end())); }, x, Arrays{w, a, cos(xs)})
            .second;
      };
      got = hvp(f), want = hvp(plain);
      for (int i = 0; i < 3; ++i) same(got[i], want[i]);
      auto l = flat::linearize(f, x).second, l2 = flat::linearize(plain, x).second;
      same(l(Arrays{w, a, xs})[0], l2(Arrays{w, a, xs})[0]);
    }
    FlatFunction f = scanned(3, reverse);
    auto twice = [&](const FlatFunction& g) {
      return gradient([&](In in) { return Arrays{gradient(g, Arrays(in.begin(), in.end()))[0]}; }, x);
    };
    Arrays got = twice(f), want = twice(plain);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(allclose(got[i], want[i], 1e-12, 1e-12));
    check_grads(f, x, {.order = 2});
    auto in_axes = flat::BatchAxes{{0, no_axis, no_axis}};
    Array batch = stack({a, w, a * w});
    auto slopes = [&](In in) { return gradient(f, Arrays(in.begin(), in.end())); };
    Arrays v = flat::vmap(slopes, Arrays{batch, w, xs}, in_axes);
    for (int i = 0; i < 3; ++i) {
      Arrays one = slopes(Arrays{batch[i], w, xs});
      for (int k = 0; k < 3; ++k) same(v[k][i], one[k]);
    }
  }
}

TEST(Sweep, LinearizedGradientOfACarryThatIsReplaced) {
  // The carry's cotangent ends as a zero that the backward body makes: it must be a value, not a traced one.
  auto f = [](In x) {
    auto body = [&](In, In) { return flat::ScanResult{{x[0]}, {}}; };
    return Arrays{sum(sin(flat::scan(body, {x[0]}, {}, {.length = 1, .checkpoints = 1}).carry[0]))};
  };
  auto slope = [&](In x) { return flat::grad(f, x); };
  same(flat::linearize(slope, Arrays{a}).second(Arrays{w})[0], -sin(a) * w);
  same(flat::grad([&](In x) { return Arrays{sum(slope(x)[0])}; }, Arrays{a})[0], -sin(a));
}

TEST(Sweep, Errors) {
  auto body = [](In c, In) { return flat::ScanResult{{c[0]}, {}}; };
  EXPECT_EQ(brief_error(ERROR_OF(flat::scan(body, {a}, {}, {.length = 3, .checkpoints = 0}))),
            "[scan] .checkpoints is 0, but at least one state, the first, is kept");
}

TEST(Sweep, LengthZeroAndOne) {
  for (int n : {0, 1})
    for (int k : {1, 4}) {
      auto f = [&](In x) {
        auto body = [&](In c, In) { return flat::ScanResult{{sin(c[0]) * x[1]}, {}}; };
        return flat::scan(body, {x[0]}, {}, {.length = n, .checkpoints = k}).carry;
      };
      Arrays got = gradient(f, {a, w}), want = gradient(unrolled(n), {a, w});
      same(got[0], want[0]);
      same_or_zero(got[1], want[1]);
    }
}

// ---- steps and states
struct Counted {
  std::int64_t sines = 0, cosines = 0;
};
template <class F>
Counted counting(F f) {
  Counted n;
  Observer before = set_observer([&](const ir::Primitive& p) {
    n.sines += p.name == "sin";
    n.cosines += p.name == "cos";
  });
  f();
  set_observer(before);
  return n;
}

TEST(Steps, KnownLengthTakesTheOptimum) {
  for (auto [n, k] : {std::pair(10, 3), {100, 5}, {1000, 10}, {1000, 3}}) {
    auto by_scan = [n = n, k = k](In x) {
      auto body = [](In c, In) { return flat::ScanResult{{sin(c[0])}, {}}; };
      return flat::scan(body, {x[0]}, {}, {.length = n, .checkpoints = k}).carry;
    };
    auto by_fori = [k = k, end = array(n)](In x) {
      return flat::fori_loop(0, end, [](In c) { return Arrays{sin(c[1])}; }, {x[0]}, {k});
    };
    for (const FlatFunction& f : {FlatFunction(by_scan), FlatFunction(by_fori)}) {
      Counted c = counting([&] { flat::grad(f, Arrays{array(0.5)}); });
      EXPECT_EQ(c.cosines, n);  // every step is taken back once
      // The last step's run gives the value; what leads to it from the last kept state runs once more.
      EXPECT_EQ(c.sines, plan::extra_steps(n, k) + 1 + (n - 1 - plan::forward_stops(n, k).back()));
    }
  }
}

// N states, the first included, whatever the loop.
TEST(Steps, AsManyStatesAreKeptAsAskedFor) {
  for (int k : {1, 2, 10}) {
    auto step = [](In c, In) { return flat::ScanResult{{sin(c[0])}, {}}; };
    auto by_scan = [=](In x) { return flat::scan(step, {x[0]}, {}, {.length = 100, .checkpoints = k}).carry; };
    auto kept = flat::linearize(by_scan, Arrays{array(0.5)}).second.residuals();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].type.str(), (ShapeDtype{{k}, f32}).str());
    for (const Residual& r : flat::linearize(sines(100, {}, k), Arrays{array(0.5), array(2.0)}).second.residuals())
      EXPECT_TRUE(r.type.shape.ndim() == 0 || r.type.shape[0] <= k) << r.text;
  }
}

TEST(Steps, UnknownLengthIsNearTheOptimum) {
  for (auto [n, k] : {std::pair(50, 5), {200, 5}, {1000, 10}, {1000, 20}, {3000, 50}}) {
    auto f = [n = n, k = k](In x) {
      auto more = [n](In c) { return (c[0] < n) & (c[1] < 10); };
      return Arrays{flat::while_loop(more, [](In c) { return Arrays{c[0] + 1, sin(c[1])}; }, {0, x[0]}, {k})[1]};
    };
    Counted c = counting([&] { flat::grad(f, Arrays{array(0.5)}); });
    EXPECT_EQ(c.cosines, n);
    EXPECT_LE(static_cast<double>(c.sines + n), 1.16 * static_cast<double>(plan::extra_steps(n, k) + n))
        << n << " " << k;
  }
}

TEST(Steps, MemoryIsBoundedByTheStatesKept) {
  // 20,000 steps of a state of 1 KiB; storing every state would take 20 MB. The long tests take a million steps.
  const int steps = std::getenv("ANEW_LONG") ? 1000000 : repeats(20000), k = 20;
  Array x = full({256}, 0.5);
  auto f = [&](In in) {
    auto body = [](In c) { return Arrays{c[0] + 1, sin(c[1])}; };
    auto more = [&](In c) { return (c[0] < steps) & (c[1][0] < 10); };
    return Arrays{sum(flat::while_loop(more, body, {0, in[0]}, {k})[1])};
  };
  std::size_t before = memory_statistics().live_bytes;
  reset_peak();
  Array g = flat::grad(f, Arrays{x})[0];
  std::size_t peak = memory_statistics().peak_bytes - before;
  // k states, a working state, and what one step needs.
  EXPECT_LE(peak, (k + 12) * 1024U + 4096U);
}

TEST(Loop, PrintsAndParses) {
  auto f = [](In x) { return gradient(sines(4, {}, 3), Arrays(x.begin(), x.end())); };
  Program p = flat::make_program(f, Arrays{a, w});
  Program q = parse_program(p.str());
  EXPECT_EQ(p.str(), q.str());
  EXPECT_EQ(p.count("while"), 1);
  EXPECT_EQ(p.count("unwind"), 1);
  same(evaluate(q, Arrays{a, w})[0], f(Arrays{a, w})[0]);
}

}  // namespace
}  // namespace anew::test
