// Marks: regions are objects of the process, and what is computed does not depend on them.
#include "ir/mark.h"

#include "ir/program.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew {
namespace {

TEST(Region, IsOneObjectPerCall) {
  const Location at = Location::current();
  const ir::Region* outer = ir::region(nullptr, "jit", at, 0);
  EXPECT_EQ(outer, ir::region(nullptr, "jit", at, 0));
  EXPECT_NE(outer, ir::region(nullptr, "jit", at, 1));
  EXPECT_NE(outer, ir::region(outer, "jit", at, 0));
  EXPECT_NE(outer, ir::region(nullptr, "jit", Location::current(), 0));
}

TEST(Region, PrintsFromTheInside) {
  const Location at = Location::current();
  const std::string line = source_line(at).str();
  const ir::Region* outer = ir::region(nullptr, "jit", at, 0);
  EXPECT_EQ(ir::str(nullptr), "");
  EXPECT_EQ(ir::str(ir::region(outer, "checkpoint", at, 3)), "checkpoint 3 of " + line + ", jit 0 of " + line);
}

Staged traced(const FlatFunction& f) {
  return stage(f, std::vector<ir::Type>{{{3}, f32}}, "test", Location::current());
}

TEST(Mark, IsOneForAllThatAnOperationBecomes) {
  auto f = [](std::span<const Array> x) {
    return flat::grad([](std::span<const Array> y) { return Arrays{sum(sin(y[0]))}; }, x);
  };
  const Staged s = traced(f);
  std::uint64_t forward = 0;
  int backward = 0;
  for (const ir::Eqn& e : s.program.eqns) {
    EXPECT_NE(e.mark.operation, 0u);
    if (e.primitive->name == "cos") forward = e.mark.operation;
    if (e.primitive->name == "mul") backward += e.mark.backward && e.mark.operation == forward;
  }
  EXPECT_EQ(backward, 1) << ir::print(s.program);
}

TEST(Mark, CallsFromOneLineAreCountedInEachTrace) {
  auto f = [](std::span<const Array> x) {
    Arrays y(x.begin(), x.end());
    for (int i = 0; i < 3; ++i)
      y = flat::checkpoint([](std::span<const Array> z) { return Arrays{sin(z[0])}; }, y,
                           checkpoint_policies::nothing_saveable);
    return y;
  };
  for (int round = 0; round < 2; ++round) {
    const Staged s = traced(f);
    ASSERT_EQ(s.program.eqns.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const auto nested = ir::nested_programs(s.program.eqns[static_cast<std::size_t>(i)]);
      const ir::Region* region = nested[0]->eqns[0].mark.region;
      ASSERT_TRUE(region);
      EXPECT_EQ(region->instance, i);
      EXPECT_EQ(region->what, "checkpoint");
      EXPECT_EQ(region->outer, nullptr);
    }
  }
}

TEST(Mark, MakesNoProgramAnother) {
  auto f = [](std::span<const Array> x) { return Arrays{sin(x[0]) * 2}; };
  const Staged a = traced(f), b = traced(f);
  EXPECT_NE(a.program.eqns[0].mark.operation, b.program.eqns[0].mark.operation);
  EXPECT_TRUE(ir::equal(a.program, b.program));
  EXPECT_EQ(ir::hash_value(a.program), ir::hash_value(b.program));
}

}  // namespace
}  // namespace anew
