// Every invariant that verify states, broken one at a time.
#include "ir/samples.h"

namespace anew::ir::testing::verify_test {
namespace {

const Type scalar{{}, f32};

// The message without its frame and without the line of the equation.
std::string error_of(const Program& p) {
  try {
    verify(p);
  } catch (const InternalError& e) {
    std::string text = e.what();
    const std::string prefix = "internal error: [verify] ";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
    text = text.substr(prefix.size());
    text.erase(text.rfind("; hint: this is a bug of anew, please report it"));
    if (const std::size_t at = text.rfind("; at samples.h:"); at != std::string::npos) text.erase(at);
    return text;
  }
  return "no error";
}

Builder two_sines() {
  Builder b;
  const Var x = b.input(scalar);
  const Var y = b.add1(sin_row, {x});
  b.p.outputs = {b.add1(sin_row, {y})};
  return b;
}

TEST(Verify, Good) { EXPECT_EQ(error_of(two_sines().p), "no error"); }

TEST(Verify, Definitions) {
  Builder b = two_sines();
  b.p.eqns[0].outputs = {0};
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): output 0 is variable 0, which is defined already");
  b = two_sines();
  b.p.eqns[1].outputs = {3};
  EXPECT_EQ(error_of(b.p), "equation 1 (sin): output 0 is variable 3, but there are 3");
  b = two_sines();
  b.p.inputs = {0, 0};
  EXPECT_EQ(error_of(b.p), "input 1 is variable 0, which is defined already");
  b.p.inputs = {-1};
  EXPECT_EQ(error_of(b.p), "input 0 is variable -1, but there are 3");
}

TEST(Verify, Uses) {
  Builder b = two_sines();
  std::swap(b.p.eqns[0], b.p.eqns[1]);
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): operand 0 is variable 1, which is not defined before");
  b = two_sines();
  b.p.eqns[0].inputs = {Atom(7)};
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): operand 0 is variable 7, but there are 3");
  b = two_sines();
  b.var(scalar);
  b.p.outputs.push_back(3);
  EXPECT_EQ(error_of(b.p), "output 1 is variable 3, which is not defined before");
  b.p.outputs = {Atom(Literal{bool_, 2})};
  EXPECT_EQ(error_of(b.p), "output 0 is a literal of bool with bits 0x2");
  b.p.outputs = {Atom(Literal{f32, 0x1'0000'0000})};
  EXPECT_EQ(error_of(b.p), "output 0 is a literal of f32 with bits 0x100000000");
  b.p.outputs = {Atom(Literal{f64, ~std::uint64_t{0}})};
  EXPECT_EQ(error_of(b.p), "no error");
}

TEST(Verify, Constants) {
  Builder b = two_sines();
  b.p.constants = 2;
  EXPECT_EQ(error_of(b.p), "2 constants among 1 inputs");
  b.p.constants = -1;
  EXPECT_EQ(error_of(b.p), "-1 constants among 1 inputs");
}

TEST(Verify, Types) {
  Builder b = two_sines();
  b.p.types[1] = {{2}, f32};
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): outputs are (f32[2]), but infer says (f32[])");
  b.p.types[1] = {{-2}, f32};
  EXPECT_EQ(error_of(b.p), "f32[-2] is not a type of an array");
  b = two_sines();
  b.p.eqns[0].outputs.push_back(b.var(scalar));
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): outputs are (f32[], f32[]), but infer says (f32[])");
  const Primitive strict{.name = "strict",
                         .infer = [](const InferArgs&) -> Types { throw Error("[strict] no", Location()); }};
  b = two_sines();
  b.p.eqns[1].primitive = &strict;
  EXPECT_EQ(error_of(b.p), "equation 1 (strict): infer refuses operands (f32[]): [strict] no");
}

TEST(Verify, Rows) {
  Builder b = two_sines();
  b.p.eqns[1].params = nullptr;
  EXPECT_EQ(error_of(b.p), "equation 1 (sin): no params");
  const Primitive bare{.name = "bare"};
  b = two_sines();
  b.p.eqns[1].primitive = &bare;
  EXPECT_EQ(error_of(b.p), "equation 1 (bare): the row has no infer");
  b.p.eqns[1].primitive = nullptr;
  EXPECT_EQ(error_of(b.p), "equation 1: no primitive");
}

TEST(Verify, NestedPrograms) {
  Builder inner = two_sines();
  inner.p.types[1] = {{2}, f32};
  Builder b;
  const Var x = b.input(scalar);
  b.p.outputs = {b.add1(call_row, {x}, call_params(inner.ref()))};
  EXPECT_EQ(error_of(b.p), "equation 0 (sin): outputs are (f32[2]), but infer says (f32[])");
}

}  // namespace
}  // namespace anew::ir::testing::verify_test
