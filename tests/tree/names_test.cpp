// Names taken from the text of ANEW_ARGS and ANEW_TREE.
#include <anew/linearize.h>
#include <gtest/gtest.h>

namespace {

using anew::detail::argument_names;
using anew::detail::nth_name;
using Names = std::vector<std::string>;

TEST(ArgumentNames, AreTheExpressions) {
  EXPECT_EQ(argument_names("W1, W2,x", 3), (Names{"W1", "W2", "x"}));
  EXPECT_EQ(argument_names(" params ", 1), Names{"params"});
  EXPECT_EQ(argument_names("f(a, b), v[{0, 1}], std::vector{1, 2}", 3),
            (Names{"f(a, b)", "v[{0, 1}]", "std::vector{1, 2}"}));
  EXPECT_EQ(argument_names("m.at(\"a, )\"), ',', x", 3), (Names{"m.at(\"a, )\")", "','", "x"}));
  EXPECT_EQ(argument_names("g(\"\\\",\"), 1'000, 2'000", 3), (Names{"g(\"\\\",\")", "1'000", "2'000"}));
}

TEST(ArgumentNames, FallBackToNumbers) {
  EXPECT_EQ(argument_names("", 2), (Names{"0", "1"}));
  EXPECT_EQ(argument_names("net, x", 3), (Names{"net", "x", "2"}));  // f(ANEW_ARGS(net, x), how)
  EXPECT_EQ(argument_names("std::pair<Array, Array>(a, b), x", 2), (Names{"0", "1"}));
  EXPECT_EQ(argument_names("", 0), Names{});
}

TEST(NthName, OfAList) {
  EXPECT_EQ(nth_name("w_, b_", 0), "w_");
  EXPECT_EQ(nth_name("w_, b_", 1), "b_");
}

TEST(ArgNames, HoldTextAndLine) {
  auto text_and_line = [](anew::ArgNames names, int, int) {
    return std::pair(std::string(names.text), names.at.line());
  };
  int a = 1, b = 2;
  auto got = text_and_line(ANEW_ARGS(a, b));
  EXPECT_EQ(got.first, "a, b");
  EXPECT_EQ(got.second, __LINE__ - 2u);
}

}  // namespace
