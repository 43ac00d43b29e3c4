// odeint: solutions beside JAX's and SciPy's, orders of the methods, derivatives, events, laws, errors.
#include "solvers/golden.h"

namespace anew::test {
namespace {

auto pendulum(const Array& k) {
  return [=](Array y, Array t) { return stack({y[{1}], -k * sin(y[{0}]) - 0.1 * y[{1}] + 0.2 * cos(t)}); };
}
Array times() { return linspace(0.0, 5.0, 11, f64); }
Array solved(const Array& k, const std::string& method, double tol) {
  return odeint(pendulum(k), array({1.0, 0.0}, f64), times(), {.rtol = tol, .atol = tol, .method = method});
}

TEST(Ode, AgreesWithOthers) {
  expect_golden("pendulum", solved(array(1.3, f64), "dopri5", 1e-10), 1e-8);
  expect_golden("pendulum", solved(array(1.3, f64), "bosh3", 1e-8), 1e-6);
  expect_golden("pendulum", solved(array(1.3, f64), "rodas4", 1e-9), 1e-7);
  const Array f = odeint(pendulum(1.3f), array({1.0, 0.0}), astype(times(), f32));
  EXPECT_EQ(f.dtype(), f32);
  expect_golden("pendulum", f, 2e-5);
}

// An error made with 16 times as many steps is smaller by 16^order; here from how errors follow steps.
TEST(Ode, OrdersOfTheMethods) {
  for (auto [method, order] : {std::pair<std::string, double>{"dopri5", 5}, {"bosh3", 3}, {"rodas4", 4}}) {
    const Array exact = solved(array(1.3, f64), "dopri5", 1e-13);
    auto run = [&](double tol) {
      auto [y, info] = odeint_info(pendulum(array(1.3, f64)), array({1.0, 0.0}, f64), times(),
                                   {.rtol = tol, .atol = tol, .method = method});
      return std::pair(max(abs(y - exact)).item(), static_cast<double>(info.steps.template item<int>()));
    };
    auto [e1, n1] = run(1e-6);
    auto [e2, n2] = run(1e-9);
    EXPECT_GT(std::log(e1 / e2) / std::log(n2 / n1), order - 1.0) << method;
  }
}

TEST(Ode, DerivativesAreThoseOfTheSolution) {
  auto last = [](Array k) { return sum(square(solved(k, "dopri5", 1e-10)[{-1}])); };
  expect_golden("pendulum_grad", grad(last)(array(1.3, f64)), 1e-7);
  auto start = [](Array y) {
    return odeint(pendulum(array(1.3, f64)), y, times(), {.rtol = 1e-10, .atol = 1e-10})[{-1, 0}];
  };
  expect_golden("pendulum_grad_y0", grad(start)(array({1.0, 0.0}, f64)), 1e-7);
  for (const char* method : {"dopri5", "bosh3", "rodas4"}) {
    auto rows = [&](Array k, Array y, Array ts) {
      return odeint(pendulum(k), y, ts, {.rtol = 1e-9, .atol = 1e-9, .method = method});
    };
    const std::tuple at(array(1.3, f64), array({1.0, 0.0}, f64), array({0.0, 0.3, 0.7}, f64));
    check_grads(rows, at, {.order = 1, .atol = 1e-5, .rtol = 1e-5});
  }
  // Of second order forward over reverse: reverse over reverse of a loop of unknown length is an error.
  auto forward = [](Array k) {
    return jvp(grad([](Array k) { return sum(square(solved(k, "dopri5", 1e-11)[{-1}])); }), k, ones_like(k)).second;
  };
  auto slope = [&](double k) { return grad(last)(array(k, f64)).item(); };
  EXPECT_NEAR(forward(array(1.3, f64)).item(), (slope(1.301) - slope(1.299)) / 0.002, 1e-4);
}

TEST(Ode, FewStatesGiveTheSameBits) {
  auto gradient = [](std::optional<int> checkpoints) {
    return grad([=](Array k) {
      return sum(odeint(pendulum(k), array({1.0, 0.0}, f64), array({0.0, 20.0}, f64),
                        {.rtol = 1e-9, .atol = 1e-9, .checkpoints = checkpoints}));
    })(array(1.3, f64));
  };
  EXPECT_TRUE(array_equal(gradient(4), gradient({})));
  EXPECT_TRUE(array_equal(gradient(4), gradient(50)));
}

TEST(Ode, Laws) {
  auto f = [](Array k) { return solved(k, "dopri5", 1e-8); };
  const Array k = array(1.3, f64), ks = array({1.0, 1.3, 2.0}, f64);
  EXPECT_TRUE(array_equal(jit(f)(k), f(k)));
  auto gradient = grad([&](Array k) { return sum(f(k)[{-1}]); });
  EXPECT_TRUE(array_equal(jit(gradient)(k), gradient(k)));
  const Array all = vmap(f)(ks), slopes = vmap(gradient)(ks);
  for (int i = 0; i < 3; ++i) {
    expect_close(all[{i}], f(ks[{i}]), 1e-12);
    expect_close(slopes[{i}], gradient(ks[{i}]), 1e-10);
  }
}

struct Body {
  Array position, velocity;
};

TEST(Ode, TreesAndEvents) {
  auto throw_up = [](Array speed, Array drag) {
    auto motion = [=](const Body& b, Array) { return Body{b.velocity, -9.81 - drag * b.velocity * abs(b.velocity)}; };
    return odeint_info(motion, Body{array(2.0, f64), speed}, array({0.0, 0.5, 10.0}, f64),
                       {.rtol = 1e-11, .atol = 1e-11, .event = [](const Body& b, Array) { return b.position; }});
  };
  auto [path, info] = throw_up(array(3.0, f64), array(0.1, f64));
  EXPECT_TRUE(info.stopped.item<bool>() && info.success.item<bool>());
  expect_golden("ball_time", info.time, 1e-7);
  expect_golden("ball_state", stack({info.state.position, info.state.velocity}), 1e-7);
  expect_close(path.velocity[{2}], info.state.velocity, 0);
  EXPECT_GT(path.position[{1}].item(), 2.0);
  check_grads([&](Array v, Array d) { return throw_up(v, d).second.time; },
              std::tuple(array(3.0, f64), array(0.1, f64)), {.order = 1, .atol = 1e-5, .rtol = 1e-5});
  auto time = [&](Array v) { return throw_up(v, array(0.1, f64)).second.time; };
  EXPECT_TRUE(array_equal(jit(time)(array(3.0, f64)), time(array(3.0, f64))));
  // One that never happens.
  auto [ys, none_found] = odeint_info([](Array y, Array) { return -y; }, array(1.0, f64), array({0.0, 1.0}, f64),
                                      {.event = [](Array y, Array) { return y + 1; }});
  EXPECT_FALSE(none_found.stopped.item<bool>());
  EXPECT_NEAR(ys[{1}].item(), std::exp(-1.0), 1e-7);
  EXPECT_EQ(none_found.time.item(), 1.0);
}

TEST(Ode, OfNothing) {
  const Array y = odeint([](Array y, Array) { return -y; }, zeros({0}), array({0.0, 1.0, 2.0}));
  EXPECT_EQ(y.type().str(), "f32[3,0]");
}

TEST(Ode, StiffSystems) {
  auto robertson = [](Array y, Array) {
    Array slow = 0.04 * y[{0}], back = 1e4 * y[{1}] * y[{2}], fast = 3e7 * square(y[{1}]);
    return stack({back - slow, slow - back - fast, fast});
  };
  auto [y, info] = odeint_info(robertson, array({1.0, 0.0, 0.0}, f64), array({0.0, 0.4, 4.0, 40.0, 400.0}, f64),
                               {.rtol = 1e-7, .atol = 1e-11, .method = "rodas4"});
  expect_golden("robertson", y, 1e-6);
  EXPECT_LT(info.steps.template item<int>(), 400);
}

TEST(Ode, Errors) {
  auto decay = [](Array y, Array) { return -y; };
  EXPECT_EQ(
      ERROR_OF((void)odeint(decay, 1.0, array({0.0, 1.0, 1.0}))),
      "[odeint] ts must increase, but ts[2] is 1 after 1; hint: to go back in time, integrate -f of the time that "
      "has passed");
  EXPECT_EQ(ERROR_OF((void)odeint(decay, 1.0, 2.0)),
            "[odeint] ts is f32[], but must be a vector of times of floating type; hint: the first is the time of y0: "
            "array({0.0, 1.0})");
  EXPECT_EQ(ERROR_OF((void)odeint(decay, arange(2), array({0.0, 1.0}))),
            "[odeint] needs arrays of floating type, got i32[2]; hint: convert with astype(x, f32)");
  EXPECT_EQ(
      ERROR_OF((void)odeint(decay, 1.0, array({0.0, 1.0}), {.method = "euler"})),
      "[odeint] there is no .method \"euler\"; hint: it is \"dopri5\", \"bosh3\" or, for stiff systems, \"rodas4\"");
  EXPECT_EQ(
      ERROR_OF((void)odeint([](Array y, Array) { return sum(y); }, ones(2), array({0.0, 1.0}))),
      "[odeint] f(y, t) returns f32[], but y is f32[2]; hint: the derivative of y has the shape of y and a floating "
      "type");
  const std::string unreached =
      "[odeint] the last time was not reached: .max_steps were taken, or steps became too small; hint: is f finite, is "
      "the system stiff (.method = \"rodas4\")? odeint_info gives what there is, and no error";
  EXPECT_EQ(ERROR_OF((void)odeint(decay, 1.0, array({0.0, 100.0}), {.max_steps = 3})), unreached);
  EXPECT_EQ(ERROR_OF((void)odeint([](Array y, Array) { return y * y; }, 1.0, array({0.0, 2.0}))), unreached);
  auto [ys, info] = odeint_info([](Array y, Array) { return sqrt(-1 - y * y); }, 1.0, array({0.0, 2.0}));
  EXPECT_FALSE(info.success.item<bool>());
  EXPECT_TRUE(std::isnan(ys[{1}].item()));
  EXPECT_EQ(ys[{0}].item(), 1.0);
}

// Times are numbers, or arrays of any floating type that a traced function captures, or traced themselves.
TEST(Ode, TimesOfATracedFunction) {
  auto decay = [](Array y, Array) { return -y; };
  for (DType d : {f32, f64, bf16}) {
    SCOPED_TRACE(name_of(d));
    const Array ts = array({0.0, 0.5, 1.0}, d), y0 = array(1.0, f64);
    auto f = [&](Array y0) { return odeint(decay, y0, ts); };
    const Array want = f(y0);
    EXPECT_TRUE(allclose(jit(f)(y0), want, 1e-12));
    EXPECT_TRUE(
        allclose(jit([&](Array y0) { return grad([&](Array y) { return sum(f(y)); })(y0); })(y0), sum(want), 1e-6));
    EXPECT_TRUE(allclose(jit(vmap(f))(array({1.0, 2.0}, f64))[0], want, 1e-6));
    EXPECT_TRUE(allclose(jit([&](Array y0, Array ts) { return odeint(decay, y0, ts); })(y0, ts), want, 1e-12));
  }
}

TEST(Ode, TracedTimesThatDoNotIncreaseAreNan) {
  auto f = jit([](Array ts) { return odeint([](Array y, Array) { return -y; }, array(1.0, f64), ts); });
  const std::vector<double> y = f(array({1.0, 0.0, 2.0}, f64)).to_vector();
  EXPECT_EQ(y[0], 1);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_NEAR(y[2], std::exp(-1.0), 1e-6);
}

}  // namespace
}  // namespace anew::test
