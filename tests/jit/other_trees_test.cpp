// What was made for one tree and is called with another: functions compiled ahead of time, converted closures, rules
// whose results go back into the tree of an argument. Leaves that merely come in the same order are not the same
// leaves.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/support.h"

namespace anew::test {
namespace {

struct Net {
  Array w;
  int n = 2;
  bool training = true;
  std::string name = "net";
  std::vector<double> scales = {};
};
struct Maybe {
  std::optional<Array> a, b;
};
using Map = std::map<std::string, Array>;
using Lists = std::vector<std::vector<Array>>;

template <class T>
void expect_other(const T& made_for, const T& called_with, const std::string& difference) {
  const auto sum_of = [](const T& t) {
    Array s = 0.0;
    for (const Array& a : tree_leaves(t)) s = s + sum(a);
    return s;
  };
  const auto compiled = jit(sum_of).compile(made_for);
  EXPECT_NO_THROW(compiled(made_for));
  const std::string text = ERROR_OF((void)compiled(called_with));
  EXPECT_NE(text.find("[compile] called with another tree than the function was made for: " + difference),
            std::string::npos)
      << text;
  auto [converted, captured] = closure_convert(sum_of)(made_for);
  EXPECT_NO_THROW(converted(made_for, captured));
  const std::string other = ERROR_OF((void)converted(called_with, captured));
  EXPECT_NE(other.find("[closure_convert] called with another tree than the function was made for: " + difference),
            std::string::npos)
      << other;
}

TEST(OtherTrees, AreErrorsOfWhatWasMadeForOne) {
  const Array x = ones(2), y = 2 * x;
  expect_other(Map{{"a", x}, {"b", y}}, Map{{"a", x}, {"c", y}},
               "argument 0['c'] is there, in the place of argument 0['b']");
  expect_other(Map{{"a", x}}, Map{{"a", x}, {"c", y}}, "argument 0['c'] is too much");
  expect_other(Maybe{x, {}}, Maybe{{}, x}, "argument 0, b is there, in the place of argument 0, a");
  expect_other(Maybe{x, y}, Maybe{{}, x}, "argument 0, b is there, in the place of argument 0, a");
  expect_other(Lists{{x, y}, {x}}, Lists{{x}, {y, x}}, "argument 0[1][0] is there, in the place of argument 0[0][1]");
  expect_other(Lists{{x}}, Lists{{x}, {}},
               "argument 0 has a container of another size, or a value that is not the same");
  expect_other(Net{x}, Net{x, 3}, "argument 0, n is no array, is 3 and was 2");
  expect_other(Net{x}, Net{x, 2, false}, "argument 0, training is no array, is false and was true");
  expect_other(Net{x}, Net{x, 2, true, "other"}, "argument 0, name is no array, is 'other' and was 'net'");
  expect_other(Net{x}, Net{x, 2, true, "net", {1.0}},
               "argument 0, scales is no array, is 1 elements and was 0 elements");
  expect_other(std::vector<Net>{Net{x}, Net{x}}, std::vector<Net>{Net{x}, Net{x, 7}},
               "argument 0[1].n is no array, is 7 and was 2");
}

TEST(OtherTrees, StaticArgumentsOfConvertedClosures) {
  auto [g, captured] = closure_convert([](Array y, int n) { return y * n; })(ones(2), 2);
  const Arrays none_captured = captured;
  EXPECT_TRUE(array_equal(g(ones(2), 2, none_captured), 2 * ones(2)));
  const auto& f = g;
  EXPECT_NE(ERROR_OF((void)f(ones(2), 3, none_captured)).find("argument 1 is no array, is 3 and was 2"),
            std::string::npos);
}

// The cotangent of a rule has the keys of its argument, a tangent those of the output.
TEST(OtherTrees, AreErrorsOfRules) {
  const Map at{{"a", 2.0}, {"b", 3.0}};
  const auto product = [](const Map& m) { return m.at("a") * m.at("b"); };
  auto f = custom_vjp(
      product, [](const Map& m) { return std::pair(m.at("a") * m.at("b"), m); },
      [](const Map& m, Array ct) { return std::tuple(Map{{"b", ct * m.at("a")}, {"c", ct * m.at("b")}}); });
  const std::string text = ERROR_OF((void)grad(f)(at));
  EXPECT_NE(text.find("[custom_vjp] the cotangent that the backward rule returns has 2 leaves and the argument has 2, "
                      "which do not correspond"),
            std::string::npos)
      << text;
  auto g = custom_gradient([](const Map& m) {
    return std::pair(m.at("a") * m.at("b"), [m](Array ct) { return std::tuple(Map{{"b", ct}, {"c", ct}}); });
  });
  EXPECT_NE(ERROR_OF((void)grad(g)(at)).find("[custom_gradient] the cotangent"), std::string::npos);
  auto few = custom_vjp(
      product, [](const Map& m) { return std::pair(m.at("a") * m.at("b"), m); },
      [](const Map& m, Array ct) { return std::tuple(Map{{"a", ct * m.at("b")}}); });
  EXPECT_NE(ERROR_OF((void)grad(few)(at)).find("['b'] is missing"), std::string::npos);
  const auto both = [](Array x) { return Map{{"a", x}, {"b", 2 * x}}; };
  auto h = custom_jvp(both, [both](auto p, auto t) {
    auto [x] = p;
    auto [d] = t;
    return std::pair(both(x), Map{{"b", 2 * d}, {"c", d}});
  });
  EXPECT_NE(ERROR_OF((void)jvp(h, std::tuple{array(1.0)}, std::tuple{array(1.0)}))
                .find("[custom_jvp] the tangent that the rule returns has 2 leaves and the output has 2"),
            std::string::npos);
  auto transposed = linear_transpose(both, ShapeDtype{{}, f32});
  EXPECT_NE(ERROR_OF((void)transposed(Map{{"b", 1.0}, {"c", 10.0}})).find("[linear_transpose] the cotangent"),
            std::string::npos);
}

// A text that was compared with may be gone by then.
struct Labelled {
  Array w;
  const char* label;
};
TEST(OtherTrees, TextsMayBeGone) {
  const auto twice = [](const Labelled& l) { return 2 * l.w; };
  auto text = std::make_unique<std::string>("first, and long enough to lie on the heap");
  const std::string same = *text;
  const auto compiled = jit(twice).compile(Labelled{ones(2), text->c_str()});
  auto [converted, captured] = closure_convert(twice)(Labelled{ones(2), text->c_str()});
  const auto& g = converted;
  const Arrays none_captured = captured;
  text.reset();
  EXPECT_TRUE(array_equal(compiled(Labelled{ones(2), same.c_str()}), 2 * ones(2)));
  EXPECT_TRUE(array_equal(g(Labelled{ones(2), same.c_str()}, none_captured), 2 * ones(2)));
  const std::string difference = "argument 0 has a container of another size, or a value that is not the same";
  EXPECT_NE(ERROR_OF((void)compiled(Labelled{ones(2), "other"})).find(difference), std::string::npos);
  EXPECT_NE(ERROR_OF((void)g(Labelled{ones(2), "other"}, none_captured)).find(difference), std::string::npos);
}

int traces = 0;
Array counted(Array x, Array rate) {
  ++traces;
  return x * rate;
}
TEST(OtherTrees, ArgumentsAreNoSurroundings) {
  auto f = jit(counted);
  traces = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(ones(1), 0.5)[0].item(), 0.5);
    EXPECT_EQ(f(2.0, i * 0.5).item(), i);
  }
  EXPECT_LE(traces, 2);
}

// Numbers that a function without state reads of its surroundings become literals; it is traced at each call all the
// same.
Array number = 2.0;
struct Settings {
  Array a = 2.0;
} settings;
Array by_number(Array y) { return y * number; }
Array scalar = asarray(2.0), converted = Array(2.0).astype(f32), zero_dim = full({}, 2.0);
Array by_scalar(Array y) { return y * scalar; }
Array by_converted(Array y) { return y * converted; }
Array by_zero_dim(Array y) { return y * zero_dim; }
Array by_field(Array y) { return y * settings.a; }
Array inner(Array y) { return jit(by_number)(y); }

TEST(OtherTrees, NumbersOfTheSurroundingsMayChange) {
  auto f = jit(by_number), g = jit(by_field), h = jit(inner);
  auto d = jit(grad([](Array y) { return sum(y * y * number); }));
  auto returned = jit([](Array y) { return std::pair(y, number); });
  const auto all = [&] {
    const Array x = ones(1);
    return std::vector<double>{f(x)[0].item(), g(x)[0].item(), h(x)[0].item(), d(x)[0].item(),
                               returned(x).second.item()};
  };
  auto by = std::tuple(jit(by_scalar), jit(by_converted), jit(by_zero_dim));
  for (double v : {2.0, 3.0, 5.0}) {
    scalar = asarray(v), converted = Array(v).astype(f32), zero_dim = full({}, v);
    const Array x = ones(1);
    EXPECT_EQ(std::get<0>(by)(x)[0].item(), v);
    EXPECT_EQ(std::get<1>(by)(x)[0].item(), v);
    EXPECT_EQ(std::get<2>(by)(x)[0].item(), v);
  }
  number = 2.0, settings.a = 2.0;
  EXPECT_EQ(all(), (std::vector<double>{2, 2, 2, 4, 2}));
  EXPECT_EQ(all(), (std::vector<double>{2, 2, 2, 4, 2}));
  number = 3.0, settings.a = 5.0;
  EXPECT_EQ(all(), (std::vector<double>{3, 5, 3, 6, 3}));
}

}  // namespace
}  // namespace anew::test
