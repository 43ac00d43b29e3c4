// Rules of users where a linear function stands: applied to tangents, mapped over, branching on a tangent; and loops
// whose outputs are inputs, or the same value twice.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/support.h"

namespace anew::test {
namespace {

auto cos_vjp = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair(sin(x), cos(x)); },
                          [](Array c, Array ct) { return std::tuple(3 * c * ct); });

// A rule applies a function with a custom_vjp to a tangent: there it is linear, and its body is transposed.
TEST(LinearRules, CustomVjpOfATangent) {
  auto twice = custom_vjp([](Array x) { return 2 * x; }, [](Array x) { return std::pair(2 * x, none); },
                          [](none_t, Array ct) { return std::tuple(2 * ct); });
  auto f = custom_jvp([](Array x) { return x * x; },
                      [=](auto p, auto t) { return std::pair(get<0>(p) * get<0>(p), twice(get<0>(p) * get<0>(t))); });
  EXPECT_EQ(grad(f)(3.0).item(), 6);
  EXPECT_EQ(grad(jit(f))(3.0).item(), 6);
  EXPECT_EQ(grad([=](Array x) { return checkpoint(f)(x); })(3.0).item(), 6);
}

// Tangents of a custom_vjp cannot be computed, one or many; pulled back, many are.
TEST(LinearRules, MappedTangentsOfCustomVjp) {
  auto [y, lin] = linearize(cos_vjp, 2.0);
  EXPECT_EQ(ERROR_OF((void)vmap([&](Array t) { return lin(t); })(array({1.0f, 2.0f}))),
            "[custom_vjp] forward mode (jvp) of a function with a custom_vjp, which has no jvp; hint: use vjp or grad, "
            "or give the function a custom_jvp");
  auto [z, back] = vjp(cos_vjp, 2.0);
  Array ct = array({1.0f, -2.0f}), got = vmap([&](Array c) { return back(c); })(ct);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(got[i].item(), ct[i].item() * 3 * std::cos(2.0), 1e-6);
}

// Which branch is taken is known with the tangent only.
TEST(LinearRules, BranchOnATangent) {
  auto f = custom_jvp([](Array x) { return x; },
                      [](auto p, auto t) {
                        Array d = get<0>(t);
                        return std::pair(get<0>(p),
                                         cond(d > 0, [](Array d) { return 2 * d; }, [](Array d) { return 3 * d; }, d));
                      });
  for (bool compiled : {false, true}) {
    auto lin = compiled ? linearize(jit(f), 1.0).second : linearize(f, 1.0).second;
    EXPECT_EQ(lin(5.0).item(), 10);
    EXPECT_EQ(lin(-5.0).item(), -15);
  }
}

// ys that are xs, and one value twice, of a loop that keeps few states.
TEST(LinearRules, OutputsThatAreInputs) {
  Array xs = array({1.0, 2.0, 3.0}, f64), start = array(0.5, f64);
  for (std::optional<int> checkpoints : {std::optional<int>{}, std::optional<int>{2}}) {
    auto f = [&](std::span<const Array> in) {
      flat::ScanBody body = [](std::span<const Array> c, std::span<const Array> x) {
        Array next = sin(c[0]) * x[0];
        return flat::ScanResult{{next}, {x[0], next, next}};
      };
      flat::ScanResult r = flat::scan(body, {in[0]}, {in[1]}, {.checkpoints = checkpoints});
      Arrays out = r.carry;
      out.insert(out.end(), r.ys.begin(), r.ys.end());
      return out;
    };
    Arrays in{start, xs}, y = f(in);
    EXPECT_TRUE(same_bits(y[1], xs));
    EXPECT_TRUE(same_bits(y[2], y[3]));
    EXPECT_TRUE(same_bits(y[0], y[2][2]));
    auto total = [&](std::span<const Array> in) {
      Arrays y = f(in);
      return Arrays{y[0] + sum(square(y[1])) + sum(y[2] * y[3])};
    };
    flat::check_grads(total, in);
  }
}

// The backward pass of a loop that keeps few states, differentiated by some of its cotangents.
TEST(LinearRules, CotangentsOfLoopsWithFewStates) {
  Array xs = array({1.0, 2.0, 3.0, 0.5}, f64), start = array(0.5, f64), w = array(0.7, f64);
  auto f = [](std::span<const Array> in) {
    flat::ScanBody body = [&](std::span<const Array> c, std::span<const Array> x) {
      Array next = sin(c[0] * in[2]) * x[0];
      return flat::ScanResult{{next}, {next * next}};
    };
    flat::ScanResult r = flat::scan(body, {in[0]}, {in[1]}, {.checkpoints = 2});
    return Arrays{r.carry[0], r.ys[0]};
  };
  auto lin = flat::linearize(f, Arrays{start, xs, w}).second;
  auto pulled = [&](const Array& carry, const Array& ys) {
    Arrays g = lin.pullback(Arrays{carry, ys});
    return Arrays{sin(g[0]) + sum(square(g[1])) * g[2]};
  };
  Array carry = array(0.3, f64), ys = array({0.1, -0.2, 0.4, 1.0}, f64);
  flat::check_grads([&](std::span<const Array> ct) { return pulled(ct[0], ct[1]); }, Arrays{carry, ys});
  flat::check_grads([&](std::span<const Array> ct) { return pulled(carry, ct[0]); }, Arrays{ys});
  flat::check_grads([&](std::span<const Array> ct) { return pulled(ct[0], ys); }, Arrays{carry});
}

}  // namespace
}  // namespace anew::test
