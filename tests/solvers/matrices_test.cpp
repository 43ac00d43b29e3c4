// Factors, banded systems and matrices of a kind, beside SciPy; derivatives; batches.
#include "solvers/golden.h"

namespace anew::test {
namespace {

using namespace linalg;

TEST(Factors, SolveAgain) {
  const Array g = general_matrix(), s = symmetric_matrix(), b = right_side();
  for (bool lower : {false, true}) expect_golden("cho_solve", cho_solve(cho_factor(s, lower), b), 1e-10);
  expect_golden("lu_solve", lu_solve(lu_factor(g), b), 1e-10);
  expect_golden("lu_solve_t", lu_solve(lu_factor(g), b, 1), 1e-10);
  expect_golden("solve_triangular", solve_triangular(g, b, {.trans = 1}), 1e-9);
  const Array many = stack({b, 2 * b}, 1);
  expect_close(lu_solve(lu_factor(g), many), linalg::solve(g, many), 1e-10);
  const Array batch = stack({g, g + eye(6, f64)});
  expect_close(lu_solve(lu_factor(batch), stack({many, many})), linalg::solve(batch, stack({many, many})), 1e-10);
  check_grads([](Array g, Array b) { return lu_solve(lu_factor(g), b); }, std::tuple(g, b));
  check_grads([](Array g, Array b) { return lu_solve(lu_factor(g), b, 1); }, std::tuple(g, b));
  check_grads([](Array s, Array b) { return cho_solve(cho_factor(s), b); }, std::tuple(s, b));
  check_grads([](Array g, Array b) { return solve_triangular(g, b, {.lower = true}); }, std::tuple(g, b));
}

TEST(Banded, SolvesWithPivots) {
  const Array k = reshape(arange(24, f64), {4, 6}), b = right_side();
  const Array up = sin(k * 1.1) + 0.1, low = sin(k * 0.9) + 0.1;
  expect_golden("solve_banded", solve_banded(1, 2, up, b), 1e-8);
  expect_golden("solve_banded_columns", solve_banded(2, 1, low, cos(reshape(arange(12, f64), {6, 2}))), 1e-8);
  expect_close(solve_banded(0, 0, up[{slice(0, 1)}], b), b / up[{0}], 1e-12);
  check_grads([](Array ab, Array b) { return solve_banded(1, 2, ab, b); }, std::tuple(up, b));
  const Array d = cos(arange(6, f64)) + 3, dl = sin(arange(6, f64)), du = cos(2 * arange(6, f64));
  const Array dense = diag(d) + diag(dl[{slice(1, 6)}], -1) + diag(du[{slice(0, 5)}], 1);
  expect_close(tridiagonal_solve(dl, d, du, b), linalg::solve(dense, b), 1e-10);
  expect_close(tridiagonal_solve(dl, zeros_like(d) + 1e-20, du, b),
               linalg::solve(dense - diag(d) + 1e-20 * eye(6, f64), b), 1e-8);
  check_grads([&](Array dl, Array d, Array du, Array b) { return tridiagonal_solve(dl, d, du, b); },
              std::tuple(dl, d, du, b));
  auto solve = [](Array dl, Array d, Array du, Array b) { return tridiagonal_solve(dl, d, du, b); };
  const Array mapped = vmap(solve)(stack({dl, du}), stack({d, 2 * d}), stack({du, dl}), stack({b, b}));
  expect_close(mapped[{1}], solve(du, 2 * d, dl, b), 1e-13);
  EXPECT_TRUE(array_equal(jit(solve)(dl, d, du, b), solve(dl, d, du, b)));
  EXPECT_EQ(ERROR_OF((void)tridiagonal_solve(ones(3), ones(4), ones(4), ones(4))),
            "[tridiagonal_solve] needs three vectors of one size, got f32[3], f32[4] and f32[4]; hint: for a batch use "
            "vmap");
  EXPECT_EQ(ERROR_OF((void)solve_banded(1, 1, ones({2, 4}), ones(4))),
            "[solve_banded] a matrix with 1 diagonals below the main one and 1 above is given as 3 rows, got f32[2,4]");
  EXPECT_EQ(ERROR_OF((void)solve_banded(0, 0, ones({1, 4}), ones(3))),
            "[solve_banded] the right side must be a vector or matrix with 4 rows, got f32[3]");
}

TEST(Functions, OfMatrices) {
  const Array g = general_matrix(), s = symmetric_matrix();
  expect_golden("sqrtm", sqrtm(s), 1e-9);
  expect_golden("sqrtm_general", sqrtm(g), 1e-9);
  expect_close(sqrtm(stack({s, 1e6 * s, 1e-6 * s})), stack({sqrtm(s), 1e3 * sqrtm(s), 1e-3 * sqrtm(s)}), 1e-9);
  check_grads([](Array x) { return sqrtm(x); }, s);
  expect_golden("polar_u", polar(g).first, 1e-10);
  expect_golden("polar_p", polar(g).second, 1e-10);
  expect_golden("polar_left_p", polar(g, "left").second, 1e-10);
  check_grads([](Array x) { return polar(x).first; }, g);  // four of its singular values are equal
  check_grads([](Array x) { return polar(x, "left").second; }, g);
  const Array tall = g[{slice(), slice(0, 2)}];
  for (const Array& x : {tall, transpose(tall)}) {
    auto [u, p] = polar(x);
    auto [left_u, left_p] = polar(x, "left");
    expect_close(matmul(u, p), x, 1e-12);
    expect_close(matmul(left_p, left_u), x, 1e-12);
    expect_close(u, left_u, 1e-12);
  }
  EXPECT_EQ(ERROR_OF((void)polar(eye(2), "up")), "[polar] side is \"up\", but must be \"right\" or \"left\"");
}

TEST(Matrices, OfAKind) {
  expect_golden("block_diag", block_diag({ones({2, 3}), array({{5.0}}), array({1.0, 2.0})}), 0);
  expect_golden("toeplitz", toeplitz(array({1, 2, 3}), array({1, 4, 5, 6})), 0);
  expect_golden("circulant", circulant(array({1, 2, 3})), 0);
  expect_golden("hankel", hankel(array({1, 2, 3}), array({3, 4, 5, 6})), 0);
  expect_golden("hankel_zeros", hankel(array({1, 2, 3})), 0);
  expect_golden("hilbert", hilbert(3, f64), 1e-15);
  expect_golden("hadamard", hadamard(4), 0);
  expect_golden("companion", companion(array({2.0, -10.0, 31.0, -30.0})), 1e-6);
  check_grads([](Array c, Array r) { return toeplitz(c, r); }, std::tuple(fill({3}, 1, f64), fill({2}, 2, f64)));
  EXPECT_EQ(ERROR_OF((void)toeplitz(eye(2))), "[toeplitz] needs a vector that is not empty, got f32[2,2]");
}

}  // namespace
}  // namespace anew::test
