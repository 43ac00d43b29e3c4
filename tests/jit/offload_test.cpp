// Residuals that a policy offloads: texts, the same bits everywhere, less memory, plans that hold, faults that are
// Errors and leave nothing.
#include <anew/control.h>
#include <anew/jit.h>
#include <anew/ops.h>
#include <anew/report.h>
#include <anew/transforms.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "ops/device_put.h"
#include "runtime/buffer.h"
#include "runtime/spilled.h"
#include "support/files.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test::offload_test {
namespace {

using namespace checkpoint_policies;
using Lines = std::vector<std::string>;

const Policy offload_names = save_and_offload_only_these_names({.save = {"s"}, .offload = {"a", "b", "c"}});
const Policy offload_all("offload_all", [](const PolicyQuery&) { return Save::offload; });

// The texts up to the file.
template <class... A>
Lines texts(const A&... a) {
  Lines out;
  for (const Residual& r : saved_residuals(a...)) out.push_back(r.text.substr(0, r.text.find(" from offload_test")));
  return out;
}

Array sines(Array x) {
  Array a = checkpoint_name(sin(x), "a"), b = checkpoint_name(sin(a), "b");
  return sum(checkpoint_name(sin(b), "c"));
}
Array layers(Array W1, Array W2, Array x) { return sum(sin(dot(W2, sin(dot(W1, x))))); }
auto step = [](Array c, none_t) {
  return std::pair(checkpoint_name(sin(checkpoint_name(sin(c), "a") * c), "b"), none);
};
auto loop(const Policy& p) {
  return [p](Array x) { return sum(scan(checkpoint(step, p), x, none, {.length = 5}).first); };
}
auto around_loop(const Policy& p) {
  return checkpoint([](Array x) { return sum(scan(step, x, none, {.length = 5}).first); }, p);
}

// As JAX 0.10.2 lists them (spec, 1.10 and 2.2).
TEST(Offload, TextsOfResiduals) {
  Warnings quiet;
  const Array x = ones({16});
  EXPECT_EQ(texts(checkpoint(sines, offload_names), x),
            (Lines{"f32[16] from the argument 0", "f32<host>[16] output of device_put",
                   "f32<host>[16] output of device_put"}));
  EXPECT_EQ(texts(checkpoint(layers, offload_dot_with_no_batch_dims()), ones({5, 4}), ones({6, 5}), ones(4)),
            (Lines{"f32[5,4] from the argument 0", "f32[6,5] from the argument 1", "f32[4] from the argument 2",
                   "f32<host>[5] output of device_put", "f32<host>[6] output of device_put"}));
  EXPECT_EQ(texts(loop(offload_names), x), (Lines{"f32<host>[5,16] output of scan", "f32[5,16] output of scan"}));
  EXPECT_EQ(texts(vmap(checkpoint(sines, offload_names)), ones({2, 16})),
            (Lines{"f32[2,16] from the argument 0", "f32<host>[2,16] output of device_put",
                   "f32<host>[2,16] output of device_put"}));
  const Residual r = saved_residuals(checkpoint(sines, offload_names), x)[1];
  EXPECT_EQ(r.primitive, "device_put");
  EXPECT_EQ(r.bytes, 64u);
  EXPECT_EQ(r.type.str(), "f32[16]");
  EXPECT_TRUE(r.offloaded);
  EXPECT_FALSE(saved_residuals(checkpoint(sines, offload_names), x)[0].offloaded);
}

// The sines named a, b and c: c is not needed, so that two values go and come back (spec, 1.10).
TEST(Offload, OnlyWhatIsNeeded) {
  Warnings quiet;
  const auto f = checkpoint(sines, offload_names);
  auto [y, pullback] = vjp(f, ones({16}));
  EXPECT_EQ(pullback.program().count("device_put"), 2);
  EXPECT_EQ(make_program(grad(f))(ones({16})).count("device_put"), 4);
  EXPECT_EQ(make_program(f)(ones({16})).count("device_put"), 0);
  EXPECT_EQ(texts(around_loop(offload_names), ones({16})),
            (Lines{"f32[16] from the argument 0", "f32<host>[5,16] output of scan", "f32<host>[5,16] output of scan"}));
}

TEST(Offload, TextsInsideCallsAndBranches) {
  Warnings quiet;
  const Array x = ones({16});
  auto jitted = jit([](Array x) { return checkpoint_name(sin(x), "a"); });
  auto calls = [&](Array x) { return sum(sin(jitted(x))); };
  const Lines in_call = texts(checkpoint(calls, offload_names), x);
  ASSERT_EQ(in_call.size(), 2u);
  EXPECT_EQ(in_call[1].substr(0, 41), "f32<host>[16] output of jitted function '");
  auto branches = [](Array x) {
    auto one = [](Array x) { return sin(checkpoint_name(sin(x), "a")); };
    auto other = [](Array x) { return cos(checkpoint_name(cos(x), "b")); };
    return sum(cond(x[0] > 0, one, other, x));
  };
  const Lines in_branch = texts(checkpoint(branches, offload_names), x);
  EXPECT_EQ(in_branch.back(), "f32<host>[16] output of cond");
}

TEST(Offload, Total) {
  Warnings quiet;
  testing::internal::CaptureStdout();
  print_saved_residuals(checkpoint(sines, offload_names), ones({16}));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("total: 3 residuals, 192 bytes, 128 of them offloaded\n"), std::string::npos) << text;
}

TEST(Offload, Program) {
  Warnings quiet;
  auto [y, pullback] = vjp(checkpoint([](Array x) { return sin(checkpoint_name(sin(x), "a")); }, offload_names), 0.5);
  const std::string text = pullback.program().str();
  EXPECT_NE(text.find("device_put[dst=device]"), std::string::npos) << text;
  EXPECT_EQ(text.find("device_put[dst=pinned_host]"), std::string::npos) << text;
}

// ---- bits

std::vector<FlatFunction> functions(const Policy& p) {
  auto flat = [](auto f) -> FlatFunction { return [f](std::span<const Array> x) { return Arrays{f(x[0])}; }; };
  auto block = [](Array x) { return sin(checkpoint_name(tanh(dot(x, transpose(x))), "a")); };
  auto nested = [=](Array x) { return sum(checkpoint([=](Array x) { return checkpoint(block, p)(x) * 2; }, p)(x)); };
  auto jitted = [=](Array x) { return sum(checkpoint(jit(block), p)(x)); };
  auto inside_jit = [=](Array x) { return sum(jit(checkpoint(block, p))(x)); };
  auto branch = [=](Array x) {
    auto one = [=](Array x) { return sin(checkpoint_name(sin(x), "a")) * x; };
    auto other = [](Array x) { return cos(checkpoint_name(cos(x), "b")); };
    return sum(checkpoint([=](Array x) { return cond(sum(x) > 0, one, other, x); }, p)(x));
  };
  auto counted = [=](Array x) {
    auto again = [=](Array, Array c) { return checkpoint([](Array c) { return step(c, none).first; }, p)(c); };
    return sum(fori_loop(0, 4, again, x));
  };
  auto recorded = [=](Array x) {
    return sum(scan(checkpoint(step, p), x, none, {.length = 9, .checkpoints = 3}).first);
  };
  auto loops = [=](Array x) {
    auto outer = [=](Array c, none_t) {
      return std::pair(scan(checkpoint(step, p), c, none, {.length = 3}).first, none);
    };
    return sum(scan(outer, x, none, {.length = 3}).first);
  };
  auto trained = [=](Array x) {
    auto train = [=](Array w, none_t) { return std::pair(w - 0.1 * grad(loop(p))(w), none); };
    return sum(scan(train, x, none, {.length = 3}).first);
  };
  return {flat(checkpoint(sines, p)),
          flat(loop(p)),
          flat(around_loop(p)),
          flat(nested),
          flat(jitted),
          flat(inside_jit),
          flat(branch),
          flat(counted),
          flat(recorded),
          flat(loops),
          flat(trained)};
}

FlatFunction gradient_of(FlatFunction f) {
  return [f](std::span<const Array> x) { return flat::grad(f, x); };
}

// Offloaded is saved, bit for bit, in derivatives of derivatives too; and gradients are those without a checkpoint.
TEST(Offload, SameBits) {
  Warnings quiet;
  const Array x = 0.5 * cos(reshape(arange(12.0), {3, 4}));
  const std::vector<FlatFunction> plain = functions(everything_saveable);
  const Policy dots = offload_dot_with_no_batch_dims(), a = save_only_these_names("a");
  for (const auto& [offloading, saving] :
       {std::pair{offload_names, save_only_these_names("s", "a", "b", "c")},
        std::pair{dots, dots_with_no_batch_dims_saveable}, std::pair{offload_all, everything_saveable},
        std::pair{any_of(dots, a), any_of(dots_with_no_batch_dims_saveable, a)}}) {
    const std::vector<FlatFunction> offloaded = functions(offloading), saved = functions(saving);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(offloading.str() + ", function " + std::to_string(i));
      const Arrays want = gradient_of(plain[i])(Arrays{x}), got = gradient_of(offloaded[i])(Arrays{x});
      EXPECT_TRUE(same_bits(got, want)) << "eager";
      EXPECT_TRUE(same_bits(flat::jit(gradient_of(offloaded[i]), Arrays{x}, {}), want)) << "compiled";
      const Arrays t{sin(x)};
      const Arrays forward = flat::jvp(gradient_of(saved[i]), Arrays{x}, t).second;
      EXPECT_TRUE(same_bits(flat::jvp(gradient_of(offloaded[i]), Arrays{x}, t).second, forward)) << "jvp";
      auto twice = [&](const FlatFunction& f) {
        return gradient_of([f](std::span<const Array> x) { return Arrays{sum(sin(gradient_of(f)(x)[0]))}; })(Arrays{x});
      };
      EXPECT_TRUE(same_bits(twice(offloaded[i]), twice(saved[i]))) << "reverse over reverse";
      auto mapped = [&](const FlatFunction& f) {
        return vmap([f](Array x) { return gradient_of(f)(Arrays{x})[0]; })(stack({x, 2 * x}));
      };
      EXPECT_TRUE(same_bits(mapped(offloaded[i]), mapped(saved[i]))) << "vmap";
    }
  }
}

// ---- memory

Array deep(const Policy& p, Array W, Array x) {
  auto layer = checkpoint([](Array W, Array x) { return tanh(checkpoint_name(dot(x, W), "a")); }, p);
  for (int i = 0; i < 12; ++i) x = layer(W, x);
  return sum(square(x));
}
auto deep_gradient(const Policy& p) {
  return grad<0, 1>([p](Array W, Array x) { return deep(p, W, x); });
}

// Between the passes, what is kept lies on disk; each layer is fetched where it is needed.
TEST(Offload, CompiledTakesLessMemory) {
  Warnings quiet;
  const Array W = 0.1 * sin(reshape(arange(64.0 * 64.0), {64, 64})), x = cos(reshape(arange(512.0 * 64.0), {512, 64}));
  const std::size_t layer = 512 * 64 * sizeof(float);
  auto saved = jit(deep_gradient(save_only_these_names("a"))), offloaded = jit(deep_gradient(offload_names));
  const MemoryPlan kept = saved.plan(W, x), plan = offloaded.plan(W, x);
  EXPECT_EQ(kept.disk_bytes, 0u);
  EXPECT_EQ(plan.disk_bytes, 12 * layer);
  EXPECT_LE(plan.peak_bytes + 8 * layer, kept.peak_bytes) << plan << kept;
  EXPECT_NE(plan.str().find("on disk"), std::string::npos);
  ASSERT_EQ(plan.offloaded.size(), 12u);
  EXPECT_EQ(plan.offloaded[0].what, "dot_general");
  // With ANEW_VERIFY each call is held to its plan.
  const auto want = saved(W, x), got = offloaded(W, x);
  EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)));
}

TEST(Offload, EagerTakesLessMemory) {
  Warnings quiet;
  const Array W = 0.1 * sin(reshape(arange(64.0 * 64.0), {64, 64})), x = cos(reshape(arange(512.0 * 64.0), {512, 64}));
  const std::size_t layer = 512 * 64 * sizeof(float);
  auto peak = [&](const Policy& p) {
    const MemoryMeter meter;
    (void)deep_gradient(p)(W, x);
    return meter.peak();
  };
  EXPECT_LE(peak(offload_names) + 8 * layer, peak(save_only_these_names("a")));
}

// Results of compiled code that eager differentiation keeps.
TEST(Offload, CallsInsideEager) {
  Warnings quiet;
  const Array W = 0.1 * sin(reshape(arange(64.0 * 64.0), {64, 64})), x = cos(reshape(arange(512.0 * 64.0), {512, 64}));
  const std::size_t layer = 512 * 64 * sizeof(float);
  auto compiled = jit([](Array W, Array x) { return tanh(checkpoint_name(dot(x, W), "a")); });
  auto gradient = [=](const Policy& p) {
    return grad([=](Array W, Array x) {
      for (int i = 0; i < 12; ++i) x = checkpoint(compiled, p)(W, x);
      return sum(x);
    })(W, x);
  };
  auto peak = [&](const Policy& p) {
    const MemoryMeter meter;
    (void)gradient(p);
    return meter.peak();
  };
  EXPECT_TRUE(same_bits(gradient(offload_names), gradient(save_only_these_names("a"))));
  EXPECT_LE(peak(offload_names) + 8 * layer, peak(save_only_these_names("a")));
}

// What one branch offloads lies on disk whatever the other does: has nothing like it, keeps something of its type in
// memory, or offloads too.
TEST(Offload, Branches) {
  Warnings quiet;
  const Array x = cos(arange(100.0));
  auto f = [](const Policy& p) {
    auto one = [](Array x) { return sin(checkpoint_name(sin(x), "a")); };
    auto other = [](Array x) { return 2 * x; };
    return jit(
        grad([=](Array x) { return sum(checkpoint([=](Array x) { return cond(x[0] > 0, one, other, x); }, p)(x)); }));
  };
  for (const Array& at : {x, -x}) EXPECT_TRUE(same_bits(f(offload_names)(at), f(everything_saveable)(at)));
  EXPECT_EQ(f(offload_names).plan(x).disk_bytes, 400u);
  auto kept = [](const Policy& p) {
    auto one = [](Array x) { return sin(checkpoint_name(sin(x), "a")); };
    auto other = [](Array x) { return sin(checkpoint_name(cos(x), "s")); };
    return [=](Array x) { return sum(checkpoint([=](Array x) { return cond(x[0] > 0, one, other, x); }, p)(x)); };
  };
  for (const Array& at : {x, -x}) {
    EXPECT_TRUE(same_bits(jit(grad(kept(offload_names)))(at), grad(kept(everything_saveable))(at)));
    EXPECT_TRUE(same_bits(grad(kept(offload_names))(at), grad(kept(everything_saveable))(at)));
    EXPECT_TRUE(same_bits(vmap(grad(kept(offload_names)))(stack({at, -at})),
                          vmap(grad(kept(everything_saveable)))(stack({at, -at}))));
  }
  EXPECT_EQ(jit(grad(kept(offload_names))).plan(x).disk_bytes, 400u);
  const Lines lines = texts(kept(offload_names), x);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "f32<host>[100] output of cond"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "f32[100] output of cond"), 1);
  auto both = [](const Policy& p) {
    auto one = [](Array x) { return sin(checkpoint_name(sin(x), "a")); };
    auto other = [](Array x) { return cos(checkpoint_name(cos(x), "b")); };
    return jit(
        grad([=](Array x) { return sum(checkpoint([=](Array x) { return cond(x[0] > 0, one, other, x); }, p)(x)); }));
  };
  EXPECT_TRUE(same_bits(both(offload_names)(x), both(everything_saveable)(x)));
  EXPECT_EQ(both(offload_names).plan(x).disk_bytes, 400u);
}

TEST(Offload, Report) {
  Warnings quiet;
  const Array x = cos(arange(1024.0));
  const MemoryReport r = memory_report(jit(grad(loop(offload_names))), x);
  EXPECT_EQ(r.plan.disk_bytes, 5 * 4096u);
  EXPECT_NE(r.str().find("disk    20.0 KiB"), std::string::npos) << r.str();
}

TEST(Offload, StacksOfScans) {
  Warnings quiet;
  const Array x = cos(arange(4096.0));
  auto f = [](const Policy& p) {
    auto body = checkpoint([](Array c, none_t) { return std::pair(sin(checkpoint_name(exp(-c), "a")) + c, none); }, p);
    return grad([=](Array x) { return sum(scan(body, x, none, {.length = 50}).first); });
  };
  const std::size_t stack = 50 * 4096 * sizeof(float);
  auto saved = jit(f(save_only_these_names("a"))), offloaded = jit(f(offload_names));
  EXPECT_TRUE(same_bits(offloaded(x), saved(x)));
  EXPECT_EQ(offloaded.plan(x).disk_bytes, stack);
  EXPECT_LE(offloaded.plan(x).peak_bytes + stack * 9 / 10, saved.plan(x).peak_bytes);
  auto peak = [&](const Policy& p) {
    const MemoryMeter meter;
    (void)f(p)(x);
    return meter.peak();
  };
  EXPECT_LE(peak(offload_names) + stack * 9 / 10, peak(save_only_these_names("a")));
}

// Several steps a turn change nothing of what is moved: residuals, xs, what is left over, loops inside.
TEST(Offload, WhateverTheStepsPerTurn) {
  Warnings quiet;
  const Array h = cos(arange(512.0)), xs = reshape(sin(arange(12 * 512.0)), {12, 512});
  auto body =
      checkpoint([](Array h, Array x) { return std::pair(sin(checkpoint_name(sin(h * x), "a")), h); }, offload_names);
  auto inside = [=](Array h, Array x) {
    auto row = [=](Array h, none_t) { return std::pair(body(h, x).first, none); };
    return std::pair(scan(row, h, none, {.length = 3}).first, h);
  };
  auto check = [&](const auto& step) {
    for (bool reverse : {false, true}) {
      auto slope = [&](int unroll) {
        return grad<0, 1>([=](Array h, Array xs) {
          auto [last, ys] = scan(step, h, xs, {.reverse = reverse, .unroll = unroll});
          return sum(last) + sum(ys * ys);
        });
      };
      auto plain = jit(slope(1)).compile(h, xs);
      const auto [dh, dxs] = plain(h, xs);
      EXPECT_GE(plain.plan().disk_bytes, 12 * 2048u);
      for (int unroll : {0, 3, 5}) {
        auto several = jit(slope(unroll)).compile(h, xs);
        const auto [uh, uxs] = several(h, xs);
        EXPECT_TRUE(same_bits(uh, dh)) << unroll;
        EXPECT_TRUE(same_bits(uxs, dxs)) << unroll;
        EXPECT_EQ(several.plan().disk_bytes, plain.plan().disk_bytes) << unroll;
        EXPECT_LE(several.plan().peak_bytes, plain.plan().peak_bytes) << unroll;
        EXPECT_EQ(several.high_water_bytes(), several.plan().peak_bytes) << unroll;
      }
    }
  };
  check(body);
  check(inside);
}

// A gradient inside of a loop: the file is written anew at each step.
TEST(Offload, InsideALoop) {
  Warnings quiet;
  const Array x = cos(arange(1024.0));
  auto train = [](const Policy& p) {
    auto one = [=](Array w, none_t) { return std::pair(w - 0.1 * grad(loop(p))(w), none); };
    return jit([=](Array x) { return scan(one, x, none, {.length = 4}).first; });
  };
  auto offloaded = train(offload_names);
  EXPECT_TRUE(same_bits(offloaded(x), train(everything_saveable)(x)));
  EXPECT_EQ(offloaded.plan(x).disk_bytes, 5 * 4096u);
}

TEST(Offload, UnderABudget) {
  Warnings quiet;
  const Array W = 0.1 * sin(reshape(arange(64.0 * 64.0), {64, 64})), x = cos(reshape(arange(256.0 * 64.0), {256, 64}));
  auto plain = jit(deep_gradient(offload_names));
  const auto want = plain(W, x);
  const std::size_t all = plain.plan(W, x).peak_bytes;
  for (double part : {1.0, 0.9}) {
    auto within = jit(deep_gradient(offload_names),
                      JitOptions{.memory_budget = static_cast<std::size_t>(part * static_cast<double>(all))});
    try {
      const auto got = within(W, x);
      EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)));
      EXPECT_LE(within.plan(W, x).peak_bytes, part * static_cast<double>(all));
      EXPECT_GT(within.plan(W, x).disk_bytes, 0u);
    } catch (const Error& e) {
      EXPECT_LT(part, 1.0) << e.what();
    }
  }
}

// Layers whose kernels are cut into tiles, which want memory: what lies on disk has none to lend, in loops and
// branches.
TEST(Offload, NobodyComputesOnDisk) {
  Warnings quiet;
  auto layer = [](Array w, Array x) { return sin(matmul(x - mean(x, 1, true), w)); };
  auto in_branch = [=](Array w, Array x) {
    return cond(sum(x) < 1e9, [=](Array w, Array x) { return layer(w, x); }, [](Array, Array x) { return x; }, w, x);
  };
  auto loss = [](auto f, ScanOptions options, bool times_two) {
    return [=](Array ws, Array x) {
      auto turn = [=](Array x, Array w) { return std::pair(times_two ? f(w, f(w, x)) : f(w, x), none); };
      return sum(scan(turn, x, ws, options).first);
    };
  };
  const Policy offloads = offload_dot_with_no_batch_dims();
  for (std::int64_t rows : {16, 256})
    for (bool two : {false, true}) {
      const Array ws = eye(64) * ones({3, 64, 64}),
                  x = reshape(arange(64.0 * static_cast<double>(rows)), {rows, 64}) * 1e-3;
      auto check = [&](auto f, auto offloading) {
        const auto want = grad<0, 1>(loss(f, {}, two))(ws, x);
        for (const ScanOptions& options : {ScanOptions{}, ScanOptions{.memory = 1 << 20}, ScanOptions{.unroll = 2}}) {
          auto g = grad<0, 1>(loss(offloading, options, two));
          const auto got = jit(g)(ws, x);
          EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)))
              << rows;
        }
        const auto many = jit(vmap(grad<0, 1>(loss(offloading, {}, two)), {.in_axes = {none, 0}}))(ws, stack({x, x}));
        EXPECT_TRUE(same_bits(std::get<0>(many)[1], std::get<0>(want))) << rows;
      };
      check(layer, checkpoint(layer, offloads));
      check(in_branch, checkpoint(in_branch, offloads));
      check(in_branch, [=](Array w, Array x) {
        auto inside = [=](Array w, Array x) { return checkpoint(layer, offloads)(w, x); };
        return cond(sum(x) < 1e9, inside, [](Array, Array x) { return x; }, w, x);
      });
    }
}

// ---- faults

// Offloaded arrays lie in it.
struct SpillFolder : Folder {
  SpillFolder() { ::setenv("ANEW_SPILL", path.c_str(), 1); }
  ~SpillFolder() { ::unsetenv("ANEW_SPILL"); }
};

TEST(Offload, FaultsAreErrors) {
  Warnings quiet;
  const SpillFolder folder;
  const Array x = cos(arange(1000.0));
  const Array want = grad(loop(everything_saveable))(x);
  auto compiled = jit(grad(loop(offload_names)));
  auto eager = grad(loop(offload_names));
  const int failed = errors_of_faults(runs(300), 16, "[offload] cannot ",
                                      [&](int i) { EXPECT_TRUE(same_bits(i % 2 ? compiled(x) : eager(x), want)); });
  EXPECT_GT(failed, runs(300) / 4);
  EXPECT_TRUE(same_bits(compiled(x), want) && same_bits(eager(x), want));
  EXPECT_EQ(folder.files(), 0);
}

TEST(Offload, TextsOfErrors) {
  Warnings quiet;
  const SpillFolder folder;
  const Array x = ones({16});
  const std::string unwritable =
      "[offload] cannot open a file in /nowhere: No such file or directory; hint: set ANEW_SPILL to a folder that "
      "exists and may be written to";
  const std::string no_space = "[offload] cannot write an array in " + folder.path +
                               ": No space left on device; hint: free space there, or set ANEW_SPILL to a folder on "
                               "another disk";
  set_file_fault(disk_is_full);
  EXPECT_EQ(ERROR_OF((void)grad(checkpoint(sines, offload_names))(x)), no_space);
  EXPECT_EQ(ERROR_OF((void)jit(grad(checkpoint(sines, offload_names)))(x)), no_space);
  set_file_fault(nullptr);
  ::setenv("ANEW_SPILL", "/nowhere", 1);
  EXPECT_EQ(ERROR_OF((void)grad(checkpoint(sines, offload_names))(x)), unwritable);
  EXPECT_EQ(ERROR_OF((void)jit(grad(checkpoint(sines, offload_names)))(x)), unwritable);
  EXPECT_EQ(ERROR_OF((void)parse_program("{ lambda ; a:f32[]. let b:f32[] = device_put[dst=tape] a in (b,) }")),
            "[parse] 1:35: [device_put] dst is 'tape'; hint: it is 'pinned_host' or 'device'");
}

// The folder of policies: set, kept to by eager and compiled code, and given back.
TEST(Offload, SpillFolder) {
  Warnings quiet;
  const SpillFolder folder;
  const Array x = ones({16});
  const std::string full_there = folder.path +
                                 ": No space left on device; hint: free space there, or give "
                                 "set_spill_folder a folder on another disk";
  ::setenv("ANEW_SPILL", "/nowhere", 1);
  EXPECT_EQ(set_spill_folder(folder.path), "/nowhere");
  EXPECT_TRUE(same_bits(grad(checkpoint(sines, offload_names))(x), grad(sines)(x)));
  EXPECT_TRUE(same_bits(jit(grad(checkpoint(sines, offload_names)))(x), grad(sines)(x)));
  set_file_fault(disk_is_full);
  EXPECT_EQ(ERROR_OF((void)grad(checkpoint(sines, offload_names))(x)),
            "[offload] cannot write an array in " + full_there);
  EXPECT_EQ(ERROR_OF((void)jit(grad(checkpoint(sines, offload_names)))(x)),
            "[offload] cannot write an array in " + full_there);
  set_file_fault(nullptr);
  // One that can not be used changes nothing.
  EXPECT_EQ(ERROR_OF((void)set_spill_folder("/nowhere")),
            "[set_spill_folder] cannot open a file in /nowhere: No such file or directory; hint: give a folder that "
            "exists and may be written to");
  EXPECT_EQ(set_spill_folder(""), folder.path);
  EXPECT_EQ(set_spill_folder(""), "/nowhere");
  // An array that is there does not hold others in its folder.
  EXPECT_EQ(set_spill_folder(folder.path), "/nowhere");
  const Array away = bind1(device_put_row(), device_put_params(true), {x}, Location::current());
  EXPECT_EQ(set_spill_folder(""), folder.path);
  EXPECT_EQ(ERROR_OF((void)bind1(device_put_row(), device_put_params(true), {x}, Location::current())),
            "[offload] cannot open a file in /nowhere: No such file or directory; hint: set ANEW_SPILL to a folder "
            "that exists and may be written to");
  EXPECT_TRUE(same_bits(away + 0, x));
  EXPECT_EQ(folder.files(), 0);
}

// An array on disk is an array like any other to whoever reads it.
TEST(Offload, ArraysOnDisk) {
  const Array x = cos(reshape(arange(12.0), {3, 4}));
  const Array away = bind1(device_put_row(), device_put_params(true), {x}, Location::current());
  EXPECT_TRUE(is_spilled(place_of(away)));
  EXPECT_TRUE(same_bits(bind1(device_put_row(), device_put_params(false), {away}, Location::current()), x));
  EXPECT_TRUE(same_bits(away + 1, x + 1));
  EXPECT_TRUE(same_bits(transpose(away), transpose(x)));
  EXPECT_TRUE(same_bits(jit([](Array x) { return sin(x); })(away), sin(x)));
  EXPECT_TRUE(same_bits(away[1], x[1]));
  const Array turned = bind1(device_put_row(), device_put_params(true), {transpose(x)}, Location::current());
  EXPECT_TRUE(same_bits(turned, transpose(x)));
}

}  // namespace
}  // namespace anew::test::offload_test
