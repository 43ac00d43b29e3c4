// pure_callback and debug::callback: how often they run, and what they refuse.
#include <anew/anew.h>

#include <cmath>

#include "support/support.h"

namespace anew::callbacks_test {
namespace {

TEST(PureCallback, RunsEverywhere) {
  int calls = 0;
  auto count = [&](Array x) {
    ++calls;
    return x * 2;
  };
  auto f = [&](Array x) { return pure_callback(count, ShapeDtype{{2}, f32}, x) + 1; };
  const Array x = array({1.0, 2.0}), y = array({3.0, 5.0});
  EXPECT_TRUE(array_equal(f(x), y));
  EXPECT_TRUE(array_equal(jit(f)(x), y));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(array_equal(vmap(f)(stack({x, x, x})), stack({y, y, y})));  // one after the other
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(array_equal(jit(vmap(f))(stack({x, y})), stack({y, y * 2 + 1})));
  EXPECT_TRUE(array_equal(fori_loop(0, 3, [&](Array, Array c) { return f(c); }, x), array({15.0, 23.0})));
  jit([&](Array z) { return (void)f(z), z; })(x);  // not needed, not called
  EXPECT_EQ(calls, 10);
  auto two = [](Array a, Array b) {
    return pure_callback([](Array c, Array d) { return std::pair(c + d, c * d); },
                         std::pair(ShapeDtype{{}, f32}, ShapeDtype{{}, f32}), a, b);
  };
  EXPECT_EQ(jit(two)(2.0, 3.0).second.item(), 6);
  const std::string text = make_program(f)(x).str();
  EXPECT_NE(text.find("pure_callback"), text.npos) << text;
  EXPECT_TRUE(array_equal(jit(checkpoint(f))(x), y));
}

// What it takes is asked of all results: none of them, or the first one, may have elements.
TEST(PureCallback, GivesNothingOrAnEmptyResultFirst) {
  auto f = [](Array x) {
    pure_callback([](Array) {}, none, x);
    auto [nothing, y] = pure_callback([](Array x) { return std::pair(zeros(0), x * 2); },
                                      std::pair(ShapeDtype{{0}, f32}, ShapeDtype{{2}, f32}), x);
    return sum(nothing) + y;
  };
  const Array x = array({1.0, 2.0});
  EXPECT_TRUE(array_equal(f(x), 2 * x));
  EXPECT_TRUE(array_equal(jit(f)(x), 2 * x));
  EXPECT_TRUE(array_equal(jit(f, {.memory_budget = jit(f).plan(x).peak_bytes})(x), 2 * x));
}

TEST(PureCallback, HasTheDerivativeThatIsGiven) {
  auto host = [](Array x) { return array(std::sin(x.item()), f32); };
  auto f = [=](Array x) { return pure_callback(host, ShapeDtype{{}, f32}, x); };
  EXPECT_EQ(ERROR_OF((void)grad(f)(1.0)),
            "[pure_callback] has no derivative, but its arguments depend on what is differentiated; hint: "
            "give the function around it a rule with custom_jvp or custom_vjp, or stop_gradient the "
            "arguments");
  auto ruled = custom_jvp(f, [=](auto primals, auto tangents) {
    auto [x] = primals;
    auto [t] = tangents;
    return std::pair(f(x), t * cos(x));
  });
  EXPECT_FLOAT_EQ(grad(ruled)(1.0).item(), std::cos(1.0f));
  EXPECT_FLOAT_EQ(jit(vmap(grad(ruled)))(ones({2}))[1].item(), std::cos(1.0f));
  EXPECT_EQ(grad([&](Array x) { return x * f(stop_gradient(x)); })(0.0).item(), 0);
}

TEST(PureCallback, Errors) {
  const ShapeDtype scalar{{}, f32};
  EXPECT_EQ(ERROR_OF((void)pure_callback([](Array x) { return stack({x, x}); }, scalar, array(1.f))),
            "[pure_callback] the function gave f32[2], its result type says f32[]; hint: return what the result type "
            "says, or give the result type of what is returned");
  EXPECT_EQ(ERROR_OF((void)jit([&](Array x) {
              return pure_callback([](Array) -> Array { throw Error("no such file"); }, scalar, x);
            })(1.0))
                .substr(0, 12),
            "no such file");
}

TEST(DebugCallback, IsCalledAsAPrintPrints) {
  std::vector<double> seen;
  auto f = [&](Array x) {
    debug::callback([&](Array y) { seen.push_back(y.item()); }, sin(x));
    return x * 2;
  };
  f(0.0);
  jit(f)(0.0);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(grad(f)(0.0).item(), 2);  // no derivative is asked for
  EXPECT_EQ(seen.size(), 3u);
  (void)vmap(f)(array({0.0, 1.0}));
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_FLOAT_EQ(static_cast<float>(seen[4]), std::sin(1.0f));
  debug::callback([&] { seen.clear(); });
  EXPECT_TRUE(seen.empty());
  debug::callback([&](Array, Array b, int k) { seen.push_back(b.item() + k); }, ones({2}), array(2.0), 3);
  EXPECT_EQ(seen, std::vector<double>{5});
}

}  // namespace
}  // namespace anew::callbacks_test
