// Tiles: the same bits in less memory, and what must not be cut into rows is not.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "passes/lowered.h"
#include "passes/pipeline.h"
#include "runtime/pool.h"
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
  // Calls in tiles.
  static int calls_in(const passes::Body& body, bool in_tiles = false) {
    int n = 0;
    for (const passes::Step& s : body.steps) {
      n += in_tiles && s.is<passes::Call>();
      for (const auto& nested : s.bodies) n += calls_in(*nested, in_tiles || s.is<passes::Tiles>());
    }
    return n;
  }
  // The plan of f; its results are those of evaluation, by both backends and any number of threads.
  static std::shared_ptr<const passes::Body> plan(const FlatFunction& f, const Arrays& x) {
    const compiled::Backend backend = compiled::backend();
    const int before = threads();
    Arrays want = f(x);
    for (compiled::Backend b : {compiled::Backend::interpreter, backend}) {
      compiled::set_backend(b);
      compiled::clear_compiled();
      for (int n : {1, 2, 4}) {
        set_threads(n);
        EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), want));
      }
    }
    set_threads(before);
    compiled::set_backend(backend);
    Program p = flat::make_program(f, x);
    std::vector<ir::Strides> inputs;
    for (const ir::Type& t : p.code()->input_types()) inputs.push_back(row_major(t.shape));
    return passes::plan_program(*p.code(), inputs).placed;
  }
  // Steps of tiles in it.
  static int tiles(const FlatFunction& f, const Arrays& x) { return tiles_in(*plan(f, x)); }
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

// Scores, softmax, values: q, k, v are [batch, length, heads, size].
Arrays attention(Xs x) {
  Array scores = einsum("bqhd,bkhd->bhqk", x[0], x[1]) * 0.5f;
  return {einsum("bhqk,bkhd->bqhd", nn::softmax(scores), x[2])};
}
Arrays causal(Xs x) { return {nn::dot_product_attention(x[0], x[1], x[2], {.is_causal = true})}; }
FlatFunction gradient_of(FlatFunction f) {
  return [f = std::move(f)](Xs x) {
    auto loss = [&](Xs y) { return Arrays{sum(square(f(y)[0]))}; };
    return flat::grad(loss, x);
  };
}

class TiledProducts : public Tile {
 protected:
  void SetUp() override {
    Tile::SetUp();
    passes::set_tile_limits({64, 128, 128, 8, 2});
  }
  static Arrays qkv(std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t heads,
                    std::int64_t size) {
    return {data({batch, queries, heads, size}, 1), data({batch, keys, heads, size}, 2),
            data({batch, keys, heads, size}, 3)};
  }
};

TEST_F(TiledProducts, ScoresOfAttentionNeverExist) {
  for (const FlatFunction& f : {FlatFunction(attention), FlatFunction(causal)})
    for (const Arrays& x : {qkv(2, 8, 8, 3, 4), qkv(3, 10, 7, 2, 5), qkv(1, 12, 16, 4, 3), qkv(5, 9, 9, 1, 4)}) {
      const auto body = plan(f, x);
      EXPECT_EQ(calls_in(*body), 2) << x[0].type().str();
      const std::int64_t scores = x[0].shape()[0] * x[0].shape()[2] * x[0].shape()[1] * x[1].shape()[1];
      EXPECT_LT(body->bytes, static_cast<std::size_t>(4 * scores)) << x[0].type().str();
    }
}

TEST_F(TiledProducts, OneEntryIsCutIntoRows) {
  const auto body = plan(attention, qkv(1, 64, 48, 1, 4));
  EXPECT_EQ(calls_in(*body), 2);
  // As many as are worth reading the other operand again: none of a prime number.
  EXPECT_EQ(calls_in(*plan(attention, qkv(1, 61, 48, 1, 4))), 0);
}

TEST_F(TiledProducts, BackwardAndRecomputedAndInLoops) {
  EXPECT_GE(calls_in(*plan(gradient_of(attention), qkv(2, 8, 8, 3, 2))), 3);
  EXPECT_GE(calls_in(*plan(gradient_of(causal), qkv(2, 8, 8, 3, 2))), 3);
  auto again = gradient_of([](Xs x) { return flat::checkpoint(attention, x, checkpoint_policies::nothing_saveable); });
  EXPECT_GE(calls_in(*plan(again, qkv(2, 8, 8, 3, 2))), 3);
  auto loop = [](Xs x) {
    auto step = [&](Array c, none_t) {
      const Array all[] = {c, x[1], x[2]};
      return std::pair(c + attention(all)[0], none);
    };
    return Arrays{scan(step, x[0], none, {.length = 3}).first};
  };
  EXPECT_EQ(calls_in(*plan(loop, qkv(2, 8, 8, 3, 4))), 2);
}

TEST_F(TiledProducts, WhatOthersReadIsWhole) {
  auto f = [](Xs x) {
    Array scores = einsum("bqhd,bkhd->bhqk", x[0], x[1]);
    Array seen = nn::softmax(scores);
    return Arrays{seen, scores, einsum("bhqk,bkhd->bqhd", seen, x[2])};
  };
  EXPECT_EQ(calls_in(*plan(f, qkv(2, 8, 8, 3, 4))), 0);
  auto kept = [](Xs x) {
    Array seen = nn::softmax(einsum("bqhd,bkhd->bhqk", x[0], x[1]) * 0.5f);
    return Arrays{seen, einsum("bhqk,bkhd->bqhd", seen, x[2])};
  };
  EXPECT_LE(calls_in(*plan(kept, qkv(2, 8, 8, 3, 4))), 1);
}

// Few keys and long rows: what attention reads and writes is more than the scores, and would be there all at once.
TEST_F(TiledProducts, NoneWhereItWouldTakeMoreMemory) {
  auto f = [](Xs x) {
    Arrays y{sin(x[0]), cos(x[1]), exp(x[2])};
    return Arrays{sum(attention(y)[0])};
  };
  const Arrays x = qkv(4, 8, 2, 4, 32);
  EXPECT_EQ(calls_in(*plan(f, x)), 0);
}

TEST_F(TiledProducts, NeedNoMoreMemory) {
  for (const FlatFunction& f :
       {FlatFunction(attention), FlatFunction(causal), gradient_of(attention), gradient_of(causal)})
    for (const Arrays& x : {qkv(2, 8, 8, 3, 4), qkv(3, 10, 7, 2, 5), qkv(4, 8, 2, 4, 32), qkv(2, 32, 32, 4, 8)}) {
      const auto bytes = plan(f, x)->bytes;
      passes::set_tile_limits({64, 128, 128, 8, 1 << 30});
      EXPECT_LE(bytes, plan(f, x)->bytes);
      passes::set_tile_limits({64, 128, 128, 8, 2});
    }
}

// A sum is that of its blocks: what is summed need not exist.
TEST_F(Tile, WhatIsOnlySummedNeverExists) {
  auto loss = [](Xs x) { return Arrays{sum(tanh(x[0]) * exp(-x[0] * x[0]) + log1p(x[0] * x[0]))}; };
  auto both = [&](Xs x) {
    Arrays values, g = flat::grad(loss, x, &values);
    return Arrays{values[0], g[0]};
  };
  for (const Shape& s : {Shape{6 * 4096}, Shape{7, 4096}, Shape{64, 32, 10}}) {
    const auto body = plan(both, {data(s) * 0.5f});
    const bool blocks = s.size() % 4096 == 0;
    EXPECT_EQ(tiles_in(*body), blocks ? 1 : 0) << s.str();
    EXPECT_EQ(body->bytes < static_cast<std::size_t>(4 * s.size()), blocks) << s.str();
  }
  // Results of blocks are more than a block.
  const Array many = data({4098 * 4096});
  EXPECT_TRUE(test::same_bits(flat::compile(both, Arrays{many})(Arrays{many}), both(Arrays{many})));
  // Others read it, part of it is repeated, it is rounded: whole.
  auto kept = [](Xs x) {
    Array y = sin(x[0]);
    return Arrays{sum(y * y), y * 2};
  };
  EXPECT_EQ(tiles_in(*plan(kept, {data({4 * 4096})})), 0);
  auto repeated = [](Xs x) {
    Array y = exp(x[0] * x[1]);
    return Arrays{sum(y), max(y), y};
  };
  EXPECT_EQ(tiles_in(*plan(repeated, {data({16, 1024}), data({1024}, 1)})), 0);
  auto largest = [](Xs x) {
    Array y = sin(x[0]);
    return Arrays{max(y), cos(x[0])};
  };
  plan(largest, {data({8 * 4096})});
  auto narrow = [](Xs x) { return Arrays{sum(sin(astype(x[0], bf16))), cos(x[0])}; };
  plan(narrow, {data({8 * 4096})});
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
