// ANEW_LOG=passes: one line per pass; with `programs`, the text after those that changed it.
#include "passes/pass_log.h"

#include <cstdlib>

#include "passes/pipeline.h"
#include "passes/subjects.h"

namespace anew::test {
namespace {

std::string log_of(const char* words, const std::string& program) {
  ir::Program p = *parse_program(program).code();
  setenv("ANEW_LOG", words, 1);
  testing::internal::CaptureStderr();
  passes::prepare(p);
  std::string text = testing::internal::GetCapturedStderr();
  unsetenv("ANEW_LOG");
  // Times differ.
  for (std::size_t end; (end = text.find(" ms")) != std::string::npos;) {
    std::size_t begin = text.find_last_not_of("0123456789. ", end - 1) + 1;
    text.replace(begin, end + 3 - begin, " T");
  }
  return text;
}
const std::string program = R"({ lambda ; a:f32[3]. let
    b:f32[3] = mul a 1.0:f32[]
    c:f32[3] = jit[name=f program={ lambda ; d:f32[3]. let e:f32[3] = sin d in (e,) }] b
    f:f32[3] = sin a
    g:f32[3] = add c f
  in (g,) })";

TEST(PassLog, OneLinePerPass) {
  EXPECT_EQ(log_of("passes", program), R"([anew] eliminate_dead_code T  5 equations, unchanged
[anew] simplify T  5 -> 4 equations
[anew] eliminate_common T  4 equations, unchanged
[anew] inline_calls T  4 -> 3 equations
[anew] unroll_loops T  3 equations, unchanged
[anew] narrow T  3 equations, unchanged
[anew] concatenate_pads T  3 equations, unchanged
[anew] simplify T  3 equations, unchanged
[anew] eliminate_dead_code T  3 equations, unchanged
)");
}

TEST(PassLog, ProgramsWhereTheyChanged) {
  std::string text =
      log_of("residuals,passes,programs", "{ lambda ; a:f32[3]. let b:f32[3] = mul a 1.0:f32[] in (b,) }");
  EXPECT_EQ(text, R"([anew] eliminate_dead_code T  1 equations, unchanged
[anew] simplify T  1 -> 0 equations
{ lambda ; a:f32[3]. let  in (a,) }
[anew] eliminate_common T  0 equations, unchanged
[anew] inline_calls T  0 equations, unchanged
[anew] unroll_loops T  0 equations, unchanged
[anew] narrow T  0 equations, unchanged
[anew] concatenate_pads T  0 equations, unchanged
[anew] simplify T  0 equations, unchanged
[anew] eliminate_dead_code T  0 equations, unchanged
)");
}

TEST(PassLog, NothingIsSaidUnlessAsked) {
  EXPECT_EQ(log_of("", program), "");
  EXPECT_EQ(log_of("programs", program), "");
  EXPECT_EQ(log_of("passesx,xpasses", program), "");
}

TEST(PassLog, OtherUnits) {
  setenv("ANEW_LOG", "passes,programs", 1);
  testing::internal::CaptureStderr();
  passes::Subject equations{"equations", [] { return 7; }, [] { return std::string("program"); }};
  passes::Subject steps{"steps", [] { return 3; }, [] { return std::string("kernels"); }};
  passes::PassLog("lower", equations).done(steps);
  std::string text = testing::internal::GetCapturedStderr();
  unsetenv("ANEW_LOG");
  EXPECT_EQ(text.substr(text.find(" ms")), " ms  7 equations -> 3 steps\nkernels\n");
}

}  // namespace
}  // namespace anew::test
