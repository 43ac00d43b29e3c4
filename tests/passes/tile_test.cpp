// Tiles: the same bits in less memory, and what must not be cut into rows is not.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "passes/lowered.h"
#include "passes/pipeline.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew {
namespace {

using Xs = std::span<const Array>;

class Tile : public testing::Test {
 protected:
  void SetUp() override { before_ = passes::set_tile_limits({64, 128}); }
  void TearDown() override {
    passes::set_tile_limits(before_);
    compiled::clear_compiled();
  }
  static int tiles_in(const passes::Body& body) {
    int n = 0;
    for (const passes::Step& s : body.steps) {
      n += s.is<passes::Tiles>();
      for (const auto& nested : s.bodies) n += tiles_in(*nested);
    }
    return n;
  }
  // Steps of tiles in the plan of f; its results are those of evaluation, by both backends.
  int tiles(const FlatFunction& f, const Arrays& x) {
    const compiled::Backend backend = compiled::backend();
    Arrays want = f(x);
    for (compiled::Backend b : {compiled::Backend::interpreter, backend}) {
      compiled::set_backend(b);
      compiled::clear_compiled();
      EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), want));
    }
    compiled::set_backend(backend);
    Program p = flat::make_program(f, x);
    std::vector<ir::Strides> inputs;
    for (const ir::Type& t : p.code()->input_types()) inputs.push_back(row_major(t.shape));
    return tiles_in(*passes::plan_program(*p.code(), inputs).placed);
  }
  static Array data(const Shape& shape, int seed = 0) { return random::normal(random::key(seed), shape); }
  static FlatFunction one(std::function<Array(Array)> f) {
    return [f = std::move(f)](Xs x) { return Arrays{f(x[0])}; };
  }
  static Array norm(Array x) {
    Array m = mean(x, -1, true), v = mean(square(x - m), -1, true);
    return (x - m) * rsqrt(v + 1e-5f);
  }

 private:
  passes::TileLimits before_;
};

TEST_F(Tile, RowsOfSoftmaxAndLayerNormAndTheirGradients) {
  auto gradient = [](std::function<Array(Array)> f) {
    return one([f](Array x) { return grad([f](Array y) { return sum(square(f(y)) * y); })(x); });
  };
  auto softmax = [](Array x) { return nn::softmax(x); };
  EXPECT_EQ(tiles(one(softmax), {data({20, 16})}), 1);
  EXPECT_EQ(tiles(gradient(softmax), {data({20, 16})}), 1);
  EXPECT_EQ(tiles(one(norm), {data({20, 16})}), 1);
  EXPECT_EQ(tiles(gradient(norm), {data({20, 16})}), 1);
}

TEST_F(Tile, SeveralRowVariablesAndRowsThatDoNotDivide) {
  auto softmax = one([](Array x) { return nn::softmax(x); });
  for (const Shape& s : {Shape{3, 4, 35, 11}, Shape{130, 37}, Shape{4, 3, 50, 8}, Shape{97, 5}, Shape{700, 1, 64}})
    EXPECT_EQ(tiles(softmax, {data(s)}), 1) << s.str();
}

TEST_F(Tile, OperandsOfOtherLayouts) {
  // A row of one operand is a column of another, a mask that all share, a scalar per row.
  auto f = [](Xs x) { return Arrays{nn::softmax(x[0] * transpose(x[1]) + x[2] * x[3])}; };
  EXPECT_EQ(tiles(f, {data({12, 16}), data({16, 12}, 1), data({16}, 2), data({12, 1}, 3)}), 1);
}

TEST_F(Tile, WhatIsReadOutsideIsKeptWhole) {
  auto f = [](Xs x) {
    Array e = exp(x[0] - max(x[0], -1, true));
    return Arrays{e, e / sum(e, -1, true), sum(e, 0)};
  };
  EXPECT_EQ(tiles(f, {data({24, 16})}), 1);
}

TEST_F(Tile, WhatNeedsOtherRowsIsNotCut) {
  // The second kernel reads the row above; the third asks for the number of its row; the last reduces over rows.
  EXPECT_EQ(tiles(one([](Array x) { return sum(roll(exp(x), 1, 0) * 2, -1); }), {data({20, 16})}), 0);
  auto numbered = one([](Array x) {
    Array m = max(x, -1, true);
    return (x - m) * astype(reshape(arange(20), {20, 1}), f32);
  });
  EXPECT_EQ(tiles(numbered, {data({20, 16})}), 0);
  EXPECT_EQ(tiles(one([](Array x) { return x / sum(x, 0, true); }), {data({20, 16})}), 0);
}

TEST_F(Tile, InsideLoops) {
  auto f = one([](Array x) {
    return scan([](Array c, none_t) { return std::pair(norm(c) * 1.1f, none); }, x, none, {.length = 3}).first;
  });
  EXPECT_EQ(tiles(f, {data({200, 16})}), 1);
}

TEST_F(Tile, NeedsNoMoreMemory) {
  auto softmax = [](Array x) { return nn::softmax(x); };
  auto gradient = [](auto f) {
    return one([f](Array x) { return grad([f](Array y) { return sum(square(f(y)) * y); })(x); });
  };
  Array x = data({256, 64});
  for (const FlatFunction& f : {one(softmax), one(norm), gradient(softmax), gradient(norm)}) {
    passes::set_tile_limits({64, 128});
    compiled::clear_compiled();
    std::size_t tiled = flat::plan(f, Arrays{x}).arena_bytes;
    passes::set_tile_limits({64, 1 << 30});
    compiled::clear_compiled();
    EXPECT_LE(tiled, flat::plan(f, Arrays{x}).arena_bytes);
  }
}

}  // namespace
}  // namespace anew
