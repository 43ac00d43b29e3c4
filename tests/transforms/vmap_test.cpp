// vmap: axes in and out, what is shared, compositions, what policies see of batched equations, and the exact texts of
// its errors. That it equals a loop over examples, bit for bit and for every row, is a law (tests/laws).
#include "support/support.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using flat::BatchAxes;

// f of every example, one after the other, stacked in front.
Arrays looped(const FlatFunction& f, const Arrays& x, const std::vector<int>& axes, std::int64_t size) {
  std::vector<Arrays> results;
  for (std::int64_t k = 0; k < size; ++k) {
    Arrays example;
    for (std::size_t i = 0; i < x.size(); ++i)
      example.push_back(axes[i] == no_axis ? x[i] : moveaxis(x[i], axes[i], 0)[k]);
    for (std::size_t j = 0; Array y : f(example)) {
      if (results.size() <= j) results.emplace_back();
      results[j++].push_back(y);
    }
  }
  Arrays out;
  for (const Arrays& r : results) out.push_back(stack(r));
  return out;
}
void expect_loop(const FlatFunction& f, const Arrays& x, const std::vector<int>& axes, std::int64_t size) {
  EXPECT_TRUE(same_bits(flat::vmap(f, x, {.in = axes}), looped(f, x, axes, size)));
}
Array dense(In x) { return tanh(dot(x[0], x[1])); }

TEST(Vmap, OverEveryAxisOfItsArguments) {
  FlatFunction f = [](In x) { return Arrays{dense(x), sum(x[0]) * x[1]}; };
  Array w = fill({3, 4}, 1), v = fill({4}, 2), ws = fill({5, 3, 4}, 3), vs = fill({5, 4}, 4);
  expect_loop(f, {ws, vs}, {0, 0}, 5);
  expect_loop(f, {w, vs}, {no_axis, 0}, 5);
  expect_loop(f, {ws, v}, {0, no_axis}, 5);
  expect_loop(f, {moveaxis(ws, 0, 1), moveaxis(vs, 0, 1)}, {1, 1}, 5);
  expect_loop(f, {moveaxis(ws, 0, 2), moveaxis(vs, 0, 1)}, {-1, -1}, 5);
  expect_loop(f, {moveaxis(ws, 0, 1), v}, {-2, no_axis}, 5);
}
TEST(Vmap, PutsResultsWhereAsked) {
  FlatFunction f = [](In x) { return Arrays{outer(x[0], x[0]), x[0] * 2}; };
  Arrays x{fill({5, 3}, 1)}, front = flat::vmap(f, x, {.in = {0}});
  Arrays moved = flat::vmap(f, x, {.in = {0}, .out = {1, -1}});
  EXPECT_TRUE(same_bits(moved[0], moveaxis(front[0], 0, 1)));
  EXPECT_TRUE(same_bits(moved[1], moveaxis(front[1], 0, 1)));
  EXPECT_EQ(flat::vmap(f, x, {.in = {0}, .out = {-1}})[0].shape(), (Shape{3, 3, 5}));
}
TEST(Vmap, OfWhatAllExamplesShare) {
  Array w = fill({3}, 1);
  FlatFunction f = [&](In x) { return Arrays{sin(w), x[0] + w, Array(2.0)}; };
  Arrays x{fill({4, 3}, 2)}, y = flat::vmap(f, x, {.in = {0}, .out = {no_axis, 0, 0}});
  EXPECT_TRUE(same_bits(y[0], sin(w)));
  EXPECT_TRUE(same_bits(y[1], x[0] + w));
  EXPECT_EQ(y[2].to_vector(), (std::vector<double>{2, 2, 2, 2}));
  EXPECT_EQ(flat::vmap(f, x, {.in = {0}})[0].shape(), (Shape{4, 3}));
}
TEST(Vmap, OfNothingMappedNeedsASize) {
  FlatFunction f = [](In x) { return Arrays{sin(x[0])}; };
  Arrays x{fill({3}, 1)};
  Array y = flat::vmap(f, x, {.in = {no_axis}, .size = 2})[0];
  EXPECT_TRUE(same_bits(y, stack({sin(x[0]), sin(x[0])})));
}
TEST(Vmap, OfNoExamples) {
  FlatFunction f = [](In x) { return Arrays{dense(x)}; };
  Arrays x{fill({3, 4}, 1), zeros({0, 4})};
  EXPECT_EQ(flat::vmap(f, x, {.in = {no_axis, 0}})[0].shape(), (Shape{0, 3}));
}
TEST(Vmap, SeesTheShapeOfOneExample) {
  FlatFunction f = [](In x) {
    EXPECT_EQ(x[0].shape(), (Shape{3, 2}));
    return Arrays{x[0]};
  };
  (void)flat::vmap(f, Arrays{fill({3, 5, 2}, 1)}, {.in = {1}});
}

TEST(Vmap, OfAMappedPadValue) {
  FlatFunction f = [](In x) { return Arrays{lax::pad(x[0], x[1], {{1, 2, 1}, {-1, 1, 0}})}; };
  Array x = fill({2, 3}, 1), xs = fill({4, 2, 3}, 2), values = array({0.0, -0.0, 3.0, 4.0});
  expect_loop(f, {xs, values}, {0, 0}, 4);
  expect_loop(f, {x, values}, {no_axis, 0}, 4);
  expect_loop(f, {xs, Array(2.0f)}, {0, no_axis}, 4);
}
TEST(Vmap, OfAMappedScalarBesideAnArray) {
  FlatFunction f = [](In x) {
    return Arrays{where(x[0] > 0, x[1], x[2]), lax::clamp(x[0], x[1], x[0] + 1), x[0] * x[1]};
  };
  Array s = array({-0.3f, 0.2f, 0.4f}), a = fill({2, 2}, 1), b = fill({2, 2}, 2), as = fill({3, 2, 2}, 3);
  expect_loop(f, {s, a, b}, {0, no_axis, no_axis}, 3);
  expect_loop(f, {s, as, b}, {0, 0, no_axis}, 3);
  expect_loop(f, {s[0], as, b}, {no_axis, 0, no_axis}, 3);
}
TEST(Vmap, OfLongSumsAndProductsKeepsTheirOrder) {
  FlatFunction sums = [](In x) { return Arrays{sum(x[0]), sum(x[0], 0), mean(x[0], 1), prod(x[0] + 1, 0)}; };
  expect_loop(sums, {fill({3, 70, 150}, 1)}, {0}, 3);
  expect_loop(sums, {fill({70, 150, 3}, 1)}, {2}, 3);
  FlatFunction row = [](In x) { return Arrays{sum(x[0])}; };
  expect_loop(row, {fill({2, 20000}, 1)}, {0}, 2);
  expect_loop(row, {fill({20000, 2}, 1)}, {1}, 2);
  FlatFunction product = [](In x) { return Arrays{dot(x[0], x[1])}; };
  Array a = fill({7, 600}, 1), b = fill({600, 9}, 2), as = fill({3, 7, 600}, 3), bs = fill({3, 600, 9}, 4);
  expect_loop(product, {as, bs}, {0, 0}, 3);
  expect_loop(product, {a, bs}, {no_axis, 0}, 3);
  expect_loop(product, {as, b}, {0, no_axis}, 3);
  expect_loop(product, {fill({3, 600}, 5), b}, {0, no_axis}, 3);
}

// ---- compositions
TEST(Vmap, OfVmap) {
  FlatFunction f = [](In x) { return Arrays{dense(x)}; };
  FlatFunction inner = [&](In x) { return flat::vmap(f, x, {.in = {no_axis, 0}}); };
  Array ws = fill({5, 3, 4}, 1), vs = fill({2, 4}, 2);
  Array both = flat::vmap(inner, Arrays{ws, vs}, {.in = {0, no_axis}})[0];
  ASSERT_EQ(both.shape(), (Shape{5, 2, 3}));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_TRUE(same_bits(both[i][j], tanh(dot(ws[i], vs[j]))));
  FlatFunction captured = [&](In v) {  // the inner map sees the outer's values as shared ones
    return flat::vmap([&](In w) { return Arrays{tanh(dot(w[0], v[0]))}; }, Arrays{ws}, {.in = {0}});
  };
  EXPECT_TRUE(same_bits(flat::vmap(captured, Arrays{vs}, {.in = {0}, .out = {1}})[0], both));
}
TEST(Vmap, OfGradIsPerExampleGradients) {
  FlatFunction loss = [](In x) { return Arrays{sum(square(dense(x) - x[2]))}; };
  FlatFunction gradient = [&](In x) { return flat::grad(loss, x); };
  expect_loop(gradient, {fill({3, 4}, 1), fill({5, 4}, 2), fill({5, 3}, 3)}, {no_axis, 0, 0}, 5);
}
TEST(Vmap, UnderGrad) {
  FlatFunction loss = [](In x) {
    return Arrays{sum(flat::vmap([](In y) { return Arrays{dense(y)}; }, x, {.in = {no_axis, 0}})[0])};
  };
  Arrays x{fill({3, 4}, 1, f64), fill({5, 4}, 2, f64)}, g = flat::grad(loss, x);
  Arrays direct = flat::grad([](In y) { return Arrays{sum(tanh(dot(y[1], transpose(y[0]))))}; }, x);
  for (std::size_t i = 0; i < 2; ++i) {
    auto a = g[i].to_vector<double>(), b = direct[i].to_vector<double>();
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-14);
  }
}
TEST(Vmap, OfJitCheckpointAndScan) {
  Arrays x{fill({3, 3}, 1), fill({5, 3}, 2)};
  FlatFunction f = [](In y) { return Arrays{dense(y)}; };
  FlatFunction jitted = [&](In y) { return flat::jit(f, y, {}); };
  FlatFunction checkpointed = [&](In y) { return flat::checkpoint(f, y, checkpoint_policies::dots_saveable); };
  FlatFunction scanned = [](In y) {
    auto r = flat::scan([&](In c, In e) { return flat::ScanResult{{tanh(dot(y[0], c[0])) + e[0]}, {sum(c[0])}}; },
                        {y[1]}, {y[0]});
    return Arrays{r.carry[0], r.ys[0]};
  };
  for (const FlatFunction& g : {jitted, checkpointed, scanned}) {
    expect_loop(g, x, {no_axis, 0}, 5);
    FlatFunction gradient = [&](In y) { return flat::grad([&](In z) { return Arrays{sum(g(z)[0])}; }, y); };
    expect_loop(gradient, x, {no_axis, 0}, 5);
    expect_loop(gradient, {fill({5, 3, 3}, 3), x[1]}, {0, 0}, 5);
  }
}
TEST(Vmap, InsideScanAndJit) {
  Array ws = fill({4, 3, 3}, 1), x = fill({3}, 2);
  auto all = [&](In y) {
    return flat::vmap([&](In w) { return Arrays{tanh(dot(w[0], y[0]))}; }, Arrays{ws}, {.in = {0}});
  };
  auto r = flat::scan([&](In c, In) { return flat::ScanResult{{sum(all(c)[0], 0)}, {}}; }, {x}, {}, {.length = 2});
  Array want = x;
  for (int i = 0; i < 2; ++i) want = sum(all(Arrays{want})[0], 0);
  EXPECT_TRUE(same_bits(r.carry[0], want));
  EXPECT_TRUE(same_bits(flat::jit(all, Arrays{x}, {}), all(Arrays{x})));
}
TEST(Vmap, TracesToAProgramWithTheAxisInFront) {
  FlatFunction f = [](In x) { return flat::vmap([](In y) { return Arrays{sum(sin(y[0]))}; }, x, {.in = {1}}); };
  EXPECT_EQ(flat::make_program(f, Arrays{ones({3, 2})}).str(),
            "{ lambda ; a:f32[3,2]. let\n"
            "    b:f32[2,3] = transpose[permutation=(1, 0)] a\n"
            "    c:f32[2,3] = sin b\n"
            "    d:f32[2] = reduce_sum[axes=(1,)] c\n"
            "  in (d,) }");
}

// ---- policies see batched equations
std::vector<std::string> residuals_of(const Policy& p, const std::vector<int>& axes, const Arrays& x) {
  FlatFunction layer = [](In y) { return Arrays{sin(dot(y[0], y[1]))}; };
  FlatFunction f = [&](In y) { return flat::checkpoint(layer, y, p); };
  return brief(flat::linearize([&](In y) { return flat::vmap(f, y, {.in = axes}); }, x).second.residuals());
}
TEST(VmapOfCheckpoint, APolicySeesTheBatchDimensionsOfADot) {
  Warnings quiet;
  using namespace checkpoint_policies;
  Array w = fill({3, 4}, 1), ws = fill({5, 3, 4}, 2), vs = fill({5, 4}, 3);
  using Lines = std::vector<std::string>;
  // Both operands mapped: a batch dimension, so the product is not saved.
  EXPECT_EQ(residuals_of(dots_with_no_batch_dims_saveable, {0, 0}, {ws, vs}),
            (Lines{"f32[5,3,4] argument 0", "f32[5,4] argument 1"}));
  EXPECT_EQ(residuals_of(dots_saveable, {0, 0}, {ws, vs}),
            (Lines{"f32[5,3,4] argument 0", "f32[5,4] argument 1", "f32[5,3] dot_general"}));
  // One mapped: a free dimension, so it is.
  for (const Policy& p : {dots_saveable, dots_with_no_batch_dims_saveable})
    EXPECT_EQ(residuals_of(p, {no_axis, 0}, {w, vs}),
              (Lines{"f32[3,4] argument 0", "f32[5,4] argument 1", "f32[3,5] dot_general"}));
}
TEST(VmapOfCheckpoint, OfAGradientTheInnerPolicySawUnbatchedEquations) {
  Warnings quiet;
  FlatFunction layer = [](In y) { return Arrays{sin(dot(y[0], y[1]))}; };
  FlatFunction loss = [&](In y) {
    return Arrays{sum(flat::checkpoint(layer, y, checkpoint_policies::dots_with_no_batch_dims_saveable)[0])};
  };
  FlatFunction gradients = [&](In y) {
    return flat::vmap([&](In z) { return flat::grad(loss, z); }, y, {.in = {0, 0}});
  };
  // The product was saved before it was mapped: it is computed once, beside two of the backward pass.
  Program p = flat::make_program(gradients, Arrays{fill({5, 3, 4}, 1), fill({5, 4}, 2)});
  EXPECT_EQ(p.count("dot_general"), 3) << p;
  FlatFunction of_vmap = [&](In y) {
    return flat::grad([&](In z) { return Arrays{sum(flat::vmap(loss, z, {.in = {0, 0}})[0])}; }, y);
  };
  Program q = flat::make_program(of_vmap, Arrays{fill({5, 3, 4}, 1), fill({5, 4}, 2)});
  EXPECT_EQ(q.count("dot_general"), 4) << q;
}
TEST(VmapOfCheckpoint, KeepsNames) {
  Warnings quiet;
  FlatFunction f = [](In y) { return Arrays{sin(flat::name(sin(y[0]), "inner"))}; };
  FlatFunction g = [&](In y) { return flat::checkpoint(f, y, checkpoint_policies::save_only_these_names("inner")); };
  FlatFunction mapped = [&](In y) { return flat::vmap(g, y, {.in = {0}}); };
  EXPECT_EQ(brief(flat::saved_residuals(mapped, Arrays{fill({5, 3}, 1)})),
            (std::vector<std::string>{"f32[5,3] argument 0", "f32[5,3] named inner"}));
}

TEST(VmapErrors, Texts) {
  FlatFunction id = [](In x) { return Arrays(x.begin(), x.end()); };
  Arrays one{ones({2, 3})}, two{ones({2, 3}), ones({4})}, unset{Array()};
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {0, 0}})), "[vmap] 2 axes for 1 arrays");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {2}})), "[vmap] in_axes: 2 is not an axis of f32[2,3]");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {-3}})), "[vmap] in_axes: -3 is not an axis of f32[2,3]");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, Arrays{Array(1.0f)}, {.in = {0}})),
            "[vmap] in_axes: 0 is not an axis of f32[]");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, two, {.in = {1, 0}})),
            "[vmap] mapped axes have different sizes: f32[4] has 4 along axis 0, f32[2,3] has 3; hint: map axes of one "
            "size, or use no_axis for arrays that all examples share");
  EXPECT_EQ(
      ERROR_OF((void)flat::vmap(id, one, {.in = {0}, .size = 7})),
      "[vmap] mapped axes have different sizes: f32[2,3] has 2 along axis 0, the given size has 7; hint: map axes "
      "of one size, or use no_axis for arrays that all examples share");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {no_axis}})),
            "[vmap] no argument has a mapped axis; hint: give at least one argument an axis in .in_axes");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {0}, .out = {0, 0}})), "[vmap] 2 out_axes for 1 results");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {0}, .out = {2}})),
            "[vmap] out_axes: 2 is not an axis of f32[3] with the mapped axis");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, one, {.in = {0}, .out = {no_axis}})),
            "[vmap] a result f32[3] depends on the mapped axis but its out_axes is no_axis; hint: give it an axis in "
            ".out_axes");
  EXPECT_EQ(ERROR_OF((void)flat::vmap(id, unset, {.in = {0}})),
            "uninitialised Array used as an operand; hint: `Array x;` is no array yet, one that was moved from is none "
            "any more: assign one first");
}
TEST(VmapErrors, OfAnOperationSpeakOfOneExample) {
  FlatFunction f = [](In x) { return Arrays{dot(x[0], x[0])}; };
  EXPECT_EQ(ERROR_OF((void)flat::vmap(f, Arrays{ones({5, 2, 3})}, {.in = {0}})),
            "[dot] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[2,3] axis 0 has 2");
}
TEST(VmapErrors, OfEscapedValuesAndBranches) {
  Array kept;
  (void)flat::vmap(
      [&](In x) {
        kept = x[0];
        return Arrays{x[0]};
      },
      Arrays{ones({2})}, {.in = {0}});
  EXPECT_NE(ERROR_OF((void)(kept + 1)).find("vmap"), std::string::npos);
  EXPECT_NE(ERROR_OF((void)flat::vmap(
                         [](In x) {
                           if (x[0] > 0) return Arrays{x[0]};
                           return Arrays{-x[0]};
                         },
                         Arrays{ones({2})}, {.in = {0}}))
                .find("vmap"),
            std::string::npos);
}

}  // namespace
}  // namespace anew::test
