// Small kernels in loops: one call per step where nothing is in the way, with the bits of evaluation by both backends.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "passes/fuse_support.h"

namespace anew {
namespace {

using passes::Body;
using passes::Step;

// Kernels and other steps in the bodies of loops, in the order of the loops.
std::vector<int> steps_in_loops(const Body& body, bool in_loop = false) {
  std::vector<int> counts;
  if (in_loop) counts.push_back(static_cast<int>(body.steps.size()));
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) {
      const std::vector<int> inner = steps_in_loops(*nested, true);
      counts.insert(counts.end(), inner.begin(), inner.end());
    }
  return counts;
}

// The steps of each loop's body in the plan of f; its results are those of evaluation.
std::vector<int> joined(const FlatFunction& f, const Arrays& x) {
  const Arrays want = f(x);
  const compiled::Backend backend = compiled::backend();
  for (compiled::Backend b : {compiled::Backend::interpreter, backend}) {
    compiled::set_backend(b);
    compiled::clear_compiled();
    EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), want));
  }
  compiled::set_backend(backend);
  compiled::clear_compiled();
  const Program p = flat::make_program(f, x);
  std::vector<ir::Strides> inputs;
  for (const ir::Type& t : p.code()->input_types()) inputs.push_back(row_major(t.shape));
  const auto body = passes::plan_program(*p.code(), inputs).placed;
  passes::verify(*body);
  return steps_in_loops(*body);
}

FlatFunction of_one(std::function<Array(Array)> f) {
  return [f = std::move(f)](std::span<const Array> x) { return Arrays{f(x[0])}; };
}
Array states(const Shape& shape, int seed = 3) { return random::normal(random::key(seed), shape); }

Array lorenz(const Array& s) {
  Array x = s[0], y = s[1], z = s[2];
  return stack({10 * (y - x), x * (28 - z) - y, x * y - 2.5 * z});
}
Array midpoint(const Array& s) { return s + 0.01 * lorenz(s + 0.005 * lorenz(s)); }
Array state_after(const Array& s, int steps) {
  return scan([](Array c, none_t) { return std::pair(midpoint(c), none); }, s, none, {.length = steps}).first;
}

TEST(Join, ASystemOfRowsIsOneKernelForwardAndBack) {
  for (const Shape& shape : {Shape{3, 20}, Shape{3}, Shape{3, 5, 4}}) {
    EXPECT_EQ(joined(of_one([](Array s) { return state_after(s, 7); }), {states(shape)}), std::vector<int>{1})
        << shape.str();
    auto loss = [](Array s) { return sum(square(state_after(s, 7))); };
    EXPECT_EQ(joined(of_one([=](Array s) { return grad(loss)(s); }), {states(shape)}), (std::vector<int>{1, 1}))
        << shape.str();
  }
}

TEST(Join, AlsoWhereStatesAreRecomputed) {
  auto loss = [](Array s) {
    auto body = [](Array c, none_t) { return std::pair(midpoint(c), none); };
    return sum(square(scan(body, s, none, {.length = 12, .checkpoints = 3}).first));
  };
  for (int n : joined(of_one([=](Array s) { return grad(loss)(s); }), {states({3, 20})})) EXPECT_EQ(n, 1);
}

TEST(Join, NeighboursThatAreReadStayApart) {
  // What an iteration reads, another one has made: two kernels.
  auto smooth = [](Array x) {
    auto body = [](Array c, none_t) {
      Array h = sin(c);
      return std::pair(h[slice(none, none, -1)] + 0.5 * h, none);
    };
    return scan(body, x, none, {.length = 5}).first;
  };
  EXPECT_EQ(joined(of_one(smooth), {states({16})}), std::vector<int>{2});
}

TEST(Join, PartsAndWholeRowsInAnyOrder) {
  auto rows = [](Array x) {
    auto body = [](Array c, Array w) {
      Array top = c[0] * w, rest = c[slice(1, none)] + w;
      Array next = concatenate({top.reshape({1, 8}), rest * 0.5}, 0);
      return std::pair(next, sum(next[2]) + next[1]);
    };
    auto [last, ys] = scan(body, x, x[{slice(), slice()}] * 0.25);
    return sum(last) + sum(ys * ys);
  };
  joined(of_one(rows), {states({4, 8})});
  joined(of_one([=](Array x) { return grad(rows)(x); }), {states({4, 8})});
}

TEST(Join, HalvesOfAVector) {
  auto halves = [](Array x) {
    auto body = [](Array c, none_t) {
      return std::pair(concatenate({sin(c[slice(4, none)]), c[slice(none, 4)] * 0.5}, 0), none);
    };
    return scan(body, x, none, {.length = 5}).first;
  };
  EXPECT_EQ(joined(of_one(halves), {states({8})}), std::vector<int>{1});
}

TEST(Join, VectorsBesideACounterAreNotUnrolled) {
  auto count = [](Array x) {
    auto body = [](Array c, Array k) { return std::pair(sin(c * astype(k, f32)), k * 2 + 1); };
    auto [last, ys] = scan(body, x, arange(6));
    return last * sum(astype(ys, f32));
  };
  EXPECT_EQ(joined(of_one(count), {states({8})}), std::vector<int>{2});
}

TEST(Join, NarrowTypesAreRoundedWhereTheyWereStored) {
  auto narrow = [](Array x) {
    auto body = [](Array c, none_t) {
      Array h = astype(stack({c[1] * 1.7f, c[0] + c[1]}), bf16);
      return std::pair(astype(h * h + h, f32) * 0.3f, none);
    };
    return scan(body, x, none, {.length = 4}).first;
  };
  EXPECT_EQ(joined(of_one(narrow), {states({2, 40})}), std::vector<int>{1});
}

}  // namespace
}  // namespace anew
