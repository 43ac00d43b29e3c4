// Slices that move up: what a stencil's gradient becomes, what stays, and the same bits on random programs.
#include <random>

#include "passes/pipeline.h"
#include "passes/subjects.h"
#include "support/random.h"

namespace anew::test {
namespace {

using passes::narrow;

TEST(Narrow, IsSoundOnTypicalProgramsAndTwiceAsOnce) {
  for (const Subject& s : subjects()) {
    ir::Program p = expect_sound(s, narrow);
    EXPECT_EQ(ir::print(narrow(p)), ir::print(p)) << s.name;
  }
}

TEST(Narrow, ElementwiseEquationsAreComputedForTheSlice) {
  EXPECT_EQ(after(narrow, R"({ lambda ; a:f32[8] b:f32[]. let
    c:f32[8] = sin a
    d:f32[8] = mul c b
    e:f32[8] = add d a
    f:f32[2] = slice[limit_indices=(5,) start_indices=(1,) strides=(2,)] e
  in (f,) })"),
            R"({ lambda ; a:f32[8] b:f32[]. let
    c:f32[2] = slice[limit_indices=(5,) start_indices=(1,) strides=(2,)] a
    d:f32[2] = sin c
    e:f32[2] = mul d b
    f:f32[2] = slice[limit_indices=(5,) start_indices=(1,) strides=(2,)] a
    g:f32[2] = add e f
  in (g,) })");
}

TEST(Narrow, WhatOthersReadStaysWhole) {
  for (const char* text : {R"({ lambda ; . let
    a:f32[] = slice[limit_indices=() start_indices=() strides=None] 1.0:f32[]
  in (a,) })",
                           R"({ lambda ; a:f32[8]. let
    b:f32[8] = sin a
    c:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] b
  in (c, b) })",
                           R"({ lambda ; a:f32[8]. let
    b:f32[8] = sin a
    c:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] b
    d:f32[3] = slice[limit_indices=(4,) start_indices=(1,) strides=None] b
  in (c, d) })",
                           R"({ lambda ; a:f32[8]. let
    b:f32[8] = cumsum[axis=0 reverse=False] a
    c:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] b
  in (c,) })",
                           R"({ lambda ; a:f32[4]. let
    b:f32[8] = pad[padding_config=((2, 2, 0),)] a 0.0:f32[]
    c:f32[2] = slice[limit_indices=(5,) start_indices=(1,) strides=(2,)] b
  in (c,) })"})
    EXPECT_EQ(after(narrow, text), text);
}

// As the Hessian of a layer times a direction has it.
TEST(Narrow, TransposesMoveUpToProducts) {
  const std::string dot = "dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float32]";
  const std::string head =
      "{ lambda ; a:f32[3,4] b:f32[4,2] c:f32[3,5] d:f32[5,2] e:f32[3,2]. let f:f32[3,2] = " + dot +
      " a b\n g:f32[3,2] = " + dot + " c d\n h:f32[3,2] = ";
  auto rest_with = [](const std::string& also) {
    return "\n i:f32[3,2] = mul h 2.0:f32[]\n j:f32[2,3] = transpose[permutation=(1, 0)] i in (j, " + also + ",) }";
  };
  auto transposed = [&](const std::string& sum, const std::string& also) {
    std::vector<std::string> out;
    for (const ir::Eqn& e : narrow(*parse_program(head + sum + rest_with(also)).code()).eqns)
      out.push_back(e.primitive->name);
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(transposed("add_any f g", "a"),
            (Names{"dot_general", "dot_general", "transpose", "transpose", "add_any", "mul"}));
  const Names stays{"dot_general", "dot_general", "add_any", "mul", "transpose"};
  EXPECT_EQ(transposed("add_any f e", "g"), stays);  // not of products alone
  EXPECT_EQ(transposed("add_any f g", "f"), stays);  // read by others
  // The second product is added where the first one lies: no memory but arguments and results.
  auto f = [](std::span<const Array> x) { return Arrays{transpose(matmul(x[0], x[1]) + matmul(x[2], x[3]))}; };
  const Arrays x{ones({3, 4}), ones({4, 2}), ones({3, 5}), ones({5, 2})};
  EXPECT_EQ(flat::plan(f, x).arena_bytes, 0u);
}

// One of the two sides of a stencil, as its gradient has them.
TEST(Narrow, PadsPadLess) {
  EXPECT_EQ(after(narrow, R"({ lambda ; a:f32[4] b:f32[4]. let
    c:f32[4] = neg a
    d:f32[6] = pad[padding_config=((0, 2, 0),)] c 0.0:f32[]
    e:f32[6] = pad[padding_config=((2, 0, 0),)] b 0.0:f32[]
    f:f32[6] = add_any d e
    g:f32[4] = slice[limit_indices=(5,) start_indices=(1,) strides=None] f
  in (g,) })"),
            R"({ lambda ; a:f32[4] b:f32[4]. let
    c:f32[3] = slice[limit_indices=(4,) start_indices=(1,) strides=None] a
    d:f32[3] = neg c
    e:f32[4] = pad[padding_config=((0, 1, 0),)] d 0.0:f32[]
    f:f32[3] = slice[limit_indices=(3,) start_indices=(0,) strides=None] b
    g:f32[4] = pad[padding_config=((1, 0, 0),)] f 0.0:f32[]
    h:f32[4] = add_any e g
  in (h,) })");
  // With room between elements, or with nothing of the operand left, paddings are negative.
  EXPECT_EQ(after(narrow, R"({ lambda ; a:f32[4]. let
    b:f32[9] = pad[padding_config=((1, 1, 1),)] a 0.0:f32[]
    c:f32[4] = slice[limit_indices=(7,) start_indices=(3,) strides=None] b
  in (c,) })"),
            R"({ lambda ; a:f32[4]. let
    b:f32[4] = pad[padding_config=((-2, -1, 1),)] a 0.0:f32[]
  in (b,) })");
  EXPECT_EQ(after(narrow, R"({ lambda ; a:f32[4]. let
    b:f32[9] = pad[padding_config=((5, 0, 0),)] a 0.0:f32[]
    c:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] b
  in (c,) })"),
            R"({ lambda ; a:f32[4]. let
    b:f32[2] = pad[padding_config=((4, -6, 0),)] a 0.0:f32[]
  in (b,) })");
}

TEST(Narrow, InsideNestedPrograms) {
  const std::string text = after(narrow, R"({ lambda ; a:f32[8]. let
    b:f32[2] = jit[name=f program={ lambda ; c:f32[8]. let
        d:f32[8] = sin c
        e:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] d
      in (e,) }] a
  in (b,) })");
  EXPECT_NE(text.find("e:f32[2] = sin d"), std::string::npos) << text;
}

// Chains of pads, slices and arithmetic, with some results read twice.
TEST(Narrow, KeepsTheBitsOfRandomPrograms) {
  std::mt19937 bits(7);
  auto pick = [&](int n) { return static_cast<std::int64_t>(bits() % static_cast<unsigned>(n)); };
  Random random("narrow", 1);
  int changed = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape{3 + pick(4), 2 + pick(5)};
    Subject s{"random", {}, {random.array({shape, f32}, -2, 2), random.array({shape, f32}, -2, 2)}};
    Staged staged = stage(
        [&](std::span<const Array> x) {
          Arrays all(x.begin(), x.end());
          for (int i = 0; i < 8; ++i) {
            const Array a = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
            if (a.size() == 0) continue;
            const Array b = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
            std::vector<lax::Padding> config;
            Shape start, limit, strides;
            for (int d = 0; d < 2; ++d) {
              const std::int64_t n = a.shape()[d], first = pick(static_cast<int>(n));
              config.push_back({pick(4) - 1, pick(4), pick(3) == 0});
              start.push_back(first);
              limit.push_back(first + 1 + pick(static_cast<int>(n - first)));
              strides.push_back(1 + (pick(3) == 0));
            }
            switch (pick(5)) {
              case 0: all.push_back(lax::pad(a, -0.0, config)); break;
              case 1: all.push_back(sin(a)); break;
              case 2: all.push_back(a * 3 - a); break;
              case 3: all.push_back(a.shape() == b.shape() ? a + b : -a); break;
              default: all.push_back(lax::slice(a, start, limit, strides)); break;
            }
          }
          return Arrays(all.end() - 2, all.end());
        },
        std::vector<ir::Type>(2, {shape, f32}), "test", Location::current());
    s.program = Program(std::make_shared<const ir::Program>(std::move(staged.program)), {});
    const ir::Program p = expect_sound(s, narrow);
    changed += ir::print(p) != ir::print(code(s));
    expect_sound(s, passes::prepare);
  }
  EXPECT_GT(changed, 50);
}

}  // namespace
}  // namespace anew::test
