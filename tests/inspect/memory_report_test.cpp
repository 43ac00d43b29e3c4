// Memory reports: what is gathered of compiled functions.
#include "support/support.h"

namespace anew {
namespace {

using test::fill;
using Step = MemoryReport::Step;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Step& step(const MemoryReport& r, const std::string& what) {
  for (const Step& s : r.steps)
    if (s.what == what) return s;
  ADD_FAILURE() << "no step " << what << "\n" << r;
  static const Step none;
  return none;
}

Array loss(const std::vector<Array>& ws, Array x) {
  for (const Array& w : ws) x = sin(matmul(x, w));
  return mean(square(x));
}

TEST(MemoryReport, OfAProduct) {
  auto f = jit([](Array x, Array y) { return matmul(x, y); });
  MemoryReport r = memory_report(f, fill({10, 20}, 1), fill({20, 30}, 2));
  ASSERT_EQ(r.steps.size(), 1u);
  const Step& s = r.steps[0];
  EXPECT_EQ(s.what, "dot_general");
  EXPECT_EQ(s.type, "f32[10,30]");
  EXPECT_TRUE(s.line.str().starts_with("memory_report_test.cpp:")) << s.line.str();
  EXPECT_EQ(s.runs, 1);
  EXPECT_EQ(s.flops, 2 * 10 * 20 * 30);
  EXPECT_EQ(s.bytes, 4 * (10 * 20 + 20 * 30 + 10 * 30));
  EXPECT_GT(s.seconds, 0);
  EXPECT_GT(r.seconds, 0);
  EXPECT_EQ(s.depth, 0);
  EXPECT_EQ(r.measured_bytes, r.plan.peak_bytes);
}

TEST(MemoryReport, OperationsOfAKernel) {
  auto f = jit([](Array x) {
    Array y = sin(x);
    return y * 2 + x;
  });
  MemoryReport r = memory_report(f, ones({10}));
  ASSERT_EQ(r.steps.size(), 1u) << r;
  ASSERT_EQ(r.steps[0].operations.size(), 3u);
  EXPECT_EQ(r.steps[0].operations[0].what, "sin");
  EXPECT_EQ(r.steps[0].operations[0].line.line + 1, r.steps[0].operations[2].line.line);
  EXPECT_EQ(r.steps[0].what, "sin, mul, add");
}

// A kernel behind a product runs on its tiles: one step, whose product is not read again from memory.
TEST(MemoryReport, KernelsBehindProducts) {
  auto f = jit([](Array x, Array w) { return sin(matmul(x, w)); });
  MemoryReport r = memory_report(f, fill({16, 32}, 1), fill({32, 24}, 2));
  double flops = 0, bytes = 0;
  for (const Step& s : r.steps) flops += s.flops, bytes += s.bytes;
  EXPECT_GT(flops, 2 * 16 * 32 * 24);
  EXPECT_GE(bytes, 4 * (16 * 32 + 32 * 24 + 16 * 24));
  EXPECT_LE(bytes, 4 * (16 * 32 + 32 * 24 + 3 * 16 * 24));
  std::vector<std::string> all;
  for (const Step& s : r.steps)
    for (const MemoryReport::Operation& o : s.operations) all.push_back(o.what);
  EXPECT_EQ(all, (std::vector<std::string>{"dot_general", "sin"}));
  EXPECT_GT(r.steps[0].seconds, 0);
}

TEST(MemoryReport, PlanIsThatOfTheFunction) {
  std::vector<Array> ws{fill({8, 8}, 1), fill({8, 8}, 2)};
  auto f = jit(value_and_grad(loss));
  MemoryReport r = memory_report(f, ws, fill({5, 8}, 3));
  EXPECT_EQ(r.plan.str(), f.plan(ws, fill({5, 8}, 3)).str());
  EXPECT_EQ(r.measured_bytes, r.plan.peak_bytes);
  std::size_t most = 0;
  for (const Step& s : r.steps) most = std::max(most, s.live_bytes);
  EXPECT_LE(most, r.plan.arena_bytes);
  EXPECT_GT(2 * most, r.plan.arena_bytes);
}

// Pieces that live at the same step do not overlap, end inside the arena, and add up to what is alive.
void check_pieces(const MemoryReport& r) {
  for (std::size_t i = 0; i < r.pieces.size(); ++i) {
    const MemoryReport::Piece& a = r.pieces[i];
    EXPECT_LE(a.first, a.last);
    EXPECT_LT(a.last, r.steps.size());
    EXPECT_LE(a.offset + a.bytes, r.plan.arena_bytes) << a.what;
    for (std::size_t k = 0; k < i; ++k) {
      const MemoryReport::Piece& b = r.pieces[k];
      if (a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.what << " " << a.type << " and " << b.what << " " << b.type;
    }
  }
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    std::size_t bytes = 0;
    for (const MemoryReport::Piece& p : r.pieces)
      if (p.first <= i && i <= p.last) bytes += p.bytes;
    EXPECT_LE(bytes, r.steps[i].live_bytes) << i << " " << r.steps[i].what << "\n" << r;
  }
}

// Arguments that are given away are there for every call, and a number among them stays one.
TEST(MemoryReport, OfDonatedArguments) {
  auto f = jit([](Array w, Array t) { return std::pair(w - w / (t + 1), t + 1); }, {.donate = {0, 1}});
  Array w = fill({64}, 1);
  const MemoryReport r = memory_report(f, w, 2.0);
  EXPECT_EQ(r.measured_bytes, r.plan.peak_bytes);
  EXPECT_EQ(w.shape(), Shape({64}));
  EXPECT_GT(sum(square(w)).item<float>(), 0);
}

TEST(MemoryReport, PiecesOfTheArena) {
  std::vector<Array> ws{fill({8, 8}, 1), fill({8, 8}, 2), fill({8, 8}, 4)};
  MemoryReport r = memory_report(jit(grad(loss)), ws, fill({5, 8}, 3));
  EXPECT_FALSE(r.pieces.empty());
  check_pieces(r);
}

Array rnn(Array w, Array xs) {
  auto cell = [&](Array h, Array x) {
    Array y = tanh(matmul(h, w) + x);
    return std::pair(y, none);
  };
  return sum(scan(cell, zeros({8}), xs).first);
}

TEST(MemoryReport, StepsOfLoops) {
  MemoryReport r = memory_report(jit(grad(rnn)), fill({8, 8}, 1), fill({10, 8}, 2));
  int loops = 0;
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (r.steps[i].what != "scan[10]") continue;
    ++loops;
    EXPECT_EQ(r.steps[i].runs, 1);
    double flops = 0, seconds = 0, bytes = 0;
    for (std::size_t k = i + 1; k < r.steps.size() && r.steps[k].depth == 1; ++k) {
      EXPECT_EQ(r.steps[k].runs, 10);
      EXPECT_LE(r.steps[k].live_bytes, r.steps[i].live_bytes);
      flops += r.steps[k].flops, bytes += r.steps[k].bytes, seconds += r.steps[k].seconds;
    }
    EXPECT_EQ(flops, r.steps[i].flops);
    EXPECT_EQ(bytes, r.steps[i].bytes);
    EXPECT_GT(flops, 10 * 2 * 8 * 8);
    EXPECT_GT(seconds, 0);
  }
  EXPECT_EQ(loops, 2) << r;
  check_pieces(r);
}

TEST(MemoryReport, LoopsWithConditionsAndBranches) {
  auto f = jit([](Array x) {
    auto [y, n] = while_loop(
        [](const std::pair<Array, Array>& c) { return c.second < 6; },
        [](const std::pair<Array, Array>& c) {
          Array y = cond(c.second < 2, [](Array y) { return sin(y); }, [](Array y) { return matmul(y, y); }, c.first);
          return std::pair(y, c.second + 1);
        },
        std::pair(x, 0));
    return y;
  });
  MemoryReport r = memory_report(f, fill({4, 4}, 1));
  EXPECT_EQ(step(r, "body").runs, 6) << r;
  EXPECT_EQ(step(r, "condition").runs, 7);
  EXPECT_EQ(step(r, "cond").runs, 6);
  // cond counts from the false branch on
  EXPECT_EQ(step(r, "branch 0").runs, 4);
  EXPECT_EQ(step(r, "branch 1").runs, 2);
  EXPECT_EQ(step(r, "dot_general").flops, 4 * 2 * 4 * 4 * 4);
  EXPECT_EQ(step(r, "dot_general").depth, 4);
  EXPECT_EQ(step(r, "sin").runs, 2);
  check_pieces(r);
}

TEST(MemoryReport, LoopsWithFewStates) {
  auto f = [](Array w, Array x) {
    return sum(fori_loop(0, 7, [&](Array, Array y) { return sin(matmul(y, w)); }, x, {.checkpoints = 3}));
  };
  MemoryReport r = memory_report(jit(grad(f)), fill({5, 5}, 1), fill({4, 5}, 2));
  EXPECT_EQ(step(r, "back").runs, 7) << r;
  EXPECT_GT(step(r, "advance").runs, 0);
  check_pieces(r);
}

TEST(MemoryReport, OfShapesRunsNothing) {
  int calls = 0;
  auto f = jit([&](Array x) {
    auto [y, _] = scan([](Array c, none_t) { return std::pair(matmul(c, c), none); }, x, none, {.length = 3});
    return io_callback(
        [&](Array v) {
          ++calls;
          return v;
        },
        ShapeDtype{{4, 4}, f32}, y);
  });
  MemoryReport r = memory_report(f, ShapeDtype{{4, 4}, f32});
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(r.measured_bytes, 0u);
  EXPECT_EQ(r.seconds, -1);
  EXPECT_EQ(step(r, "dot_general").runs, 3);
  EXPECT_EQ(step(r, "dot_general").flops, 3 * 2 * 4 * 4 * 4);
  EXPECT_EQ(step(r, "dot_general").seconds, -1);
  EXPECT_NE(r.str().find("planned; nothing has run\n"), std::string::npos) << r;
  r = memory_report(f, fill({4, 4}, 1));
  EXPECT_EQ(calls, 1);
  EXPECT_GT(step(r, "dot_general").seconds, 0);
}

TEST(MemoryReport, WhatIsMovedCountsOnce) {
  auto bytes = [](auto f, auto... x) {
    MemoryReport r = memory_report(jit(f), x...);
    double sum = 0;
    for (const Step& s : r.steps) sum += s.bytes;
    return sum;
  };
  // A row that is repeated is read once; a part of an array is a part.
  EXPECT_EQ(bytes([](Array x, Array y) { return x + y; }, ones({6, 5}), ones({5})), 4 * (30 + 5 + 30));
  EXPECT_EQ(bytes([](Array x) { return sin(x[slice(2)]); }, ones({6, 5})), 4 * (10 + 10));
  EXPECT_EQ(bytes([](Array x) { return sum(x, 1); }, ones({6, 5})), 4 * (30 + 6));
  // One row of many, found by two indices.
  auto row = jit([](Array x, Array i) { return lax::dynamic_slice(x, {i, 0}, {1, 8}); });
  EXPECT_EQ(step(memory_report(row, ones({100, 8}), array(3)), "dynamic_slice").bytes, 4 * (8 + 8 + 2));
}

TEST(MemoryReport, FlopsOfProductsAndFactors) {
  auto flops = [](auto f, auto... x) {
    MemoryReport r = memory_report(jit(f), x...);
    double sum = 0;
    for (const Step& s : r.steps) sum += s.depth == 0 ? s.flops : 0;
    return sum;
  };
  auto shape = [](Shape s) { return ShapeDtype{s, f32}; };
  EXPECT_EQ(flops([](Array x, Array w) { return lax::conv_general_dilated(x, w, {1, 1}, "VALID"); },
                  shape({2, 3, 8, 8}), shape({4, 3, 3, 3})),
            2.0 * (2 * 4 * 6 * 6) * (3 * 3 * 3));
  EXPECT_EQ(flops([](Array x,
                     Array w) { return lax::conv_general_dilated(x, w, {1, 1}, "VALID", {.feature_group_count = 4}); },
                  shape({2, 4, 8, 8}), shape({8, 1, 3, 3})),
            2.0 * (2 * 8 * 6 * 6) * (3 * 3));
  EXPECT_EQ(flops([](Array x) { return sum(x); }, shape({30, 40})), 1200);
  EXPECT_EQ(flops([](Array x) { return linalg::cholesky(x); }, shape({2, 9, 9})), 2 * 9 * 9 * 9 / 3);
  EXPECT_EQ(flops([](Array a, Array b) { return lax::triangular_solve(a, b, {.left_side = true}); }, shape({6, 6}),
                  shape({6, 2})),
            6 * 6 * 2);
  EXPECT_EQ(flops([](Array x) { return fft::rfft(x); }, shape({3, 32})), 2.5 * 3 * 32 * 5);
}

TEST(MemoryReport, TimesAndTotalsAddUp) {
  const MemoryReport r = memory_report(jit(grad(rnn)), fill({8, 8}, 1), fill({10, 8}, 2));
  double outermost = 0;
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    if (r.steps[i].depth == 0) outermost += r.steps[i].seconds;
    double below = 0;
    for (std::size_t k = i + 1; k < r.steps.size() && r.steps[k].depth > r.steps[i].depth; ++k)
      below += r.steps[k].depth == r.steps[i].depth + 1 ? r.steps[k].seconds : 0;
    EXPECT_TRUE(below == 0 || std::abs(below - r.steps[i].seconds) < 1e-12) << r.steps[i].what;
  }
  EXPECT_LE(outermost, r.seconds * (1 + 1e-9));
  using By = MemoryReport::By;
  for (By by : {By::line, By::function, By::path}) {
    std::size_t bytes = 0, most = 0;
    double seconds = 0;
    for (const MemoryReport::Total& t : r.totals(by)) bytes += t.bytes, seconds += t.seconds;
    for (const Step& s : r.steps) most = std::max(most, s.live_bytes);
    EXPECT_NEAR(seconds, outermost, 1e-12);
    EXPECT_LE(bytes, most);
    EXPECT_GT(2 * bytes, most);
  }
}

TEST(MemoryReport, ReadsTheUsersLines) {
  const MemoryReport r = memory_report(jit([](Array x) { return sin(x); }), ones({10}));  // this one
  const SourceLine line = r.steps[0].line;
  auto it = std::find_if(r.sources.begin(), r.sources.end(),
                         [&](const auto& s) { return s.file == line.file && s.line == line.line; });
  ASSERT_NE(it, r.sources.end());
  EXPECT_TRUE(contains(it->text, "// this one"));
  EXPECT_EQ(r.sources.size(), 7u);  // and three on each side
}

}  // namespace
}  // namespace anew
