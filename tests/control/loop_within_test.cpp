// Loops within a number of bytes: the bits of the plain loop, whatever fits, under every transformation, eagerly and
// compiled; never more kept than was said; an error that names the smallest number that can be met.
#include <anew/control.h>
#include <anew/jit.h>
#include <anew/ops.h>
#include <gtest/gtest.h>

#include "control/loop.h"
#include "plan/mixed.h"
#include "support/check_grads.h"
#include "support/support.h"

namespace anew::test::loop_within_test {
namespace {

using In = std::span<const Array>;

void same(const Array& got, const Array& want) { EXPECT_TRUE(same_bits(got, want)) << got << "\nis not\n" << want; }
const Array a = array({0.3, 1.2, -0.7}, f64), w = array({1.1, 0.9, 1.3}, f64);
const Array xs = reshape(sin(arange(60.0, f64)), {20, 3});

Arrays gradient(const FlatFunction& f, const Arrays& x) {
  return flat::grad([&](In in) { return Arrays{sum(square(f(in)[0]))}; }, x);
}

// Two carries, xs, ys, a constant, and what depends on constants alone.
FlatFunction scanned(const ScanOptions& options) {
  return [=](In x) {
    auto body = [&](In c, In e) {
      Array y = sin(c[0]) * e[0] * cos(x[1]) + x[1];
      return flat::ScanResult{{y, c[1] * 0.9 + y * y, c[2] + 1}, {y * c[1]}};
    };
    flat::ScanResult r = flat::scan(body, {x[0], x[0], 0}, {x[2]}, options);
    return Arrays{r.carry[0] + r.carry[1] + sum(r.ys[0], 0)};
  };
}

// The smallest number of bytes that a loop can do with: the one that it asks for.
std::size_t smallest(const std::function<void(std::size_t memory)>& f) {
  try {
    f(1);
  } catch (const Error& e) {
    const std::string text = e.what(), word = "can be met is ";
    return std::stoull(text.substr(text.find(word) + word.size()));
  }
  ADD_FAILURE() << "one byte is enough";
  return 1;
}

TEST(Within, EqualsPlainScan) {
  const Arrays x{a, w, xs};
  for (bool reverse : {false, true}) {
    const FlatFunction plain = scanned({.reverse = reverse});
    const Arrays want = gradient(plain, x);
    const std::size_t least = smallest([&](std::size_t m) { gradient(scanned({.reverse = reverse, .memory = m}), x); });
    for (std::size_t more : {0, 24, 48, 100, 300, 1000, 3000, 100000}) {
      const FlatFunction f = scanned({.reverse = reverse, .memory = least + more});
      same(f(x)[0], plain(x)[0]);
      const Arrays got = gradient(f, x);
      for (std::size_t i = 0; i < 3; ++i) same(got[i], want[i]);
      const Arrays compiled = flat::jit([&](In in) { return gradient(f, Arrays(in.begin(), in.end())); }, x, {});
      for (std::size_t i = 0; i < 3; ++i) same(compiled[i], want[i]);
      auto l = flat::linearize(f, x).second, l2 = flat::linearize(plain, x).second;
      same(l(Arrays{w, a, xs})[0], l2(Arrays{w, a, xs})[0]);
    }
  }
}

// One array as the first carry, by rows more than once, and as a constant: its cotangents have one order.
TEST(Within, OneArrayInManyPlaces) {
  const Array x = sin(arange(8.0, f64));
  for (bool reverse : {false, true})
    for (bool constant : {false, true}) {
      auto slope = [&](std::size_t memory) {
        return grad([&, memory](Array x) {
          auto body = [&](Array c, std::tuple<Array, Array, Array> e) {
            auto [p, q, r] = e;
            Array s = tanh(p * 1.1 + q * q) * sin(r);
            return std::pair(constant ? c * 0.9 + s * x : c + s, s);
          };
          auto [c, ys] = scan(body, x, std::tuple(x, x, x), {.reverse = reverse, .memory = memory});
          return sum(c * c) + sum(ys * sin(arange(8.0, f64)));
        });
      };
      const Array want = slope(1 << 20)(x);
      for (std::size_t memory : {260, 300, 400, 600}) {
        same(slope(memory)(x), want);
        same(jit(slope(memory))(x), want);
      }
    }
}

TEST(Within, EveryTransformation) {
  const Arrays x{a, w, xs};
  const FlatFunction plain = scanned({});
  const std::size_t least = smallest([&](std::size_t m) { gradient(scanned({.memory = m}), x); });
  for (std::size_t more : {0, 60, 400}) {
    const FlatFunction f = scanned({.memory = least + more});
    auto hvp = [&](const FlatFunction& g) {
      return flat::jvp([&](In in) { return gradient(g, Arrays(in.begin(), in.end())); }, x, Arrays{w, a, cos(xs)})
          .second;
    };
    Arrays got = hvp(f), want = hvp(plain);
    for (std::size_t i = 0; i < 3; ++i) same(got[i], want[i]);
    got = flat::jit([&](In) { return hvp(f); }, x, {});
    for (std::size_t i = 0; i < 3; ++i) same(got[i], want[i]);
    auto twice = [&](const FlatFunction& g) {
      return gradient([&](In in) { return Arrays{gradient(g, Arrays(in.begin(), in.end()))[0]}; }, x);
    };
    got = twice(f), want = twice(plain);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(allclose(got[i], want[i], 1e-12, 1e-12));
    auto slopes = [&](In in) { return gradient(f, Arrays(in.begin(), in.end())); };
    const Array batch = stack({a, w, a * w});
    const Arrays v = flat::vmap(slopes, Arrays{batch, w, xs}, flat::BatchAxes{{0, no_axis, no_axis}});
    for (int i = 0; i < 3; ++i) {
      const Arrays one = slopes(Arrays{batch[i], w, xs});
      for (std::size_t k = 0; k < 3; ++k) same(v[k][i], one[k]);
    }
  }
  check_grads(scanned({.memory = 8 * least}), x, {.order = 2});  // tangents are kept as well
}

// while and fori loops, whose lengths are known, known when they start, or not known.
TEST(Within, OtherLoops) {
  const Arrays x{a, w};
  auto counted = [](Array lo, Array hi, LoopOptions o) {
    return [=](In x) {
      auto body = [&](In c) { return Arrays{sin(c[1]) * x[1] + c[1] * 0.5}; };
      return flat::fori_loop(lo, hi, body, {x[0]}, o);
    };
  };
  auto unknown = [](LoopOptions o) {
    return [=](In x) {
      auto body = [&](In c) { return Arrays{c[0] + 1, sin(c[1]) * x[1] + c[1] * 0.5}; };
      auto more = [](In c) { return (c[0] < 40) & (c[0] < 100); };
      return Arrays{flat::while_loop(more, body, {0, x[0]}, o)[1]};
    };
  };
  std::vector<std::function<FlatFunction(LoopOptions)>> loops{
      [&](LoopOptions o) -> FlatFunction { return counted(0, 40, o); },
      [&](LoopOptions o) -> FlatFunction { return counted(array(0, i32), array(40, i32), o); },
      [&](LoopOptions o) -> FlatFunction { return unknown(o); }};
  const Arrays want = gradient(counted(0, 40, {}), x);
  for (const auto& loop : loops) {
    const std::size_t least = smallest([&](std::size_t m) { gradient(loop({.memory = m}), x); });
    for (std::size_t more : {0, 30, 100, 500, 100000}) {
      const FlatFunction f = loop({.memory = least + more});
      const Arrays got = gradient(f, x);
      for (std::size_t i = 0; i < 2; ++i) same(got[i], want[i]);
      const Arrays compiled = flat::jit([&](In in) { return gradient(f, Arrays(in.begin(), in.end())); }, x, {});
      for (std::size_t i = 0; i < 2; ++i) same(compiled[i], want[i]);
    }
  }
  for (int n : {0, 1, 2}) {
    const Arrays none = gradient(counted(0, n, {.memory = 1000}), x), plain = gradient(counted(0, n, {}), x);
    for (std::size_t i = 0; i < 2; ++i) same(none[i] + 0.0, plain[i] + 0.0);
  }
}

// What is kept of a loop without xs and ys: arguments, results and a few states more than what was said, compiled and
// with steps in a checkpoint too, of whatever policy.
TEST(Within, KeepsNoMoreThanThat) {
  const Warnings quiet;
  auto step = [](Array u) {
    for (int i = 0; i < 4; ++i) u = u + 0.1 * checkpoint_name(sin(u * checkpoint_name(cos(u), "cosine")), "sine");
    return u;
  };
  std::vector<std::function<Array(Array)>> steps{[](Array u) { return u + 0.1 * sin(u); }, step};
  for (const Policy& policy :
       {checkpoint_policies::nothing_saveable, checkpoint_policies::save_only_these_names({"sine"}),
        checkpoint_policies::save_only_these_names({"sine", "cosine"})})
    steps.emplace_back([=](Array u) { return checkpoint(step, policy)(u); });
  using Loop = std::function<Array(Array, std::size_t)>;
  for (const auto& f : steps) {
    SCOPED_TRACE(&f - steps.data());
    const Loop loops[] = {[&](Array u, std::size_t memory) {
                            auto body = [&](Array u, none_t) { return std::pair(f(u), none); };
                            return sum(scan(body, u, none, {.length = 200, .memory = memory}).first);
                          },
                          [&](Array u, std::size_t memory) {
                            return sum(fori_loop(0, 200, [&](Array, Array u) { return f(u); }, u, {.memory = memory}));
                          },
                          [&](Array u, std::size_t memory) {
                            auto goes_on = [](std::pair<Array, Array> c) { return c.first < 200; };
                            auto body = [&](std::pair<Array, Array> c) { return std::pair(c.first + 1, f(c.second)); };
                            return sum(while_loop(goes_on, body, std::pair(array(0), u), {.memory = memory}).second);
                          }};
    for (const Loop& loop : loops) {
      SCOPED_TRACE(&loop - loops);
      const Array u = linspace(0.1, 1, 1024);
      auto slope = [&](std::size_t memory) { return grad([&loop, memory](Array u) { return loop(u, memory); }); };
      const Array want = jit(slope(1 << 30))(u);
      std::size_t before = jit(slope(1 << 30)).plan(u).peak_bytes;
      for (std::size_t memory : {200, 70}) {
        auto within = jit(slope(memory * 1024)).compile(u);
        EXPECT_LE(within.plan().peak_bytes, before + 4096) << memory;
        EXPECT_LE(within.plan().peak_bytes, (memory + 20 * 4) * 1024) << memory;
        same(within(u), want);
        before = within.plan().peak_bytes;
      }
    }
  }
}

// Bodies whose residuals are small: scalars, a few elements, several dtypes.
std::vector<std::function<Array(Array, const ScanOptions&)>> small_loops() {
  auto loop = [](auto body) {
    return [=](Array x, const ScanOptions& o) {
      return sum(scan([=](Array c, none_t) { return std::pair(body(c), none); }, x, none, o).first);
    };
  };
  auto lorenz = [](Array y) {
    Array p = y[0], q = y[1], r = y[2];
    return y + 0.005 * stack({10.0 * (q - p), p * (28.0 - r) - q, p * q - 8.0 / 3 * r});
  };
  auto many = [](Array y) {
    Array x = y[0];
    for (int i = 0; i < 9; ++i) x = sin(x) + 0.5 * x;
    return y * 0.9 + x;
  };
  auto mixed = [](Array y) {
    Array s = sum(y), few = sin(astype(y, f32));
    return where(s < 2, y * s, sin(y) * 0.5) + 0.1 * astype(few * few, f64);
  };
  auto nested = [](Array y) {
    return scan([](Array c, none_t) { return std::pair(sin(c) * 0.9 + 0.1 * c[0], none); }, y, none, {.length = 3})
        .first;
  };
  return {loop(lorenz), loop(many), loop(mixed), loop(nested)};
}

// Stacks of residuals are dense, and counted as that: a loop within bytes takes what was said and a little that does
// not grow (whole stacks are aligned), and is the plain one as soon as that fits.
TEST(Within, SmallResidualsAreCountedDense) {
  constexpr std::size_t besides = 1024;
  int number = 0;
  for (const auto& loop : small_loops()) {
    SCOPED_TRACE(number++);
    const std::int64_t length = 200;
    auto slope = [&](ScanOptions o) {
      o.length = length;
      return grad([=](Array x) { return loop(x, o); });
    };
    auto plain = jit(slope({}));
    const std::size_t all = plain.plan(a).peak_bytes;
    const Array want = plain(a);
    for (double share : {0.1, 0.3, 0.8, 0.95, 1.0, 1.5, 3.0, 8.0}) {
      const auto memory = static_cast<std::size_t>(share * static_cast<double>(all));
      auto within = jit(slope({.memory = memory}));
      const std::size_t peak = within.plan(a).peak_bytes;
      EXPECT_LE(peak, memory + besides) << memory;
      if (memory >= all) {
        EXPECT_EQ(peak, all) << memory;
      }
      auto compiled = within.compile(a);
      same(compiled(a), want);
      EXPECT_EQ(compiled.high_water_bytes(), peak);
      same(slope({.memory = memory})(a), slope({})(a));
      // A budget of as much may be kept in other ways.
      const std::size_t budgeted = jit(slope({}), {.memory_budget = peak}).plan(a).peak_bytes;
      EXPECT_LE(budgeted, peak);
    }
  }
}

TEST(Within, TextParsesBack) {
  auto slope = [](In x) {
    auto body = [](In c, In) { return flat::ScanResult{{sin(c[0])}, {}}; };
    return flat::grad(
        [&](In in) { return Arrays{sum(flat::scan(body, {in[0]}, {}, {.length = 50, .memory = 300}).carry[0])}; }, x);
  };
  const Program p = flat::make_program(slope, Arrays{a});
  EXPECT_NE(p.str().find("budget=(50, 276, 24, 24)"), std::string::npos) << p;
  const Program q = parse_program(p.str());
  EXPECT_EQ(q.str(), p.str());
  same(evaluate(q, Arrays{a})[0], slope(Arrays{a})[0]);
}

TEST(Within, Errors) {
  auto body = [](Array c, none_t) { return std::pair(sin(c), none); };
  auto f = [=](ScanOptions o) { return [=](Array x) { return sum(scan(body, x, none, o).first); }; };
  EXPECT_EQ(
      ERROR_OF((void)grad(f({.length = 50, .memory = 16}))(a)),
      "[scan] .memory is 16 bytes; the smallest that can be met is 48: one state (24) and the residuals of one step "
      "(24); hint: give it more, or checkpoint the body so that a step keeps less");
  EXPECT_EQ(ERROR_OF((void)f({.length = 5, .checkpoints = 2, .memory = 1000})(a)),
            "[scan] .checkpoints and .memory both say what is kept; hint: give one of them");
  EXPECT_EQ(ERROR_OF((void)f({.length = 5, .memory = 0})(a)),
            "[scan] .memory is 0 bytes; hint: leave it out to keep what the gradient needs");
  // A number below 0, as the compiler converts it.
  EXPECT_EQ(ERROR_OF((void)f({.length = 5, .memory = -1})(a)),
            "[scan] .memory is negative: -1 bytes; hint: leave it out to keep what the gradient needs");
  EXPECT_EQ(
      ERROR_OF((void)while_loop([](Array c) { return sum(c) < 3; }, [](Array c) { return c * 2; }, a,
                                {.memory = std::size_t{1} << 63})),
      "[while_loop] .memory is negative: -9223372036854775808 bytes; hint: leave it out to keep what the gradient "
      "needs");
  EXPECT_EQ(ERROR_OF((void)fori_loop(0, 3, [](Array, Array c) { return c; }, a, {.memory = -4096})),
            "[fori_loop] .memory is negative: -4096 bytes; hint: leave it out to keep what the gradient needs");
  EXPECT_EQ(ERROR_OF((void)f({.length = 5, .disk = "."})(a)),
            "[scan] .disk without .memory; hint: give the bytes that may be kept in memory: {.memory = 64_MiB, .disk = "
            "\"...\"}");
  auto less = [](Array c) { return sum(c) < 3; };
  EXPECT_EQ(
      ERROR_OF((void)while_loop(less, [](Array c) { return c * 2; }, a, {.disk = "."})),
      "[while_loop] .disk needs a number of steps that is known before the loop runs; hint: use scan, or fori_loop "
      "with static bounds");
  EXPECT_EQ(
      ERROR_OF((void)while_loop(less, [](Array c) { return c * 2; }, a, {.memory = 1000, .disk = "."})),
      "[while_loop] .disk needs a number of steps that is known before the loop runs; hint: use scan, or fori_loop "
      "with static bounds");
}

}  // namespace
}  // namespace anew::test::loop_within_test
