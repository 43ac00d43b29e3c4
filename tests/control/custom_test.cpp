// custom_jvp and custom_vjp: whose rule runs when, what it is given, every transformation around and inside, errors.
#include <anew/anew.h>

#include "support/check_grads.h"
#include "support/support.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using namespace checkpoint_policies;

// Derivatives are three times the true ones, so that one sees which were used.
auto triple_jvp = custom_jvp([](Array x) { return sin(x); },
                             [](std::tuple<Array> x, std::tuple<Array> t) {
                               return std::pair(sin(std::get<0>(x)), 3 * cos(std::get<0>(x)) * std::get<0>(t));
                             });
auto triple_vjp = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair(sin(x), cos(x)); },
                             [](Array c, Array ct) { return std::tuple(3 * c * ct); });

// True ones.
auto product_jvp = custom_jvp([](Array x, Array y) { return sin(x) * y; },
                              [](auto primals, auto tangents) {
                                auto [x, y] = primals;
                                auto [dx, dy] = tangents;
                                return std::pair(sin(x) * y, cos(x) * y * dx + sin(x) * dy);
                              });
auto product_vjp = custom_vjp(
    [](Array x, Array y) { return sin(x) * y; },
    [](Array x, Array y) { return std::pair(sin(x) * y, std::pair(x, y)); },
    [](std::pair<Array, Array> r, Array ct) { return std::tuple(ct * cos(r.first) * r.second, ct * sin(r.first)); });

TEST(CustomJvp, TheRuleIsTheDerivative) {
  EXPECT_FLOAT_EQ(triple_jvp(2.0).item(), std::sin(2.0f));
  double want = 3 * std::cos(2.0);
  EXPECT_NEAR(jvp(triple_jvp, 2.0, 1.0).second.item(), want, 1e-6);
  EXPECT_NEAR(grad(triple_jvp)(2.0).item(), want, 1e-6);
  EXPECT_NEAR(jit(grad(triple_jvp))(2.0).item(), want, 1e-6);
  EXPECT_NEAR(grad(jit(triple_jvp))(2.0).item(), want, 1e-6);
  EXPECT_NEAR(grad(grad(triple_jvp))(2.0).item(), -3 * std::sin(2.0), 1e-6) << "the rule is differentiated";
  EXPECT_NEAR(jvp(grad(triple_jvp), 2.0, 1.0).second.item(), -3 * std::sin(2.0), 1e-6);
  Array x = array({1.0, 2.0});
  EXPECT_NEAR(vmap(grad(triple_jvp))(x)[1].item(), want, 1e-6);
  EXPECT_NEAR(grad([](Array x) { return sum(vmap(triple_jvp)(x)); })(x)[1].item(), want, 1e-6);
  EXPECT_NEAR(linearize(triple_jvp, 2.0).second(1.0).item(), want, 1e-6);
}

TEST(CustomVjp, TheRuleIsTheDerivative) {
  EXPECT_FLOAT_EQ(triple_vjp(2.0).item(), std::sin(2.0f));
  double want = 3 * std::cos(2.0);
  EXPECT_NEAR(grad(triple_vjp)(2.0).item(), want, 1e-6);
  EXPECT_NEAR(jit(grad(triple_vjp))(2.0).item(), want, 1e-6);
  EXPECT_NEAR(grad(jit(triple_vjp))(2.0).item(), want, 1e-6);
  EXPECT_NEAR(grad(grad(triple_vjp))(2.0).item(), -3 * std::sin(2.0), 1e-6)
      << "both rules are differentiated: 3 c ct, with c = cos x from the forward rule";
  EXPECT_NEAR(jvp(grad(triple_vjp), 2.0, 1.0).second.item(), -3 * std::sin(2.0), 1e-6) << "forward over reverse";
  Array x = array({1.0, 2.0});
  EXPECT_NEAR(vmap(grad(triple_vjp))(x)[1].item(), want, 1e-6);
  EXPECT_NEAR(grad([](Array x) { return sum(vmap(triple_vjp)(x)); })(x)[1].item(), want, 1e-6);
  EXPECT_NEAR(vjp(triple_vjp, 2.0).second(2.0).item(), 2 * want, 1e-6);
}

// Every construct around the two functions, against the plain function.
TEST(Custom, ComposesWithEverything) {
  Warnings quiet;
  auto plain = [](Array x, Array y) { return sin(x) * y; };
  auto around = [](auto f) {
    std::vector<FlatFunction> out;
    out.push_back([=](In x) { return Arrays{f(f(x[0], x[1]), x[1])}; });
    out.push_back([=](In x) { return flat::jit([=](In y) { return Arrays{f(y[0], y[1]) * y[0]}; }, x, {}); });
    for (const Policy& p : {nothing_saveable, everything_saveable, dots_saveable})
      out.push_back([=](In x) { return flat::checkpoint([=](In y) { return Arrays{f(y[0], f(y[1], y[0]))}; }, x, p); });
    out.push_back([=](In x) {
      auto body = [=](In c, In e) { return flat::ScanResult{{f(c[0], e[0])}, {f(e[0], c[0])}}; };
      flat::ScanResult r = flat::scan(body, {x[0]}, {stack({x[1], x[0]})});
      return Arrays{r.carry[0], r.ys[0]};
    });
    out.push_back([=](In x) {
      return flat::cond(
          sum(x[0]) > -100, [=](In y) { return Arrays{f(y[0], y[1])}; }, [](In y) { return Arrays{y[0]}; }, x);
    });
    out.push_back(
        [=](In x) { return Arrays{flat::vmap([=](In y) { return Arrays{f(y[0], y[1])}; }, x, {.in = {0, 0}})[0]}; });
    return out;
  };
  Random random(2);
  Arrays x{random.array({{3}, f64}), random.array({{3}, f64})};
  auto want = around(plain), with_jvp = around(product_jvp), with_vjp = around(product_vjp);
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE(i);
    Random r(i);
    Arrays y = want[i](x), ct = random_like(r, y);
    auto pull = [&](const FlatFunction& f) {
      return [&](In in) { return flat::linearize(f, in).second.pullback(ct); };
    };
    Arrays g = pull(want[i])(x), direction = random_like(r, x);
    Arrays h = flat::linearize(pull(want[i]), x).second.pullback(direction);
    for (const FlatFunction& f : {with_jvp[i], with_vjp[i]}) {
      EXPECT_TRUE(same_bits(f(x), y));
      Arrays got = pull(f)(x), second = flat::linearize(pull(f), x).second.pullback(direction);
      Arrays forward_over_reverse = flat::jvp(pull(f), x, direction).second;
      for (std::size_t k = 0; k < g.size(); ++k) {
        expect_close(got[k], g[k], 1e-12, "gradient");
        expect_close(second[k], h[k], 1e-12, "reverse over reverse");
        expect_close(forward_over_reverse[k], h[k], 1e-12, "forward over reverse");
      }
      got = flat::jit(pull(f), x, {});
      for (std::size_t k = 0; k < g.size(); ++k) expect_close(got[k], g[k], 1e-12, "jitted gradient");
    }
    flat::check_grads(with_jvp[i], x, CheckGradsOptions{});
    flat::check_grads(with_vjp[i], x, CheckGradsOptions{.modes = "rev"});
  }
}

TEST(Custom, SharedArgumentsOfAMap) {
  Array x = array({1.0, 2.0, 3.0});
  auto f = [&](Array y) { return sum(vmap(product_vjp, {.in_axes = {0, no_axis}})(x, y)); };
  EXPECT_NEAR(grad(f)(2.0).item(), std::sin(1.0) + std::sin(2.0) + std::sin(3.0), 1e-5);
  auto g = [&](Array y) { return sum(vmap(product_jvp, {.in_axes = {0, no_axis}})(x, y)); };
  EXPECT_NEAR(grad(g)(2.0).item(), std::sin(1.0) + std::sin(2.0) + std::sin(3.0), 1e-5);
}

TEST(Custom, TreesStaticArgumentsAndResidualsWithStaticValues) {
  struct Layer {
    Array w, b;
  };
  auto f = custom_vjp(
      [](Layer l, int power, Array x) { return std::pair(pow(l.w * x, power) + l.b, std::vector<Array>{x}); },
      [](Layer l, int power, Array x) {
        return std::pair(std::pair(pow(l.w * x, power) + l.b, std::vector<Array>{x}), std::tuple(l, power, x));
      },
      [](std::tuple<Layer, int, Array> saved, std::pair<Array, std::vector<Array>> ct) {
        auto [l, power, x] = saved;
        Array slope = power * pow(l.w * x, power - 1) * ct.first;
        return std::tuple(Layer{slope * x, ct.first}, none, slope * l.w + ct.second.at(0));
      });
  auto loss = [=](Layer l, Array x) {
    auto [y, xs] = f(l, 3, x);
    return y + 10 * xs.at(0);
  };
  auto [dl, dx] = grad<0, 1>(loss)(Layer{2.0, 1.0}, 3.0);
  EXPECT_FLOAT_EQ(dl.w.item(), 3 * 36 * 3);
  EXPECT_FLOAT_EQ(dl.b.item(), 1);
  EXPECT_FLOAT_EQ(dx.item(), 3 * 36 * 2 + 10);
  auto g = custom_jvp([](int k, Array x) { return k * x; },
                      [](std::tuple<int, Array> p, std::tuple<none_t, Array> t) {
                        return std::pair(std::get<0>(p) * std::get<1>(p), 100 * std::get<0>(p) * std::get<1>(t));
                      });
  EXPECT_FLOAT_EQ(grad([=](Array x) { return g(2, x) + g(3, x); })(1.0).item(), 500);
}

// Rules and their static arguments live as long as something may ask for them.
TEST(Custom, RulesOutliveTheCall) {
  std::function<Array(Array)> pullback;
  {
    std::string tag(100, 'x');
    auto f = custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
                        [tag](none_t, Array ct) { return std::tuple(static_cast<double>(tag.size()) * ct); });
    auto back = vjp([f](Array x) { return f(x); }, 1.0).second;
    pullback = [back](Array ct) { return back(ct); };
  }
  EXPECT_EQ(pullback(1.0).item(), 100);
}

TEST(Custom, ZerosAreArraysUnlessAskedFor) {
  int zeros_seen = 0, symbolic = 0;
  auto make = [&](const CustomOptions& options) {
    return custom_jvp([](Array x, Array y) { return x * y; },
                      [&](std::tuple<Array, Array> p, std::tuple<Array, Array> t) {
                        auto [x, y] = p;
                        auto [dx, dy] = t;
                        if (is_symbolic_zero(dy)) return ++symbolic, std::pair(x * y, dx * y);
                        ++zeros_seen;
                        return std::pair(x * y, dx * y + x * dy);
                      },
                      options);
  };
  auto f = make({});
  EXPECT_EQ(grad([&](Array x) { return f(x, 3.0); })(2.0).item(), 3);
  EXPECT_EQ(zeros_seen, 1);
  EXPECT_EQ(jvp([&](Array x) { return f(x, 3.0); }, 2.0, 1.0).second.item(), 3) << "a zero, not any array";
  auto g = make({.symbolic_zeros = true});
  EXPECT_EQ(grad([&](Array x) { return g(x, 3.0); })(2.0).item(), 3);
  EXPECT_EQ(symbolic, 1);

  auto two = [&](const CustomOptions& options) {
    return custom_vjp([](Array x) { return std::pair(x, 2 * x); },
                      [](Array x) { return std::pair(std::pair(x, 2 * x), none); },
                      [&](none_t, std::pair<Array, Array> ct) {
                        if (is_symbolic_zero(ct.second)) return ++symbolic, std::tuple(ct.first);
                        ++zeros_seen;
                        return std::tuple(ct.first + 2 * ct.second);
                      },
                      options);
  };
  auto h = two({}), k = two({.symbolic_zeros = true});
  zeros_seen = symbolic = 0;
  EXPECT_EQ(grad([&](Array x) { return h(x).first; })(2.0).item(), 1);
  EXPECT_EQ(grad([&](Array x) { return k(x).first; })(2.0).item(), 1);
  EXPECT_EQ(zeros_seen, 1);
  EXPECT_EQ(symbolic, 1);

  // A rule may return such a zero: it adds nothing to what other uses of the argument have given.
  auto both = custom_vjp([](Array x, Array y) { return std::pair(x, y); },
                         [](Array x, Array y) { return std::pair(std::pair(x, y), none); },
                         [](none_t, std::pair<Array, Array> ct) { return std::tuple(ct.first, ct.second); },
                         {.symbolic_zeros = true});
  auto used_again = [&](Array x, Array y) {
    Array first = both(x, y).first;
    return first * square(y);
  };
  EXPECT_EQ(grad<1>(used_again)(2.0, 3.0).item(), 12);
}

// A rule that returns what it is given keeps nothing twice, whichever way it was differentiated inside.
TEST(Custom, ARuleThatGivesItsArgumentBack) {
  auto kept = [](auto rule) {
    auto same = custom_jvp([](Array x) { return x; }, rule);
    auto f = [=](Array x) {
      Array y = same(x);
      return scan([&](Array c, none_t) { return std::pair(c * dot(y, x), none); }, sum(x), none, {.length = 3}).first;
    };
    Array x = array({1.0, 2.0});
    auto [y, linear] = linearize(f, x);
    EXPECT_EQ(linear.residuals().size(), saved_residuals(f, x).size());
  };
  auto id = [](Array x) { return x; };
  kept([=](std::tuple<Array> x, std::tuple<Array> t) { return jvp(id, std::get<0>(x), std::get<0>(t)); });
  kept([=](std::tuple<Array> x, std::tuple<Array> t) {
    auto [y, linear] = linearize(id, std::get<0>(x));
    return std::pair(y, linear(std::get<0>(t)));
  });
}

// A rule that returns zeros gives a tangent that is known; what follows need not have a jvp for it.
TEST(Custom, KnownTangentsReachACustomVjp) {
  auto flat = custom_jvp([](Array x) { return x * 0 + 2; },
                         [](std::tuple<Array> p, std::tuple<Array>) {
                           return std::pair(std::get<0>(p) * 0 + 2, zeros_like(std::get<0>(p)));
                         });
  auto beside = [&](Array x) {
    (void)triple_vjp(flat(x));
    return x * x;
  };
  EXPECT_EQ(grad(beside)(5.0f).item<float>(), 10);
  EXPECT_EQ(grad(checkpoint(beside))(5.0f).item<float>(), 10);
  EXPECT_EQ(grad(jit(beside))(5.0f).item<float>(), 10);
  EXPECT_EQ(jit(grad(beside))(5.0f).item<float>(), 10);
  auto alone = [&](Array x) { return triple_vjp(flat(x)); };
  EXPECT_EQ(grad(alone)(5.0f).item<float>(), 0);
}

// A known tangent that is added to others: of the sum, the cotangent goes to the others alone. In forward mode somebody
// asks for it, which is an error.
TEST(Custom, KnownTangentsOfACustomVjpAreAddedToOthers) {
  auto rule = [](bool zero) {
    return custom_jvp([](Array x) { return x * 1; },
                      [zero](std::tuple<Array> p, std::tuple<Array>) {
                        Array x = std::get<0>(p);
                        return std::pair(x * 1, zero ? zeros_like(x) : ones_like(x));
                      });
  };
  for (bool zero : {true, false}) {
    auto known = [g = rule(zero)](Array x) { return triple_vjp(g(x)); };
    auto expect = [](auto f, double want) {
      EXPECT_NEAR(grad(f)(2.0).item(), want, 1e-5);
      EXPECT_NEAR(grad(jit(f))(2.0).item(), want, 1e-5);
      EXPECT_NEAR(jit(grad(f))(2.0).item(), want, 1e-5);
      EXPECT_NEAR(grad(checkpoint(f))(2.0).item(), want, 1e-5);
      EXPECT_NEAR(grad(checkpoint(f, everything_saveable))(2.0).item(), want, 1e-5);
      EXPECT_NEAR(vmap(grad(f))(array({1.0f, 2.0f}))[1].item(), want, 1e-5);
      EXPECT_NEAR(grad([f](Array x) { return sum(vmap(f)(x)); })(array({1.0f, 2.0f}))[1].item(), want, 1e-5);
    };
    double s = std::sin(2.0);
    auto added = [known](Array x) { return known(x) + x * x; };
    expect(added, 4);
    expect([known](Array x) { return known(x) * x * x; }, 4 * s);
    expect([known](Array x) { return sum(concatenate({reshape(known(x), {1}), reshape(x * x, {1})}) * x); }, s + 12);
    expect([known](Array x) { return triple_vjp(known(x) + x); }, 3 * std::cos(s + 2));
    expect([known](Array x) { return fori_loop(0, 2, [x](Array, Array c) { return c * x; }, known(x)); }, 4 * s);
    expect([known](Array x) { return fori_loop(0, 2, [known](Array, Array c) { return known(c) + c; }, x); }, 1);
    expect(
        [known](Array x) {
          return cond(x > 1, [known](Array y) { return known(y) + y * y; }, [](Array y) { return sin(y); }, x);
        },
        4);
    const char* forward =
        "[custom_vjp] forward mode (jvp) of a function with a custom_vjp, which has no jvp; hint: use vjp or grad, or "
        "give the function a custom_jvp";
    EXPECT_EQ(ERROR_OF((void)jvp(added, 2.0, 1.0)), forward);
    EXPECT_EQ(ERROR_OF((void)linearize(added, 2.0).second(1.0)), forward);
  }
}

TEST(Custom, Printed) {
  EXPECT_EQ(make_program(triple_jvp)(1.0).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = custom_jvp_call[
      num_consts=0
      program={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
      rule=<fn jvp>
      symbolic_zeros=False
    ] a
  in (b,) })");
  EXPECT_EQ(make_program(triple_vjp)(1.0).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = custom_vjp_call[
      forward=<fn forward>
      num_consts=0
      program={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
      symbolic_zeros=False
    ] a
  in (b,) })");
}

// A jitted function is traced at each call; the same rule must give the same program.
TEST(Custom, JitKnowsTheRuleAgain) {
  auto inner = custom_jvp([](Array x) { return x; }, [](auto p, auto t) { return std::pair(get<0>(p), get<0>(t)); });
  double scale = 3;
  auto with_state = custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
                               [scale](none_t, Array ct) { return std::tuple(scale * ct); });
  auto f = jit([&](Array x) { return with_state(inner(x)) + vmap(inner)(reshape(x, {1}))[0]; });
  for (int i = 0; i < 5; ++i) (void)f(static_cast<double>(i));
  EXPECT_EQ(f.cache_size(), 1u);
}

TEST(Custom, LinearFunctionsTranspose) {
  // The rule applies a function with a rule of its own to a tangent: its body is transposed.
  auto twice =
      custom_jvp([](Array x) { return 2 * x; }, [](auto p, auto t) { return std::pair(2 * get<0>(p), 2 * get<0>(t)); });
  auto f = custom_jvp([](Array x) { return x * x; },
                      [=](auto p, auto t) { return std::pair(get<0>(p) * get<0>(p), twice(get<0>(p) * get<0>(t))); });
  EXPECT_EQ(grad(f)(3.0).item(), 6);
  EXPECT_EQ(grad([=](Array x) { return checkpoint(f)(x); })(3.0).item(), 6);
}

// ---- errors
TEST(CustomErrors, ForwardModeOfCustomVjp) {
  const char* want =
      "[custom_vjp] forward mode (jvp) of a function with a custom_vjp, which has no jvp; hint: use vjp or grad, or "
      "give "
      "the function a custom_jvp";
  EXPECT_EQ(ERROR_OF((void)jvp([](Array x) { return triple_vjp(x); }, 1.0, 1.0)), want);
  EXPECT_EQ(ERROR_OF((void)linearize([](Array x) { return jit(triple_vjp)(x); }, 1.0).second(1.0)), want);
  EXPECT_EQ(ERROR_OF((void)jvp([](Array x) { return jvp(triple_vjp, x, x).second; }, 1.0, 1.0)), want);
}

TEST(CustomErrors, CapturedValuesThatAreDifferentiated) {
  auto by_jvp = [](Array w) {
    auto f = custom_jvp([w](Array x) { return w * x; }, [](auto p, auto t) { return std::pair(get<0>(p), get<0>(t)); });
    return f(2.0);
  };
  EXPECT_EQ(ERROR_OF((void)grad(by_jvp)(1.0)),
            "[custom_jvp] the function captures a value of type f32[] that is being differentiated; its rule gives "
            "derivatives of arguments only; hint: pass the value as an argument");
  EXPECT_EQ(by_jvp(3.0).item(), 6) << "capturing is no error by itself";
  EXPECT_EQ(jit(by_jvp)(3.0).item(), 6);
  auto by_vjp = [](Array w) {
    auto f = custom_vjp([w](Array x) { return w * x; }, [](Array x) { return std::pair(x, none); },
                        [](none_t, Array ct) { return std::tuple(ct); });
    return f(2.0);
  };
  EXPECT_EQ(ERROR_OF((void)grad(by_vjp)(1.0)),
            "[custom_vjp] the function captures a value of type f32[] that is being differentiated; its rule gives "
            "derivatives of arguments only; hint: pass the value as an argument");
}

TEST(CustomErrors, WhatRulesReturn) {
  auto id = [](In x) { return Arrays{x[0]}; };
  Array v = array({1.0, 2.0});
  auto of_jvp = [&](const flat::JvpRule& rule) { return [=](In x) { return flat::custom_jvp(id, rule, x); }; };
  Arrays x{array(1.0)}, t{array(1.0)};
  EXPECT_EQ(ERROR_OF((void)flat::jvp(of_jvp([](In p, In) { return std::pair(Arrays{p[0]}, Arrays{}); }), x, t)),
            "[custom_jvp] the rule returns 1 outputs and 0 tangents for 1 outputs of the function");
  EXPECT_EQ(ERROR_OF((void)flat::jvp(of_jvp([=](In, In t) { return std::pair(Arrays{v}, Arrays{t[0]}); }), x, t)),
            "[custom_jvp] output 0 of the rule has type f32[2], expected f32[]");
  EXPECT_EQ(ERROR_OF((void)flat::jvp(of_jvp([=](In p, In) { return std::pair(Arrays{p[0]}, Arrays{v}); }), x, t)),
            "[custom_jvp] tangent 0 of the rule has type f32[2], expected f32[]");
  EXPECT_EQ(ERROR_OF((void)flat::linearize(of_jvp([=](In, In t) { return std::pair(Arrays{t[0]}, Arrays{t[0]}); }), x)),
            "[custom_jvp] an output that the rule returns depends on a tangent; hint: outputs are functions of the "
            "primals alone");
  auto of_vjp = [&](const flat::VjpRules& rules) { return [=](In x) { return flat::custom_vjp(id, rules, x); }; };
  auto forward = [](In x) { return std::pair(Arrays{x[0]}, Arrays{}); };
  auto backward = [](In, In ct) { return Arrays{ct[0]}; };
  EXPECT_EQ(ERROR_OF((void)flat::grad(of_vjp({[](In) { return std::pair(Arrays{}, Arrays{}); }, backward}), x)),
            "[custom_vjp] the forward rule returns 0 outputs, the function 1");
  EXPECT_EQ(ERROR_OF((void)flat::grad(of_vjp({[=](In) { return std::pair(Arrays{v}, Arrays{}); }, backward}), x)),
            "[custom_vjp] output 0 of the forward rule has type f32[2], expected f32[]");
  EXPECT_EQ(ERROR_OF((void)flat::grad(of_vjp({forward, [](In, In) { return Arrays{}; }}), x)),
            "[custom_vjp] the backward rule returns 0 cotangents for 1 arguments; hint: return one cotangent per "
            "argument");
  EXPECT_EQ(ERROR_OF((void)flat::grad(of_vjp({forward, [=](In, In) { return Arrays{v}; }}), x)),
            "[custom_vjp] cotangent 0 of the backward rule has type f32[2], expected f32[]");
}

// ---- a plain `if` inside, as in an ordinary function
auto kinked_jvp = custom_jvp([](Array x) { return x > 0 ? sin(x) : -x; },
                             [](auto primals, auto tangents) {
                               auto [x] = primals;
                               auto [dx] = tangents;
                               return x > 0 ? std::pair(sin(x), 3 * cos(x) * dx) : std::pair(-x, -3 * dx);
                             });
auto kinked_vjp = custom_vjp([](Array x) { return x > 0 ? sin(x) : -x; },
                             [](Array x) { return x > 0 ? std::pair(sin(x), cos(x)) : std::pair(-x, Array(-1.0)); },
                             [](Array slope, Array ct) { return std::tuple(3 * slope * ct); });

TEST(Custom, AnIfOnAKnownValue) {
  auto check = [](auto f) {
    EXPECT_FLOAT_EQ(f(0.5).item(), std::sin(0.5f));
    EXPECT_FLOAT_EQ(f(-0.5).item(), 0.5f);
    EXPECT_NEAR(grad(f)(0.5).item(), 3 * std::cos(0.5), 1e-6);
    EXPECT_NEAR(grad(f)(-0.5).item(), -3, 1e-6);
    auto around = [f](Array x) {
      Array y = x * x;
      return y * f(y - 1);
    };
    EXPECT_NEAR(grad(around)(1.5).item(), 3 * std::sin(1.25) + 2.25 * 9 * std::cos(1.25), 1e-5);
    EXPECT_EQ(ERROR_OF((void)jit(f)(0.5)).substr(0, 49), "boolean conversion of a traced array bool[]: its ");
  };
  check(kinked_jvp);
  check(kinked_vjp);
  EXPECT_NEAR(grad(grad(kinked_jvp))(0.5).item(), -3 * std::sin(0.5), 1e-6);
  EXPECT_NEAR(jvp(kinked_jvp, -0.5, 1.0).second.item(), -3, 1e-6);
}

// A rule may capture a value that is mapped: it is called while that vmap runs.
TEST(Custom, RulesCaptureMappedValues) {
  auto f = [](Array x, Array c) {
    return custom_jvp([](Array y) { return sin(y); },
                      [c](std::tuple<Array> p, std::tuple<Array> t) {
                        return std::pair(sin(std::get<0>(p)), std::get<0>(t) * cos(std::get<0>(p)) * c);
                      })(x);
  };
  const Array x = array({0.5, 1.0, 1.5}), c = array({2.0, 3.0, 4.0});
  const Array want = cos(x) * c;
  auto all = [&](Array x) { return sum(vmap(f)(x, c)); };
  EXPECT_TRUE(allclose(grad(all)(x), want));
  EXPECT_TRUE(allclose(vmap(grad(f))(x, c), want));
  EXPECT_TRUE(allclose(jit(grad(all))(x), want));
  // The argument is the same for all examples, what the rule captures is not.
  auto shared = [&](Array x) { return sum(vmap(f, {.in_axes = {no_axis, 0}})(x, c)); };
  EXPECT_NEAR(grad(shared)(1.0).item(), 9 * std::cos(1.0), 1e-5);
  EXPECT_NEAR(jit(grad(shared))(1.0).item(), 9 * std::cos(1.0), 1e-5);
  // Of an outer vmap, and of both.
  auto outer = [&](Array x) {
    return sum(vmap([&](Array a, Array b) { return vmap([&](Array q) { return f(q, b); })(stack({a, 2 * a})); })(x, c));
  };
  EXPECT_TRUE(allclose(grad(outer)(x), c * (cos(x) + 2 * cos(2 * x))));
  auto both = [&](Array x) {
    return sum(vmap([&](Array b) { return vmap([&](Array d) { return f(x, b * d); })(c); })(c));
  };
  EXPECT_NEAR(grad(both)(1.0).item(), 81 * std::cos(1.0), 1e-4);
  EXPECT_NEAR(jvp(both, std::tuple(Array(1.0)), std::tuple(Array(1.0))).second.item(), 81 * std::cos(1.0), 1e-4);
  EXPECT_THROW(grad([&](Array x) { return sum(vmap(checkpoint(f))(x, c)); })(x), Error);
}

TEST(Custom, ForwardRulesCaptureMappedValues) {
  const Array x = array({0.5, 1.0, 1.5}), c = array({2.0, 3.0, 4.0});
  auto f = [](Array x, Array c) {
    return custom_vjp([](Array y) { return sin(y); }, [c](Array y) { return std::pair(sin(y), cos(y) * c); },
                      [](Array r, Array ct) { return std::tuple(ct * r); })(x);
  };
  EXPECT_TRUE(allclose(grad([&](Array x) { return sum(vmap(f)(x, c)); })(x), cos(x) * c));
  auto shared = [&](Array x) { return sum(vmap(f, {.in_axes = {no_axis, 0}})(x, c)); };
  EXPECT_NEAR(grad(shared)(1.0).item(), 9 * std::cos(1.0), 1e-5);
}

// The branch is that of this call; what the function captures is still no argument of the rule.
TEST(CustomJvp, RulesThatAreNotLinearSaySo) {
  auto with = [](auto tangent) {
    return grad(custom_jvp([](Array x) { return sin(x); },
                           [=](auto p, auto t) { return std::pair(sin(std::get<0>(p)), tangent(std::get<0>(t))); }));
  };
  auto text = [&](auto tangent) { return ERROR_OF((void)with(tangent)(1.0)); };
  const std::string hint =
      "hint: the rule given to custom_jvp must be linear in the tangents: sums, and products with known values";
  auto says = [&](const std::string& error, const std::string& start) {
    return error.starts_with(start) && error.ends_with(hint) ? "" : error;
  };
  EXPECT_EQ(says(text([](Array t) { return t * t; }),
                 "[mul] a derivative is not linear in its tangents: a product of them, of f32[], f32[]"),
            "");
  EXPECT_EQ(says(text([](Array t) { return sin(t); }),
                 "[sin] a derivative is not linear in its tangents: a function of them, of f32[]"),
            "");
  EXPECT_EQ(says(text([](Array t) { return 1 / t; }),
                 "[div] a derivative is not linear in its tangents: a function of them, of f32[], f32[]"),
            "");
  EXPECT_EQ(says(text([](Array t) { return dot(reshape(t, {1}), reshape(t, {1})); }),
                 "[dot_general] a derivative is not linear in its tangents: a product of them"),
            "");
}
TEST(Custom, AnIfDoesNotHideWhatIsCaptured) {
  auto f = [](Array c) {
    auto g =
        custom_jvp([=](Array x) { return x > 0 ? x * c : x; },
                   [](auto primals, auto tangents) { return std::pair(std::get<0>(primals), std::get<0>(tangents)); });
    return g(array(1.0)) + g(c);
  };
  EXPECT_EQ(ERROR_OF((void)grad(f)(2.0)),
            "[custom_jvp] the function captures a value of type f32[] that is being differentiated; its rule gives "
            "derivatives of arguments only; hint: pass the value as an argument");
}

}  // namespace
}  // namespace anew::test
