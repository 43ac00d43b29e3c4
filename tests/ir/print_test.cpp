// The printed form: the listings of the notation's own documentation, and every corner of the grammar. Each text is
// read back: the program must be equal and print the same.
#include <cmath>
#include <limits>

#include "ir/samples.h"

namespace anew::ir::testing {
namespace {

const Type scalar{{}, f32};
const Type vec{{5}, f32};

void expect_text(const Program& p, const std::string& text) {
  EXPECT_NO_THROW(verify(p));
  EXPECT_EQ(print(p), text);
  const Program back = parse(text, find_row);
  EXPECT_TRUE(equal(p, back));
  EXPECT_EQ(hash_value(p), hash_value(back));
  EXPECT_EQ(print(back), text);
  for (int width : {1, 20, 40, 1000}) EXPECT_TRUE(equal(p, parse(print(p, width), find_row))) << print(p, width);
}

// sin(W3 sin(W2 sin(W1 x))) with its residuals, as JAX lists them.
TEST(Print, ForwardListingOfTheSeeds) {
  Builder b;
  const Var w[3] = {b.input({{5, 4}, f32}), b.input({{6, 5}, f32}), b.input({{7, 6}, f32})};
  const Var x = b.input({{4}, f32});
  Var s[3], c[3], in = x;
  for (int i = 0; i < 3; ++i) {
    const Var y = b.add1(dot_row, {w[i], in}, dot_params({1}, {0}));
    in = s[i] = b.add1(sin_row, {y});
    c[i] = b.add1(cos_row, {y});
  }
  b.p.outputs = {s[2], x, w[0], c[0], s[0], w[1], c[1], s[1], w[2], c[2]};
  expect_text(b.p, R"({ lambda ; a:f32[5,4] b:f32[6,5] c:f32[7,6] d:f32[4]. let
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

// The backward computation under a policy: a nested program, names past z, inputs wrapped as JAX wraps them.
TEST(Print, BackwardListingOfTheSeeds) {
  const Type types[] = {{{5}, f32},    {{6}, f32},    {{7}, f32}, {{5, 4}, f32},
                        {{6, 5}, f32}, {{7, 6}, f32}, {{4}, f32}, {{7}, f32}};
  Builder n;
  std::vector<Var> in;
  for (const Type& t : types) in.push_back(n.input(t));
  const Var u = n.add1(sin_row, {in[0]}), v = n.add1(cos_row, {in[0]}), w = n.add1(sin_row, {in[1]});
  const Var x = n.add1(cos_row, {in[1]}), y = n.add1(cos_row, {in[2]}), z = n.add1(mul_row, {in[7], y});
  const Var ba = n.add1(dot_row, {z, in[5]}, dot_params({0}, {0})), bb = n.add1(mul_row, {ba, x});
  const Var bc = n.add1(dot_row, {bb, in[4]}, dot_params({0}, {0})), bd = n.add1(mul_row, {bc, v});
  const Var be = n.add1(dot_row, {bd, in[3]}, dot_params({0}, {0})),
            bf = n.add1(dot_row, {bd, in[6]}, dot_params({}, {}));
  const Var bg = n.add1(dot_row, {bb, u}, dot_params({}, {})), bh = n.add1(dot_row, {z, w}, dot_params({}, {}));
  n.p.outputs = {bf, bg, bh, be};
  Builder b;
  std::vector<Atom> args;
  for (const Type& t : types) args.push_back(b.input(t));
  for (Var out : b.add(call_row, args, call_params(n.ref(), "remat2"))) b.p.outputs.push_back(out);
  expect_text(b.p, R"({ lambda ; a:f32[5] b:f32[6] c:f32[7] d:f32[5,4] e:f32[6,5] f:f32[7,6] g:f32[4] h:f32[7]. let
    i:f32[5,4] j:f32[6,5] k:f32[7,6] l:f32[4] = call[
      name=remat2
      program={ lambda ; m:f32[5] n:f32[6] o:f32[7] p:f32[5,4] q:f32[6,5] r:f32[7,6]
          s:f32[4] t:f32[7]. let
          u:f32[5] = sin m
          v:f32[5] = cos m
          w:f32[6] = sin n
          x:f32[6] = cos n
          y:f32[7] = cos o
          z:f32[7] = mul t y
          ba:f32[6] = dot_general[
            dimension_numbers=(([0], [0]), ([], []))
            preferred_element_type=float32
          ] z r
          bb:f32[6] = mul ba x
          bc:f32[5] = dot_general[
            dimension_numbers=(([0], [0]), ([], []))
            preferred_element_type=float32
          ] bb q
          bd:f32[5] = mul bc v
          be:f32[4] = dot_general[
            dimension_numbers=(([0], [0]), ([], []))
            preferred_element_type=float32
          ] bd p
          bf:f32[5,4] = dot_general[
            dimension_numbers=(([], []), ([], []))
            preferred_element_type=float32
          ] bd s
          bg:f32[6,5] = dot_general[
            dimension_numbers=(([], []), ([], []))
            preferred_element_type=float32
          ] bb u
          bh:f32[7,6] = dot_general[
            dimension_numbers=(([], []), ([], []))
            preferred_element_type=float32
          ] z w
        in (bf, bg, bh, be) }
    ] a b c d e f g h
  in (i, j, k, l) })");
}

// The head of a plain backward computation: h runs over, since only the blank before it had to fit.
TEST(Print, LongInputsRunOverByOneAsInTheSeeds) {
  Builder b;
  for (const Shape& shape : std::vector<Shape>{{4}, {5, 4}, {5}, {5}, {6, 5}, {6}, {6}, {7, 6}, {7}, {7}})
    b.input({shape, f32});
  expect_text(b.p,
              "{ lambda ; a:f32[4] b:f32[5,4] c:f32[5] d:f32[5] e:f32[6,5] f:f32[6] g:f32[6] h:f32[7,6]\n"
              "    i:f32[7] j:f32[7]. let\n"
              "  in () }");
}

TEST(Print, ParamsOnOneLineWhereTheyFit) {
  Builder b;
  const Var x = b.input(vec);
  b.p.outputs = {b.add1(precision_row, {x}, std::make_shared<PrecisionParams>())};
  expect_text(b.p, R"({ lambda ; a:f32[5]. let
    b:f32[5] = reduce_precision[exponent_bits=8 mantissa_bits=23] a
  in (b,) })");
}

TEST(Print, OneLine) {
  Builder b;
  const Var x = b.input(scalar);
  const Var y = b.add1(sin_row, {x});
  b.p.outputs = {b.add1(cos_row, {y})};
  expect_text(b.p, "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos b in (c,) }");
}

TEST(Print, ConstantsStandBeforeTheSemicolon) {
  Builder b;
  const Var c = b.input({{1}, f32}), x = b.input(scalar);
  b.p.constants = 1;
  b.p.outputs = {x, Literal::of(f32, 1.0), c};
  expect_text(b.p, "{ lambda a:f32[1]; b:f32[]. let  in (b, 1.0:f32[], a) }");
}

TEST(Print, NothingAtAll) { expect_text(Program{}, "{ lambda ; . let  in () }"); }

TEST(Print, UnusedOutputsHaveNoName) {
  Builder b;
  const Var x = b.input(vec);
  b.p.outputs = {b.add(split_row, {x})[1]};
  b.add(split_row, {x});
  expect_text(b.p, R"({ lambda ; a:f32[5]. let
    _:f32[5] b:f32[5] = halves a
    _:f32[5] _:f32[5] = halves a
  in (b,) })");
}

TEST(Print, EquationsWithoutOutputsOrOperands) {
  Builder b;
  const Var x = b.input(vec);
  b.add(print_row, {x, x});
  const Var y = b.add1(seed_row, {});
  b.add(print_row, {});
  b.add(print_row, {y});
  b.p.outputs = {y};
  expect_text(b.p, R"({ lambda ; a:f32[5]. let
    debug_print a a
    b:f32[] = seed
    debug_print
    debug_print b
  in (b,) })");
  EXPECT_EQ(print(b.p, 200),
            "{ lambda ; a:f32[5]. let debug_print a a; b:f32[] = seed; debug_print; debug_print b in (b,) }");
  EXPECT_TRUE(equal(b.p, parse(print(b.p, 200), find_row)));
}

TEST(Print, NestedInOneLineAndNamesOfOutputsFirst) {
  Builder n;
  const Var a = n.input(scalar);
  n.p.outputs = {n.add1(sin_row, {a})};
  Builder b;
  const Var x = b.input(scalar);
  b.p.outputs = {b.add1(call_row, {x}, call_params(n.ref()))};
  expect_text(b.p, R"({ lambda ; a:f32[]. let
    b:f32[] = call[
      name=f
      program={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
    ] a
  in (b,) })");
}

TEST(Print, ListsOfPrograms) {
  Builder n, m;
  const Var a = n.input(scalar);
  n.p.outputs = {n.add1(sin_row, {a})};
  m.p.outputs = {m.input(scalar)};
  Builder b;
  const Var x = b.input(scalar);
  const Var y = b.add1(cond_row, {x}, cond_params({n.ref(), m.ref()}));
  b.p.outputs = {b.add1(cond_row, {y}, cond_params({m.ref()}))};
  expect_text(b.p, R"({ lambda ; a:f32[]. let
    b:f32[] = cond[
      branches=(
        { lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
        { lambda ; e:f32[]. let  in (e,) }
      )
    ] a
    f:f32[] = cond[branches=({ lambda ; g:f32[]. let  in (g,) })] b
  in (f,) })");
}

TEST(Print, SharedProgramsArePrintedOnce) {
  Builder inner;
  const Var a = inner.input(scalar);
  inner.p.outputs = {inner.add1(sin_row, {a})};
  const ProgramRef shared = inner.ref();
  Builder outer;
  const Var c = outer.input(scalar);
  outer.p.outputs = {outer.add1(call_row, {c}, call_params(shared, "relu"))};
  const ProgramRef twice = outer.ref();
  Builder b;
  Var x = b.input(scalar);
  x = b.add1(call_row, {x}, call_params(shared, "relu"));
  x = b.add1(call_row, {x}, call_params(twice, "relu"));
  x = b.add1(cond_row, {x}, cond_params({twice, outer.ref()}));
  b.p.outputs = {x};
  EXPECT_EQ(count(b.p, "sin"), 1);
  EXPECT_EQ(count(b.p, "call"), 4);
  expect_text(b.p, R"(let @relu = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in
let @relu_1 = { lambda ; c:f32[]. let
    d:f32[] = call[name=relu program=@relu] c
  in (d,) } in
{ lambda ; e:f32[]. let
    f:f32[] = call[name=relu program=@relu] e
    g:f32[] = call[name=relu program=@relu_1] f
    h:f32[] = cond[
      branches=(
        @relu_1
        { lambda ; i:f32[]. let
            j:f32[] = call[name=relu program=@relu] i
          in (j,) }
      )
    ] g
  in (h,) })");
  const Program back = parse(print(b.p), find_row);
  EXPECT_EQ(count(back, "sin"), 1);
  EXPECT_EQ(count(back, "call"), 4);
}

TEST(Print, EveryKindOfParam) {
  auto p = std::make_shared<AllParams>();
  p->flag = true;
  p->big = -9007199254740993;
  p->scale = 0.1;
  p->label = "two words, a 'quote', a \\ and\na line\x01";
  p->dtype = bf16;
  p->shape = {3};
  p->names = {"a", "float32"};
  p->mixed = {7, false, -0.0};
  Builder b;
  const Var x = b.input(scalar);
  b.p.outputs = {b.add1(all_row, {x}, p)};
  expect_text(b.p, R"({ lambda ; a:f32[]. let
    b:f32[] = everything[
      axis=None
      big=-9007199254740993
      body=None
      dtype=bfloat16
      flag=True
      label='two words, a \'quote\', a \\ and\na line\x01'
      mixed=(7, False, -0.0)
      names=('a', 'float32')
      scale=0.1
      shape=(3,)
    ] a
  in (b,) })");
  auto q = std::make_shared<AllParams>(*p);
  q->axis = -1;
  q->scale = -std::numeric_limits<double>::infinity();
  q->label = "None";
  q->shape = {};
  q->names = {};
  b.p.eqns[0].params = q;
  EXPECT_EQ(
      str(*q),
      "axis=-1 big=-9007199254740993 body=None dtype=bfloat16 flag=True label='None' mixed=(7, False, -0.0) names=() "
      "scale=-inf shape=()");
  EXPECT_TRUE(equal(b.p, parse(print(b.p), find_row)));
  q->scale = std::nan("");
  q->label = "word_1";
  EXPECT_TRUE(equal(b.p, parse(print(b.p), find_row)));
}

TEST(Print, NamesSkipTheWordsOfTheNotation) {
  Builder b;
  Var x = b.input(scalar);
  for (int i = 0; i < 8000; ++i) x = b.add1(sin_row, {x});
  b.p.outputs = {x};
  const std::string text = print(b.p);
  EXPECT_NE(text.find("\n    im:f32[] = sin il\n    io:f32[] = sin im\n"), std::string::npos);
  EXPECT_NE(text.find("\n    les:f32[] = sin ler\n    leu:f32[] = sin les\n"), std::string::npos);
  EXPECT_TRUE(equal(b.p, parse(text, find_row)));
}

TEST(Print, OperandsWrap) {
  Builder b;
  std::vector<Atom> in;
  for (int i = 0; i < 60; ++i) in.push_back(Literal::of(i32, std::int64_t{i}));
  b.p.outputs = {b.add1(mul_row, in)};
  const std::string text = print(b.p);
  EXPECT_EQ(text.substr(0, text.find("17")), R"({ lambda ; . let
    a:i32[] = mul 0:i32[] 1:i32[] 2:i32[] 3:i32[] 4:i32[] 5:i32[] 6:i32[] 7:i32[]
      8:i32[] 9:i32[] 10:i32[] 11:i32[] 12:i32[] 13:i32[] 14:i32[] 15:i32[] 16:i32[]
      )");
  EXPECT_TRUE(equal(b.p, parse(text, find_row)));
}

}  // namespace
}  // namespace anew::ir::testing
