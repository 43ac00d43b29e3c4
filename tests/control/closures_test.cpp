// closure_convert, custom_gradient, defjvps; grad of integers.
#include <anew/anew.h>

#include "support/support.h"

namespace anew::closures_test {
namespace {

TEST(ClosureConvert, CapturedArraysAreArguments) {
  const Array w = array({2.0, 3.0}), b = array(1.0);
  auto f = [&](Array x) { return w * x + b; };
  auto [g, captured] = closure_convert(f)(ones({2}));
  EXPECT_EQ(captured.size(), 2u);
  EXPECT_TRUE(array_equal(g(array({5.0, 7.0}), captured), array({11.0, 22.0})));
  auto loss = [&, g = g](const Arrays& c) { return sum(g(array({5.0, 7.0}), c)); };
  const Arrays slopes = grad(loss)(captured);
  ASSERT_EQ(slopes.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(array_equal(slopes[i], captured[i].ndim() == 0 ? array(2.0) : array({5.0, 7.0})));
  EXPECT_TRUE(array_equal(jit(loss)(captured), array(33.0)));
  // Of values that are being differentiated.
  auto outer = [](Array a) {
    auto [h, of_a] = closure_convert([a](Array x) { return sin(a) * x; })(array(1.0));
    return h(array(3.0), of_a);
  };
  EXPECT_TRUE(array_equal(grad(outer)(0.0), array(3.0)));
}

TEST(ClosureConvert, TreesStaticsAndErrors) {
  const Array w = array({2.0, 3.0});
  auto f = [&](std::pair<Array, Array> x, int n) { return std::tuple(w * x.first * n, x.second); };
  auto [g, captured] = closure_convert(f)(std::pair(ones({2}), ones({3})), 2);
  auto [y, z] = g(std::pair(ones({2}), zeros({3})), 2, captured);
  EXPECT_TRUE(array_equal(y, w * 2));
  EXPECT_TRUE(array_equal(z, zeros({3})));
  EXPECT_EQ(
      ERROR_OF((void)g(std::pair(ones({2}), ones({3})), 2, {})),
      "[closure_convert] the function takes 2 arrays and 1 that it captured, got 2; hint: pass the captured arrays "
      "as they were given, behind the arguments");
  EXPECT_EQ(ERROR_OF((void)g(std::pair(ones({4}), ones({3})), 2, captured)),
            "[closure_convert] argument 0 was f32[2] when the function was converted, is f32[4] now; hint: convert the "
            "function for arguments of these types");
}

TEST(CustomGradient, TheFunctionReturnsItsBackwardPass) {
  auto f = custom_gradient([](Array x) {
    Array s = sin(x);
    return std::pair(s * s, [=](Array ct) { return std::tuple(ct * s * 10); });
  });
  const double s = std::sin(0.5f);
  EXPECT_FLOAT_EQ(f(0.5).item(), s * s);
  EXPECT_FLOAT_EQ(grad(f)(0.5).item(), 10 * s);
  EXPECT_FLOAT_EQ(jit(grad(f))(0.5).item(), 10 * s);
  EXPECT_FLOAT_EQ(grad(jit(f))(0.5).item(), 10 * s);
  EXPECT_FLOAT_EQ(grad(checkpoint(f))(0.5).item(), 10 * s);
  EXPECT_TRUE(allclose(vmap(grad(f))(array({0.5, 1.0})), sin(array({0.5, 1.0})) * 10));
  EXPECT_FLOAT_EQ(grad([&](Array x) { return grad(f)(x); })(0.5).item(), 10 * std::cos(0.5f));
  auto two = custom_gradient([](Array x, int n, Array y) {
    return std::pair(x * y * n, [=](Array ct) { return std::tuple(ct * y, none, -ct); });
  });
  auto [a, b] = grad<0, 2>(two)(2.0, 3, 5.0);
  EXPECT_EQ(a.item(), 5);
  EXPECT_EQ(b.item(), -1);
  const Array captured = array({1.0, 2.0});  // of the surroundings
  auto scaled =
      custom_gradient([=](Array x) { return std::pair(sum(x), [=](Array ct) { return std::tuple(ct * captured); }); });
  EXPECT_TRUE(array_equal(grad(scaled)(zeros({2})), captured));
  auto loop = [&](Array x) { return fori_loop(0, 2, [&](Array, Array y) { return f(y); }, x); };
  EXPECT_FLOAT_EQ(grad(loop)(0.5).item(), 100 * s * std::sin(s * s));
}

TEST(DefJvps, OneRulePerArgument) {
  auto f = defjvps([](Array x, Array y) { return sin(x) * y; },
                   std::tuple([](Array t, Array, Array x, Array y) { return t * cos(x) * y * 2; },
                              [](Array t, Array, Array x, Array) { return t * sin(x); }));
  auto [dx, dy] = grad<0, 1>(f)(0.5, 3.0);
  EXPECT_FLOAT_EQ(dx.item(), 6 * std::cos(0.5f));
  EXPECT_FLOAT_EQ(dy.item(), std::sin(0.5f));
  EXPECT_FLOAT_EQ(jit(grad(f))(0.5, 3.0).item(), 6 * std::cos(0.5f));
  auto g = defjvps([](Array x, Array y) { return x * y; },
                   std::tuple([](Array t, Array y, Array, Array) { return t * y; }, none));
  auto [gx, gy] = grad<0, 1>(g)(2.0, 3.0);
  EXPECT_EQ(gx.item(), 6);  // by the output
  EXPECT_EQ(gy.item(), 0);
}

struct Params {
  Array w;
  Array steps;
};

TEST(AllowInt, DerivativesOfIntegersAreZeros) {
  auto loss = [](Params p) { return sum(p.w * p.steps); };
  const Params p{array({1.0, 2.0}), array({3, 4})};
  EXPECT_EQ(ERROR_OF((void)grad(loss)(p)).substr(0, 37), "[grad] needs floating-point inputs, g");
  for (const Params& g : {grad(loss, {.allow_int = true})(p), jit(grad(loss, {.allow_int = true}))(p)}) {
    EXPECT_TRUE(array_equal(g.w, array({3.0, 4.0})));
    EXPECT_TRUE(array_equal(g.steps, zeros({2}, i32)));
    EXPECT_EQ(g.steps.dtype(), i32);
  }
  auto [y, g] = value_and_grad(loss, {.allow_int = true})(p);
  EXPECT_EQ(y.item(), 11);
  EXPECT_TRUE(
      array_equal(grad([](Array n) { return sum(n * 1.0); }, {.allow_int = true})(array({1, 2})), zeros({2}, i32)));
}

}  // namespace
}  // namespace anew::closures_test
