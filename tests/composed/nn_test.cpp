// Layers made of rows: values against their formulas written out, derivatives against differences, error texts.
#include <anew/anew.h>

#include "ops/helpers.h"
#include "support/check_grads.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::values;

TEST(Layers, Normalizations) {
  Array x = filled({3, 4}, 1), scale = filled({4}, 2), bias = filled({4}, 3);
  Array m = mean(x, 1, true), plain = (x - m) / sqrt(var(x, 1, true) + 1e-5);
  expect_values(nn::layer_norm(x), values(plain), 1e-12);
  expect_values(nn::layer_norm(x, scale, bias), values(plain * scale + bias), 1e-12);
  expect_values(nn::layer_norm(x, Array(), bias), values(plain + bias), 1e-12);
  expect_values(nn::rms_norm(x, scale), values(x / sqrt(mean(square(x), 1, true) + 1e-6) * scale), 1e-12);
  // Over the first axis the parameters have its size.
  Array column = filled({3}, 4), turned = nn::layer_norm(transpose(x), column, column, 1);
  expect_values(nn::layer_norm(x, column, column, 0), values(transpose(turned)), 1e-12);
  auto f = [](std::span<const Array> in) {
    return Arrays{nn::layer_norm(in[0], in[1], in[2]), nn::rms_norm(in[0], in[1])};
  };
  test::check_grads(f, Arrays{x, scale, bias});
  EXPECT_EQ(error_of([&] { nn::layer_norm(x, column); }),
            "[layer_norm] a parameter f64[3] does not fit the normalized axes of f64[3,4], of shape [4]");
  EXPECT_EQ(error_of([&] { nn::rms_norm(x, filled({1, 4}, 1)); }),
            "[rms_norm] a parameter f64[1,4] does not fit the normalized axes of f64[3,4], of shape [4]");
}

TEST(Layers, DropoutKeepsTheMeanAndIsRecomputedAlike) {
  Array key = random::key(3), x = ones({1000});
  Array y = nn::dropout(key, 0.25, x);
  EXPECT_NEAR(mean(y).item(), 1, 0.05);
  for (double v : values(y)) EXPECT_TRUE(v == 0 || v == static_cast<double>(1 / 0.75f)) << v;
  EXPECT_TRUE(array_equal(nn::dropout(key, 0, x), x));
  EXPECT_TRUE(array_equal(nn::dropout(key, 1, x), zeros({1000})));
  auto f = [](Array key, Array x) { return sum(square(nn::dropout(key, 0.5, sin(x)))); };
  Array small = filled({20}, 1);
  EXPECT_TRUE(array_equal(grad<1>(f)(key, small), grad<1>(checkpoint(f))(key, small)));
  EXPECT_EQ(error_of([&] { nn::dropout(key, 1.5, x); }), "[dropout] the rate is between 0 and 1, got 1.5");
}

TEST(Layers, CrossEntropy) {
  Array logits = filled({3, 4}, 1), classes = array({1, 3, 0});
  Array chosen = nn::one_hot(classes, 4, f64);
  Array want = -sum(chosen * nn::log_softmax(logits), -1);
  expect_values(nn::softmax_cross_entropy(logits, classes), values(want), 1e-14);
  expect_values(nn::softmax_cross_entropy(logits, chosen), values(want), 1e-14);
  auto f = [&](std::span<const Array> in) { return Arrays{nn::softmax_cross_entropy(in[0], classes)}; };
  test::check_grads(f, Arrays{logits});
  auto total = [&](Array x) { return sum(nn::softmax_cross_entropy(x, classes)); };
  expect_values(grad(total)(logits), values(nn::softmax(logits) - chosen), 1e-14);
  EXPECT_EQ(error_of([&] { nn::softmax_cross_entropy(logits, array({1, 2})); }),
            "[softmax_cross_entropy] labels i32[2] do not fit logits f64[3,4]; hint: integers have the shape of the "
            "examples, probabilities that of the logits");
}

TEST(Layers, Embedding) {
  Array table = filled({5, 3}, 1), ids = array({{1, 4}, {1, 0}});
  Array y = nn::embedding(table, ids);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_TRUE((array_equal(y[{0, 1}], table[4])));
  auto f = [&](Array t) { return sum(nn::embedding(t, ids)); };
  expect_values(grad(f)(table), {1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1});
  EXPECT_EQ(error_of([&] { nn::embedding(table, table); }),
            "[embedding] needs a table and integers, got f64[5,3] and f64[5,3]");
}

// Query by query, head by head.
Array attention(const Array& q, const Array& k, const Array& v, double scale, const Array& mask) {
  const Shape s = q.shape();
  const std::int64_t group = s[2] / k.shape()[2];
  std::vector<Array> rows;
  for (std::int64_t t = 0; t < s[1]; ++t)
    for (std::int64_t n = 0; n < s[2]; ++n) {
      Array keys = k[{0, slice(), n / group}], scores = dot(keys, q[{0, t, n}]) * scale;
      rows.push_back(dot(nn::softmax(where(mask[t], scores, -1e300)), v[{0, slice(), n / group}]));
    }
  return stack(rows);
}

TEST(Layers, Attention) {
  Array q = filled({1, 3, 4, 2}, 1), k = filled({1, 5, 4, 2}, 2), v = filled({1, 5, 4, 3}, 3);
  Array all = full({3, 5}, true), some = filled({3, 5}, 4) < 0.3;
  const double scale = 1 / std::sqrt(2.0);
  expect_values(nn::dot_product_attention(q, k, v), values(attention(q, k, v, scale, all)), 1e-13);
  expect_values(nn::dot_product_attention(q, k, v, {.mask = some, .scale = 0.3}), values(attention(q, k, v, 0.3, some)),
                1e-13);
  Array causal = lax::iota({3, 5}, 0) >= lax::iota({3, 5}, 1);
  expect_values(nn::dot_product_attention(q, k, v, {.is_causal = true}), values(attention(q, k, v, scale, causal)),
                1e-13);
  expect_values(nn::dot_product_attention(q[0], k[0], v[0]), values(nn::dot_product_attention(q, k, v)));
  Array bias = where(causal, 0.0, -1e200);
  expect_values(nn::dot_product_attention(q, k, v, {.bias = bias}), values(attention(q, k, v, scale, causal)), 1e-13);
  auto f = [](std::span<const Array> in) {
    return Arrays{nn::dot_product_attention(in[0], in[1], in[2], {.is_causal = true})};
  };
  test::check_grads(f, Arrays{q, k, v});
  EXPECT_EQ(error_of([&] { nn::dot_product_attention(q, k, q); }),
            "[dot_product_attention] q f64[1,3,4,2], k f64[1,5,4,2] and v f64[1,3,4,2] do not fit; hint: q is [batch, "
            "queries, heads, size], k and v are [batch, keys, heads, size]");
}

// Fewer heads of k and v: figures of JAX, which normalizes in f32.
TEST(Layers, AttentionWithSharedHeads) {
  Array n = arange(24, f64), q = sin(n).reshape({1, 3, 4, 2}), k = cos(arange(12, f64)).reshape({1, 3, 2, 2}),
        v = sin(2 * arange(12, f64)).reshape({1, 3, 2, 2});
  expect_values(nn::dot_product_attention(q, k, v, {.is_causal = true}),
                {0.0,
                 0.9092974268256817,
                 0.0,
                 0.9092974268256817,
                 -0.7568024953079282,
                 -0.27941549819892586,
                 -0.7568024953079282,
                 -0.27941549819892586,
                 0.22348937343881436,
                 0.5810025577991375,
                 0.6863432472815969,
                 -0.09890697345441837,
                 -0.6469122389555982,
                 0.3543010928874902,
                 -0.5687368856874678,
                 0.8051239418970499,
                 0.11138449904621459,
                 -0.4197466202865761,
                 0.3789503922966098,
                 -0.31476805312041867,
                 -0.34440663932231746,
                 0.7034343900755529,
                 -0.23094596332831785,
                 0.03238945212982208},
                1e-7);
}

}  // namespace
}  // namespace anew
