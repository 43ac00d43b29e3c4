// Linear algebra of matrices: NumPy's names. The last two axes are the matrix, leading axes are a batch. Integers
// become floats; bf16 and f16 are computed in f32. What has no answer is nan or inf, never an error: the factor of a
// matrix that is not positive definite, the inverse of a singular one.
#pragma once
#include <anew/array.h>

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

// ---- solving. b is a vector where it has one axis, else a matrix.
Array solve(const ArrayLike& a, const ArrayLike& b);
Array inv(const ArrayLike& x);
// Singular values up to rtol times the largest count as 0; without: 10 * max(rows, columns) * epsilon.
Array pinv(const ArrayLike& x, std::optional<double> rtol = {});
Array lstsq(const ArrayLike& a, const ArrayLike& b, std::optional<double> rtol = {});  // of least norm

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

}  // namespace linalg
}  // namespace anew
