// cg, bicgstab, gmres and custom_linear_solve: results and derivatives beside JAX's, laws of transformations, errors.
#include "solvers/golden.h"

namespace anew::test {
namespace {

struct Field {
  Array u;
  std::vector<Array> v;
};

const auto by_cg = [](Array a, Array b) { return cg(a, b, {.tol = 1e-12}).first; };
const auto by_bicgstab = [](Array a, Array b) { return bicgstab(a, b, {.tol = 1e-12}).first; };
const auto by_gmres = [](Array a, Array b) { return gmres(a, b, {.tol = 1e-12}).first; };

TEST(Krylov, GivesWhatJaxGives) {
  expect_golden("cg", by_cg(symmetric_matrix(), right_side()), 1e-10);
  expect_golden("bicgstab", by_bicgstab(general_matrix(), right_side()), 1e-10);
  expect_golden("gmres", by_gmres(general_matrix(), right_side()), 1e-10);
  expect_golden("cg", by_cg(symmetric_matrix(f32), right_side(f32)), 1e-4);
  expect_golden("gmres", by_gmres(general_matrix(f32), right_side(f32)), 1e-4);
}

TEST(Krylov, DerivativesAreThoseOfTheEquation) {
  const Array s = symmetric_matrix(), g = general_matrix(), b = right_side();
  auto squares = [](auto solve) { return [solve](Array a, Array b) { return sum(square(solve(a, b))); }; };
  expect_golden("cg_grad_a", grad(squares(by_cg))(s, b), 1e-9);
  expect_golden("gmres_grad_a", grad(squares(by_gmres))(g, b), 1e-9);
  expect_golden("gmres_grad_a", grad(squares(by_bicgstab))(g, b), 1e-9);
  auto cubes = [&](Array y) {
    return sum(power(gmres([&](Array v) { return dot(g, v); }, y, {.tol = 1e-12}).first, 3));
  };
  expect_golden("gmres_hessian_b", hessian(cubes)(b), 1e-8);
  expect_golden("gmres_hessian_b", jacrev(grad(cubes))(b), 1e-8);
  check_grads(by_cg, std::tuple(s, b));
  check_grads(by_bicgstab, std::tuple(g, b));
  check_grads(by_gmres, std::tuple(g, b));
}

TEST(Krylov, TellsHowItWent) {
  auto [x, info] = cg(symmetric_matrix(), right_side(), {.tol = 1e-12});
  EXPECT_TRUE(info.converged.item<bool>());
  EXPECT_LE(info.iterations.item<int>(), 8);
  EXPECT_LT(info.residual.item(), 1e-11);
  auto [y, early] = cg(symmetric_matrix(), right_side(), {.tol = 1e-12, .maxiter = 2});
  EXPECT_FALSE(early.converged.item<bool>());
  EXPECT_EQ(early.iterations.item<int>(), 2);
  auto [z, again] = cg(symmetric_matrix(), right_side(), {.tol = 1e-10, .x0 = x});
  EXPECT_EQ(again.iterations.item<int>(), 0);
  auto [w, zero] = gmres(general_matrix(), zeros({6}, f64));
  EXPECT_TRUE(zero.converged.item<bool>());
  expect_close(w, zeros({6}, f64), 0);
}

TEST(Krylov, PreconditionersAndRestarts) {
  const Array g = general_matrix() * expand_dims(pow(10.0, arange(6, f64) - 3), 1), b = right_side();
  const Array d = 1 / diag(g), want = linalg::solve(g, b);
  expect_close(gmres(g, b, {.tol = 1e-12, .M = [&](Array v) { return d * v; }}).first, want, 1e-8);
  expect_close(bicgstab(g, b, {.tol = 1e-12, .M = diag(d)}).first, want, 1e-8);
  expect_close(gmres(general_matrix(), b, {.tol = 1e-12, .restart = 3, .maxiter = 200}).first,
               linalg::solve(general_matrix(), b), 1e-9);
  const Array s = symmetric_matrix();
  auto preconditioned = [&](Array s, Array b) { return cg(s, b, {.tol = 1e-13, .M = diag(1 / diag(s))}).first; };
  expect_close(preconditioned(s, b), linalg::solve(s, b), 1e-10);
  check_grads(preconditioned, std::tuple(s, b));
}

TEST(Krylov, TreesAndCapturedArrays) {
  const Field b{fill({3}, 1, f64), {fill({2, 2}, 2, f64), fill({}, 3, f64)}};
  auto solve = [&](Array k) {
    auto a = [=](const Field& x) {
      return Field{x.u * (2 + k) + x.v[1], {x.v[0] * 3 + sum(x.u) * 0.1, x.v[1] * (5 + k) - sum(x.v[0])}};
    };
    return gmres(a, b, {.tol = 1e-12}).first;
  };
  const Field x = solve(0.5);
  expect_close(x.u * 2.5 + x.v[1], b.u, 1e-9);
  expect_close(x.v[0] * 3 + sum(x.u) * 0.1, b.v[0], 1e-9);
  auto total = [&](Array k) {
    Field x = solve(k);
    return sum(x.u) + sum(square(x.v[0])) * x.v[1];
  };
  check_grads(total, array(0.5, f64));
}

TEST(Krylov, Laws) {
  const Array a = symmetric_matrix(), g = general_matrix(), b = right_side();
  const Array as = stack({a, a + eye(6, f64), 2 * a}), bs = stack({b, 2 * b, b + 1});
  auto check = [&](auto solve, const Array& a, const Array& b, const Array& as, const Array& bs) {
    const Array mapped = vmap(solve)(as, bs);
    for (int i = 0; i < 3; ++i) expect_close(mapped[{i}], solve(as[{i}], bs[{i}]), 1e-12);
    auto gradient = grad<0, 1>([=](Array a, Array b) { return sum(square(solve(a, b))); });
    auto [da, db] = gradient(a, b);
    auto [ja, jb] = jit(gradient)(a, b);
    EXPECT_TRUE(array_equal(da, ja) && array_equal(db, jb));
    auto kept = grad<0, 1>([=](Array a, Array b) { return sum(square(checkpoint(solve)(a, b) * 1.0)); });
    auto [ca, cb] = kept(a, b);
    EXPECT_TRUE(array_equal(da, ca) && array_equal(db, cb));
    auto mapped_gradient = vmap(gradient);
    auto [ma, mb] = mapped_gradient(as, bs);
    for (int i = 0; i < 3; ++i) expect_close(ma[{i}], std::get<0>(gradient(as[{i}], bs[{i}])), 1e-10);
  };
  check(by_cg, a, b, as, bs);
  check(by_gmres, g, b, as, bs);
  check(by_bicgstab, g, b, as, bs);
}

TEST(CustomLinearSolve, SolvesAndDifferentiates) {
  const Array a = general_matrix(), b = right_side();
  auto solve = [](Array a, Array b) {
    auto dense = [](const Array& m) { return [=](auto, Array y) { return linalg::solve(m, y); }; };
    return custom_linear_solve([=](Array x) { return dot(a, x); }, b, dense(a), dense(transpose(a)));
  };
  expect_close(solve(a, b), linalg::solve(a, b), 1e-12);
  check_grads(solve, std::tuple(a, b));
  auto third = [&](Array s) { return sum(solve(a * s, b)); };
  expect_close(grad(grad(grad(third)))(array(1.5, f64)), -6 * sum(linalg::solve(a, b)) / std::pow(1.5, 4), 1e-9);
  expect_close(vmap(solve)(stack({a, 2 * a}), stack({b, b})), stack({linalg::solve(a, b), linalg::solve(2 * a, b)}),
               1e-12);
  const Program p = make_program(solve)(a, b);
  EXPECT_EQ(parse_program(p.str()).str(), p.str());
}

TEST(CustomLinearSolve, SymmetricAndMore) {
  const Array s = symmetric_matrix(), b = right_side();
  auto solve = [](Array s, Array b) {
    return custom_linear_solve([=](Array x) { return dot(s, x); }, b,
                               [](auto matvec, Array y) {
                                 auto [x, info] = cg(matvec, y, {.tol = 1e-12});
                                 return std::pair(x, info.iterations);
                               },
                               none, true);
  };
  auto [x, iterations] = solve(s, b);
  expect_close(x, linalg::solve(s, b), 1e-9);
  EXPECT_GT(iterations.item<int>(), 1);
  check_grads([&](Array s, Array b) { return solve(s, b).first; }, std::tuple(s, b));
}

TEST(CustomLinearSolve, Errors) {
  const Array s = symmetric_matrix(), b = right_side();
  auto one_way = [&](Array b) {
    return custom_linear_solve([&](Array x) { return dot(s, x); }, b,
                               [&](auto, Array y) { return linalg::solve(s, y); });
  };
  expect_close(jvp(one_way, b, b).second, linalg::solve(s, b), 1e-12);
  EXPECT_EQ(
      ERROR_OF(grad([&](Array b) { return sum(one_way(b)); })(b)),
      "[custom_linear_solve] reverse mode needs the transposed system, and there is no transpose_solve; hint: give "
      "transpose_solve, or say that the matrix is symmetric");
  EXPECT_EQ(ERROR_OF((void)cg(ones({2, 3}), ones(3))),
            "[cg] needs a square matrix, or a function that multiplies by one; got f32[2,3]; hint: for a batch of "
            "matrices use vmap");
  EXPECT_EQ(ERROR_OF((void)cg(eye(3), ones(4))), "[cg] the matrix f32[3,3] and the vector f32[4] do not fit");
  EXPECT_EQ(ERROR_OF((void)gmres([](Array x) { return sum(x); }, ones(4))),
            "[gmres] matvec(x) returns f32[], expected f32[4]; hint: what is solved for, and both sides of "
            "the equation, have one type");
  EXPECT_EQ(ERROR_OF((void)gmres([](Array x) { return x * x; }, ones(4))),
            "[gmres] the function is not linear: its derivative depends on where it is taken; hint: use vjp "
            "for functions that are not linear");
  EXPECT_EQ(ERROR_OF((void)cg(eye(3), arange(3))),
            "[cg] needs arrays of floating type, got i32[3]; hint: convert with "
            "astype(x, f32)");
  EXPECT_EQ(ERROR_OF((void)cg(eye(3), ones(3), {.tol = -1})),
            "[cg] .tol is -1, but must be a number that is not negative");
  EXPECT_EQ(ERROR_OF((void)cg(eye(3), ones(3), {.maxiter = 0})), "[cg] .maxiter is 0, but must be at least 1");
  EXPECT_EQ(ERROR_OF((void)cg(eye(3), ones(3), {.x0 = ones(4)})), "[cg] .x0 is f32[4], but b is f32[3]");
}

}  // namespace
}  // namespace anew::test
