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
};

class FuzzRegression : public testing::TestWithParam<Regression> {};

TEST_P(FuzzRegression, Holds) {
  set_threads(1);
  EXPECT_EQ(check(parse(GetParam().text), GetParam().seed), "");
}
INSTANTIATE_TEST_SUITE_P(All, FuzzRegression, testing::ValuesIn(regressions),
                         [](const testing::TestParamInfo<Regression>& i) { return i.param.name; });

}  // namespace
}  // namespace anew::fuzz
