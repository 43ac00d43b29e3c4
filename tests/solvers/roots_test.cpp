// custom_root, newton and fixed_point: roots, derivatives of every order by what functions capture, laws, errors.
#include <fmt/format.h>

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
  EXPECT_EQ(ERROR_OF((void)newton([](Array x) { return sum(x); }, ones(3))),
            "[newton] f(x) returns f32[], expected f32[3]; hint: what is solved for, and both sides of the equation, "
            "have one type");
  EXPECT_EQ(ERROR_OF((void)fixed_point([](Array x) { return sum(x); }, ones(3))),
            "[fixed_point] f(x) returns f32[], expected f32[3]; hint: what is solved for, and both sides of the "
            "equation, have one type");
  EXPECT_EQ(ERROR_OF((void)newton([](Array x) { return x; }, ones(3), {.linear_solver = "lu"})),
            "[newton] there is no .linear_solver \"lu\"; hint: it is \"auto\", \"dense\" or \"gmres\"");
  EXPECT_EQ(ERROR_OF((void)fixed_point([](Array x) { return x; }, arange(3))),
            "[fixed_point] needs arrays of floating type, got i32[3]; hint: convert with astype(x, f32)");
  int line = 0;
  error_of([&] { (void)newton([](Array x) { return x + ones(4); }, ones(3)); }, __FILE__, &line);
  EXPECT_EQ(line, __LINE__ - 1);
}

// Trees of another structure than the unknown's: who returned them is said, and no carry.
TEST(Roots, ErrorsOfStructureNameWhatIsWrong) {
  using Tree = std::map<std::string, Array>;
  const Tree x{{"p", ones(3)}};
  auto other = [](const Tree& x) { return Tree{{"q", x.at("p")}}; };
  auto same = [](const Tree& x) { return x; };
  auto text = [](std::string_view op, std::string_view what, std::string_view like, std::string_view subject = "it") {
    return fmt::format(
        "[{0}] {1} has 1 leaves and {2} has 1, which do not correspond: ['q'] stands in the place of ['p']; hint: {3} "
        "must have the structure of {2}",
        op, what, like, subject);
  };
  EXPECT_EQ(ERROR_OF((void)newton(other, x)), text("newton", "what f returns", "x0"));
  EXPECT_EQ(ERROR_OF((void)fixed_point(other, x)), text("fixed_point", "what f returns", "x0"));
  EXPECT_EQ(ERROR_OF((void)cg(same, x, {.x0 = other(x)})), text("cg", ".x0", "b", ".x0"));
  EXPECT_EQ(ERROR_OF((void)cg(other, x)), text("cg", "what A returns", "b"));
  EXPECT_EQ(ERROR_OF((void)gmres(same, x, {.M = std::function<Tree(const Tree&)>(other)})),
            text("gmres", "what .M returns", "b"));
  EXPECT_EQ(ERROR_OF((void)odeint([&](const Tree& y, Array) { return other(y); }, x, linspace(0.0, 1.0, 3))),
            text("odeint", "what f returns", "y0"));
  EXPECT_EQ(ERROR_OF((void)associative_scan([&](const Tree& a, const Tree&) { return other(a); }, x)),
            text("associative_scan", "what f returns", "xs"));
  auto solve = [&](auto, const Tree& y) { return other(y); };
  EXPECT_EQ(ERROR_OF((void)custom_linear_solve(other, x, solve)),
            text("custom_linear_solve", "what matvec(x) returns", "b"));
  EXPECT_EQ(ERROR_OF((void)custom_linear_solve(same, x, solve)),
            text("custom_linear_solve", "what solve(matvec, b) returns", "b"));
  EXPECT_EQ(ERROR_OF((void)custom_root(same, x, solve, solve)), text("custom_root", "what solve(f, x0) returns", "x0"));
}

struct Labelled {
  Array x;
  int order = 1;
};
TEST(Roots, ErrorsOfStaticValuesNameWhatIsWrong) {
  auto changes = [](Labelled u) {
    u.order = 2;
    return u;
  };
  EXPECT_EQ(
      ERROR_OF((void)newton(changes, Labelled{ones(3)})),
      "[newton] order in what f returns is not the plain C++ value that it is in x0, from 1 to 2; hint: give both "
      "the same value, or make it an Array");
}

}  // namespace
}  // namespace anew::test
