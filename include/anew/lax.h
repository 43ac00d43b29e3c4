// More of jax.lax: names of single operations, slices along one axis, bits, reductions with a user's operator.
#pragma once
#include <anew/indexing.h>

namespace anew::lax {

// ---- other names
Array eq(const ArrayLike& a, const ArrayLike& b);
Array ne(const ArrayLike& a, const ArrayLike& b);
Array ge(const ArrayLike& a, const ArrayLike& b);
Array gt(const ArrayLike& a, const ArrayLike& b);
Array le(const ArrayLike& a, const ArrayLike& b);
Array lt(const ArrayLike& a, const ArrayLike& b);
Array neg(const ArrayLike& x);
Array sub(const ArrayLike& a, const ArrayLike& b);
Array mul(const ArrayLike& a, const ArrayLike& b);
Array is_finite(const ArrayLike& x);
Array shift_left(const ArrayLike& a, const ArrayLike& b);
Array shift_right_arithmetic(const ArrayLike& a, const ArrayLike& b);
Array select(const ArrayLike& condition, const ArrayLike& x, const ArrayLike& y);
Array batch_matmul(const ArrayLike& a, const ArrayLike& b);
// Rows of a (m, k), group after group, times the matrix of their group in b (groups, k, n); rows behind them give
// zeros.
Array ragged_dot(const ArrayLike& a, const ArrayLike& b, const ArrayLike& group_sizes);
Array reduce_max(const ArrayLike& x, const Axes& axes);
Array reduce_min(const ArrayLike& x, const Axes& axes);
Array reduce_sum(const ArrayLike& x, const Axes& axes);
Array reduce_prod(const ArrayLike& x, const Axes& axes);
Array reduce_and(const ArrayLike& x, const Axes& axes);  // of bools
Array reduce_or(const ArrayLike& x, const Axes& axes);
std::pair<Array, Array> approx_max_k(const ArrayLike& x, std::int64_t k, int axis = -1);  // exact: top_k
std::pair<Array, Array> approx_min_k(const ArrayLike& x, std::int64_t k, int axis = -1);

// ---- bits
Array clz(const ArrayLike& x);                        // zeros in front of the first bit that is set
Array mulhi(const ArrayLike& a, const ArrayLike& b);  // the upper half of the product of integers of 32 bits or less
Array bitcast_convert_type(const ArrayLike& x, DType dtype);  // the same bits as another type of this size
// Rounded to a float with so many bits of exponent and fraction; it keeps its type.
Array reduce_precision(const ArrayLike& x, int exponent_bits, int mantissa_bits);

// ---- special functions: see <anew/special.h>
Array igamma(const ArrayLike& a, const ArrayLike& x);
Array igammac(const ArrayLike& a, const ArrayLike& x);
Array igamma_grad_a(const ArrayLike& a, const ArrayLike& x);
Array random_gamma_grad(const ArrayLike& a, const ArrayLike& x);  // of a draw of random::gamma by its a
Array betainc(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x);
Array zeta(const ArrayLike& x, const ArrayLike& q);
Array bessel_i0e(const ArrayLike& x);
Array bessel_i1e(const ArrayLike& x);

// ---- shapes
Array broadcasted_iota(DType dtype, const Shape& shape, int dimension, const Location& at = Location::current());
Array broadcast_to_rank(const ArrayLike& x, int ndim);                        // axes of size 1 in front
Array collapse(const ArrayLike& x, int start, std::optional<int> stop = {});  // axes start to stop - 1 joined into one
Array slice_in_dim(const ArrayLike& x, std::optional<std::int64_t> start, std::optional<std::int64_t> limit,
                   std::int64_t stride = 1, int axis = 0);  // negative ones count from the end
Array index_in_dim(const ArrayLike& x, std::int64_t index, int axis = 0, bool keepdims = true);
Array index_take(const ArrayLike& x, const ArrayList& index, const std::vector<int>& axes);  // at these places
std::pair<Array, Array> sort_key_val(const ArrayLike& keys, const ArrayLike& values, int dimension = -1);
Array scatter_sub(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options = {});

// ---- reductions by an operator of the user's, an associative function of two arrays that works element by element,
// with its neutral element
using Operator = std::function<Array(Array, Array)>;
Array reduce(const ArrayLike& x, const ArrayLike& init, const Operator& f, const Axes& axes);
Array reduce_window(const ArrayLike& x, const ArrayLike& init, const Operator& f, const Shape& window,
                    const Shape& strides, const ConvPadding& padding, const WindowOptions& options = {});
Array reduce_xor(const ArrayLike& x, const Axes& axes);  // of integers

}  // namespace anew::lax
