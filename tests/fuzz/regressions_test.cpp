// Programs that failed once, as small as they became: each holds in all properties, whatever the generator makes today.
#include <gtest/gtest.h>

#include "fuzz/program.h"
#include "runtime/pool.h"

namespace anew::fuzz {
namespace {

struct Regression {
  const char *name, *text;
  std::uint64_t seed = 1;  // of the numbers it is run on
};
const std::vector<Regression> regressions = {
    // Cotangents of an array that a loop within bytes reads as a carry and twice by rows were added in another order.
    {"LoopWithinBytesOfOneArray", R"(
in 0:f64[2] ;
19 20 21 = scan[0,0,0,0] 0 0 0 {
  in 3:f64[2] 4:f64[] 5:f64[] ;
  11 = stack[0] 4 5 ;
  14 = tanh 11 ;
  out 3 5 14 ;
} ;
out 21 19 ;
)",
     7552},
    // The eager loop gave a number, the staged one an array: the report named a residual that was not kept.
    {"ScanOfANumber", R"(
in 0:f64[] ;
23 = jvp 0 {
  in 4:f64[] ;
  20 22 = scan[1,0,2,0] 0 4 {
    in 5:f64[] 6:f64[] ;
    out 5 5 ;
  } ;
  out 22 ;
} ;
24 = sin 23 ;
out 24 ;
)"},
    // A branch that captures a value and, through vmap, a second handle of it lost one of the two.
    {"BranchWithTwoHandlesOfAValue", R"(
in 1:f64[1,1] ;
37 = switch 1 1 {
  in 38:f64[1,1] ;
  out 1 ;
} {
  in 55:f64[1,1] ;
  63 = vmap[1,0] 1 1 {
    in 56:f64[1] 57:f64[1] ;
    58 = shift[0] 1 ;
    62 = sigmoid 56 ;
    out 58 ;
  } ;
  out 1 ;
} ;
out 1 ;
)"},
    // The steps of a loop in a branch that only some examples take depend on the mapped axis.
    {"LoopInABranchUnderVmap", R"(
in 0:f64[2] ;
37 = positive 0 ;
38 = cond 37 0 {
  in 40:f64[2] ;
  57 = while[3,0,0] 40 {
    in 41:f64[2] ;
    42 = mul 41 0 ;
    43 = sin 42 ;
    out 43 ;
  } ;
  out 57 ;
} {
  in 59:f64[2] ;
  out 59 ;
} ;
out 38 ;
)"},
    // What a loop made of numbers alone, a zero cotangent, was traced by whoever asked for the loop.
    {"LoopThatMakesAConstant", R"(
in 0:f64[1] ;
20 21 = fori[0,1,1,0] 0 0 {
  in 5:f64[] 6:f64[1] 7:f64[1] ;
  8 = max 7 0 ;
  out 8 8 ;
} ;
out 20 ;
)"},
    // A rule that captures arrays it makes itself: the bounds of its loop.
    {"LoopInARule", R"(
in 0:f64[2] ;
7 = square 0 ;
32 = custom_vjp 7 {
  in 8:f64[2] ;
  17 18 = fori[0,2,0,1] 8 8 {
    in 11:f64[] 12:f64[2] 13:f64[2] ;
    14 = sin 12 ;
    out 14 13 ;
  } ;
  out 17 ;
} ;
out 32 ;
)"},
    // A rule that gives an argument back gave an alias of it, told apart from the argument: kept twice, named once.
    {"RuleThatGivesItsArgumentBack", R"(
in 0:f32[1,1] ;
14 = custom_jvp 0 0 0 {
  in 3:f32[1,1] 4:f32[1,1] 5:f32[1,1] ;
  out 5 ;
} ;
19 20 21 = scan[0,0,1,0] 14 {
  in 15:f32[1,1] ;
  17 = matmul 14 0 ;
  out 17 15 17 ;
} ;
out 20 ;
)"},
    {"VmapThatGivesItsArgumentBack", R"(
in 0:f32[1,1] ;
14 = custom_jvp 0 0 0 {
  in 3:f32[1,1] 4:f32[1,1] 5:f32[1,1] ;
  6 = vmap[1,0] 5 5 {
    in 7:f32[1] 8:f32[1] ;
    out 7 ;
  } ;
  out 6 ;
} ;
19 20 21 = scan[0,0,1,0] 14 {
  in 15:f32[1,1] ;
  17 = matmul 14 0 ;
  out 17 15 17 ;
} ;
out 20 ;
)"},
    // A second derivative that is zero: +0.0 where it is so for certain, -0.0 where it is computed.
    {"ZeroOfACondGivenTwice", R"(
in 0:f64[] ;
5 = positive 0 ;
6 7 = cond 5 {
  in ;
  8 = min 0 0 ;
  out 8 8 ;
} {
  in ;
  11 = sigmoid 0 ;
  out 11 0 ;
} ;
out 7 ;
)",
     16561},
    // A tangent that is known, since a rule gave zeros, reached a function with a custom_vjp.
    {"KnownTangentOfACustomVjp", R"(
in 0:f64[0,1,1] ;
34 = custom_jvp 0 0 0 {
  in 25:f64[0,1,0] 26:f64[0,1,0] 27:f64[0,1,0] ;
  29 = prod[-1,0] 26 ;
  out 29 ;
} ;
74 = custom_vjp 34 34 {
  in 71:f64[1,0,1,0] 72:f64[1,1,1] ;
  out 72 ;
} ;
out 34 ;
)",
     16454},
    // A tangent went through stop_gradient, which a mapped branch puts around what it does not choose.
    {"StopGradientOfATangent", R"(
in 0:f64[1,1,1] ;
31 32 = vmap[1] 0 {
  in 9:f64[1,1] ;
  29 30 = custom_jvp 9 9 {
    in 10:f64[1,1] 11:f64[1,1] ;
    13 = switch 11 11 11 {
      in 14:f64[1,1] 15:f64[1,1] ;
      16 = sqrt 14 ;
      out 16 ;
    } {
      in 18:f64[1,1] 19:f64[1,1] ;
      out 19 ;
    } {
      in 22:f64[1,1] 23:f64[1,1] ;
      out 22 ;
    } ;
    out 13 13 ;
  } ;
  out 29 30 ;
} ;
out 32 ;
)",
     17835},
    // Both branches of a mapped cond hold a loop: the steps of one stood for those of the other where it was not taken.
    {"LoopsInBothBranchesOfAMappedCond", R"(
in 1:f32[] ;
2 = positive 1 ;
4 5 = cond 2 1 1 {
  in 6:f32[1] 7:f32[1] ;
  14 15 = while[1,0,0] 1 1 {
    in 8:f32[1] 9:f32[1] ;
    10 = square 6 ;
    out 10 10 ;
  } ;
  out 15 1 ;
} {
  in 31:f32[1] 32:f32[1] ;
  38 39 = fori[0,1,1,1] 1 32 {
    in 33:f32[] 34:f32[] 35:f32[1] ;
    out 33 32 ;
  } ;
  out 31 38 ;
} ;
out 4 ;
)",
     5711},
};

class FuzzRegression : public testing::TestWithParam<Regression> {};

TEST_P(FuzzRegression, Holds) {
  set_threads(1);
  EXPECT_EQ(check(parse(GetParam().text), GetParam().seed), "");
}
INSTANTIATE_TEST_SUITE_P(All, FuzzRegression, testing::ValuesIn(regressions),
                         [](const testing::TestParamInfo<Regression>& i) { return i.param.name; });

// Within a budget, the step that wrote the second part of a result was taken for one that runs again.
TEST(FuzzRegressions, ResultsInPartsWithinBudgets) {
  set_threads(1);
  for (std::uint64_t seed : {76, 934, 1329}) EXPECT_EQ(check(generate(seed), seed), "") << seed;
}

}  // namespace
}  // namespace anew::fuzz
