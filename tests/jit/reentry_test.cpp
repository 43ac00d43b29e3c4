// Compiled functions that run while another one does, on the same thread: a callback calls them, with tables of
// pointers that fit beside the caller's and with larger ones.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/support.h"

namespace anew::test {
namespace {

TEST(Reentry, CallbacksCallCompiledFunctions) {
  for (std::size_t n : {1u, 10u, 1000u}) {
    SCOPED_TRACE(n);
    const flat::JitCache inner_cache;
    auto total = [](std::span<const Array> x) {
      Array s = x[0];
      for (std::size_t i = 1; i < x.size(); ++i) s = s + x[i];
      return Arrays{sum(s)};
    };
    auto inner = [&](Array x) {
      Arrays in;
      for (std::size_t i = 0; i < n; ++i) in.push_back(x + static_cast<double>(i % 7));
      return flat::jit(total, in, inner_cache)[0];
    };
    auto outer = jit([&](Array x) {
      Array before = sin(x), called = io_callback(inner, ShapeDtype{{}, f32}, x);
      return sum(before) + called + io_callback(inner, ShapeDtype{{}, f32}, before);
    });
    Array x = fill({5}, 1), before = sin(x);
    for (int i = 0; i < 3; ++i) {
      Array got = outer(x);  // before any call with more room
      EXPECT_TRUE(same_bits(got, sum(before) + inner(x) + inner(before)));
    }
  }
}

TEST(Reentry, PlansAndProgramsGoToStreams) {
  auto f = jit([](Array x) { return sin(x) * 2; });
  std::ostringstream plan, program;
  plan << f.plan(fill({4}, 1));
  EXPECT_EQ(plan.str(), f.plan(fill({4}, 1)).str());
  Program p = make_program([](Array x) { return sin(x); })(1.0);
  program << p;
  EXPECT_EQ(program.str(), p.str());
}

}  // namespace
}  // namespace anew::test
