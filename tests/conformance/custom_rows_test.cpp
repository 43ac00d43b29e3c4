// Rows R34, R58, R62, R69, T14 and C1 to C7: functions with rules of the user's, under policies, in loops and branches.
#include "conformance/conformance.h"
#include "transforms/linearize.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

struct Custom : Conformance {};

template <class F>
void check_reverse(F f, double at) {
  flat::check_grads([=](In x) { return Arrays{f(x[0])}; }, Arrays{array(at, f64)}, CheckGradsOptions{.modes = "rev"});
}

TEST_F(Custom, R34) {
  auto sine = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair(sin(x), x); },
                         [](Array x, Array ct) { return std::tuple(cos(x) * ct); });
  auto f = checkpoint(
      [=](Array x) {
        for (int i = 0; i < 3; ++i) x = sine(dot(x, dot(x, x)) * 1e-3);
        return x;
      },
      dots_saveable);
  auto g = [=](Array x) {
    return scan([=](Array c, none_t) { return std::pair(f(c), none); }, x, none, {.length = 2}).first;
  };
  flat::check_grads([=](In x) { return Arrays{g(x[0])}; }, Arrays{3 * ones({2, 2}, f64)},
                    CheckGradsOptions{.modes = "rev"});
}

TEST_F(Custom, R58) {
  Array k = array({0.0, 1.0, 2.0});
  auto f = custom_jvp([=](Array x) { return x * k; },
                      [=](auto p, auto t) { return std::pair(get<0>(p) * k, get<0>(t) * k); });
  for (const Policy& p : default_policies()) {
    auto g = checkpoint(
        [=](Array x) {
          return sum(scan([=](Array c, none_t) { return std::pair(f(c), none); }, x, none, {.length = 1}).first);
        },
        p);
    EXPECT_EQ(grad(g)(k).to_vector(), (std::vector<double>{0, 1, 2}));
  }
}

// The rule computes sin and cos inside a loop or a branch of its own.
using Pair = std::pair<Array, Array>;
template <class Apply>
auto funky_sine(Apply apply) {
  return custom_jvp([](Array x) { return sin(x); },
                    [=](auto p, auto t) {
                      auto [x] = p;
                      auto [dx] = t;
                      auto [y, c] = apply([](Pair xs) { return Pair(sin(xs.first), cos(xs.second)); }, Pair(x, x));
                      return std::pair(y, c * dx);
                    });
}
template <class Apply>
void check_funky(Apply apply, const std::map<std::string, std::pair<int, int>>& want) {
  auto sine = funky_sine(apply);
  auto once = [=](Array x) { return apply([=](Array y) { return sine(y); }, x); };
  for (const Policy& p : {save_primitive("cos"), save_primitive("sin"), everything_saveable, nothing_saveable}) {
    auto f = checkpoint(once, p);
    EXPECT_EQ(sines(linear_program(f, array(4.0))), want.at(p.str())) << p.str() << "\n"
                                                                      << linear_program(f, array(4.0));
    check_reverse(f, 3);
  }
  auto twice = checkpoint([=](Array x) { return once(once(x)); });
  EXPECT_EQ(sines(linear_program(twice, array(4.0))), want.at("twice")) << linear_program(twice, array(4.0));
  check_reverse(twice, 3);
}

TEST_F(Custom, R62) {
  auto apply = [](auto f, auto x) {
    using X = decltype(x);
    return scan([=](X c, none_t) { return std::pair(X(f(c)), none); }, x, none, {.length = 1}).first;
  };
  check_funky(apply, {{"<fn save_cos>", {1, 0}},
                      {"<fn save_sin>", {0, 1}},
                      {"everything_saveable", {0, 0}},
                      {"nothing_saveable", {1, 1}},
                      {"twice", {2, 2}}});
}

TEST_F(Custom, R69) {
  auto apply = [](auto f, auto x) {
    using X = decltype(x);
    return cond(true, [=](X c) { return X(f(c)); }, [](X c) { return c; }, x);
  };
  check_funky(apply, {{"<fn save_cos>", {0, 0}},
                      {"<fn save_sin>", {0, 1}},
                      {"everything_saveable", {0, 0}},
                      {"nothing_saveable", {0, 1}},
                      {"twice", {1, 2}}});
}

// What the forward pass computes: the value and what it keeps.
template <class F>
Program forward_program(F f, const Array& x) {
  return flat::make_program(
      [&](In in) {
        auto [y, state] = linearize_first([&](In i) { return Arrays{f(i[0])}; }, in, -1, "test", {});
        Arrays out = y;
        out.insert(out.end(), state->residuals.begin(), state->residuals.end());
        return out;
      },
      Arrays{x});
}

// A name in the forward rule is visible to policies.
TEST_F(Custom, T14) {
  auto f = custom_vjp([](int, Array x) { return sin(x); },
                      [](int, Array x) { return std::pair(sin(x), checkpoint_name(cos(x), "cos")); },
                      [](Array c, Array ct) { return std::tuple(none, c * ct); });
  auto call = [=](Array x) { return f(1, x); };
  struct Case {
    Policy policy;
    int forward, backward;  // cosines
  };
  for (const Case& c : {Case{save_only_these_names("cos"), 1, 0}, Case{nothing_saveable, 0, 1}}) {
    auto g = checkpoint(call, c.policy);
    EXPECT_EQ(backward_program(g, array(3.0)).count("cos"), c.backward);
    EXPECT_EQ(forward_program(g, array(3.0)).count("cos"), c.forward);
    check_reverse(g, 3);
  }
}

template <class F, class G>
void check_doubled(F f, G plain) {
  auto g = checkpoint([=](Array x) { return f(f(x)); });
  EXPECT_VALUE(g(2.0), 0.78907234);
  EXPECT_VALUE(grad(g)(2.0), -1.02255648);
  EXPECT_NEAR(grad(g)(2.0).item(), 4 * grad([=](Array x) { return plain(plain(x)); })(2.0).item(), 1e-6);
}

TEST_F(Custom, C1) {
  auto f = custom_jvp([](Array x) { return sin(x); },
                      [](auto p, auto t) { return std::pair(sin(get<0>(p)), 2 * cos(get<0>(p)) * get<0>(t)); });
  check_doubled(f, [](Array x) { return sin(x); });
}

TEST_F(Custom, C3) {
  auto f = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair(sin(x), cos(x)); },
                      [](Array c, Array ct) { return std::tuple(2 * c * ct); });
  check_doubled(f, [](Array x) { return sin(x); });
}

TEST_F(Custom, C5) {
  auto f = custom_vjp([](int k, Array x) { return sin(k * x); },
                      [](int k, Array x) { return std::pair(sin(k * x), std::pair(k, cos(k * x))); },
                      [](std::pair<int, Array> r, Array ct) { return std::tuple(none, r.first * r.second * ct); });
  auto g = checkpoint([=](Array x) { return 3 * f(2, x); });
  EXPECT_VALUE(g(0.5), 2.52441295);
  EXPECT_VALUE(grad(g)(0.5), 3.24181384);
}

TEST_F(Custom, C7) {
  auto f = custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
                      [](none_t, Array ct) { return std::tuple(ct); }, {.symbolic_zeros = true});
  EXPECT_VALUE(grad(checkpoint([=](Array x) { return f(f(x)); }))(3.0), 1);
}

}  // namespace
}  // namespace anew::test
