// Random numbers: draws under every transformation are the draws of a loop, figures of JAX beyond the recorded ones,
// moments of the distributions, and the texts of errors. Recorded draws are in tests/golden.
#include <anew/anew.h>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::values;

TEST(Random, KeysComeApart) {
  Array key = random::key(7);
  EXPECT_EQ(key.type(), (ShapeDtype{{2}, u32}));
  auto [a, b] = random::split(key);
  auto [c, d, e] = random::split<3>(key);
  EXPECT_TRUE(array_equal(random::split(key, 2), stack({a, b})));
  EXPECT_TRUE(array_equal(random::split(key, 3), stack({c, d, e})));
  EXPECT_EQ(random::split(key, {2, 3}).shape(), (Shape{2, 3, 2}));
  EXPECT_TRUE(array_equal(random::fold_in(key, 5), random::fold_in(key, array(5))));
  EXPECT_FALSE(array_equal(random::fold_in(key, 5), random::fold_in(key, 6)));
  // A seed that is an array: 32 bits of it, or 64.
  EXPECT_TRUE(array_equal(random::key(array(7)), key));
  // A number keeps its 64 bits, whatever the default types are: seeds from clocks and devices stay apart.
  auto words = [](std::uint32_t hi, std::uint32_t lo) { return array(std::vector<std::uint32_t>{hi, lo}); };
  const Array minus_three = array(std::vector<std::int64_t>{-3}, Shape{});
  EXPECT_TRUE(array_equal(random::key(-3), words(0xffffffff, 0xfffffffd)));
  EXPECT_TRUE(array_equal(random::key((std::int64_t{1} << 32) + 5), words(1, 5)));
  EXPECT_TRUE(array_equal(random::key(minus_three), random::key(-3)));
  EXPECT_TRUE(array_equal(random::key(array(-3, i32)), words(0, 0xfffffffd)));
  EXPECT_TRUE(array_equal(random::key(array(-3, i8)), words(0, 0xfffffffd)));
}

TEST(Random, EveryTransformationDrawsTheSame) {
  Array keys = random::split(random::key(1), 3);
  auto draw = [](Array key) { return random::normal(key, {4, 2}); };
  Array mapped = vmap(draw)(keys), jitted = jit(draw)(keys[1]), kept = checkpoint(draw)(keys[1]);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(array_equal(mapped[i], draw(keys[i])));
  EXPECT_TRUE(array_equal(jitted, draw(keys[1])));
  EXPECT_TRUE(array_equal(kept, draw(keys[1])));
  auto body = [&](Array key, Array) {
    auto [next, now] = random::split(key);
    return std::pair(next, random::uniform(now, {2}));
  };
  auto [last, drawn] = scan(body, random::key(3), zeros(3));
  Array key = random::key(3);
  for (int i = 0; i < 3; ++i) {
    auto [next, now] = random::split(key);
    EXPECT_TRUE(array_equal(drawn[i], random::uniform(now, {2})));
    key = next;
  }
  EXPECT_TRUE(array_equal(last, key));
}

// An element is drawn from its position: with the original counter it depends on the size of the array.
TEST(Random, ElementsDoNotDependOnTheSize) {
  Array key = random::key(2);
  EXPECT_TRUE(array_equal(random::bits(key, {10})[{slice(0, 4)}], random::bits(key, {4})));
  EXPECT_TRUE(array_equal(random::bits(key, {2, 5}), random::bits(key, {10}).reshape({2, 5})));
  EXPECT_TRUE(random::set_partitionable(false));
  EXPECT_FALSE(array_equal(random::bits(key, {10})[{slice(0, 4)}], random::bits(key, {4})));
  EXPECT_FALSE(random::set_partitionable(true));
}

TEST(Random, FiguresOfJax) {
  Array key = random::key(7);
  expect_values(random::randint(key, {3}, -2147483648LL, 2147483648LL), {752193311, 1400917350, -455323268});
  expect_values(random::randint(key, {3}, 0, 4294967296LL, u32), {2899676959, 3548400998, 1692160380});
  EXPECT_EQ(random::randint(key, {4}, -1000000000000000LL, 100000000000000000LL, i64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1925565873535173, 47775705619275709, 52256908980097410, 48740935073184963}));
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(random::randint(key, {3}, least, most, i64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{-3665446470981240635, -2306596331235500099, 4868884872125321602}));
  expect_values(random::uniform(key, {4}, bf16), {0.0390625, 0.0, 0.6640625, 0.1875});
  expect_values(random::uniform(key, {4}, f16), {0.16015625, 0.4921875, 0.162109375, 0.26953125});
  expect_values(random::normal(key, {4}, bf16), {-1.734375, -2.890625, 0.427734375, -0.87890625}, 0.01);
  expect_values(random::cauchy(key, {3}, f64), {1.8759253820352535, -6.961667356611034, -1.1709640860639026}, 1e-12);
  expect_values(random::rademacher(key, {6}), {-1, -1, 1, 1, -1, -1});
  Array logits = log(array({{0.1, 0.9}, {0.5, 0.5}, {0.9, 0.1}}, f64));
  expect_values(random::categorical(key, logits, 0, Shape{4, 2}), {0, 2, 2, 0, 0, 0, 2, 0});
  EXPECT_EQ(random::categorical(key, logits).shape(), (Shape{3}));
}

TEST(Random, BoundsThatAreArrays) {
  Array key = random::key(5), lo = array({0, 10, 20}), hi = lo + array({1, 5, 0});
  Array x = random::randint(key, {4, 3}, lo, hi);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ((x[{i, 0}].item<int>()), 0);
    EXPECT_GE((x[{i, 1}].item<int>()), 10);
    EXPECT_LT((x[{i, 1}].item<int>()), 15);
    EXPECT_EQ((x[{i, 2}].item<int>()), 20);  // an empty range gives its beginning
  }
  EXPECT_TRUE(
      array_equal(random::randint(key, {3}, astype(lo, i64), astype(hi, i64)), random::randint(key, {3}, lo, hi)));
  Array u = random::uniform(key, {2, 3}, f32, array({0.0, 1.0, 2.0}), array({1.0, 2.0, 3.0}));
  EXPECT_TRUE(array_equal(floor(u), array({{0.0, 1.0, 2.0}, {0.0, 1.0, 2.0}})));
  // A draw is differentiable in its bounds: x = u (hi - lo) + lo.
  auto f = [&](Array bound) { return sum(random::uniform(key, {2}, f64, 0.0, bound)); };
  EXPECT_NEAR(grad(f)(array(2.0, f64)).item(), sum(random::uniform(key, {2}, f64)).item(), 1e-15);
}

struct Moments {
  double mean, variance;
};
Moments moments(const Array& x) { return {mean(astype(x, f64)).item(), var(astype(x, f64)).item()}; }

TEST(Random, Moments) {
  Array key = random::key(11);
  const Shape many{100000};
  auto near = [&](const Array& x, double mean, double variance) {
    Moments m = moments(x);
    EXPECT_NEAR(m.mean, mean, 0.02);
    EXPECT_NEAR(m.variance, variance, 0.04 * variance);
  };
  for (DType d : {f32, f64}) {
    near(random::uniform(key, many, d, -1.0, 1.0), 0, 1.0 / 3);
    near(random::normal(key, many, d), 0, 1);
    near(random::exponential(key, many, d), 1, 1);
    near(random::gumbel(key, many, d), 0.5772156649, 1.6449340668);
    near(random::laplace(key, many, d), 0, 2);
    near(random::logistic(key, many, d), 0, 3.2898681337);
    Array t = random::truncated_normal(key, -1.0, 2.0, many, d);
    EXPECT_GT(min(t).item(), -1);
    EXPECT_LT(max(t).item(), 2);
  }
  near(random::bernoulli(key, 0.3, many), 0.3, 0.21);
  near(random::randint(key, many, 0, 3), 1, 2.0 / 3);
  EXPECT_EQ(random::bernoulli(key).shape(), Shape{});
  EXPECT_EQ(random::truncated_normal(key, zeros(3), 1.0).shape(), (Shape{3}));
}

TEST(Random, OrdersAndChoices) {
  Array key = random::key(7), m = arange(6, f32).reshape({3, 2});
  expect_values(random::permutation(key, 10), {9, 4, 2, 3, 5, 0, 7, 6, 1, 8});
  expect_values(random::permutation(key, m), {4, 5, 0, 1, 2, 3});
  expect_values(random::shuffle(key, m), {4, 5, 0, 1, 2, 3});
  expect_values(random::permutation(key, m.reshape({2, 3}), 1, true), {2, 0, 1, 4, 3, 5});
  expect_values(random::choice(key, 5, {4}), {4, 2, 0, 2});
  expect_values(random::choice(key, 5, {4}, {.replace = false}), {4, 2, 3, 0});
  Array p = array({0.1, 0.2, 0.3, 0.2, 0.2});
  expect_values(random::choice(key, 5, {6}, {.p = p}), {2, 0, 3, 2, 1, 2});
  expect_values(random::choice(key, 5, {3}, {.replace = false, .p = p}), {1, 4, 0});
  expect_values(random::choice(key, m, {2, 2}), {2, 3, 4, 5, 0, 1, 2, 3});
  expect_values(random::choice(key, m.reshape({2, 3}), {2}, {.axis = 1}), {1, 2, 4, 5});
  Array keys = random::split(key, 3);
  Array orders = vmap([](Array k) { return random::permutation(k, 6); })(keys);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(array_equal(orders[i], random::permutation(keys[i], 6)));
  EXPECT_EQ(error_of([&] { random::permutation(key, 2.5); }),
            "[random.permutation] needs an integer or an array with axes, got f32[]");
  EXPECT_EQ(error_of([&] { random::choice(key, 0, {2}); }), "[random.choice] from no elements");
  EXPECT_EQ(error_of([&] { random::choice(key, 3, {4}, {.replace = false}); }),
            "[random.choice] 4 draws from 3 elements without replacement");
  EXPECT_EQ(error_of([&] { random::choice(key, 3, {4}, {.p = p}); }),
            "[random.choice] probabilities f32[5] for 3 elements");
}

TEST(Random, Errors) {
  Array key = random::key(0);
  EXPECT_EQ(error_of([&] { random::normal(zeros(2), {3}); }),
            "[random.normal] needs a key, u32[2], got f32[2]; hint: random::key(seed) makes one");
  EXPECT_EQ(error_of([&] { random::uniform(random::split(key, 3)); }),
            "[random.uniform] needs a key, u32[2], got u32[3,2]; hint: vmap draws with several keys");
  EXPECT_EQ(error_of([&] { random::key(1.5); }), "[random.key] the seed must be an integer, got f32[]");
  EXPECT_EQ(error_of([&] { random::fold_in(key, zeros(2)); }),
            "[random.fold_in] the number must be an integer, got f32[2]");
  EXPECT_EQ(error_of([&] { random::split(key, -1); }), "[random.split] negative size in shape [-1]");
  EXPECT_EQ(error_of([&] { random::bits(key, {-2}); }), "[random.bits] negative size in shape [-2]");
  EXPECT_EQ(error_of([&] { random::bits(key, {2}, f32); }), "[random.bits] needs an integer type, got f32");
  EXPECT_EQ(error_of([&] { random::bits(key, {2}, 12); }), "[random.bits] the width is 8, 16, 32 or 64, got 12");
  EXPECT_EQ(error_of([&] { random::normal(key, {2}, i32); }), "[random.normal] needs a floating type, got i32");
  EXPECT_EQ(error_of([&] { random::randint(key, {2}, 0, 3, f32); }), "[random.randint] needs an integer type, got f32");
  EXPECT_EQ(error_of([&] { random::randint(key, {2}, 0.5, 3); }), "[random.randint] bounds are integers, got f32[]");
  EXPECT_EQ(error_of([&] { random::uniform(key, {2}, f32, zeros({3, 1}), 1.0); }),
            "[random.uniform] parameters of shape [3,2] do not fit the shape [2]");
  EXPECT_EQ(error_of([&] { random::bernoulli(key, zeros({3, 1}), Shape{2}); }),
            "[random.bernoulli] parameters of shape [3,2] do not fit the shape [2]");
  EXPECT_EQ(error_of([&] { random::categorical(key, zeros({3, 2}), -1, Shape{4}); }),
            "[random.categorical] the shape [4] does not end with [3], the other axes of f32[3,2]");
  random::set_partitionable(false);
  EXPECT_EQ(error_of([&] { make_program([&] { return random::bits(key, {std::int64_t{1} << 33}); })(); }),
            "[random.bits] 8589934592 words are too many for the original counter; hint: set_partitionable(true)");
  random::set_partitionable(true);
}

}  // namespace
}  // namespace anew
