// What tracing and differentiating costs grows with the size of a program, not with the power of its depth. Work is
// counted in equations that traces process (next_sequence), and in calls of the user's functions.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "trace/trace.h"

namespace anew {
namespace {

struct Cost {
  std::uint64_t equations = 0;
  int calls = 0;  // of the innermost body
};

using Nest = std::function<Array(const Array&, int, int&)>;

Array in_while(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, sin(x);
  return while_loop([](Array c) { return c < 10; }, [&](Array c) { return in_while(c, depth - 1, calls) + 2; }, x);
}
// Linear inside: a residual would be stacked by every loop, and an array has 16 axes at most.
Array in_scan(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, x * 3;
  auto body = [&](Array c, Array w) { return std::pair(in_scan(c, depth - 1, calls) * w, none); };
  return scan(body, x, ones({2})).first;
}
// The carry starts as a constant: whether it has a tangent is found out by trying.
Array in_late_scan(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, x * 3;
  auto body = [&](Array c, Array w) { return std::pair(c + in_late_scan(x, depth - 1, calls) * w, none); };
  return scan(body, ones({}), ones({2})).first;
}
Array in_checkpointed_scan(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, x * 3;
  auto body = [&](Array c, Array w) { return std::pair(in_checkpointed_scan(c, depth - 1, calls) * w, none); };
  return scan(body, x, ones({2}), {.checkpoints = 1}).first;
}
Array in_cond(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, sin(x);
  return cond(x > 0, [&](Array c) { return in_cond(c, depth - 1, calls) * 2; }, [](Array c) { return c * c; }, x);
}
Array in_checkpoint(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, sin(x);
  return checkpoint([&](Array c) { return sin(in_checkpoint(sin(c), depth - 1, calls)); })(x);
}
Array in_jit(const Array& x, int depth, int& calls) {
  if (depth == 0) return ++calls, sin(x);
  return jit([&](Array c) { return sin(in_jit(sin(c), depth - 1, calls)); })(x);
}

enum class How { trace, grad, vmap };

Cost cost(const Nest& f, int depth, How how) {
  Cost c;
  const std::uint64_t start = next_sequence();
  auto g = [&](Array x) { return f(x, depth, c.calls); };
  if (how == How::trace) (void)make_program(g)(ShapeDtype{{}, f32});
  else if (how == How::grad) (void)make_program(grad(g))(ShapeDtype{{}, f32});
  else (void)make_program(vmap(g))(ShapeDtype{{3}, f32});
  c.equations = next_sequence() - start;
  return c;
}

// The power of the depth that the work may grow with. Programs themselves grow faster than their depth where every
// level hands on what those inside need: residuals of branches and calls, accumulators of loops.
struct Case {
  const char* name;
  Nest f;
  int grad = 1, vmap = 1;
};

TEST(Depth, WorkGrowsWithTheProgram) {
  const Case cases[] = {{"while", in_while},
                        {"scan", in_scan, 2},
                        {"late_scan", in_late_scan, 2},
                        {"scan with checkpoints", in_checkpointed_scan},
                        {"cond", in_cond, 3, 2},
                        {"checkpoint", in_checkpoint, 2},
                        {"jit", in_jit, 3}};
  for (const Case& c : cases)
    for (auto [how, power] : {std::pair(How::trace, 1), std::pair(How::grad, c.grad), std::pair(How::vmap, c.vmap)}) {
      SCOPED_TRACE(std::string(c.name) + " " + std::to_string(static_cast<int>(how)));
      const Cost ten = cost(c.f, 10, how), twenty = cost(c.f, 20, how), forty = cost(c.f, 40, how);
      EXPECT_EQ(ten.calls, 1);
      EXPECT_EQ(forty.calls, 1);
      const double most = 1.15 * std::pow(2.0, power);
      EXPECT_LT(static_cast<double>(twenty.equations), most * static_cast<double>(ten.equations));
      EXPECT_LT(static_cast<double>(forty.equations), most * static_cast<double>(twenty.equations));
    }
}

TEST(Depth, FiftyLevelsRun) {
  int calls = 0;
  auto f = [&](int depth) {
    return [&calls, depth](Array x) { return in_cond(x, depth, calls) + in_checkpoint(x, depth, calls); };
  };
  Array g = grad(f(50))(0.5), h = jit(grad(f(10)))(0.5);
  EXPECT_EQ(calls, 4);
  EXPECT_GT(static_cast<double>(g), 0);
  EXPECT_TRUE(array_equal(h, grad(f(10))(0.5)));
}

}  // namespace
}  // namespace anew
