// Linear algebra: what each function gives, singular input, types, batches, derivatives by their defining equations,
// errors word by word.
#include <anew/anew.h>

#include <limits>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::inf;
using test::values;

Array square(std::int64_t n, std::uint64_t seed, DType dtype = f64) {
  return filled({n, n}, seed, dtype) + 3 * eye(n, dtype);
}
Array turned(const Array& x) { return swapaxes(x, -1, -2); }
void expect_like(const Array& got, const Array& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.type().str(), want.type().str());
  expect_values(got, values(want), tolerance);
}
Array tangent(const std::function<Array(Array)>& f, const Array& x, const Array& t) {
  return flat::jvp([&](std::span<const Array> in) { return Arrays{f(in[0])}; }, Arrays{x}, Arrays{t}).second[0];
}

TEST(Linalg, FactorsMultiplyBack) {
  Array a = square(4, 1), batch = filled({2, 3, 4, 4}, 2) + 3 * eye(4, f64);
  for (const Array& x : {a, batch}) {
    Array s = matmul(x, turned(x)), l = linalg::cholesky(s);
    expect_like(matmul(l, turned(l)), s);
    auto [q, r] = linalg::qr(x);
    expect_like(matmul(q, r), x);
    auto [w, v] = linalg::eigh(s);
    expect_like(matmul(v * expand_dims(w, -2), turned(v)), s);
    expect_like(linalg::eigvalsh(s), w);
    auto [u, sigma, vt] = linalg::svd(x);
    expect_like(matmul(u * expand_dims(sigma, -2), vt), x);
    expect_like(linalg::svdvals(x), sigma);
  }
  auto [lu, pivots, permutation] = lax::lu(array({{1.0, 2.0}, {4.0, 3.0}}));
  expect_values(lu, {4, 3, 0.25, 1.25});
  expect_values(pivots, {1, 1});
  expect_values(permutation, {1, 0});
}

TEST(Linalg, ShapesOfFullAndReducedFactors) {
  Array tall = filled({5, 2}, 3, f32);
  auto [q, r] = linalg::qr(tall);
  auto [fq, fr] = linalg::qr(tall, true);
  EXPECT_EQ(q.type().str() + r.type().str() + fq.type().str() + fr.type().str(), "f32[5,2]f32[2,2]f32[5,5]f32[5,2]");
  auto [u, s, vt] = linalg::svd(tall);
  auto [ru, rs, rvt] = linalg::svd(tall, false);
  EXPECT_EQ(u.type().str() + s.type().str() + vt.type().str(), "f32[5,5]f32[2]f32[2,2]");
  EXPECT_EQ(ru.type().str() + rs.type().str() + rvt.type().str(), "f32[5,2]f32[2]f32[2,2]");
}

TEST(Linalg, CholeskyAndEighTakeTheSymmetricPart) {
  Array x = square(3, 4) * 2, s = (x + turned(x)) / 2;
  expect_like(linalg::cholesky(x), linalg::cholesky(s));
  expect_like(linalg::eigvalsh(x), linalg::eigvalsh(s));
}

TEST(Linalg, SystemsAreSolved) {
  Array a = square(4, 5), b = filled({4}, 6), many = filled({4, 3}, 7), batch = filled({2, 4, 4}, 8) + 3 * eye(4, f64);
  expect_like(matmul(a, linalg::solve(a, b)), b);
  expect_like(matmul(a, linalg::solve(a, many)), many);
  expect_like(matmul(batch, linalg::solve(batch, many)), broadcast_to(many, {2, 4, 3}));
  expect_like(matmul(batch, expand_dims(linalg::solve(batch, b), -1)), broadcast_to(expand_dims(b, -1), {2, 4, 1}));
  expect_like(matmul(batch, linalg::inv(batch)), broadcast_to(eye(4, f64), {2, 4, 4}));
  for (bool left : {true, false})
    for (bool lower : {true, false})
      for (bool transpose : {true, false})
        for (bool unit : {true, false}) {
          Array t = lower ? tril(a) : triu(a), rhs = left ? many : turned(many);
          if (unit) t = t * (1 - eye(4, f64)) + eye(4, f64);
          if (transpose) t = turned(t);
          Array x = linalg::triangular_solve(
              a, rhs, {.left_side = left, .lower = lower, .transpose_a = transpose, .unit_diagonal = unit});
          expect_like(left ? matmul(t, x) : matmul(x, t), rhs);
        }
}

TEST(Linalg, SingularInputIsNoError) {
  Array singular = array({{1.0, 2.0}, {2.0, 4.0}}, f64), indefinite = array({{1.0, 2.0}, {2.0, 1.0}});
  for (double v : values(linalg::inv(singular))) EXPECT_FALSE(std::isfinite(v));
  expect_values(linalg::cholesky(indefinite), {NAN, 0, NAN, NAN});
  expect_values(linalg::det(singular), {0});
  auto [sign, log] = linalg::slogdet(singular);
  expect_values(sign, {0});
  expect_values(log, {-inf});
  for (double v : values(linalg::eigvalsh(array({{NAN, 0.0}, {0.0, 1.0}})))) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(linalg::matrix_rank(singular).item<int>(), 1);
}

TEST(Linalg, Determinants) {
  for (std::int64_t n : {1, 2, 3, 4, 6}) {
    Array x = square(n, 11), y = square(n, 12);
    double both = linalg::det(matmul(x, y)).item(), each = (linalg::det(x) * linalg::det(y)).item();
    EXPECT_NEAR(both, each, 1e-11 * std::abs(both)) << n;
    auto [sign, log] = linalg::slogdet(x);
    EXPECT_NEAR((sign * exp(log)).item(), linalg::det(x).item(), 1e-11 * std::abs(linalg::det(x).item())) << n;
  }
  EXPECT_EQ(linalg::det(array({{0.0, 1.0}, {1.0, 0.0}})).item(), -1);
  EXPECT_EQ(linalg::det(eye(0)).item(), 1);
  auto [sign, log] = linalg::slogdet(array({{0.0, 2.0, 0.0}, {2.0, 0.0, 0.0}, {0.0, 0.0, 2.0}}, f64));
  EXPECT_EQ(sign.item(), -1);
  EXPECT_NEAR(log.item(), std::log(8.0), 1e-15);
}

// d log|det x| = trace(x^-1 dx), d det = det trace(x^-1 dx).
TEST(Linalg, DerivativesOfDeterminants) {
  for (std::int64_t n : {2, 3, 5}) {
    Array x = square(n, 13), t = filled({n, n}, 14), want = trace(matmul(linalg::inv(x), t));
    expect_like(tangent([](Array a) { return linalg::slogdet(a).second; }, x, t), want, 1e-11);
    expect_like(tangent([](Array a) { return linalg::det(a); }, x, t), want * linalg::det(x), 1e-11);
  }
}

// The cofactors, by the determinants of all minors.
Array minors(const Array& x) {
  const std::int64_t n = x.shape()[-1];
  std::vector<double> from = values(x), out;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<double> rest;
      for (std::int64_t k = 0; k < n * n; ++k)
        if (k / n != i && k % n != j) rest.push_back(from[static_cast<std::size_t>(k)]);
      out.push_back((i + j) % 2 ? -1.0 : 1.0);
      if (n > 1) out.back() *= linalg::det(array(rest, {n - 1, n - 1}, f64)).item();
    }
  return array(out, {n, n}, f64);
}
Array det_gradient(const Array& x) {
  return grad([](Array a) { return sum(linalg::det(a)); })(x);
}

// Of every rank: by products of thin matrices of small integers, and with a column and a row of zeros.
TEST(Linalg, GradientsOfDeterminantsOfSingularMatrices) {
  for (std::int64_t n : {2, 3, 4, 5, 7})
    for (std::int64_t rank = 0; rank <= n; ++rank) {
      Array x = matmul(round(3 * filled({n, rank}, 21)), round(3 * filled({rank, n}, 22)));
      Array want = minors(x);
      const double scale = 1e-12 * std::pow(10.0, static_cast<double>(n));
      expect_like(det_gradient(x), want, scale);
      if (rank < n - 1) expect_like(det_gradient(x), zeros_like(x), scale);
      Array narrow = det_gradient(astype(x, f32));
      EXPECT_EQ(narrow.dtype(), f32);
      expect_like(astype(narrow, f64), want, scale * 1e8);
    }
  for (std::int64_t zero : {0, 2, 4}) {
    Array x = filled({5, 5}, 23) * astype(arange(5) != zero, f64);
    expect_like(det_gradient(x), minors(x), 1e-13);
    expect_like(det_gradient(turned(x)), turned(minors(x)), 1e-13);
  }
  expect_like(det_gradient(zeros({4, 4}, f64)), zeros({4, 4}, f64));
  Array ones_but_one = diag(array({1.0, 1.0, 0.0, 1.0}, f64));
  expect_like(det_gradient(ones_but_one), diag(array({0.0, 0.0, 1.0, 0.0}, f64)), 0);
  for (double v : values(det_gradient(full({4, 4}, NAN, f64)))) EXPECT_TRUE(std::isnan(v));
}

// A batch of a regular, a singular and a zero matrix: each as it is alone, mapped or not, compiled or not.
TEST(Linalg, GradientsOfDeterminantsOfABatch) {
  Array regular = square(4, 24), singular = matmul(filled({4, 3}, 25), filled({3, 4}, 26));
  Array all = stack({regular, singular, zeros({4, 4}, f64)});
  Array want = stack({det_gradient(regular), det_gradient(singular), zeros({4, 4}, f64)});
  EXPECT_TRUE(array_equal(det_gradient(all), want));
  EXPECT_TRUE(array_equal(vmap(det_gradient)(all), want));
  EXPECT_TRUE(array_equal(jit(det_gradient)(all), want));
  EXPECT_TRUE(array_equal(det_gradient(turned(turned(all))), want));
  expect_like(grad(checkpoint([](Array a) { return sum(linalg::det(a)); }))(all), want, 0);
}

// Of 4 rows the cofactors are cubic along t, so that differences of them give their derivatives exactly.
TEST(Linalg, SecondDerivativesOfDeterminantsOfSingularMatrices) {
  for (std::int64_t rank : {0, 1, 2, 3, 4}) {
    Array x = matmul(filled({4, rank}, 27), filled({rank, 4}, 28)), t = filled({4, 4}, 29);
    auto along = [&](double s) { return minors(x + s * t) - minors(x - s * t); };
    Array want = (8 * along(0.5) - along(1)) / 6;
    expect_like(tangent(det_gradient, x, t), want, 1e-12);
    auto slope = [&](Array a) { return sum(det_gradient(a) * t); };
    expect_like(grad(slope)(x), want, 1e-12);
    if (rank < 4) continue;
    Array third = tangent([&](Array a) { return tangent(det_gradient, a, t); }, x, t);
    expect_like(third, 4 * (minors(x + 0.5 * t) + minors(x - 0.5 * t) - 2 * minors(x)), 1e-11);
  }
}

TEST(Linalg, LeastSquaresAndPseudoInverses) {
  Array a = filled({5, 3}, 15), b = filled({5}, 16), p = linalg::pinv(a), x = linalg::lstsq(a, b);
  expect_like(matmul(matmul(a, p), a), a);
  expect_like(matmul(turned(a), matmul(a, x) - b), zeros({3}, f64));
  Array low = matmul(filled({4, 2}, 17), filled({2, 4}, 18)), q = linalg::pinv(low);
  expect_like(matmul(matmul(low, q), low), low);
  EXPECT_EQ(linalg::matrix_rank(low).item<int>(), 2);
  EXPECT_EQ(linalg::matrix_rank(zeros({3, 0})).item<int>(), 0);
  EXPECT_EQ(linalg::matrix_rank(ones(3)).item<int>(), 1);  // a vector is one row, as in NumPy
  EXPECT_EQ(linalg::matrix_rank(zeros(3)).item<int>(), 0);
  EXPECT_EQ(linalg::pinv(zeros({3, 0})).type().str(), "f32[0,3]");
}

// Singular values of a rotation agree to rounding, those of a multiple of the identity exactly.
TEST(Linalg, PseudoInversesHaveDerivativesWhereSingularValuesAgree) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  Array turn = array({{c, -s}, {s, c}}, f64), tall = concatenate({turn, turn}), k = filled({2, 2}, 41),
        b = filled({4}, 42);
  Array wide = turned(tall), same = 2 * eye(3, f64);
  auto inverse = [&](Array a) { return sum(linalg::inv(a) * k); };
  auto pseudo = [&](Array a) { return sum(linalg::pinv(a) * k); };
  expect_like(grad(pseudo)(turn), grad(inverse)(turn));
  expect_like(hessian(pseudo)(turn), hessian(inverse)(turn), 1e-10);
  auto normal = [&](Array a) { return sum(square(linalg::solve(matmul(turned(a), a), matmul(turned(a), b)))); };
  auto least = [&](Array a) { return sum(square(linalg::lstsq(a, b))); };
  expect_like(grad(least)(tall), grad(normal)(tall));
  expect_like(hessian(least)(tall), hessian(normal)(tall), 1e-10);
  auto of_wide = [&](Array a) { return sum(square(linalg::pinv(a))); };
  auto by_inverse = [&](Array a) { return sum(square(matmul(turned(a), linalg::inv(matmul(a, turned(a)))))); };
  expect_like(grad(of_wide)(wide), grad(by_inverse)(wide));
  expect_like(grad([](Array a) { return sum(linalg::pinv(a)); })(same), full({3, 3}, -0.25, f64));
  // Along changes that keep the rank: (s x) y^T has the pseudo-inverse y x^T / (s |x|^2 |y|^2).
  Array x = filled({4, 1}, 43), y = filled({3, 1}, 44), low = matmul(x, turned(y));
  auto scaled = [&](Array s) { return sum(linalg::pinv(s * low)); };
  expect_like(grad(scaled)(array(1.0, f64)), -sum(linalg::pinv(low)));
}

TEST(Linalg, Norms) {
  Array m = array({{1.0, -2.0}, {3.0, 4.0}}, f64), v = array({3.0, -4.0}, f64);
  const double s = std::sqrt(30.0);
  EXPECT_NEAR(linalg::norm(m).item(), s, 1e-15);
  EXPECT_NEAR(linalg::norm(m, "fro").item(), s, 1e-15);
  EXPECT_EQ(linalg::norm(m, 1).item(), 6);
  EXPECT_EQ(linalg::norm(m, -1).item(), 4);
  EXPECT_EQ(linalg::norm(m, inf).item(), 7);
  EXPECT_EQ(linalg::norm(m, -inf).item(), 3);
  std::vector<double> sigma = values(linalg::svdvals(m));
  EXPECT_NEAR(linalg::norm(m, 2).item(), sigma[0], 1e-15);
  EXPECT_NEAR(linalg::norm(m, -2).item(), sigma[1], 1e-15);
  EXPECT_NEAR(linalg::norm(m, "nuc").item(), sigma[0] + sigma[1], 1e-14);
  EXPECT_NEAR(linalg::cond(m).item(), sigma[0] / sigma[1], 1e-13);
  EXPECT_NEAR(linalg::cond(m, 1).item(), 6 * linalg::norm(linalg::inv(m), 1).item(), 1e-13);
  EXPECT_EQ(linalg::norm(v, 1).item(), 7);
  EXPECT_EQ(linalg::norm(v).item(), 5);
  expect_values(linalg::norm(m, 1, 1), {3, 7});
  Array three = filled({2, 3, 4}, 19);
  EXPECT_EQ(linalg::norm(three, 2, {0, 2}).type().str(), "f64[3]");
  EXPECT_EQ(linalg::norm(three, 1, {2, 0}, true).type().str(), "f64[1,3,1]");
  // Rows first: axes {2, 0} are those of the transposed matrix.
  expect_like(linalg::norm(three, 1, {2, 0}), linalg::norm(three, inf, {0, 2}));
}

TEST(Linalg, PowersAndProducts) {
  Array x = square(3, 20), one = eye(3, f64);
  expect_like(linalg::matrix_power(x, 0), one);
  expect_like(linalg::matrix_power(x, 5), matmul(x, matmul(matmul(x, x), matmul(x, x))), 1e-11);
  expect_like(matmul(linalg::matrix_power(x, -2), matmul(x, x)), one, 1e-11);
  Array a = filled({2, 30}, 21), b = filled({30, 2}, 22), c = filled({2, 9}, 23), v = filled({9}, 24);
  expect_like(linalg::multi_dot({a, b, c, v}), dot(dot(dot(a, b), c), v));
  expect_like(linalg::multi_dot({a}), a);
  expect_like(linalg::multi_dot({v, v}), dot(v, v));
}

TEST(Linalg, Exponential) {
  expect_like(linalg::expm(zeros({2, 2}, f64)), eye(2, f64));
  Array turn = array({{0.0, -1.0}, {1.0, 0.0}}, f64);
  for (double angle : {0.5, 30.0, 1000.0}) {
    const double c = std::cos(angle), s = std::sin(angle);
    expect_values(linalg::expm(turn * angle), {c, -s, s, c}, 1e-10);
  }
  Array x = filled({3, 3}, 25) * 4, t = filled({3, 3}, 26);
  expect_like(linalg::expm(2 * x), matmul(linalg::expm(x), linalg::expm(x)), 1e-10);
  // Along x itself the derivative is x exp(x).
  expect_like(tangent(linalg::expm, x, x), matmul(x, linalg::expm(x)), 1e-10);
  Array step = (linalg::expm(x + 1e-6 * t) - linalg::expm(x - 1e-6 * t)) / 2e-6;
  expect_like(tangent(linalg::expm, x, t), step, 1e-5);
}

TEST(Linalg, TypesOfOperands) {
  Array whole = array({{2, 1}, {1, 3}});
  EXPECT_EQ(linalg::inv(whole).type().str(), "f32[2,2]");
  EXPECT_EQ(linalg::solve(whole, array({1.0, 2.0}, f64)).type().str(), "f64[2]");
}

TEST(Linalg, Errors) {
  Array m = zeros({2, 3}), v = zeros({3}), s = eye(2);
  EXPECT_EQ(error_of([&] { linalg::cholesky(m); }), "[cholesky] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::cholesky(v); }), "[cholesky] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { linalg::eigh(m); }), "[eigh] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::qr(v); }), "[qr] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { linalg::svd(v); }), "[svd] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { lax::lu(v); }), "[lu] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { linalg::inv(m); }), "[inv] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::det(m); }), "[det] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::slogdet(m); }), "[slogdet] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::expm(m); }), "[expm] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::matrix_power(m, 2); }), "[matrix_power] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::pinv(v); }), "[pinv] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { linalg::cond(v); }), "[cond] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(error_of([&] { linalg::solve(m, v); }), "[solve] needs square matrices, got f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::solve(s, v); }), "[solve] the operands do not fit: f32[2,2] and f32[3]");
  EXPECT_EQ(error_of([&] { linalg::lstsq(m, v); }), "[lstsq] the operands do not fit: f32[2,3] and f32[3]");
  EXPECT_EQ(error_of([&] { linalg::triangular_solve(s, m); }),
            "[triangular_solve] the operands do not fit: f32[2,2] and f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::norm(m, 3); }), "[norm] there is no order 3 for a matrix of f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::norm(m, "two"); }), "[norm] there is no order two for a matrix of f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::norm(v, "nuc"); }), "[norm] there is no order nuc for a vector of f32[3]");
  EXPECT_EQ(error_of([&] { linalg::norm(zeros({2, 2, 2}), 1); }),
            "[norm] with an order is of one axis or two, got 3 of f32[2,2,2]");
  EXPECT_EQ(error_of([&] { linalg::multi_dot({}); }), "[multi_dot] needs at least one array");
  EXPECT_EQ(error_of([&] { linalg::multi_dot({m, m}); }),
            "[multi_dot] contracting dimensions differ: f32[2,3] and f32[2,3]");
  EXPECT_EQ(error_of([&] { linalg::multi_dot({s, array({1.0, 2.0}), s}); }),
            "[multi_dot] needs matrices (or vectors at the ends), got f32[2]");
}

TEST(Linalg, AddedVectorsHaveNoDerivative) {
  Array tall = filled({3, 2}, 27, f32);
  EXPECT_EQ(error_of([&] { tangent([](Array x) { return linalg::qr(x, true).first; }, tall, tall); }),
            "[qr] has no derivative with full_matrices: nothing fixes the added vectors of f32[3,2]");
  EXPECT_EQ(error_of([&] { tangent([](Array x) { return std::get<0>(linalg::svd(x)); }, tall, tall); }),
            "[svd] has no derivative with full_matrices: nothing fixes the added vectors of f32[3,2]");
}

// Where two eigenvalues are equal, their own derivative is still right.
TEST(Linalg, EqualEigenvaluesKeepTheirDerivative) {
  Array t = array({{1.0, 0.0}, {0.0, 1.0}}, f64);
  expect_like(tangent(linalg::eigvalsh, eye(2, f64), t), ones({2}, f64));
  expect_like(tangent(linalg::svdvals, eye(2, f64), t), ones({2}, f64));
}

}  // namespace
}  // namespace anew

namespace anew {

// x = z t z^T, with z orthogonal; t has blocks of two rows on its diagonal, h one diagonal below.
TEST(Similarity, SchurAndHessenberg) {
  for (DType dtype : {f32, f64}) {
    const double near = dtype == f64 ? 1e-12 : 1e-4;
    for (const Shape& shape : {Shape{5, 5}, Shape{2, 3, 3}, Shape{1, 1}, Shape{0, 0}}) {
      const Array x = random::normal(random::key(1), shape, dtype);
      for (const auto& [t, z] : {linalg::schur(x), linalg::hessenberg(x)}) {
        const Array turned = swapaxes(z, -1, -2);
        EXPECT_TRUE(allclose(matmul(matmul(z, t), turned), x, near, near));
        EXPECT_TRUE(allclose(matmul(z, turned) - eye(shape[-1], dtype), 0, near, near));
        EXPECT_TRUE(array_equal(tril(t, -2), zeros_like(t)));
      }
      EXPECT_TRUE(array_equal(jit([](Array x) { return linalg::schur(x).first; })(x), linalg::schur(x).first));
    }
  }
  const Array turn = array({{0.0, -1.0}, {1.0, 0.0}});  // a pair of complex eigenvalues stays a block
  EXPECT_NE(double(linalg::schur(turn).first.reshape({4})[2]), 0);
  EXPECT_TRUE(all(isnan(linalg::schur(array({{1.0, numpy::inf}, {0.0, 1.0}})).first)).item<bool>());
  EXPECT_TRUE(all(isnan(linalg::hessenberg(array({{1.0, numpy::nan}, {0.0, 1.0}})).second)).item<bool>());
  EXPECT_EQ(test::error_of([] { linalg::schur(ones({2, 3})); }), "[schur] needs square matrices, got f32[2,3]");
  EXPECT_EQ(test::error_of([] { linalg::hessenberg(ones(3)); }),
            "[hessenberg] needs matrices of f32 or f64, got f32[3]");
  EXPECT_EQ(test::error_of([] { grad([](Array x) { return sum(linalg::schur(x).first); })(eye(2)); }),
            "[schur] has no derivative, but its arguments depend on what is differentiated; hint: stop_gradient the "
            "arguments; eigh, svd and qr have derivatives");
}

}  // namespace anew
