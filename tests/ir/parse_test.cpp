// Reading text: exact messages with line and column, and texts that the printer would lay out otherwise.
#include "base/dtype.h"
#include "ir/samples.h"

namespace anew::ir::testing {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse(text, find_row);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Parse, AnyLayoutOfTheSameTokens) {
  const Program a = parse("{ lambda ; x:f32[] y:f32[]. let z:f32[] = mul x y; w:f32[] = sin z in (w,) }", find_row);
  const Program b = parse("{lambda;x:f32[]y:f32[].let\n  z:f32[] = mul x\n    y\n  w:f32[] = sin z in(w)}", find_row);
  EXPECT_TRUE(equal(a, b));
  EXPECT_EQ(a.eqns.size(), 2u);
  EXPECT_EQ(a.eqns[0].primitive, &mul_row);
  EXPECT_NO_THROW(verify(b));
}

TEST(Parse, ParamsInAnyOrder) {
  const Program p = parse(
      "{ lambda ; a:f32[]. let b:f32[] = reduce_precision[mantissa_bits=7 exponent_bits=5] a in (b,) }", find_row);
  EXPECT_EQ(p.eqns[0].params->as<PrecisionParams>().mantissa_bits, 7);
}

TEST(Parse, Tokens) {
  EXPECT_EQ(error_of(""), "[parse] 1:1: expected '{', got the end");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let\n  b:f32[] = sin #a in (b,) }"),
            "[parse] 2:17: no token starts with '#'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let b:f32[] = call[name='x\n"),
            "[parse] 1:45: the string does not end on its line");
  EXPECT_EQ(error_of("{ lambda ; . let in () } }"), "[parse] 1:26: expected the end, got '}'");
}

TEST(Parse, Programs) {
  EXPECT_EQ(error_of("{ lambda a:f32[] let"), "[parse] 1:18: 'let' is not a name of a variable");
  EXPECT_EQ(error_of("{ lambda ; a:f32[] in"), "[parse] 1:20: 'in' is not a name of a variable");
  EXPECT_EQ(error_of("{ lambda ; a:f32[], b:f32[]. let in () }"), "[parse] 1:19: expected '.', got ','");
  EXPECT_EQ(error_of("{ lambda ; a:f32[] a:f32[]. let in () }"), "[parse] 1:20: variable a is defined twice");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let 3 in () }"), "[parse] 1:25: expected an equation or 'in', got '3'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let in (a b) }"), "[parse] 1:31: expected ',', got 'b'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let in (b,) }"), "[parse] 1:29: variable b is not defined");
  EXPECT_EQ(
      error_of("let @f = { lambda ; . let in () } in\nlet @f = { lambda ; . let in () } in { lambda ; . let in () }"),
      "[parse] 2:6: program @f is defined twice");
}

TEST(Parse, Types) {
  EXPECT_EQ(error_of("{ lambda ; a:f31[]. let in () }"), "[parse] 1:14: expected a type, got 'f31'");
  EXPECT_EQ(error_of("{ lambda ; a:3. let in () }"), "[parse] 1:14: expected a type, got '3'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[x]. let in () }"), "[parse] 1:18: expected a size, got 'x'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[2 3]. let in () }"), "[parse] 1:20: expected ',', got '3'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[-2]. let in () }"), "[parse] 1:14: f32[-2] is not a type of an array");
  EXPECT_EQ(error_of("{ lambda ; a:f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]. let in () }"),
            "[parse] 1:50: an array has at most 16 dimensions");
}

TEST(Parse, Equations) {
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let\n    b:f32[] = sim a\n  in (b,) }"),
            "[parse] 2:15: there is no primitive 'sim'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let b:f32[] sin a in (b,) }"), "[parse] 1:37: expected ':', got 'a'");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let b:f32[] = sin b in (b,) }"),
            "[parse] 1:39: variable b is an output of its own equation");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let b:f32[] = sin c; c:f32[] = sin a in (b,) }"),
            "[parse] 1:39: variable c is not defined");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let a:f32[] = sin a in (a,) }"), "[parse] 1:25: variable a is defined twice");
  EXPECT_EQ(error_of("{ lambda ; a:f32[]. let b:f32[] = sin (a) in (b,) }"),
            "[parse] 1:39: expected an equation or 'in', got '('");
}

TEST(Parse, Literals) {
  EXPECT_EQ(error_of("{ lambda ; . let in (1.0,) }"), "[parse] 1:25: expected ':', got ','");
  EXPECT_EQ(error_of("{ lambda ; . let in (1.0:f32[1],) }"), "[parse] 1:26: a literal is a scalar, not f32[1]");
  EXPECT_EQ(error_of("{ lambda ; . let in (1:f32[],) }"), "[parse] 1:22: '1' is not a literal of f32");
  EXPECT_EQ(error_of("{ lambda ; . let in (1.0:i32[],) }"), "[parse] 1:22: '1.0' is not a literal of i32");
  EXPECT_EQ(error_of("{ lambda ; . let in (True:i32[],) }"), "[parse] 1:22: 'True' is not a literal of i32");
  EXPECT_EQ(error_of("{ lambda ; . let in (1:bool[],) }"), "[parse] 1:22: '1' is not a literal of bool");
  EXPECT_EQ(error_of("{ lambda ; . let in (-1:u32[],) }"), "[parse] 1:22: '-1' does not fit u32");
  EXPECT_EQ(error_of("{ lambda ; . let in (2147483648:i32[],) }"), "[parse] 1:22: '2147483648' does not fit i32");
  EXPECT_EQ(error_of("{ lambda ; . let in (9223372036854775808:i64[],) }"),
            "[parse] 1:22: '9223372036854775808' does not fit i64");
  for (DType d : all_dtypes)
    for (bool least : {true, false}) {
      const Literal l{d, extreme_bits(d, least)};
      const Program p = parse("{ lambda ; . let in (" + l.str() + ",) }", find_row);
      EXPECT_TRUE(p.outputs[0].literal == l) << l.str();
    }
  EXPECT_EQ(error_of("{ lambda ; . let in (128:i8[],) }"), "[parse] 1:22: '128' does not fit i8");
  EXPECT_EQ(error_of("{ lambda ; . let in (256:u8[],) }"), "[parse] 1:22: '256' does not fit u8");
  EXPECT_EQ(error_of("{ lambda ; . let in (18446744073709551616:u64[],) }"),
            "[parse] 1:22: '18446744073709551616' does not fit u64");
  EXPECT_EQ(error_of("{ lambda ; . let in (1e+39:f32[],) }"), "[parse] 1:22: '1e+39' does not fit f32");
  EXPECT_EQ(error_of("{ lambda ; . let in (70000.0:f16[],) }"), "[parse] 1:22: '70000.0' does not fit f16");
  EXPECT_EQ(error_of("{ lambda ; . let in (],) }"), "[parse] 1:22: expected a variable or a literal, got ']'");
}

TEST(Parse, Params) {
  auto with = [](std::string params) {
    return error_of("{ lambda ; a:f32[]. let b:f32[] = " + params + " a in (b,) }");
  };
  EXPECT_EQ(with("reduce_precision[exponent_bits=8]"),
            "[parse] 1:51: the params of reduce_precision do not fit: one is missing, unknown or of another kind");
  EXPECT_EQ(with("reduce_precision[exponent_bits=8 mantissa_bits=2.0]"),
            "[parse] 1:51: the params of reduce_precision do not fit: one is missing, unknown or of another kind");
  EXPECT_EQ(with("reduce_precision[exponent_bits=8 mantissa_bits=3000000000]"),
            "[parse] 1:51: the params of reduce_precision do not fit: one is missing, unknown or of another kind");
  EXPECT_EQ(with("sin[accuracy=None]"),
            "[parse] 1:38: the params of sin do not fit: one is missing, unknown or of another kind");
  EXPECT_EQ(with("sin[accuracy]"), "[parse] 1:47: expected '=', got ']'");
  EXPECT_EQ(with("sin[3=4]"), "[parse] 1:39: expected a param or ']', got '3'");
  EXPECT_EQ(with("sin[x=(1 2)]"), "[parse] 1:44: expected ',' or ')', got '2'");
  EXPECT_EQ(with("sin[x=;]"), "[parse] 1:41: expected a value, got ';'");
  EXPECT_EQ(with("call[name=f program=@g]"), "[parse] 1:56: program @g is not defined");
  EXPECT_EQ(with("call[name=f program=<fn at model.cpp:12>]"),
            "[parse] 1:55: a function (<fn ...>) cannot be read back");
}

// What is read has the types that its rows infer.
TEST(Parse, TypesAreInferred) {
  EXPECT_EQ(error_of("{ lambda ; a:f32[2]. let\n    b:f32[3] = sin a\n  in (b,) }"),
            "[parse] 2:16: [sin] of (f32[2]) gives (f32[2]), not (f32[3])");
  EXPECT_EQ(error_of("{ lambda ; a:f32[2]. let b:f32[2] c:i32[] = sin a in (b,) }"),
            "[parse] 1:45: [sin] of (f32[2]) gives (f32[2]), not (f32[2], i32[])");
  EXPECT_EQ(error_of("{ lambda ; a:f32[2]. let sin a in (a,) }"),
            "[parse] 1:26: [sin] of (f32[2]) gives (f32[2]), not ()");
}

// Reading, walking and destroying nested programs is recursive: their depth has an end before the stack has one.
TEST(Parse, Nesting) {
  const std::string open = "{ lambda ; a:f32[]. let b:f32[] = call[name=f program=", list = "sin[x=";
  std::string deep, lists(1'000'000, '(');
  for (int i = 0; i < 100'000; ++i) deep += open;
  EXPECT_EQ(error_of(deep),
            "[parse] 1:" + std::to_string(201 * open.size() + 1) + ": programs are nested more than 200 deep");
  EXPECT_EQ(error_of(lists), "[parse] 1:1: expected '{', got '('");
  const std::string before = "{ lambda ; a:f32[]. let b:f32[] = sin[x=";
  EXPECT_EQ(error_of(before + lists),
            "[parse] 1:" + std::to_string(before.size() + 201) + ": lists are nested more than 200 deep");
  std::string calls;
  for (int i = 0; i < 100'000; ++i) calls += "f(";
  EXPECT_EQ(error_of(before + calls),
            "[parse] 1:" + std::to_string(before.size() + 401) + ": calls are nested more than 200 deep");
  // Each of a chain of programs that have names holds the one before.
  std::string chain = "let @p0 = { lambda ; a:f32[]. let in (a,) } in\n";
  for (int i = 1; i < 1'000; ++i)
    chain += "let @p" + std::to_string(i) + " = { lambda ; a:f32[]. let b:f32[] = call[name=f program=@p" +
             std::to_string(i - 1) + "] a in (b,) } in\n";
  EXPECT_EQ(error_of(chain + "{ lambda ; . let in () }"), "[parse] 201:13: programs are nested more than 200 deep");
}

// A nested program sees no variable from outside.
TEST(Parse, NestedProgramsAreClosed) {
  EXPECT_EQ(
      error_of("{ lambda ; a:f32[]. let\n    b:f32[] = call[name=f program={ lambda ; . let in (a,) }]\n  in (b,) }"),
      "[parse] 2:56: variable a is not defined");
}

}  // namespace
}  // namespace anew::ir::testing
