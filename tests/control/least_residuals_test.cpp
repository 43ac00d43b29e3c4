// Residuals are the least: what shows another value is not kept but made again, what a loop leaves constant is kept
// once, rules keep what their closed forms read.
#include "support/support.h"

namespace anew {
namespace {

using namespace checkpoint_policies;
using test::brief;
using test::fill;
using Lines = std::vector<std::string>;

template <class F, class... T>
std::size_t bytes_kept(F f, const T&... x) {
  std::size_t n = 0;
  for (const Residual& r : saved_residuals(f, x...)) n += r.bytes;
  return n;
}
template <class F, class... T>
Lines kept(F f, const T&... x) {
  return brief(saved_residuals(f, x...));
}

TEST(LeastResiduals, BroadcastsAndViewsOfArguments) {
  auto scaled = [](Array y, Array g) { return sum(y * g); };
  Array y = ones({4, 3}), g = ones(3);
  EXPECT_EQ(kept(scaled, y, g), (Lines{"f32[4,3] argument 0", "f32[3] argument 1"}));
  EXPECT_EQ(kept([](Array a, Array b) { return sum(transpose(a) * transpose(b)); }, y, y),
            (Lines{"f32[4,3] argument 0", "f32[4,3] argument 1"}));
  EXPECT_EQ(kept([](Array a, Array b) { return sum(reshape(a, {3, 4}) * flip(reshape(b, {3, 4}), 0)); }, y, y),
            (Lines{"f32[4,3] argument 0", "f32[4,3] argument 1"}));
  // A part of what is kept anyway; alone it is less than its source.
  EXPECT_EQ(kept([](Array a) { return sum(a * a) + sum(sin(a[0]) * a[0]); }, y),
            (Lines{"f32[4,3] argument 0", "f32[3] sin", "f32[3] cos"}));
  EXPECT_EQ(kept([](Array a, Array b) { return sum(a[0] * b); }, y, g), (Lines{"f32[3] argument 1", "f32[1,3] slice"}));
  // A mask as numbers is a mask; a number repeated is nothing.
  auto masked = [](Array a) {
    Array mask = astype(a > 0, f32);
    return sum(sin(a) * mask);
  };
  EXPECT_EQ(kept(masked, g), (Lines{"bool[3] gt", "f32[3] cos"}));
  EXPECT_EQ(kept([](Array a) { return sum(a * full({3}, 2.0) * astype(lax::iota({3}, 0), f32)); }, g), Lines{});
  // Both factors of an outer product, not what they are spread to.
  EXPECT_EQ(bytes_kept([](Array a, Array b) { return sum(outer(sin(a), sin(b))); }, ones(50), ones(70)), 2u * 4 * 120);
}

TEST(LeastResiduals, EagerlyWhatIsListed) {
  auto f = [](Array y, Array g) { return sum(sin(y) * g); };
  auto [v, back] = vjp(f, ones({4, 3}), ones(3));
  EXPECT_EQ(brief(back.residuals()), (Lines{"f32[3] argument 1", "f32[4,3] sin", "f32[4,3] cos"}));
  EXPECT_EQ(brief(back.residuals()), kept(f, ones({4, 3}), ones(3)));
}

TEST(LeastResiduals, InsideCallsBranchesAndPolicies) {
  Array y = ones({4, 3}), g = ones(3);
  auto scaled = [](Array y, Array g) { return sum(y * g); };
  Lines both{"f32[4,3] argument 0", "f32[3] argument 1"};
  EXPECT_EQ(kept(jit(scaled), y, g), both);
  EXPECT_EQ(kept(checkpoint(scaled), y, g), both);
  EXPECT_EQ(kept(checkpoint(scaled, everything_saveable), y, g), both);
  auto branch = [=](Array y, Array g) { return cond(sum(y) > 0, scaled, [](Array y, Array) { return sum(y); }, y, g); };
  EXPECT_EQ(kept(branch, y, g), (Lines{"f32[4,3] argument 0", "f32[3] argument 1", "i32[] convert_element_type"}));
  // A named value stays the one that is kept, whatever shows it.
  auto named = checkpoint([](Array y, Array g) { return sum(cos(y) * checkpoint_name(sin(g), "s")); },
                          save_only_these_names("s"));
  EXPECT_EQ(kept(named, y, g), (Lines{"f32[4,3] argument 0", "f32[3] argument 1", "f32[3] named s"}));
}

TEST(LeastResiduals, InsideLoops) {
  Array c = ones({200, 1}, f64), m = ones({200, 200}, f64);
  auto mixed = [=](Array c) {
    return scan([=](Array c, none_t) { return std::pair(mean(sin(c) * m, 1, true), none); }, c, none, {.length = 50})
        .first;
  };
  EXPECT_EQ(bytes_kept(mixed, c), 50u * 200 * 8 + 200 * 200 * 8);
  auto layers = [](Array c, Array w) {
    return scan([](Array c, Array w) { return std::pair(sin(c) * w, none); }, c, w).first;
  };
  EXPECT_EQ(bytes_kept(layers, ones({16, 64}), ones({10, 64})), 4u * (2 * 10 * 16 * 64 + 10 * 64));
}

TEST(LeastResiduals, WhatALoopLeavesConstantIsKeptOnce) {
  Array w = ones(1000, f64);
  auto branches = [](Array w) {
    return fori_loop(
        0, 50,
        [=](Array, Array c) {
          return cond(sum(w) > 0, [=](Array c) { return c * 0.5 + mean(sin(w)); }, [](Array c) { return c; }, c);
        },
        zeros({}, f64));
  };
  auto inner = [](Array w) {
    return fori_loop(
        0, 50,
        [=](Array, Array c) { return c + fori_loop(0, 10, [=](Array, Array s) { return s * 0.9 + mean(sin(w)); }, c); },
        zeros({}, f64));
  };
  for (const Residual& r : saved_residuals(branches, w)) EXPECT_LE(r.bytes, 8000u) << r.text;
  for (const Residual& r : saved_residuals(inner, w)) EXPECT_LE(r.bytes, 8000u) << r.text;
  EXPECT_LT(bytes_kept(branches, w), 9000u);
  EXPECT_LT(bytes_kept(inner, w), 9000u);
}

TEST(LeastResiduals, ClosedForms) {
  Array x = fill({8, 16}, 1), g = ones(16), b = zeros(16);
  EXPECT_EQ(kept([](Array x, Array g, Array b) { return nn::layer_norm(x, g, b); }, x, g, b),
            (Lines{"f32[16] argument 1", "f32[8,16] normalize", "f32[8,1] normalize"}));
  EXPECT_EQ(kept([](Array x, Array g) { return nn::rms_norm(x, g); }, x, g),
            (Lines{"f32[16] argument 1", "f32[8,16] normalize", "f32[8,1] normalize"}));
  EXPECT_EQ(kept([](Array x) { return nn::standardize(x); }, x), (Lines{"f32[8,16] normalize", "f32[8,1] normalize"}));
  EXPECT_EQ(kept([](Array x) { return nn::softmax(x); }, x), (Lines{"f32[8,16] softmax"}));
  EXPECT_EQ(kept([](Array x) { return nn::softplus(x); }, x).size(), 1u);
  EXPECT_EQ(kept([](Array x) { return nn::log_sigmoid(x); }, x).size(), 1u);
  EXPECT_EQ(kept([](Array x, Array y) { return logaddexp(x, y); }, x, x).size(), 2u);
  EXPECT_EQ(bytes_kept([](Array x) { return logsumexp(x, -1); }, x), 4u * (8 * 16 + 8));
  EXPECT_EQ(bytes_kept([](Array x) { return nn::log_softmax(x); }, x), 4u * (8 * 16 + 8));
}

// The views that are made again change no bit, whoever recomputes.
TEST(LeastResiduals, SameBits) {
  auto f = [](Array x, Array w, Array g) {
    Array h = nn::layer_norm(matmul(x, w), g);
    Array t = transpose(h) * expand_dims(g, 1), m = astype(h > 0, f32);
    return sum(sin(t)) + sum(m * h) + sum(logaddexp(h[slice(0, 3)], g) * outer(g[slice(0, 3)], g));
  };
  Array x = fill({5, 4}, 1), w = fill({4, 6}, 2), g = fill({6}, 3);
  auto want = grad<0, 1, 2>(f)(x, w, g);
  for (const Policy& p : {nothing_saveable, everything_saveable, dots_saveable}) {
    auto got = grad<0, 1, 2>(checkpoint(f, p))(x, w, g);
    EXPECT_TRUE(test::same_bits(std::get<0>(got), std::get<0>(want)));
    EXPECT_TRUE(test::same_bits(std::get<1>(got), std::get<1>(want)));
    EXPECT_TRUE(test::same_bits(std::get<2>(got), std::get<2>(want)));
  }
  auto compiled = jit(grad<0, 1, 2>(f))(x, w, g);
  EXPECT_TRUE(test::same_bits(std::get<2>(compiled), std::get<2>(want)));
}

}  // namespace
}  // namespace anew
