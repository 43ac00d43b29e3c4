// Convolutions as users call them: names of dimensions and paddings, the figures of JAX for whole numbers, derivatives
// under every option, one example and many, stored types, and the texts of errors.
#include <anew/anew.h>

#include "ops/helpers.h"
#include "support/check_grads.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::values;

Array counting(const Shape& shape, double from = 0) { return arange(shape.size(), f64).reshape(shape) + from; }

TEST(Convolution, LayoutsAgree) {
  Array x = filled({2, 3, 5, 6}, 1, f32), w = filled({4, 3, 2, 3}, 2, f32);
  Array want = conv_general_dilated(x, w, {1, 2}, "SAME");
  EXPECT_EQ(want.shape(), (Shape{2, 4, 5, 3}));
  ConvOptions last{.dimension_numbers = {"NHWC", "HWIO", "NHWC"}};
  Array y = conv_general_dilated(transpose(x, std::vector{0, 2, 3, 1}), transpose(w, std::vector{2, 3, 1, 0}), {1, 2},
                                 "SAME", last);
  EXPECT_TRUE(array_equal(transpose(y, std::vector{0, 3, 1, 2}), want));  // the order of a sum does not see the layout
  // Spatial dimensions are matched by name, in the order of the kernel's: W comes first here.
  ConvOptions turned{.dimension_numbers = {"NCHW", "WOIH", "CNWH"}};
  y = conv_general_dilated(x, transpose(w, std::vector{3, 0, 1, 2}), {2, 1}, "SAME", turned);
  expect_values(transpose(y, std::vector{1, 0, 3, 2}), values(want), 1e-5);
}

TEST(Convolution, NamedPaddings) {
  Array x = counting({1, 1, 5}), w = counting({1, 1, 2}, 1);
  expect_values(conv_general_dilated(x, w, {1}, "SAME"), {2, 5, 8, 11, 4});
  expect_values(conv_general_dilated(x, w, {1}, "SAME_LOWER"), {0, 2, 5, 8, 11});
  expect_values(conv_general_dilated(x, w, {1}, std::string("VALID")), {2, 5, 8, 11});
  expect_values(conv_general_dilated(x, w, {2}, {{1, 0}}), {0, 5, 11});
  expect_values(conv_general_dilated(x, w, {1}, {{0, 0}}, {.rhs_dilation = {3}}), {6, 9});
  expect_values(lax::conv_general_dilated(x, w, 1, ConvPadding::Pairs{{-1, 0}}), {5, 8, 11});
}

TEST(Convolution, OfIntegersAndOfNumbersOfTwoTypes) {
  Array x = arange(5).reshape({1, 1, 5}), w = array({1, 2}).reshape({1, 1, 2});
  Array y = conv_general_dilated(x, w, {1}, "VALID");
  EXPECT_EQ(y.dtype(), i32);
  expect_values(y, {2, 5, 8, 11});
  EXPECT_EQ(conv_general_dilated(astype(x, f32), w, {1}, "VALID").dtype(), f32);
  EXPECT_EQ(conv_general_dilated(x, w, {1}, "VALID", {.preferred_element_type = f64}).dtype(), f64);
}

TEST(Convolution, StoredTypesAreRoundedOnce) {
  Array x = filled({1, 40, 9}, 1, bf16), w = filled({3, 40, 4}, 2, bf16);
  Array wide = conv_general_dilated(astype(x, f32), astype(w, f32), {1}, "VALID");
  Array y = conv_general_dilated(x, w, {1}, "VALID");
  EXPECT_EQ(y.dtype(), bf16);
  EXPECT_TRUE(array_equal(y, astype(wide, bf16)));
}

TEST(Convolution, Transposed) {
  Array y = conv_transpose(counting({1, 2, 2, 2}), counting({2, 2, 2, 3}), {2, 2}, "SAME");
  EXPECT_EQ(y.shape(), (Shape{1, 4, 4, 3}));
  expect_values(conv_transpose(counting({1, 4, 1}), counting({3, 1, 1}, 1), {3}, "VALID"),
                {0, 0, 0, 3, 2, 1, 6, 4, 2, 9, 6, 3});
  Array x = counting({1, 4, 1}, 1);
  expect_values(conv_transpose(x, counting({4, 1, 1}, 1), {2}, "SAME"), {3, 10, 7, 16, 11, 22, 15, 8});
  expect_values(conv_transpose(x, counting({3, 1, 1}, 1), {2}, "SAME", {.transpose_kernel = true}),
                {1, 2, 5, 4, 9, 6, 13, 8});
  expect_values(conv_transpose(counting({1, 3, 1}, 1), counting({2, 1, 1}, 1), {2}, {{1, 1}}, {.rhs_dilation = {2}}),
                {0, 5, 0, 8, 0});
  Array named = conv_transpose(counting({1, 1, 4}, 1), counting({1, 1, 4}, 1), {2}, "SAME",
                               {.dimension_numbers = {"NCH", "OIH", "NCH"}});
  expect_values(named, {3, 10, 7, 16, 11, 22, 15, 8});
}

TEST(Convolution, OfVectors) {
  Array a = counting({5}, 1), v = counting({3}, 1);
  for (const auto& [x, y] : {std::pair(a, v), std::pair(v, a)}) {
    expect_values(convolve(x, y), {1, 4, 10, 16, 22, 22, 15});
    expect_values(convolve(x, y, "same"), {4, 10, 16, 22, 22});
    expect_values(convolve(x, y, "valid"), {10, 16, 22});
  }
  expect_values(correlate(a, v), {14, 20, 26});
  expect_values(correlate(v, a), {26, 20, 14});
  expect_values(correlate(a, v, "full"), {3, 8, 14, 20, 26, 14, 5});
  expect_values(correlate(v, a, "same"), {14, 26, 20, 14, 8});
}

struct Case {
  Shape x, w, strides;
  ConvPadding padding;
  ConvOptions options;
};
std::vector<Case> option_cases() {
  return {{{2, 3, 7}, {4, 3, 3}, {2}, "SAME", {}},
          {{2, 3, 7}, {4, 3, 3}, {3}, {{2, -1}}, {.lhs_dilation = {2}, .rhs_dilation = {2}}},
          {{2, 4, 5, 4}, {6, 2, 2, 3}, {1, 2}, {{1, 0}, {0, 1}}, {.feature_group_count = 2}},
          {{4, 2, 5}, {6, 2, 2}, {2}, "VALID", {.batch_group_count = 2}},
          {{2, 5, 4, 3}, {2, 2, 3, 2}, {2, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}}};
}

TEST(Convolution, DerivativesUnderEveryOption) {
  for (const Case& c : option_cases()) {
    SCOPED_TRACE(c.x.str() + c.w.str());
    auto f = [&](std::span<const Array> in) {
      return Arrays{sin(conv_general_dilated(in[0], in[1], c.strides, c.padding, c.options))};
    };
    test::check_grads(f, Arrays{filled(c.x, 1), filled(c.w, 2)});
  }
}

// One example at a time gives the same bits, whichever operand has examples.
TEST(Convolution, MappedIsALoop) {
  for (const Case& c : option_cases()) {
    SCOPED_TRACE(c.x.str() + c.w.str());
    auto f = [&](std::span<const Array> in) {
      return Arrays{conv_general_dilated(in[0], in[1], c.strides, c.padding, c.options)};
    };
    Shape xs = c.x, ws = c.w;
    xs.insert(0, 3);
    ws.insert(0, 3);
    Array x = filled(xs, 1, f32), w = filled(ws, 2, f32);
    for (auto [map_x, map_w] : {std::pair(true, false), {false, true}, {true, true}}) {
      Arrays in{map_x ? x : x[0], map_w ? w : w[0]};
      Array y = flat::vmap(f, in, {{map_x ? 0 : no_axis, map_w ? 0 : no_axis}})[0];
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(array_equal(y[i], f(Arrays{map_x ? x[i] : x[0], map_w ? w[i] : w[0]})[0])) << map_x << map_w;
    }
  }
}

TEST(Convolution, Errors) {
  Array x = zeros({2, 3, 5}), w = zeros({4, 3, 2});
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, zeros({4, 3}), {1}, "SAME"); }),
            "[conv_general_dilated] needs arrays of one rank, at least 2, got f32[2,3,5] and f32[4,3]");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1}, "FULL"); }),
            "[conv_general_dilated] padding \"FULL\" is none of \"SAME\", \"SAME_LOWER\", \"VALID\"");
  EXPECT_EQ(
      error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.lhs_dilation = {2}}); }),
      "[conv_general_dilated] padding \"SAME\" has no meaning for a dilated input; hint: give the numbers, or use "
      "conv_transpose");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1, 1}, "SAME"); }),
            "[conv_general_dilated] strides, padding and dilations need one entry for each of 1 spatial dimensions");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1, 1}, {{0, 0}}); }),
            "[conv_general_dilated] strides, padding and dilations need one entry for each of 1 spatial dimensions");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {0}, {{0, 0}}); }),
            "[conv_general_dilated] strides and dilations are at least 1, got [0]");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, zeros({4, 2, 2}), {1}, "SAME"); }),
            "[conv_general_dilated] f32[2,3,5] has 3 input features in 1 groups, the kernel f32[4,2,2] takes 2");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.batch_group_count = 3}); }),
            "[conv_general_dilated] 4 output features of f32[4,3,2] do not divide into 3 groups");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.batch_group_count = 4}); }),
            "[conv_general_dilated] a batch of 2 does not divide into 4 groups");
  EXPECT_EQ(
      error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.feature_group_count = 3, .batch_group_count = 2}); }),
      "[conv_general_dilated] one of feature_group_count and batch_group_count may be more than 1, got 3 and 2");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1}, {{-6, 0}}); }),
            "[conv_general_dilated] padding (-6, 0) removes more than there is of f32[2,3,5]");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.dimension_numbers = {"NC", "OIH", "NCH"}}); }),
            "[conv_general_dilated] dimension numbers \"NC\" do not name the 3 axes of f32[2,3,5]");
  EXPECT_EQ(
      error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.dimension_numbers = {"NCW", "OIH", "NCH"}}); }),
      "[conv_general_dilated] dimension numbers \"NCW\" need each of \"NC\" and the spatial dimensions of \"OIH\" "
      "once");
  EXPECT_EQ(
      error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.dimension_numbers = {"NCH", "OHH", "NCH"}}); }),
      "[conv_general_dilated] dimension numbers \"OHH\" need each of \"OI\" and the spatial dimensions of \"OHH\" "
      "once");
  EXPECT_EQ(
      error_of([&] { conv_general_dilated(x, w, {1}, "SAME", {.dimension_numbers = {"NCH", "OIH", "NHH"}}); }),
      "[conv_general_dilated] dimension numbers \"NHH\" need each of \"NC\" and the spatial dimensions of \"OIH\" "
      "once");
  EXPECT_EQ(error_of([&] { conv_general_dilated(x > 0, w > 0, {1}, "SAME"); }),
            "[conv_general_dilated] needs numbers, got bool[2,3,5]");
  EXPECT_EQ(error_of([&] { conv_transpose(x, w, {1, 1}, "SAME"); }),
            "[conv_transpose] needs arrays of one rank, at least 2, and a stride per spatial dimension, got f32[2,3,5] "
            "and f32[4,3,2]");
  EXPECT_EQ(error_of([&] { conv_transpose(x, w, {1}, "SAME_LOWER"); }),
            "[conv_transpose] padding \"SAME_LOWER\" is none of \"SAME\", \"VALID\"");
  EXPECT_EQ(error_of([&] { conv_transpose(x, w, {1}, "SAME", {.dimension_numbers = {"NC", "OI", "NC"}}); }),
            "[conv_transpose] dimension numbers \"NC\" do not name the 3 axes of f32[2,3,5]");
  EXPECT_EQ(error_of([&] { conv_transpose(x, w, {1}, "SAME", {.rhs_dilation = {1, 1}}); }),
            "[conv_transpose] strides, padding and dilations need one entry for each of 1 spatial dimensions");
  EXPECT_EQ(error_of([&] { convolve(x, w); }),
            "[convolve] needs two vectors that are not empty, got f32[2,3,5] and f32[4,3,2]");
  EXPECT_EQ(error_of([&] { correlate(zeros(3), zeros(2), "all"); }),
            "[correlate] mode \"all\" is none of \"full\", \"same\", \"valid\"");
}

}  // namespace
}  // namespace anew
