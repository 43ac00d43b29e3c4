// custom_root, newton and fixed_point: roots, derivatives of every order by what functions capture, laws, errors.
#include "solvers/golden.h"

namespace anew::test {
namespace {

auto cubic_root(const Array& p) {
  return custom_root([=](Array x) { return x * x * x + p * x - 2.0; }, array(1.0, f64),
                     [](auto f, Array x) { return newton(f, x).first; }, [](auto g, Array y) { return y / g(1.0); });
}

TEST(CustomRoot, DerivativesOfEveryOrder) {
  auto root = [](Array p) { return cubic_root(p); };
  const Array p = array(0.7, f64);
  const Array x = root(p);
  EXPECT_NEAR((x * x * x + p * x).item(), 2, 1e-12);
  expect_golden("custom_root_d3", grad(grad(grad(root)))(p), 1e-9);
  expect_golden("custom_root_d3", jit(grad(grad(grad(root))))(p), 1e-9);
  check_grads(root, p);
  const Array ps = array({0.5, 0.7, 1.1}, f64), all = vmap(grad(root))(ps);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(all[{i}].item(), grad(root)(ps[{i}]).item(), 1e-12);
  EXPECT_TRUE(array_equal(grad([&](Array p) { return checkpoint(root)(p) * 1.0; })(p), grad(root)(p)));
  const Program program = make_program(root)(p);
  EXPECT_EQ(parse_program(program.str()).str(), program.str());
}

struct Unknown {
  Array x, y;
};
auto system_of(const Array& k) {
  return [=](const Unknown& u) { return Unknown{u.x + 0.5 * sin(u.y) - k, power(u.y, 3) + u.x - 2}; };
}

TEST(Newton, SolvesSystems) {
  auto solve = [](Array k) { return newton(system_of(k), Unknown{array(1.0, f64), array(1.0, f64)}); };
  auto [u, info] = solve(array(1.0, f64));
  expect_golden("fsolve", stack({u.x, u.y}), 1e-10);
  EXPECT_TRUE(info.converged.item<bool>());
  EXPECT_LT(info.residual.item(), 1e-12);
  EXPECT_LT(info.iterations.item<int>(), 10);
  auto first = [&](Array k) { return stack({solve(k).first.x, solve(k).first.y}); };
  check_grads(first, array(1.0, f64));
  auto krylov = [&](Array k) {
    Unknown u = newton(system_of(k), Unknown{array(1.0, f64), array(1.0, f64)}, {.linear_solver = "gmres"}).first;
    return stack({u.x, u.y});
  };
  expect_close(krylov(1.0), first(1.0), 1e-9);
  expect_close(jacrev(krylov)(array(1.0, f64)), jacfwd(first)(array(1.0, f64)), 1e-8);
}

TEST(Newton, TellsWhereThereIsNoRoot) {
  auto [x, info] = newton([](Array x) { return x * x + 1; }, array(0.5, f64));
  EXPECT_FALSE(info.converged.item<bool>());
  auto [y, bad] = newton([](Array x) { return log(x); }, array(-1.0, f64));
  EXPECT_FALSE(bad.converged.item<bool>());
}

TEST(FixedPoint, ValuesAndDerivatives) {
  auto solve = [](Array p) { return fixed_point([=](Array x) { return cos(x * p); }, ones({2}, f64)).first; };
  EXPECT_NEAR(solve(array(1.0, f64))[{1}].item(), 0.7390851332151607, 1e-9);
  check_grads(solve, array(0.9, f64));
  auto [x, info] = fixed_point([](Array x) { return 0.5 * x + 1; }, 0.0);
  EXPECT_NEAR(x.item(), 2, 1e-5);
  EXPECT_TRUE(info.converged.item<bool>());
  auto [y, away] = fixed_point([](Array x) { return 2 * x + 1; }, 0.0, {.maxiter = 20});
  EXPECT_FALSE(away.converged.item<bool>());
  EXPECT_EQ(away.iterations.item<int>(), 20);
}

TEST(Roots, Errors) {
  EXPECT_EQ(
      ERROR_OF((void)newton([](Array x) { return sum(x); }, ones(3))),
      "[custom_root] f(x) returns f32[], expected f32[3]; hint: what is solved for, and both sides of the equation, "
      "have one type");
  EXPECT_EQ(ERROR_OF((void)newton([](Array x) { return x; }, ones(3), {.linear_solver = "lu"})),
            "[newton] there is no .linear_solver \"lu\"; hint: it is \"auto\", \"dense\" or \"gmres\"");
  EXPECT_EQ(ERROR_OF((void)fixed_point([](Array x) { return x; }, arange(3))),
            "[fixed_point] needs arrays of floating type, got i32[3]; hint: convert with astype(x, f32)");
  int line = 0;
  error_of([&] { (void)newton([](Array x) { return x + ones(4); }, ones(3)); }, __FILE__, &line);
  EXPECT_EQ(line, __LINE__ - 1);
}

}  // namespace
}  // namespace anew::test
