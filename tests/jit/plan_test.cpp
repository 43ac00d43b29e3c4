// The plan of a compiled function: exact for every program here, whoever runs the kernels; the same for shapes as for
// arrays; readable. Also what compile and jit refuse, word for word.
#include <fmt/format.h>

#include <thread>

#include "jit/compiled_program.h"
#include "jit/plan_programs.h"
#include "runtime/executable.h"
#include "support/support.h"

namespace anew {
namespace {

using compiled::Backend;
using test::plan_programs;

class Chosen {
 public:
  explicit Chosen(Backend b) : before_(compiled::backend()) { compiled::set_backend(b); }
  ~Chosen() { compiled::set_backend(before_); }

 private:
  Backend before_;
};

// A NaN equals a NaN, of every dtype.
bool same(const Array& a, const Array& b) {
  if (a.dtype() == bf16 || a.dtype() == f16)
    return a.dtype() == b.dtype() && test::same_bits(astype(a, f32), astype(b, f32));
  return test::same_bits(a, b);
}

class Plans : public testing::TestWithParam<std::tuple<std::size_t, Backend>> {
 protected:
  const test::PlanProgram& program() const { return plan_programs()[std::get<0>(GetParam())]; }
  Chosen backend{std::get<1>(GetParam())};
};

TEST_P(Plans, AreExact) {
  const test::PlanProgram& p = program();
  flat::Compiled compiled = flat::compile(p.f, p.x);
  const MemoryPlan& plan = compiled.plan();
  EXPECT_EQ(plan.peak_bytes, plan.argument_bytes + plan.constant_bytes + plan.output_bytes + plan.arena_bytes);
  std::size_t arguments = 0, outputs = 0;
  for (const Array& x : p.x) arguments += x.nbytes();
  EXPECT_EQ(compiled.high_water_bytes(), 0u);
  Arrays first = compiled(p.x), again = compiled(p.x);
  for (const Array& y : first) outputs += y.nbytes();
  EXPECT_EQ(plan.argument_bytes, arguments);
  EXPECT_EQ(plan.output_bytes, outputs);
  EXPECT_EQ(compiled.high_water_bytes(), plan.peak_bytes);
  Arrays eager = p.f(p.x);
  ASSERT_EQ(first.size(), eager.size());
  for (std::size_t i = 0; i < eager.size(); ++i) {
    EXPECT_TRUE(same(first[i], eager[i])) << "output " << i << "\ncompiled " << first[i] << "\neager " << eager[i];
    EXPECT_TRUE(same(again[i], eager[i])) << "output " << i << " of the second call";
  }
}

// A hundred calls on one to four threads, every kernel split as far as it goes: memory that somebody left behind, or
// two threads in each other's way, would show.
TEST_P(Plans, OfAHundredCallsGiveTheSameBits) {
  const test::PlanProgram& p = program();
  const int pool = threads();
  const double threshold = loops::set_thread_threshold(0);
  compiled::clear_compiled();
  const Arrays eager = p.f(p.x);
  set_threads(4);
  int wrong = 0;
  flat::Compiled all[] = {flat::compile(p.f, p.x, {.threads = 1}), flat::compile(p.f, p.x, {.threads = 2}),
                          flat::compile(p.f, p.x, {.threads = 3}), flat::compile(p.f, p.x)};
  for (int i = 0; i < 100; ++i) {
    const Arrays y = all[i % 4](p.x);
    for (std::size_t k = 0; k < eager.size(); ++k) wrong += !same(y[k], eager[k]);
  }
  EXPECT_EQ(wrong, 0);
  set_threads(pool);
  loops::set_thread_threshold(threshold);
  compiled::clear_compiled();
}

TEST_P(Plans, OfShapesAreThoseOfArrays) {
  const test::PlanProgram& p = program();
  Arrays shapes;
  for (const Array& x : p.x) shapes.push_back(x.type());
  EXPECT_EQ(flat::plan(p.f, shapes).str(), flat::plan(p.f, p.x).str());
}

TEST_P(Plans, ListWhatLivesAtThePeak) {
  const MemoryPlan plan = flat::plan(program().f, program().x);
  std::size_t live = 0;
  for (std::size_t i = 0; i < plan.live.size(); ++i) {
    live += plan.live[i].bytes;
    EXPECT_GE(plan.live[i ? i - 1 : 0].bytes, plan.live[i].bytes);
  }
  EXPECT_LE(live, plan.arena_bytes);
  EXPECT_EQ(live == 0, plan.arena_bytes == 0);
  // Pieces lie at multiples of 64 bytes; more than that is lost only where lifetimes do not fit.
  EXPECT_LE(plan.arena_bytes, live + 64 * plan.live.size() + plan.arena_bytes / 4) << plan;
}

std::string name_of_case(const testing::TestParamInfo<Plans::ParamType>& info) {
  return plan_programs()[std::get<0>(info.param)].name +
         (std::get<1>(info.param) == Backend::interpreter ? "_interpreted" : "_compiled");
}
INSTANTIATE_TEST_SUITE_P(Programs, Plans,
                         testing::Combine(testing::Range(std::size_t{0}, plan_programs().size()),
                                          testing::Values(Backend::interpreter, Backend::machine_code)),
                         name_of_case);

// ---- text

Location here(Location at = Location::current()) { return at; }

// As many operands and results as a kernel may have, and some more: no temporaries, and both backends can run it.
TEST(Plan, WhatCallbacksGetAndMakeIsInNoPlan) {
  Array x = ones({1000}), kept;
  const ShapeDtype like{{1000}, f32};
  auto check = [&](auto f) {
    auto c = jit(f).compile(x);
    (void)c(x);
    (void)c(x);
    EXPECT_EQ(c.high_water_bytes(), c.plan().peak_bytes);
  };
  check([](Array a) {
    debug::print("{}", sum(sin(a)));
    return a * 2;
  });
  check([&](Array a) {
    debug::callback([&](Array b) { kept = b + ones({5000})[0]; }, sin(a));
    return a * 2;
  });
  check([&](Array a) { return pure_callback([](Array b) { return b * ones({500, 1})[0]; }, like, sin(a)) * 2; });
  check([&](Array a) {
    auto body = [&](Array c, none_t) {
      return std::pair(io_callback([&](Array b) { return kept = b + 1; }, like, c), none);
    };
    return scan(body, a, none, {.length = 3}).first;
  });
}
TEST(Plan, OfKernelsWithManyOperands) {
  FlatFunction f = [](std::span<const Array> x) {
    Arrays y;
    Array s = x[0];
    for (const Array& a : x) y.push_back(s = s * 0.5 + a);
    return y;
  };
  Arrays x;
  for (int i = 0; i < 150; ++i) x.push_back(random::normal(random::key(i), {7}));
  const Arrays eager = f(x);
  for (Backend b : {Backend::machine_code, Backend::interpreter}) {
    const Chosen backend(b);
    const flat::Compiled c = flat::compile(f, x);
    EXPECT_TRUE(test::same_bits(c(x), eager));
    EXPECT_EQ(c.plan().arena_bytes, 0u);
  }
}

// A product alone packs in an arena; where that would be the peak of a large one, it goes without.
TEST(Plan, PackingIsNotThePeakOfALargeArena) {
  auto layers = [](int n) {
    return [n](Array w, Array x) {
      for (int i = 0; i < n; ++i) x = tanh(matmul(x, w));
      return sum(x);
    };
  };
  const ShapeDtype square{{1024, 1024}, f32};
  auto scratch = [](const MemoryPlan& plan) {
    return std::count_if(plan.live.begin(), plan.live.end(), [](const LiveValue& v) { return v.scratch; });
  };
  const MemoryPlan small = jit(layers(1)).plan(square, square), large = jit(grad(layers(8))).plan(square, square);
  EXPECT_EQ(scratch(small), 1) << small;
  EXPECT_EQ(scratch(large), 0) << large;
  EXPECT_EQ(large.arena_bytes % square.bytes(), 0u) << large;
}

TEST(PlanText, GroupsWhatCannotBeToldApart) {
  const Location at = here();
  MemoryPlan plan{
      .argument_bytes = 40960, .output_bytes = 772, .arena_bytes = 4 << 20, .peak_bytes = (4 << 20) + 41732};
  plan.live.assign(8, {"sin", {{64, 32}, f32}, 8192, at});
  plan.live.push_back({"dot_general", {{32, 32}, f32}, 4096, at, "scan[10] / cond"});
  plan.live.push_back({"scratch of reduce_sum", {{128}, bool_}, 128, {}, "", true});
  const std::string line = source_line(at).str();
  EXPECT_EQ(plan.str(),
            "peak          4236036 bytes     4.0 MiB\n"
            "  arguments     40960 bytes    40.0 KiB\n"
            "  constants         0 bytes\n"
            "  outputs         772 bytes\n"
            "  arena       4194304 bytes     4.0 MiB\n"
            "alive in the arena where it is fullest:\n"
            "  8 x 8192   64.0 KiB  f32[64,32]  sin  " +
                line +
                "\n"
                "      4096    4.0 KiB  f32[32,32]  dot_general  " +
                line +
                "  in scan[10] / cond\n"
                "       128      128 B              scratch of reduce_sum\n");
}

TEST(PlanText, StaysShort) {
  MemoryPlan plan{.arena_bytes = 50 * 51 / 2, .peak_bytes = 50 * 51 / 2};
  for (std::int64_t n = 50; n > 0; --n) plan.live.push_back({"sin", {{n}, bool_}, static_cast<std::size_t>(n)});
  const std::string text = plan.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6 + 16 + 1);
  EXPECT_NE(text.find("\n  595      595 B  in 34 more\n"), std::string::npos) << text;
}

TEST(PlanText, CutsLongNames) {
  MemoryPlan plan{.arena_bytes = 64, .peak_bytes = 64};
  plan.live.push_back({"scratch of add, tanh, add, mul, div, mul, neg, mul x2, add", {{64}, bool_}, 64, {}, "", true});
  EXPECT_NE(plan.str().find("  64       64 B    scratch of add, tanh, add, mul, div, mul, neg...\n"), std::string::npos)
      << plan;
}

TEST(PlanText, OfNothing) {
  EXPECT_EQ(MemoryPlan{}.str(),
            "peak                0 bytes\n"
            "  arguments         0 bytes\n"
            "  constants         0 bytes\n"
            "  outputs           0 bytes\n"
            "  arena             0 bytes\n");
}

TEST(PlanText, NamesTheLoop) {
  auto f = [](Array x, Array w) {
    auto layer = [](Array y, Array w) { return std::pair(sort(matmul(y, w)), none); };
    return scan(layer, x, w).first;
  };
  MemoryPlan plan = jit(f).plan(ShapeDtype{{4, 8}, f32}, ShapeDtype{{3, 8, 8}, f32});
  ASSERT_FALSE(plan.live.empty());
  bool inside = false;
  for (const LiveValue& v : plan.live) inside |= v.inside == "scan[3]";
  EXPECT_TRUE(inside) << plan;
  EXPECT_NE(plan.str().find("in scan[3]\n"), std::string::npos) << plan;
}

TEST(PlanText, LayersTogetherWhereTheyAreMany) {
  MemoryPlan plan{.arena_bytes = 40 * 64, .peak_bytes = 40 * 64};
  for (int i = 0; i < 20; ++i) {
    LiveValue v{"sin", {{16}, f32}, 64};
    v.path = fmt::format("layers[{}].w", i);
    v.callers = fmt::format("checkpoint {} of model.cpp:88 (loss)", i);
    plan.live.push_back(v);
    v.what = "dot_general";
    plan.live.push_back(v);
  }
  EXPECT_NE(plan.str().find("  20 x 64    1.2 KiB  f32[16]  sin  layers[0..19].w, checkpoint 0..19 of model.cpp:88 "
                            "(loss)\n"),
            std::string::npos)
      << plan;
  plan.live.resize(4);
  EXPECT_NE(plan.str().find("  64       64 B  f32[16]  sin  layers[1].w, checkpoint 1 of model.cpp:88 (loss)\n"),
            std::string::npos)
      << plan;
}

// ---- what is refused

TEST(JitErrors, Options) {
  auto f = [](Array x) { return sin(x); };
  EXPECT_EQ(ERROR_OF((void)jit(f, {.threads = -1})(1.0)), "[jit] .threads is -1; hint: 0 means all of them");
}

TEST(JitErrors, AnotherNumberOfArrays) {
  FlatFunction f = [](std::span<const Array> x) { return Arrays{sin(x[0])}; };
  flat::Compiled c = flat::compile(f, Arrays{1.0});
  EXPECT_EQ(ERROR_OF(c(Arrays{1.0, 2.0})), "[compile] compiled for 1 arrays, called with 2");
}

TEST(JitErrors, AnotherType) {
  auto c = jit([](Array x, Array y) { return x + y; }).compile(ones({3}), ones({3}));
  EXPECT_EQ(
      ERROR_OF(c(ones({3}), ones({4}))),
      "[compile] argument 1 was f32[3] when the function was compiled, is f32[4] now; hint: compile once for each set "
      "of types, or call jit(f), which does");
}

TEST(JitErrors, AnotherStaticValue) {
  auto c = jit([](Array x, int n) { return x * n; }).compile(ones({3}), 2);
  EXPECT_EQ(
      ERROR_OF(c(ones({3}), 3)),
      "[compile] argument 1 is static and has another value than when the function was compiled; hint: compile once "
      "for each value, or call jit(f), which does");
}

TEST(JitErrors, TracedArguments) {
  auto c = jit([](Array x) { return sin(x); }).compile(1.0);
  EXPECT_EQ(ERROR_OF((void)grad([&](Array x) { return c(x); })(1.0)),
            "[compile] a compiled function cannot be traced: argument 0 is being traced for grad; hint: transform the "
            "function and compile the result, or call jit(f)");
  EXPECT_EQ(ERROR_OF((void)c(ShapeDtype{{}, f32})),
            "[compile] a compiled function cannot be traced: argument 0 is abstract; hint: transform the function and "
            "compile the result, or call jit(f)");
}

// ---- compiled functions

TEST(Compiled, KeepsWhatItCaptured) {
  Array scale = array({1.0, 2.0, 3.0});
  auto c = jit([&](Array x) { return x * scale; }).compile(ones({3}));
  EXPECT_EQ(c.plan().constant_bytes, 12u);
  scale = zeros({3});
  EXPECT_TRUE(test::same_bits(c(ones({3})), array({1.0, 2.0, 3.0})));
  EXPECT_EQ(c.high_water_bytes(), c.plan().peak_bytes);
}

TEST(Compiled, TakesViews) {
  auto c = jit([](Array x) { return sin(x); }).compile(ShapeDtype{{5, 6}, f32});
  Array x = test::fill({6, 5}, 1);
  EXPECT_TRUE(test::same_bits(c(x.T()), sin(x.T())));
}

TEST(Compiled, CopiesShareTheirCode) {
  auto c = jit([](Array x) { return sin(x); }).compile(ones({4}));
  auto copy = c;
  (void)copy(ones({4}));
  EXPECT_EQ(c.high_water_bytes(), c.plan().peak_bytes);
}

TEST(Compiled, RunsOnSeveralThreadsAtOnce) {
  const test::PlanProgram& p = *std::find_if(plan_programs().begin(), plan_programs().end(),
                                             [](const auto& p) { return p.name == "rnn_gradient"; });
  flat::Compiled c = flat::compile(p.f, p.x);
  const Arrays want = p.f(p.x);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) right[t] += test::same_bits(c(p.x), want);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, std::vector<int>(4, 20));
  EXPECT_EQ(c.high_water_bytes(), c.plan().peak_bytes);
}

TEST(Plan, RunsNothing) {
  int calls = 0;
  auto f = jit([&](Array x) {
    return io_callback(
        [&](Array v) {
          ++calls;
          return v;
        },
        ShapeDtype{{}, f32}, x);
  });
  (void)f.plan(1.0);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace anew
