// Functions that came later, beyond what is recorded of them (tests/golden/functions): laws of their own, and errors.
#include <cmath>

#include "support/support.h"

namespace anew::more_names_test {
namespace {

TEST(MoreNames, MatricesAreWhatTheirNamesSay) {
  const X64 wide;
  EXPECT_TRUE(allclose(matmul(linalg::hilbert(5), linalg::invhilbert(5)), eye(5), 1e-8, 1e-8));
  EXPECT_TRUE(array_equal(matmul(linalg::pascal(6), linalg::invpascal(6)), eye(6)));
  EXPECT_TRUE(array_equal(matmul(linalg::pascal(5, "lower"), linalg::pascal(5, "upper")), linalg::pascal(5)));
  const Array h = linalg::helmert(6, true);
  EXPECT_TRUE(allclose(matmul(h, h.T()), eye(6)));
  const Array a = array({1.0, -2.0, 0.5}), v = array({3.0, 1.0, 4.0, 1.0, 5.0});
  for (const char* mode : {"full", "same", "valid"})
    EXPECT_TRUE(allclose(matmul(linalg::convolution_matrix(a, 5, mode), v), convolve(v, a, mode))) << mode;
}

TEST(MoreNames, EquationsOfMatrices) {
  const X64 wide;
  const Array key = random::key(3), a = random::normal(key, {4, 4}) + 4 * eye(4), b = random::normal(key, {3, 3});
  const Array q = random::normal(key, {4, 3}), x = linalg::solve_sylvester(a, b, q);
  EXPECT_TRUE(allclose(matmul(a, x) + matmul(x, b), q));
  check_grads([](Array a, Array b, Array q) { return linalg::solve_sylvester(a, b, q); }, std::tuple(a, b, q));
  auto [w, u] = linalg::eigh_tridiagonal(arange(4.0), ones(3));
  EXPECT_TRUE(allclose(matmul(u * w, u.T()), diag(arange(4.0)) + diag(ones(3), 1) + diag(ones(3), -1)));
  auto [left, r] = linalg::qr_multiply(a, eye(4), "left");
  EXPECT_TRUE(allclose(matmul(left, r), a));
}

TEST(MoreNames, DrawsOfCounts) {
  const Array key = random::key(1), counts = random::binomial(key, 40, array({0.1, 0.5, 0.9}), Shape{4000, 3});
  EXPECT_TRUE(allclose(mean(counts, 0), array({4.0, 20.0, 36.0}), 0.02));
  EXPECT_TRUE(allclose(var(counts, 0), array({3.6, 10.0, 3.6}), 0.1));
  const Array many = random::multinomial(key, 12, array({0.2, 0.3, 0.5}), Shape{2000});
  EXPECT_EQ(many.shape(), (Shape{2000, 3}));
  EXPECT_TRUE(array_equal(sum(many, 1), full({2000}, 12.0)));
  auto draw = [](Array k) { return random::binomial(k, 7, 0.5, Shape{5}); };
  EXPECT_TRUE(array_equal(jit(draw)(key), draw(key)));
}

TEST(MoreNames, OscillatingFunctions) {
  const X64 wide;
  const Array x = linspace(0.25, 12.0, 13);
  check_grads([](Array x) { return special::sici(x).first * special::sici(x).second; }, x, {.order = 2, .rtol = 1e-4});
  check_grads([](Array x) { return special::fresnel(x / 4).first + special::fresnel(x / 4).second; }, x,
              {.order = 2, .rtol = 1e-4});
  // x J_k' = k J_k - x J_(k+1)
  const Array j = special::bessel_jn(x, 3), slope = vmap(grad([](Array z) { return special::bessel_jn(z, 2)[2]; }))(x);
  EXPECT_TRUE(allclose(x * slope, 2 * j[2] - x * j[3]));
  EXPECT_TRUE(allclose(special::bessel_jn(array(60.0), 0, 100)[0], -0.09147180408906187));
  EXPECT_TRUE(std::isnan(special::bessel_jn(array(40.0), 0)[0].item()));  // rather than a wrong number
}

TEST(MoreNames, Errors) {
  EXPECT_EQ(ERROR_OF((void)linalg::convolution_matrix(ones(3), 2, "half")),
            "[convolution_matrix] mode is \"half\", but must be \"full\", \"same\" or \"valid\"");
  EXPECT_EQ(ERROR_OF((void)linalg::convolution_matrix(ones(3), 0)),
            "[convolution_matrix] needs a positive size, got 0");
  EXPECT_EQ(ERROR_OF((void)linalg::pascal(3, "left")),
            "[pascal] kind is \"left\", but must be \"symmetric\", \"lower\" or \"upper\"");
  EXPECT_EQ(ERROR_OF((void)linalg::leslie(ones(3), ones(3))),
            "[leslie] survival rates are one less than birth rates, got f32[3] and f32[3]");
  EXPECT_EQ(ERROR_OF((void)linalg::fiedler(ones({2, 2}))),
            "[fiedler] needs a vector of at least 1 elements, got f32[2,2]");
  EXPECT_EQ(ERROR_OF((void)linalg::solve_sylvester(eye(2), eye(3), ones({3, 2}))),
            "[solve_sylvester] a x + x b = q needs square a and b, and q with a's rows and b's columns, got f32[2,2], "
            "f32[3,3] and f32[3,2]; hint: for a batch use vmap");
  EXPECT_EQ(ERROR_OF((void)linalg::eigh_tridiagonal(ones(3), ones(3))),
            "[eigh_tridiagonal] needs a diagonal and one element less beside it, got f32[3] and f32[3]; hint: for a "
            "batch use vmap");
  EXPECT_EQ(ERROR_OF((void)linalg::qr_multiply(eye(2), eye(2), "up")),
            "[qr_multiply] mode is \"up\", but must be \"right\" or \"left\"");
  EXPECT_EQ(ERROR_OF((void)special::bessel_jn(1.0, -1)), "[bessel_jn] the order is at least 0, got -1");
  EXPECT_EQ(ERROR_OF((void)random::binomial(random::key(0), 3, 0.5, {}, i32)),
            "[random.binomial] needs a floating type, got i32");
  EXPECT_EQ(ERROR_OF((void)random::binomial(random::key(0), ones(2), 0.5, Shape{3})),
            "[random.binomial] parameters of shape [2] do not fit the shape [3]");
  EXPECT_EQ(ERROR_OF((void)random::multinomial(random::key(0), 3, 0.5)),
            "[random.multinomial] p has the outcomes along its last axis, got f32[]");
  EXPECT_EQ(ERROR_OF((void)lax::ragged_dot(ones({4, 3}), ones({2, 2, 2}), array({2, 2}))),
            "[ragged_dot] needs rows (m, k), matrices (groups, k, n) and as many sizes of groups, got f32[4,3], "
            "f32[2,2,2] and i32[2]");
  EXPECT_EQ(ERROR_OF((void)lax::conv_general_dilated_patches(ones({1, 4}), {2}, {1}, "SAME")),
            "[conv_general_dilated_patches] needs a batch with features and spatial axes, and a window of these, got "
            "[1,4] and [2]");
  EXPECT_EQ(
      ERROR_OF((void)lax::conv_general_dilated_local(ones({1, 1, 4}), ones({1, 2, 2}), {1}, "VALID", {2})),
      "[conv_general_dilated_local] the kernel [1,2,2] does not fit patches [1,2,3]: it has one for each place of "
      "the result, of all features of a patch");
}

}  // namespace
}  // namespace anew::more_names_test
