// The printed form: the listings of the notation's own documentation, and every corner of the grammar.
#include "ir/samples.h"

namespace anew::ir::testing {
namespace {

const Type scalar{{}, f32};

// The forward computation of sin(W3 sin(W2 sin(W1 x))) with its residuals.
Program seed_forward() {
  Builder b;
  Var w[3] = {b.input({{5, 4}, f32}), b.input({{6, 5}, f32}), b.input({{7, 6}, f32})};
  const Var x = b.input({{4}, f32});
  Var s[3], c[3], in = x;
  for (int i = 0; i < 3; ++i) {
    const Var y = b.add1(dot_row, {w[i], in}, dot_params({1}, {0}));
    in = s[i] = b.add1(sin_row, {y});
    c[i] = b.add1(cos_row, {y});
  }
  b.p.outputs = {s[2], x, w[0], c[0], s[0], w[1], c[1], s[1], w[2], c[2]};
  return b.p;
}

TEST(Print, ForwardListingOfTheSeeds) {
  EXPECT_EQ(print(seed_forward()), R"({ lambda ; a:f32[5,4] b:f32[6,5] c:f32[7,6] d:f32[4]. let
    e:f32[5] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float32
    ] a d
    f:f32[5] = sin e
    g:f32[5] = cos e
    h:f32[6] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float32
    ] b f
    i:f32[6] = sin h
    j:f32[6] = cos h
    k:f32[7] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float32
    ] c i
    l:f32[7] = sin k
    m:f32[7] = cos k
  in (l, d, a, g, f, b, j, i, c, m) })");
}

}  // namespace
}  // namespace anew::ir::testing
