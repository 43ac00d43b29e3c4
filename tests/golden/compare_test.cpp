// The judge judged: every rule of comparison accepts what it should and refuses the next thing, and a tampered record
// of each kind makes its case fail.
#include "golden/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "golden/case.h"

namespace anew::golden {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();

bool meets(std::vector<double> wanted, std::vector<double> got, Rule rule, DType dtype = f64) {
  Shape shape(wanted.size());
  return difference({shape, dtype, wanted}, array(got, shape, dtype), rule).empty();
}

TEST(Compare, SpecialValuesMeetTheirLikes) {
  Rule rule{Rule::Kind::array, 1e-3, false};
  EXPECT_TRUE(meets({nan_, inf, -inf}, {nan_, inf, -inf}, rule));
  EXPECT_FALSE(meets({nan_}, {1}, rule));
  EXPECT_FALSE(meets({1}, {nan_}, rule));
  EXPECT_FALSE(meets({inf}, {-inf}, rule));
  EXPECT_FALSE(meets({inf}, {1e300}, rule));
  EXPECT_FALSE(meets({1e300}, {inf}, rule));
}

TEST(Compare, ArrayRuleCountsTheLargestFiniteEntry) {
  Rule rule{Rule::Kind::array, 1e-3, false};
  EXPECT_TRUE(meets({0, 10, inf}, {0.009, 10, inf}, rule));
  EXPECT_FALSE(meets({0, 10, inf}, {0.011, 10, inf}, rule));
  EXPECT_TRUE(meets({10}, {10.019}, rule));
  EXPECT_FALSE(meets({10}, {10.021}, rule));
}

TEST(Compare, ElementRuleForOutputsAndSlopes) {
  Rule element{Rule::Kind::element, 1e-3, false}, slope{Rule::Kind::slope, 1e-3, false};
  EXPECT_TRUE(meets({1, 1000}, {1.0009, 1000}, element));
  EXPECT_FALSE(meets({1, 1000}, {1.0011, 1000}, element));
  EXPECT_FALSE(meets({0}, {1e-300}, element));
  EXPECT_TRUE(meets({0}, {2e-308}, element));
  EXPECT_TRUE(meets({0}, {1e-38}, element, f32));
  EXPECT_TRUE(meets({0}, {0.0009}, slope));
  EXPECT_FALSE(meets({0}, {0.0011}, slope));
}

TEST(Compare, SignsOfZeroAndFlushedSubnormals) {
  Rule rule{Rule::Kind::element, 1e-6, false}, with_signs = rule;
  with_signs.signed_zeros = true;
  EXPECT_TRUE(meets({-0.0}, {0.0}, rule));
  EXPECT_FALSE(meets({-0.0}, {0.0}, with_signs));
  EXPECT_TRUE(meets({-0.0}, {-0.0}, with_signs));
  Rule array_rule{Rule::Kind::array, 1e-6, true};
  EXPECT_TRUE(meets({1e-40}, {0}, array_rule, f32));
  EXPECT_FALSE(meets({1e-37}, {0}, array_rule, f32));
}

TEST(Compare, IntegersAndTypesAreExact) {
  Rule exact;
  EXPECT_TRUE(meets({1, 2}, {1, 2}, exact, i32));
  EXPECT_FALSE(meets({1, 2}, {1, 3}, exact, i32));
  EXPECT_NE(difference({{2}, f32, {1, 2}}, array({1.0, 2.0}, f64), exact).find("type is f64[2], wanted f32[2]"),
            std::string::npos);
  EXPECT_FALSE(difference({{2, 1}, f32, {1, 2}}, array({1.0, 2.0}, f32), exact).empty());
}

TEST(Compare, EitherFigureWillDoEntryByEntry) {
  Rule rule{Rule::Kind::element, 1e-6, false};
  Numbers wanted{{3}, f32, {1, 2, 3}}, either{{3}, f32, {1, inf, 5}};
  EXPECT_EQ(difference(wanted, array({1.0, HUGE_VAL, 3.0}, f32), rule, &either), "");
  EXPECT_NE(difference(wanted, array({1.0, HUGE_VAL, 4.0}, f32), rule, &either), "");
}

TEST(Compare, DescribesTheWorstEntry) {
  EXPECT_EQ(difference({{2, 2}, f64, {1, 2, 4, 8}}, array({{1.0, 2.5}, {6.0, 8.0}}, f64),
                       {Rule::Kind::element, 0.125, false}),
            "2 of 4 entries; worst [1,0]: got 6, wanted 4 (4 times the tolerance)");
}

TEST(Compare, Bits) {
  EXPECT_EQ(bit_difference(array({nan_, 1.0}), array({nan_, 1.0})), "");
  EXPECT_EQ(bit_difference(array({0.0}), array({-0.0})), "entry [0]: 0 and -0");
  EXPECT_NE(bit_difference(array({1.0}, f32), array({1.0}, f64)), "");
}

// Each kind of figure of a case is looked at.
TEST(RunCase, NoticesATamperedFigure) {
  const QuietWarnings quiet;
  const Json file = read_json(golden_path("ops.json"));
  for (const Json& json : file.at("cases")) {
    if (json.at("id") != "atan2.special.f64" && json.at("id") != "hypot.3x4_3x4.f64" && json.at("op") != "einsum")
      continue;
    const Case good = parse_case(json);
    const Operation& f = operations().at(good.op);
    EXPECT_EQ(run_case(good, f), std::vector<std::string>()) << good.id;
    for (auto part : {&Case::outputs, &Case::jvp, &Case::vjp}) {
      Case bad = good;
      std::vector<double>& data = (bad.*part).at(0)->data;
      if (data.empty()) continue;
      // Of a special case the first entries are zeros whose derivatives are not numbers: the last finite one counts.
      std::size_t i = data.size();
      while (i-- > 0 &&
             !(std::isfinite(data[i]) && (good.category != "special" || std::isfinite(good.outputs[0]->data[i])))) {
      }
      data[i] += 1;
      EXPECT_EQ(run_case(bad, f).size(), 1u) << bad.id;
    }
  }
}

TEST(RunCase, AParameterNobodyReadsIsNotIgnored) {
  const Json json =
      Json::parse(R"({"id": "sum.x", "category": "reduce", "op": "sum", "params": {"axis": 0, "initial": 3},
    "dtype": "f32", "jax": "", "tol": 1e-6, "tol_rule": "array",
    "inputs": [{"shape": [2], "dtype": "f32", "data": [1, 2]}],
    "outputs": [{"shape": [], "dtype": "f32", "data": [3]}]})");
  const Case c = parse_case(json);
  try {
    run_case(c, operations().at("sum"));
    FAIL() << "expected a throw";
  } catch (const NotDelivered& e) {
    EXPECT_STREQ(e.what(), "sum with initial");
  }
}

TEST(PythonIndex, Parses) {
  const Index index = parse_index("None, 1:, ::-2, ..., -1");
  ASSERT_EQ(index.items.size(), 5u);
  EXPECT_EQ(index.items[0].kind, IndexItem::Kind::insert);
  EXPECT_EQ(index.items[1].s.start.value, 1);
  EXPECT_FALSE(index.items[1].s.stop.value);
  EXPECT_EQ(index.items[2].s.step.value, -2);
  EXPECT_EQ(index.items[3].kind, IndexItem::Kind::rest);
  EXPECT_EQ(index.items[4].i, -1);
  EXPECT_THROW(parse_index("x1"), NotDelivered);
}

}  // namespace
}  // namespace anew::golden
