// grad, vjp, jvp, linearize: what they promise beyond the laws, and the exact texts of their errors.
#include "runtime/buffer.h"
#include "support/support.h"

namespace anew::test {
namespace {

TEST(Grad, UnusedArgumentsGetPlusZero) {
  Array g = grad<1>([](Array x, Array) { return sum(x); })(ones({3}), ones({2}));
  EXPECT_EQ(g.to_vector(), (std::vector<double>{0, 0}));
  EXPECT_FALSE(std::signbit(g[0].item<float>()));
}
TEST(Grad, OfAConstantFunctionIsZero) {
  EXPECT_EQ(grad([](Array) { return Array(3.0); })(1.0).item(), 0.0);
}
TEST(Grad, OfTheIdentityIsOne) {
  EXPECT_EQ(grad([](Array x) { return x; })(5.0).item(), 1.0);
}
TEST(Grad, ThroughStopGradient) {
  EXPECT_FLOAT_EQ(grad([](Array x) { return x * stop_gradient(x); })(3.0).item<float>(), 3.f);
}
TEST(Grad, OfCapturedValuesThroughEveryWrapper) {
  auto via = [](auto wrap) {
    Array g = grad([=](Array w) {
      auto inner = wrap([w](Array x) { return sin(w * x); });
      return sum(inner(array({1., 2.})));
    })(0.5);
    return g.item<float>();
  };
  float want = std::cos(0.5f) + 2 * std::cos(1.0f);
  EXPECT_FLOAT_EQ(via([](auto f) { return f; }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return checkpoint(f); }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return jit(f); }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return checkpoint(jit(f)); }), want);
}
TEST(Grad, ThirdOrder) {
  auto d3 = grad(grad(grad([](Array x) { return sin(x) * x; })));
  auto c3 = grad(checkpoint(grad(checkpoint(grad(checkpoint([](Array x) { return sin(x) * x; }))))));
  double x = 0.7;
  EXPECT_NEAR(d3(array(x, f64)).item(), -3 * std::sin(x) - x * std::cos(x), 1e-12);
  EXPECT_TRUE(same_bits(d3(array(x, f64)), c3(array(x, f64))));
}
TEST(Grad, OfIntegersBesideFloats) {
  auto f = [](Array x, Array n) { return sum(x * astype(n, f32)); };
  EXPECT_EQ(grad(f)(ones({2}), array({3, 4})).to_vector(), (std::vector<double>{3, 4}));
}

TEST(Pullback, IsCalledAsOftenAsOneLikes) {
  auto [y, back] = vjp([](Array x) { return sin(x); }, array({1., 2.}));
  EXPECT_TRUE(same_bits(back(ones({2})), back(ones({2}))));
}
TEST(Pullback, FreesResidualsAsItGoes) {
  const std::int64_t n = 1 << 16;
  Array x = fill({n}, 1);
  auto f = [](Array x) {
    for (int i = 0; i < 16; ++i) x = sin(x);
    return sum(x);
  };
  auto peak_over = [&](auto run) {
    std::size_t before = memory_statistics().live_bytes;
    reset_peak();
    run();
    return memory_statistics().peak_bytes - before;
  };
  auto kept = vjp(f, x).second;
  std::size_t array_bytes = static_cast<std::size_t>(n) * 4;
  std::size_t holding = peak_over([&] { (void)kept(1.0); });
  EXPECT_LE(holding, 4 * array_bytes);  // the residuals were there before
  std::size_t whole = peak_over([&] { (void)grad(f)(x); });
  EXPECT_LE(whole, 20 * array_bytes);  // 16 residuals and the few arrays in flight: nothing is held twice
}

TEST(Jvp, OfSeveralArguments) {
  auto [y, dy] = jvp([](Array a, Array b) { return a * b; }, std::tuple{Array(2.0), Array(3.0)},
                     std::tuple{Array(1.0), Array(10.0)});
  EXPECT_EQ(y.item(), 6.0);
  EXPECT_EQ(dy.item(), 23.0);
}
TEST(Linearize, RunsTheFunctionOnce) {
  int runs = 0;
  auto [y, f_lin] = linearize(
      [&](Array x) {
        ++runs;
        return sin(x);
      },
      1.0);
  (void)f_lin(1.0), (void)f_lin(2.0);
  EXPECT_EQ(runs, 1);
}
TEST(Names, DoNotChangeValuesOrGradients) {
  auto f = [](Array x) { return sum(checkpoint_name(sin(x), "s")); };
  auto g = [](Array x) { return sum(sin(x)); };
  Array x = fill({5}, 1);
  EXPECT_TRUE(same_bits(grad(f)(x), grad(g)(x)));
}

TEST(TransformErrors, Texts) {
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x; })(ones({3}))),
            "[grad] is defined for functions with a scalar output, got f32[3]; hint: reduce the output to a scalar, "
            "e.g. with sum(y), or use vjp");
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x; })(array({1, 2}))),
            "[grad] needs floating-point inputs, got i32[2]; hint: convert with astype(x, f32), choose other arguments "
            "with grad<i>, or use vjp");
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x > 0; })(1.0)),
            "[grad] needs a floating-point output, got bool[]");
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x; })(Array())),
            "uninitialised Array used as an operand; hint: `Array x;` is no array yet: assign one first");
  Array x = ones({2});
  FlatFunction id = [](std::span<const Array> in) { return Arrays(in.begin(), in.end()); };
  Arrays one{x}, two{x, x}, wrong{ones({3})};
  EXPECT_EQ(ERROR_OF((void)flat::jvp(id, one, wrong)),
            "[jvp] the tangent must have the type of the argument: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)flat::jvp(id, one, two)), "[jvp] tangents: got 2 arrays, expected 1");
  auto [y, lin] = flat::linearize(id, one);
  EXPECT_EQ(ERROR_OF((void)lin(wrong)),
            "[linearize] the tangent must have the type of the argument: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)lin(two)), "[linearize] tangents: got 2 arrays, expected 1");
  EXPECT_EQ(ERROR_OF((void)lin.pullback(wrong)),
            "[vjp] the cotangent must have the type of the output: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)lin.pullback(two)), "[vjp] cotangents: got 2 arrays, expected 1");
}

TEST(ProgramErrors, Texts) {
  Program p = make_program([](Array x) { return sin(x); })(ones({2}));
  Arrays none_given, wrong{ones({3})}, right{ones({2})};
  EXPECT_EQ(ERROR_OF((void)evaluate(p, none_given)), "[evaluate] the Program takes 1 arrays, got 0");
  EXPECT_EQ(ERROR_OF((void)evaluate(p, wrong)), "[evaluate] input 0 must be f32[2], got f32[3]");
  EXPECT_EQ(ERROR_OF((void)evaluate(Program(), right)), "[evaluate] an empty Program");
  EXPECT_TRUE(same_bits(evaluate(p, right)[0], sin(ones({2}))));
  EXPECT_TRUE(same_bits(evaluate(parse_program(p.str()), right)[0], sin(ones({2}))));
  EXPECT_EQ(ERROR_OF((void)jit([](Array x) { return x; }, {.memory_budget = 1_MiB})(1.0)),
            "[jit] memory budgets are not available; hint: call jit without .memory_budget");
}

}  // namespace
}  // namespace anew::test
