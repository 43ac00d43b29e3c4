// What rows refuse of text, in exact words: nested types, counts, formats, axes and sizes that their kernels rely on.
// tests/fuzz looks for what is missing here.
#include <gtest/gtest.h>

#include "support/support.h"

namespace anew::test {
namespace {

// The message of parse_program for one equation on these inputs, without its place in the text.
std::string refusal(const std::string& inputs, const std::string& equation) {
  const std::string text = "{ lambda ; " + inputs + ". let\n" + equation + "\nin () }";
  const std::string said = ERROR_OF(parse_program(text));
  const std::string begin = "[parse] 2:";
  EXPECT_EQ(said.substr(0, begin.size()), begin) << text;
  return said.substr(said.find(": ") + 2);
}

const std::string identity_text = "{ lambda ; x:f32[3]. let in (x,) }";

TEST(TextErrors, NestedPrograms) {
  EXPECT_EQ(refusal("a:f32[2]", "b:f32[3] = jit[name=f program=" + identity_text + "] a"),
            "[jit] operands do not have the types of the program's inputs");
  EXPECT_EQ(refusal("a:f32[3]", "b:f32[3] = jit[name=f program=None] a"), "[jit] the program is missing");
  EXPECT_EQ(refusal("a:f32[3]",
                    "b:f32[3] = checkpoint[differentiated=False policy=nothing_saveable "
                    "program={ lambda x:f32[3]; . let in (x,) }] a"),
            "[checkpoint] the program captures arrays: nested programs take them as inputs");
  EXPECT_EQ(refusal("i:i32[] a:f32[3]", "b:f32[3] = cond[branches=()] i a"), "[cond] has no branches");
  EXPECT_EQ(refusal("i:f32[] a:f32[3]", "b:f32[3] = cond[branches=(" + identity_text + ")] i a"),
            "[cond] operand 0 is not an i32 index");
  EXPECT_EQ(refusal("i:i32[] a:f32[3]",
                    "b:f32[3] = cond[branches=(" + identity_text + " { lambda ; x:f32[3]. let in (1.0:f32[],) })] i a"),
            "[cond] branch 1 gives other types than branch 0");
}

TEST(TextErrors, Loops) {
  auto scan = [](const std::string& carry, const std::string& consts, const std::string& length) {
    return "b:f32[3] = scan[length=" + length + " num_carry=" + carry + " num_consts=" + consts +
           " program=" + identity_text + " reverse=False unroll=1] a";
  };
  EXPECT_EQ(refusal("a:f32[3]", scan("100", "0", "2")), "[scan] 100 operands are counted, there are 1");
  EXPECT_EQ(refusal("a:f32[3]", scan("-1", "0", "2")), "[scan] a number of operands is negative: -1");
  EXPECT_EQ(refusal("a:f32[3]", scan("1", "0", "-2")), "[scan] a length or unroll is negative");
  EXPECT_EQ(refusal("a:f32[3]", scan("0", "0", "2")), "[scan] operand 0 is f32[3], the body takes f32[3]");
  EXPECT_EQ(refusal("a:f32[3]", "b:f32[3] = scan[length=2 num_carry=1 num_consts=0 program=" + identity_text +
                                    " records=True reverse=False unroll=1] a"),
            "[scan] a scan without checkpoints records nothing");
  auto loop = [](const std::string& condition, const std::string& more) {
    return "b:f32[3] = while[body=" + identity_text + condition + " num_carry=1 num_consts=0" + more + "] a";
  };
  const std::string unfit = "the params of while do not fit: one is missing, unknown or of another kind";
  EXPECT_EQ(refusal("a:f32[3]", loop("", "")), unfit);
  EXPECT_EQ(refusal("a:f32[3]", loop(" condition=None", "")), "[while] the condition is missing");
  EXPECT_EQ(refusal("a:f32[3]", loop(" condition=" + identity_text, "")),
            "[while] the condition does not give one bool");
  const std::string yes = " condition={ lambda ; x:f32[3]. let in (True:bool[],) }";
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " length=5")), unfit);
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " record=(0,)")),
            "[while] carries are recorded by a loop that does not record");
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " record=(1,) records=True")),
            "[while] the recorded carries are not ascending carries");
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " checkpoints=-1")), "[while] a number of checkpoints is negative");
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " memory=-1")), "[while] a number of bytes is negative");
  EXPECT_EQ(refusal("a:f32[3]", loop(yes, " memory=9 record=(0,) records=True")),
            "[while] a loop within bytes records without a budget");
  for (const char* budget :
       {"(1, 2)", "(5, 100, 12, 64)", "(-1, 10, 12, 64)", "(-1, 100, -1, 64)", "(-1, 9000000000000000, 1, 1)"})
    EXPECT_EQ(refusal("a:f32[3]", loop(yes, std::string(" budget=") + budget)), "[while] a budget fits no loop");
}

TEST(TextErrors, FirstOrderRows) {
  EXPECT_EQ(refusal("a:f32[2]", "b:f32[3] = name[name=x] a"), "[name] of (f32[2]) gives (f32[2]), not (f32[3])");
  EXPECT_EQ(refusal("a:f32[2]", "debug_print[format='{} {}'] a"),
            "[debug_print] the format \"{} {}\" does not fit 1 operands");
  EXPECT_EQ(refusal("a:f32[2]", "debug_print[format='{'] a"), "[debug_print] the format \"{\" does not fit 1 operands");
  EXPECT_EQ(refusal("a:f32[2]", "debug_print[batch=2 format='{}'] a"),
            "[debug_print] operands have no 2 common leading axes");
  EXPECT_EQ(refusal("a:f32[2]", "b:f32[2] = sinc[n=2147483647] a"),
            "[sinc] the order of a derivative is 0 to 32, got 2147483647");
  EXPECT_EQ(refusal("a:f32[2,3]", "b:f32[2,3] = rev[dimensions=(0, 0)] a"), "[rev] axis 0 of f32[2,3] is given twice");
  EXPECT_EQ(refusal("a:f32[4]", "b:f32[0] = reshape[new_sizes=(4294967296, 4294967296)] a"),
            "[reshape] f32[4] has 4 elements, shape [4294967296,4294967296] has too many or a negative size");
  EXPECT_EQ(refusal("a:f32[4] v:f32[]", "b:f32[4] = pad[padding_config=((9223372036854775807, 1, 0),)] a v"),
            "[pad] (9223372036854775807, 1, 0) along axis 0 of f32[4] is too much");
  EXPECT_EQ(refusal("a:f32[0]", "b:i32[] = argmax[axes=(0,) index_dtype=int32] a"),
            "[argmax] of no elements: f32[0] along an axis of size 0");
  EXPECT_EQ(refusal("a:f32[3]", "b:f32[3] = polygamma[n=2147483647] a"),
            "[polygamma] the order is from 1 to 170, got 2147483647");
  EXPECT_EQ(refusal("a:f32[0,2147483648]", "b:f32[0,0] c:f32[0,2147483648] = qr[full_matrices=False] a"),
            "[qr] matrices have at most 1073741824 rows and columns, got f32[0,2147483648]");
}

}  // namespace
}  // namespace anew::test
