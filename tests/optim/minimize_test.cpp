// Minimizers against SciPy (tools/optim_goldens), of arrays and trees, in f32 and f64; and what they refuse.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/expect_error.h"
#include "support/support.h"

namespace {

using namespace anew;
using namespace anew::test;

nlohmann::json section(const char* name) {
  std::ifstream in(ANEW_TESTS_DIR "/data/optim/goldens.json");
  return nlohmann::json::parse(in)[name];
}
Array rosenbrock(Array x) {
  const Array head = x[slice(0, -1)], tail = x[slice(1, none)];
  return sum(100 * square(tail - square(head)) + square(1 - head));
}
Array logistic(Array x) {
  const Array a = fill({20, 5}, 3, x.dtype()), sign = where(fill({20}, 7, x.dtype()) > 0, 1.0, -1.0);
  return sum(nn::softplus(-astype(sign, x.dtype()) * dot(a, x))) + 0.1 * sum(square(x));
}
Array exponential_residuals(Array x) {
  const Array t = astype(arange(12), x.dtype()) * 0.25;
  return x[0] * exp(-x[1] * t) + x[2] - (2.5 * exp(-1.3 * t) + 0.5 + 0.02 * sin(5 * t));
}
Array rosenbrock_residuals(Array x) { return stack({10 * (x[1] - square(x[0])), 1 - x[0]}); }
Array powell_residuals(Array x) {
  return stack({x[0] + 10 * x[1], std::sqrt(5.0) * (x[2] - x[3]), square(x[1] - 2 * x[2]),
                std::sqrt(10.0) * square(x[0] - x[3])});
}

void expect_near(const Array& got, const std::vector<double>& want, double tolerance, const std::string& what) {
  const std::vector<double> values = got.to_vector();
  ASSERT_EQ(values.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], tolerance) << what << ", entry " << i;
}

TEST(Minimize, EqualsSciPy) {
  const auto goldens = section("minima");
  struct Case {
    const char* name;
    Array (*f)(Array);
    Array x0;
  };
  for (const Case& c : {Case{"rosenbrock", rosenbrock, array({0.5, 1.0, 1.5, 0.8, 1.2, 0.9}, f64)},
                        Case{"logistic", logistic, zeros(5, f64)}})
    for (DType dtype : {f64, f32}) {
      const double tolerance = dtype == f64 ? 1e-6 : 2e-2;
      const Array x0 = astype(c.x0, dtype);
      const auto l = optim::lbfgs(c.f, x0);
      const auto n = optim::nonlinear_cg(c.f, x0, {.maxiter = 5000});
      const std::string what = std::string(c.name) + " in " + std::string(name_of(dtype));
      EXPECT_TRUE(l.converged) << what << ": " << l.reason;
      EXPECT_TRUE(n.converged) << what << ": " << n.reason;
      EXPECT_EQ(l.x.dtype(), dtype);
      const auto& golden = goldens[c.name];
      expect_near(l.x, golden["L-BFGS-B"]["x"], tolerance, what + " by lbfgs");
      expect_near(n.x, golden["CG"]["x"], tolerance, what + " by nonlinear_cg");
      EXPECT_NEAR(l.value, golden["L-BFGS-B"]["value"], dtype == f64 ? 1e-10 : 1e-4) << what;
      EXPECT_NEAR(n.value, golden["CG"]["value"], dtype == f64 ? 1e-10 : 1e-4) << what;
      // As thrifty as SciPy, or nearly so.
      EXPECT_LE(l.evaluations, 1.5 * golden["L-BFGS-B"]["evaluations"].get<int>() + 15) << what;
      EXPECT_LE(n.evaluations, 1.5 * golden["CG"]["evaluations"].get<int>() + 40) << what;
      EXPECT_LT(max(abs(grad(c.f)(l.x))).item(), dtype == f64 ? 1e-6 : 1e-2) << what;
    }
}

TEST(Minimize, LeastSquaresEqualSciPy) {
  const auto goldens = section("least_squares");
  struct Case {
    const char* name;
    Array (*f)(Array);
    Array x0;
    double tolerance;
  };
  for (const Case& c : {Case{"exponential", exponential_residuals, array({1.0, 1.0, 0.0}, f64), 1e-7},
                        Case{"rosenbrock", rosenbrock_residuals, array({-1.2, 1.0}, f64), 1e-7},
                        Case{"powell", powell_residuals, array({3.0, -1.0, 0.0, 1.0}, f64), 1e-3}})
    for (DType dtype : {f64, f32}) {
      const std::string what = std::string(c.name) + " in " + std::string(name_of(dtype));
      const auto l = optim::levenberg_marquardt(c.f, astype(c.x0, dtype));
      const auto g = optim::gauss_newton(c.f, astype(c.x0, dtype));
      EXPECT_TRUE(l.converged) << what << ": " << l.reason;
      EXPECT_TRUE(g.converged) << what << ": " << g.reason;
      const double tolerance = dtype == f64 ? c.tolerance : 2e-2;
      expect_near(l.x, goldens[c.name]["x"], tolerance, what + " by levenberg_marquardt");
      expect_near(g.x, goldens[c.name]["x"], tolerance, what + " by gauss_newton");
      EXPECT_NEAR(l.value, goldens[c.name]["value"], dtype == f64 ? 1e-12 : 1e-6) << what;
    }
}

struct Fit {
  Array scale;
  std::vector<Array> rates;
  int degree = 2;
};
TEST(Minimize, Trees) {
  auto model = [](const Fit& f, Array t) { return f.scale * exp(-f.rates[0] * t) + sum(f.rates[1]) * t; };
  const Array t = linspace(0, 2, 30), data = 2 * exp(-1.5 * t) + 0.7 * t;
  const Fit start{array(1.0), {array(1.0), array({0.1, 0.1})}};
  auto residuals = [=](const Fit& f) { return std::pair(model(f, t) - data, 0.0 * f.scale); };
  Fit by_lm = optim::levenberg_marquardt(residuals, start).x;  // of no full rank: two rates are only seen as a sum
  EXPECT_NEAR(by_lm.scale.item(), 2, 1e-3);
  EXPECT_NEAR(by_lm.rates[0].item(), 1.5, 1e-3);
  EXPECT_EQ(by_lm.degree, 2);
  auto m = optim::lbfgs([=](const Fit& f) { return sum(square(model(f, t) - data)); }, start);
  EXPECT_NEAR(m.x.scale.item(), 2, 1e-2);
  EXPECT_EQ(m.x.rates[1].shape(), Shape{2});
  EXPECT_NEAR(optim::gauss_newton(residuals, start).x.rates[0].item(), 1.5, 1e-3);
}

TEST(Minimize, NumbersProgressAndLimits) {
  EXPECT_NEAR(optim::lbfgs([](Array x) { return square(x - 3); }, 0.0).x.item(), 3, 1e-4);
  std::vector<optim::Progress> seen;
  auto m = optim::lbfgs(rosenbrock, array({0.5, 1.5}, f64),
                        {.maxiter = 4, .callback = [&](const optim::Progress& p) { seen.push_back(p); }});
  EXPECT_FALSE(m.converged);
  EXPECT_EQ(m.reason, "maxiter");
  EXPECT_EQ(m.iterations, 4);
  ASSERT_EQ(seen.size(), 5u);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i].value, seen[i - 1].value);
  EXPECT_EQ(seen.back().value, m.value);
  auto start_is_best = optim::lbfgs(rosenbrock, ones(2));
  EXPECT_TRUE(start_is_best.converged);
  EXPECT_EQ(start_is_best.iterations, 0);
}

TEST(Minimize, StepsThatLeaveTheDomainAreTooLong) {
  // log is nan to the left of zero, where the first steps would go.
  auto f = [](Array x) { return sum(x - 2 * log(x)); };
  auto m = optim::lbfgs(f, array({0.01, 30.0}, f64));
  EXPECT_TRUE(m.converged) << m.reason;
  expect_near(m.x, {2, 2}, 1e-6, "lbfgs");
  expect_near(optim::nonlinear_cg(f, array({0.01, 30.0}, f64)).x, {2, 2}, 1e-6, "nonlinear_cg");
  auto r = [](Array x) { return log(x) - 1; };
  expect_near(optim::gauss_newton(r, array({20.0}, f64)).x, {std::exp(1)}, 1e-6, "gauss_newton");
  expect_near(optim::levenberg_marquardt(r, array({20.0}, f64)).x, {std::exp(1)}, 1e-6, "levenberg_marquardt");
}

// Falling as a straight line, faster, slower; with one direction that has a minimum; until -inf; into nan.
TEST(Minimize, UnboundedEndsWithoutConverging) {
  const std::vector<std::pair<const char*, std::function<Array(Array)>>> functions = {
      {"linear", [](Array x) { return sum(x); }},
      {"steep", [](Array x) { return 1e6 * sum(x); }},
      {"square", [](Array x) { return -sum(square(x)); }},
      {"cube", [](Array x) { return sum(x * x * x); }},
      {"exp", [](Array x) { return -sum(exp(x)); }},
      {"saddle", [](Array x) { return square(x[0]) + x[1]; }},
      {"root", [](Array x) { return -sum(sqrt(1 + square(x))); }},
      {"log of a negative", [](Array x) { return sum(log(20 - square(x))); }},
      {"wavy", [](Array x) { return sum(x + 2 * sin(x)) - sum(square(x)); }},
  };
  for (const auto& [name, f] : functions) {
    for (DType dtype : {f32, f64}) {
      for (int evaluations : {3, 30}) {
        const Array x0 = array({-1.5, -0.7}, dtype);
        for (const auto& m : {optim::lbfgs(f, x0, {.maxiter = 200, .max_line_search = evaluations}),
                              optim::nonlinear_cg(f, x0, {.maxiter = 200, .max_line_search = evaluations})}) {
          EXPECT_FALSE(m.converged) << name << " " << name_of(dtype) << " " << evaluations << ": " << m.reason << " at "
                                    << m.x << " " << m.value;
          EXPECT_TRUE(std::isfinite(m.value)) << name;
        }
      }
    }
  }
  auto m = optim::lbfgs([](Array x) { return sum(x); }, zeros(2, f64));
  EXPECT_EQ(m.reason, "the value falls without bound");
  EXPECT_EQ(optim::lbfgs([](Array x) { return -sum(exp(x)); }, zeros(2, f64)).reason, "the value falls without bound");
}

TEST(Minimize, Errors) {
  expect_error([] { (void)optim::lbfgs(rosenbrock, arange(3)); }, {"lbfgs", "x0 is of i32"});
  expect_error([] { (void)optim::lbfgs(rosenbrock, ones(3, bf16)); }, {"lbfgs", "x0 is of bf16"});
  expect_error([] { (void)optim::lbfgs(rosenbrock, Array()); }, {"uninitialised"});
  expect_error([] { (void)optim::lbfgs(exponential_residuals, ones(3)); }, {"lbfgs", "f32[12], not a scalar"});
  expect_error([] { (void)optim::lbfgs([](Array x) { return sum(log(x)); }, -ones(3)); }, {"lbfgs", "nan at x0"});
  expect_error([] { (void)optim::lbfgs(rosenbrock, zeros(0)); }, {"lbfgs", "no elements"});
  expect_error([] { (void)optim::lbfgs(rosenbrock, ones(2), {.c1 = 0.5, .c2 = 0.1}); }, {"c1 is 0.5 and c2 is 0.1"});
  expect_error([] { (void)jit([](Array x) { return optim::lbfgs(rosenbrock, x).x; })(ones(2)); },
               {"lbfgs", "outside of jit"});
  expect_error([] { (void)optim::gauss_newton([](Array x) { return x > 0; }, ones(2)); }, {"gauss_newton", "bool[2]"});
  expect_error([] { (void)optim::gauss_newton([](Array x) { return log(x); }, -ones(2)); }, {"gauss_newton", "nan"});
  Fit fit{ones(1), {Array()}};
  expect_error([&] { (void)optim::lbfgs([](const Fit& f) { return sum(f.scale); }, fit); },
               {"rates[0]", "uninitialised"});
}

}  // namespace
