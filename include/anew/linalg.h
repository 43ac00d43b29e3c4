// Linear algebra of matrices: NumPy's names. The last two axes are the matrix, leading axes are a batch. Integers
// become floats; bf16 and f16 are computed in f32. What has no answer is nan or inf, never an error: the factor of a
// matrix that is not positive definite, the inverse of a singular one.
#pragma once
#include <anew/array.h>

#include <string_view>
#include <tuple>
#include <utility>

namespace anew {
namespace lax {

// op(a) x = b, or x op(a) = b where !left_side; op(a) is a or, with transpose_a, its transpose. Only the triangle of
// `a` that `lower` names is read; with unit_diagonal its diagonal counts as ones.
struct TriangularOptions {
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool unit_diagonal = false;
};
Array triangular_solve(const ArrayLike& a, const ArrayLike& b, const TriangularOptions& options = {});

// (lu, pivots, permutation): x[permutation] = l u, with l below the diagonal of `lu` (its own diagonal is ones) and u
// on and above it; row i was swapped with row pivots[i] in turn.
std::tuple<Array, Array, Array> lu(const ArrayLike& x);

}  // namespace lax

namespace linalg {

using lax::triangular_solve;
using lax::TriangularOptions;

// ---- factors. cholesky and eigh take the symmetric part of x, (x + x^T) / 2.
Array cholesky(const ArrayLike& x);                                          // l of l l^T = x, lower
std::pair<Array, Array> qr(const ArrayLike& x, bool full_matrices = false);  // q, r
std::pair<Array, Array> eigh(const ArrayLike& x);  // eigenvalues ascending, vectors as columns
Array eigvalsh(const ArrayLike& x);
std::tuple<Array, Array, Array> svd(const ArrayLike& x, bool full_matrices = true);  // u, s descending, v^T
Array svdvals(const ArrayLike& x);
// t, z of x = z t z^T with z orthogonal and t upper triangular but for a block of two rows per pair of complex
// eigenvalues; h, q of x = q h q^T with h zero below its first subdiagonal. Without derivatives, as in JAX.
std::pair<Array, Array> schur(const ArrayLike& x);
std::pair<Array, Array> hessenberg(const ArrayLike& x);

// ---- solving. b is a vector where it has one axis, else a matrix.
Array solve(const ArrayLike& a, const ArrayLike& b);
Array inv(const ArrayLike& x);
// Singular values up to rtol times the largest count as 0; without: 10 * max(rows, columns) * epsilon.
Array pinv(const ArrayLike& x, std::optional<double> rtol = {});
Array lstsq(const ArrayLike& a, const ArrayLike& b, std::optional<double> rtol = {});  // of least norm

// ---- systems with factors that are used again; b is a vector or has one right side in each column
struct SolveTriangularOptions {
  int trans = 0;  // 1: the transpose of a
  bool lower = false, unit_diagonal = false;
};
Array solve_triangular(const ArrayLike& a, const ArrayLike& b, const SolveTriangularOptions& options = {});
struct CholeskyFactor {
  Array c;  // the factor; zeros on the other side
  bool lower = false;
};
CholeskyFactor cho_factor(const ArrayLike& a, bool lower = false);  // of a symmetric, positive definite matrix
Array cho_solve(const CholeskyFactor& factor, const ArrayLike& b);
struct LuFactors {
  Array lu, pivots, permutation;  // as lax::lu gives them
};
LuFactors lu_factor(const ArrayLike& a);
Array lu_solve(const LuFactors& factors, const ArrayLike& b, int trans = 0);

// ---- banded systems, by elimination with pivots in time n; of matrices (no batch: vmap). Row upper + i - j of ab,
// column j, is entry (i, j). A tridiagonal matrix has dl[0] and du[-1] besides, which nobody reads.
Array solve_banded(int lower, int upper, const ArrayLike& ab, const ArrayLike& b);
Array tridiagonal_solve(const ArrayLike& dl, const ArrayLike& d, const ArrayLike& du, const ArrayLike& b);

// ---- matrices of a kind
Array block_diag(const ArrayList& xs);
Array toeplitz(const ArrayLike& c);  // constant along diagonals: first column c, first row c or r (without r[0])
Array toeplitz(const ArrayLike& c, const ArrayLike& r);
Array circulant(const ArrayLike& c);                   // columns are c, turned
Array hankel(const ArrayLike& c);                      // constant along antidiagonals: first column c, then zeros
Array hankel(const ArrayLike& c, const ArrayLike& r);  // or the last row r (without r[0])
Array hilbert(std::int64_t n, DType dtype = default_float(),
              const Location& at = Location::current());  // 1 / (i + j + 1)
Array hadamard(std::int64_t n, DType dtype = default_float(),
               const Location& at = Location::current());  // 1 and -1, orthogonal; n is a power of 2
Array companion(const ArrayLike& a);                       // of a polynomial, highest power first
Array fiedler_companion(const ArrayLike& a);               // another one, with five diagonals
Array fiedler(const ArrayLike& a);                         // |a[i] - a[j]|
Array leslie(const ArrayLike& f, const ArrayLike& s);      // birth rates in the first row, survival rates below it
// matmul(convolution_matrix(a, n), v) is convolve(a, v, mode), of vectors v of n elements.
Array convolution_matrix(const ArrayLike& a, std::int64_t n, const std::string& mode = "full");
Array helmert(std::int64_t n, bool full = false, DType dtype = default_float(),
              const Location& at = Location::current());  // orthonormal rows; full: with the constant one
Array invhilbert(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
// Numbers of Pascal's triangle: kind is "symmetric", "lower" or "upper"; and the inverse.
Array pascal(std::int64_t n, const std::string& kind = "symmetric", DType dtype = default_float(),
             const Location& at = Location::current());
Array invpascal(std::int64_t n, const std::string& kind = "symmetric", DType dtype = default_float(),
                const Location& at = Location::current());

// ---- numbers of a matrix
Array det(const ArrayLike& x);  // gradients and second derivatives are right for singular matrices as well
std::pair<Array, Array> slogdet(const ArrayLike& x);                     // sign, log |det|
Array matrix_rank(const ArrayLike& x, std::optional<double> rtol = {});  // i32
// "fro", "nuc", or a number: of a vector any, of a matrix 1, -1, 2, -2 and the infinities. Without: the root of the sum
// of squares of all entries.
class NormOrder {
 public:
  NormOrder() = default;
  template <Number T>
  NormOrder(T ord) : number_(static_cast<double>(ord)) {}
  NormOrder(const char* name) : name_(name) {}
  const std::optional<double>& number() const { return number_; }
  const std::string& name() const { return name_; }

 private:
  std::optional<double> number_;
  std::string name_;
};
Array norm(const ArrayLike& x, const NormOrder& ord = {}, const Axes& axis = {}, bool keepdims = false);
Array cond(const ArrayLike& x, const NormOrder& ord = {});  // without ord: largest over smallest singular value

// ---- products
Array matrix_power(const ArrayLike& x, std::int64_t n);  // n < 0: of the inverse
Array multi_dot(const ArrayList& xs);                    // in the cheapest order
Array expm(const ArrayLike& x);                          // the exponential of a matrix
// The principal square root: of matrices without eigenvalues on the negative half line (and 0), in the reals.
Array sqrtm(const ArrayLike& x);
// u p = x with p symmetric; u has orthonormal columns (or rows). side "left": p u = x. Of matrices of full rank; others
// give nan.
std::pair<Array, Array> polar(const ArrayLike& x, std::string_view side = "right");
std::pair<Array, Array> expm_frechet(const ArrayLike& a, const ArrayLike& e);  // expm(a), and its derivative along e
// a x + x b = q: one system of as many unknowns as x has, so for small matrices.
Array solve_sylvester(const ArrayLike& a, const ArrayLike& b, const ArrayLike& q);
// Of a symmetric matrix with diagonal d and e beside it, as eigh gives them.
std::pair<Array, Array> eigh_tridiagonal(const ArrayLike& d, const ArrayLike& e);
Array eigvalsh_tridiagonal(const ArrayLike& d, const ArrayLike& e);
// c q, or q c with mode "left", and r, of the factors of a.
std::pair<Array, Array> qr_multiply(const ArrayLike& a, const ArrayLike& c, std::string_view mode = "right");

}  // namespace linalg
}  // namespace anew
