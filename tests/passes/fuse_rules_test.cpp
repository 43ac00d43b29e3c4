// What fusion does and does not do, rule by rule: each case is a small program and the kernels that are left of it.
#include "passes/fuse_map.h"
#include "passes/fuse_support.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

// The Body after fusion, whose bits have been compared.
std::shared_ptr<Body> fused(const FlatFunction& f, const Arrays& x) {
  const Program program = flat::make_program(f, x);
  expect_same(program, x, program.str());
  auto body = lowered(program);
  passes::fuse(*body);
  return body;
}
int kernels(const FlatFunction& f, const Arrays& x) { return traffic(*fused(f, x)).kernels; }

const Shape matrix{6, 8};
Arrays matrices(int n, const Shape& s = matrix) {
  Arrays x;
  for (int i = 0; i < n; ++i) x.push_back(fill(s, i));
  return x;
}

TEST(FuseRules, AChainIsOneKernel) {
  auto body = fused([](In a) { return Arrays{tanh(a[0] * 2.0) + a[1]}; }, matrices(2));
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(body->steps[0].in.size(), 2u);
  EXPECT_EQ(body->steps[0].made.size(), 3u);
  for (const passes::Value& v : body->values)
    EXPECT_TRUE(!v.storage || body->storages[v.storage].kind != Storage::Kind::temporary);
}
TEST(FuseRules, ADiamondIsOneKernel) {
  EXPECT_EQ(kernels(
                [](In a) {
                  Array y = sin(a[0]);
                  return Arrays{(y + a[1]) * (y - a[1])};
                },
                matrices(2)),
            1);
}
TEST(FuseRules, AValueThatIsReadLaterIsStoredByTheSameKernel) {
  auto body = fused(
      [](In a) {
        Array y = sin(a[0]), z = y * 2.0;
        return Arrays{matmul(z, transpose(y))};
      },
      matrices(1));
  ASSERT_EQ(body->steps.size(), 2u);
  EXPECT_EQ(body->steps[0].kernel().stores.size(), 2u);
}
TEST(FuseRules, OutputsStay) {
  auto body = fused(
      [](In a) {
        Array y = sin(a[0]);
        return Arrays{y, y * 2.0};
      },
      matrices(1));
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(body->steps[0].kernel().stores.size(), 2u);
}

// Bijective readings: one kernel.
TEST(FuseRules, TransposedReading) {
  EXPECT_EQ(kernels([](In a) { return Arrays{transpose(sin(a[0])) * a[1]}; }, {fill({6, 8}, 0), fill({8, 6}, 1)}), 1);
}
TEST(FuseRules, ReversedReading) {
  EXPECT_EQ(kernels([](In a) { return Arrays{lax::rev(sin(a[0]), {0, 1}) * a[1]}; }, matrices(2)), 1);
}
TEST(FuseRules, ReshapedReadingEitherWay) {
  EXPECT_EQ(kernels([](In a) { return Arrays{ravel(sin(a[0])) * a[1]}; }, {fill({6, 8}, 0), fill({48}, 1)}), 1);
  EXPECT_EQ(kernels([](In a) { return Arrays{reshape(sin(a[0]), {6, 8}) * a[1]}; }, {fill({48}, 0), fill({6, 8}, 1)}),
            1);
  EXPECT_EQ(kernels([](In a) { return Arrays{reshape(sin(a[0]), {2, 3, 8}) * a[1]}; },
                    {fill({6, 4, 2}, 0), fill({2, 3, 8}, 1)}),
            1);
}
TEST(FuseRules, ReshapesWithoutACommonRefinementStayTwo) {
  EXPECT_EQ(kernels([](In a) { return Arrays{reshape(sin(a[0]), {8, 6}) * a[1]}; }, {fill({6, 8}, 0), fill({8, 6}, 1)}),
            2);
}
TEST(FuseRules, AxesOfSizeOne) {
  EXPECT_EQ(kernels([](In a) { return Arrays{expand_dims(sin(a[0]), 1) * a[1]}; }, {fill({6}, 0), fill({6, 1}, 1)}), 1);
}

// Readings that would repeat or lose arithmetic: two kernels.
TEST(FuseRules, NothingIsComputedForABroadcast) {
  EXPECT_EQ(kernels([](In a) { return Arrays{sin(a[0]) * a[1]}; }, {fill({8}, 0), fill({6, 8}, 1)}), 2);
}
TEST(FuseRules, NothingIsComputedForASlice) {
  EXPECT_EQ(kernels(
                [](In a) {
                  Array y = sin(a[0]);
                  return Arrays{y[{Slice(1, 5)}] * 2.0, y};
                },
                matrices(1)),
            2);
}
TEST(FuseRules, WhatOnlyASliceReadsIsComputedForIt) {
  auto body = fused([](In a) { return Arrays{sin(a[0])[{Slice(1, 5)}] * 2.0}; }, matrices(1));
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(body->steps[0].kernel().extents[0], 4);
}
// A stencil's cotangents, padded and added, are one kernel for the middle and each border: nothing is in between.
TEST(FuseRules, TheGradientOfAStencilNeedsNothingBesideIt) {
  auto f = [](In a) {
    Array p = pad(a[0], {{1, 1}, {1, 1}});
    const Slice all = slice(1, -1), before = slice(none, -2), after = slice(2, none);
    Array y = p[{before, all}] + p[{after, all}] + p[{all, before}] + p[{all, after}] - 4 * a[0];
    return Arrays{sum(y * a[1])};
  };
  auto gradient = [f](In a) { return flat::grad(f, a); };
  auto body = fused(gradient, {fill({512, 512}, 0), fill({512, 512}, 1)});
  for (const Step& s : body->steps)
    for (passes::ValueId v : s.out) EXPECT_NE(body->type(v).shape, Shape({514, 514}));
}
TEST(FuseRules, TwoWaysOfReadingOneValue) {
  EXPECT_EQ(kernels(
                [](In a) {
                  Array y = sin(a[0]);
                  return Arrays{y * transpose(y)};
                },
                matrices(1, {6, 6})),
            2);
}
TEST(FuseRules, SlicesOfAnArgumentAreLooks) {
  EXPECT_EQ(kernels([](In a) { return Arrays{a[0][{Slice(0, 5)}] + 2.0 * a[0][{Slice(1, 6)}]}; }, matrices(1)), 1);
}

// Constants and copies go into every reader.
TEST(FuseRules, IndicesAreMadeWhereTheyAreRead) {
  EXPECT_EQ(kernels(
                [](In a) {
                  Array i = lax::iota({8}, 0, f32);
                  return Arrays{a[0] * i, a[0][{Slice(0, 3)}] + i};
                },
                matrices(1)),
            2);
}
TEST(FuseRules, ConstantsAreFolded) {
  auto body = fused([](In a) { return Arrays{a[0] * (exp(full({8}, 0.5, f32)) / 3.0)}; }, matrices(1));
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(body->steps[0].in.size(), 1u);
  EXPECT_EQ(body->steps[0].kernel().nodes.size(), 3u);
}
TEST(FuseRules, ACopyForAViewIsReadThrough) {
  auto f = [](In a) {
    Array y = reshape(transpose(a[0]), {48});
    return Arrays{y * 2.0, sum(y)};
  };
  EXPECT_EQ(kernels(f, matrices(1)), 2);
}
TEST(FuseRules, LoadsThatMeetTheSameElementAreOne) {
  auto body = fused([](In a) { return Arrays{a[0] * reshape(ravel(a[0]), {6, 8})}; }, matrices(1));
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(body->steps[0].in.size(), 1u);
  EXPECT_EQ(body->steps[0].kernel().accesses.size(), 1u);
}

// Reductions.
TEST(FuseRules, AReductionTakesWhatOnlyItReads) {
  EXPECT_EQ(kernels([](In a) { return Arrays{sum(sin(a[0]) * a[1], 1)}; }, matrices(2)), 1);
  EXPECT_EQ(kernels([](In a) { return Arrays{sum(transpose(sin(a[0]) * a[1]), 1)}; }, matrices(2)), 1);
  EXPECT_EQ(kernels([](In a) { return Arrays{argmax(sin(a[0]), 1)}; }, matrices(1)), 1);
}
TEST(FuseRules, AReductionHasOneStore) {
  EXPECT_EQ(kernels(
                [](In a) {
                  Array y = sin(a[0]);
                  return Arrays{sum(y, 1), y};
                },
                matrices(1)),
            2);
}
TEST(FuseRules, AReductionIsNoProducer) {
  EXPECT_EQ(kernels([](In a) { return Arrays{sum(a[0], 1) * 2.0}; }, matrices(1)), 2);
}
TEST(FuseRules, AReductionOfSingleElementsIsNone) {
  EXPECT_EQ(kernels([](In a) { return Arrays{sum(a[0] * 2.0, 1) - 1.0}; }, matrices(1, {6, 1})), 1);
  const Array zero = reshape(array({-0.0f}), {1, 1});
  EXPECT_EQ(kernels([](In a) { return Arrays{sum(-a[0] * 1.5, 0) * 2.0}; }, {zero}), 1);
}
TEST(FuseRules, WhatFeedsAReductionIsKeptFree) {
  // y - m is stored for its second reader; the square goes into the sum rather than into a second store.
  auto body = fused(
      [](In a) {
        Array d = a[0] - a[1];
        return Arrays{d * sum(d * d)};
      },
      matrices(2));
  ASSERT_EQ(body->steps.size(), 3u);
  EXPECT_EQ(body->steps[0].kernel().stores.size(), 1u);
  EXPECT_EQ(body->steps[1].kernel().combine, loops::Combine::sum);
}
TEST(FuseRules, AReductionGoesUpToItsOnlyProducer) {
  // Down, the product would keep two matrices alive across the second one.
  auto body = fused(
      [](In a) {
        Array x = matmul(a[0], a[0]), y = matmul(a[0], x), p = x * y, q = matmul(a[0], a[1]);
        return Arrays{q, sum(p)};
      },
      matrices(2, {8, 8}));
  ASSERT_EQ(body->steps.size(), 4u);
  EXPECT_TRUE(body->steps[2].is<passes::Kernel>());
  EXPECT_EQ(body->steps[2].kernel().combine, loops::Combine::sum);
}

// Memory and order.
TEST(FuseRules, AProducerWaitsOnlyWhereItSavesMemory) {
  // Two products that die would live until the last step if their sum moved down to it.
  auto f = [](In a) {
    Array s = matmul(a[0], a[0]) + matmul(a[0], a[1]);
    Array q = matmul(a[1], a[1]);
    return Arrays{s * q};
  };
  EXPECT_EQ(kernels(f, matrices(2, {8, 8})), 2);
  auto g = [](In a) {
    Array s = matmul(a[0], a[0]) * 2.0;
    Array q = matmul(a[1], a[1]);
    return Arrays{s * q};
  };
  EXPECT_EQ(kernels(g, matrices(2, {8, 8})), 1);
}
TEST(FuseRules, AReaderBetweenKeepsAProducerInItsPlace) {
  auto body = fused(
      [](In a) {
        Array y = sin(a[0]), q = matmul(y, y);
        return Arrays{y * q};
      },
      matrices(1, {8, 8}));
  ASSERT_EQ(body->steps.size(), 3u);
  EXPECT_TRUE(body->steps[1].is<passes::Call>());
}
TEST(FuseRules, PartsOfAConcatenationTakeTheirProducers) {
  EXPECT_EQ(kernels([](In a) { return Arrays{concatenate({sin(a[0]), cos(a[1])}, 0)}; }, matrices(2)), 2);
}
TEST(FuseRules, ResultsOfSeveralKernelsAreComplete) {
  EXPECT_EQ(kernels([](In a) { return Arrays{pad(a[0] * 2.0, {{1, 1}}, 0.5) + 1.0}; }, matrices(1)), 3);
}
// Arrays put together from parts are read through.
TEST(FuseRules, ARollIsReadInTwoBoxes) {
  auto body = fused([](In a) { return Arrays{a[0] - roll(a[0], 2, 1)}; }, matrices(1));
  ASSERT_EQ(body->steps.size(), 2u);
  EXPECT_EQ(body->steps[0].kernel().extents, (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(body->steps[1].kernel().extents, (std::vector<std::int64_t>{6, 6}));
  EXPECT_EQ(body->steps[0].out, body->steps[1].out);
}
TEST(FuseRules, RollsAlongTwoAxesAreReadInNineBoxes) {
  auto f = [](In a) {
    return Arrays{roll(a[0], 1, 0) + roll(a[0], -1, 0) + roll(a[0], 1, 1) + roll(a[0], -1, 1) - 4.0 * a[0]};
  };
  EXPECT_EQ(kernels(f, matrices(1)), 9);
}
TEST(FuseRules, APadIsReadAsConstantsAround) {
  auto f = [](In a) { return Arrays{pad(a[0], {{1, 0}, {0, 0}}, 0.5) * a[1]}; };
  EXPECT_EQ(kernels(f, {fill({6, 8}, 0), fill({7, 8}, 1)}), 2);
  auto around = [](In a) { return Arrays{pad(a[0], {{1, 1}}, 0.5) * 2.0}; };
  EXPECT_EQ(kernels(around, matrices(1)), 3);  // nine boxes do not pay
}
TEST(FuseRules, PartsAreReadThroughOtherViews) {
  auto f = [](In a) { return Arrays{transpose(concatenate({a[0], a[1]}, 0))[{Slice(1, 8)}] * 2.0}; };
  EXPECT_EQ(kernels(f, matrices(2)), 2);
  auto g = [](In a) { return Arrays{lax::rev(concatenate({a[0], a[1]}, 1), {1}) * 2.0}; };
  EXPECT_EQ(kernels(g, matrices(2)), 2);
  auto h = [](In a) { return Arrays{reshape(concatenate({a[0], a[1]}, 0), {3, 4, 8}) + 1.0}; };
  EXPECT_EQ(kernels(h, matrices(2)), 3);  // a border inside of two variables at once
}
TEST(FuseRules, PartsWithAnotherReaderStay) {
  auto f = [](In a) {
    Array r = roll(a[0], 1, 0);
    return Arrays{r * 2.0, sum(r, 0)};
  };
  EXPECT_EQ(kernels(f, matrices(1)), 4);
}

TEST(FuseRules, DeadResultsAreDropped) {
  auto body = lowered(flat::make_program([](In a) { return Arrays{sin(a[0])}; }, matrices(1)));
  Step dead = body->steps[0];
  dead.out = {body->add_temporary(body->type(dead.out[0]), dead.primitive, dead.at)};
  body->steps.push_back(dead);
  passes::fuse(*body);
  EXPECT_EQ(body->steps.size(), 1u);
}
TEST(FuseRules, BodiesOfLoops) {
  auto f = [](In a) {
    auto step = [](const Array& c, const Array& x) {
      Array next = tanh(c * 0.5 + x);
      return std::pair(next, next * 2.0);
    };
    auto [c, y] = scan(step, a[0], a[1]);
    return Arrays{c, y};
  };
  auto body = fused(f, {fill({8}, 0), fill({5, 8}, 1)});
  ASSERT_EQ(body->steps.size(), 1u);
  EXPECT_EQ(traffic(*body).kernels, 1);
}
TEST(FuseRules, LargeKernelsAreCut) {
  auto f = [](In a) {
    Array y = a[0];
    for (int i = 0; i < 400; ++i) y = tanh(y) + a[1];  // about 90 operations each
    return Arrays{y};
  };
  const int n = kernels(f, matrices(2));
  EXPECT_GT(n, 1);
  EXPECT_LT(n, 50);
}
TEST(FuseRules, ManyOperandsAreCut) {
  auto f = [](In a) {
    Array y = a[0];
    for (std::size_t i = 1; i < a.size(); ++i) y = y + a[i];
    return Arrays{y};
  };
  auto body = fused(f, matrices(150));
  EXPECT_EQ(body->steps.size(), 3u);
  for (const Step& s : body->steps) EXPECT_LE(s.kernel().accesses.size(), 65u);
}
TEST(FuseRules, TenThousandSteps) {
  const Arrays x = matrices(2);
  const Program program = flat::make_program(
      [](In a) {
        Array y = a[0];
        for (int i = 0; i < 5000; ++i) y = y * 0.5 + a[1];
        return Arrays{y};
      },
      x);
  auto body = lowered(program);
  EXPECT_EQ(body->steps.size(), 10000u);
  passes::fuse(*body);
  EXPECT_LT(body->steps.size(), 10u);
}

TEST(FuseMap, DigitsOfAnAddress) {
  using passes::match;
  // A row-major store of [2, 3, 4], read transposed, flat, reversed, in part, and as no store has written it.
  const passes::Address store{0, {12, 4, 1}};
  const passes::Extents nest{2, 3, 4};
  auto m = match(store, nest, {0, {1, 4, 12}}, {4, 3, 2});
  ASSERT_TRUE(m && m->bijective && m->cuts.empty());
  EXPECT_EQ(m->map[0].coefficients, (std::vector<std::int64_t>{0, 0, 1}));
  m = match(store, nest, {0, {1}}, {24});
  ASSERT_TRUE(m && m->bijective);
  EXPECT_EQ(m->extents, nest);
  m = match(store, nest, {23, {-1}}, {24});
  ASSERT_TRUE(m && m->bijective);
  EXPECT_EQ(m->map[1].constant, 2);
  EXPECT_EQ(m->map[1].coefficients, (std::vector<std::int64_t>{0, -1, 0}));
  m = match(store, nest, {5, {12, 1}}, {2, 3});
  ASSERT_TRUE(m && !m->bijective);
  EXPECT_EQ(m->map[1].constant, 1);
  EXPECT_EQ(m->map[2].constant, 1);
  m = match(store, nest, {0, {0, 12, 4, 1}}, {5, 2, 3, 4});
  ASSERT_TRUE(m && !m->bijective);                        // a broadcast
  EXPECT_FALSE(match(store, nest, {1, {1}}, {24}));       // runs over the end
  EXPECT_FALSE(match(store, nest, {2, {4, 1}}, {3, 3}));  // crosses a border inside a row
  EXPECT_FALSE(match({0, {2}}, {12}, {0, {1}}, {24}));    // holes
}

}  // namespace
}  // namespace anew::test
