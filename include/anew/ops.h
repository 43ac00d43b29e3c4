// The functions of arrays: NumPy's names and rules. Operands broadcast and promote; a C++ number takes the dtype of its
// partner; reductions take (x, axis, keepdims) with axis one int, a list, or {} for all. One function per name, so that
// `anew::sin` can be passed as a value. `lax` has the operations that NumPy does not name.
#pragma once
#include <anew/array.h>

#include <limits>

namespace anew {

// ---- making arrays
Array zeros(const Shape& shape, DType dtype = default_float(), const Location& at = Location::current());
Array ones(const Shape& shape, DType dtype = default_float(), const Location& at = Location::current());
Array full(const Shape& shape, const ArrayLike& v, std::optional<DType> dtype = {});
Array zeros_like(const ArrayLike& x, std::optional<DType> dtype = {});
Array ones_like(const ArrayLike& x, std::optional<DType> dtype = {});
Array full_like(const ArrayLike& x, const ArrayLike& v, std::optional<DType> dtype = {});
Array eye(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
Array eye(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, DType dtype = default_float(),
          const Location& at = Location::current());
Array identity(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
// arange(3) is [0, 1, 2]; arange(1.0, 2.0, 0.5) is [1, 1.5]. Bounds are numbers or concrete scalars.
Array arange(const ArrayLike& stop, std::optional<DType> dtype = {});
Array arange(const ArrayLike& start, const ArrayLike& stop, const ArrayLike& step = 1, std::optional<DType> dtype = {});
Array linspace(double start, double stop, std::int64_t n, DType dtype = default_float(), bool endpoint = true,
               const Location& at = Location::current());
Array tri(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t k = 0,
          DType dtype = default_float(), const Location& at = Location::current());

// ---- elementwise, one operand
Array negative(const ArrayLike& x);
Array sin(const ArrayLike& x);
Array cos(const ArrayLike& x);
Array tan(const ArrayLike& x);
Array asin(const ArrayLike& x);
Array acos(const ArrayLike& x);
Array atan(const ArrayLike& x);
Array arcsin(const ArrayLike& x);
Array arccos(const ArrayLike& x);
Array arctan(const ArrayLike& x);
Array sinh(const ArrayLike& x);
Array cosh(const ArrayLike& x);
Array tanh(const ArrayLike& x);
Array asinh(const ArrayLike& x);
Array acosh(const ArrayLike& x);
Array atanh(const ArrayLike& x);
Array exp(const ArrayLike& x);
Array exp2(const ArrayLike& x);
Array expm1(const ArrayLike& x);
Array log(const ArrayLike& x);
Array log2(const ArrayLike& x);
Array log10(const ArrayLike& x);
Array log1p(const ArrayLike& x);
Array sqrt(const ArrayLike& x);
Array rsqrt(const ArrayLike& x);  // 1 / sqrt(x)
Array cbrt(const ArrayLike& x);
Array square(const ArrayLike& x);
Array reciprocal(const ArrayLike& x);
Array erf(const ArrayLike& x);
Array erfc(const ArrayLike& x);
Array erf_inv(const ArrayLike& x);
Array lgamma(const ArrayLike& x);  // log |gamma(x)|
Array digamma(const ArrayLike& x);
Array abs(const ArrayLike& x);
Array sign(const ArrayLike& x);
Array floor(const ArrayLike& x);
Array ceil(const ArrayLike& x);
Array round(const ArrayLike& x);  // half to even: round(2.5) is 2
Array trunc(const ArrayLike& x);
Array degrees(const ArrayLike& x);
Array radians(const ArrayLike& x);
Array sinc(const ArrayLike& x);  // sin(pi x) / (pi x)
Array isfinite(const ArrayLike& x);
Array isinf(const ArrayLike& x);
Array isnan(const ArrayLike& x);
Array signbit(const ArrayLike& x);
Array logical_not(const ArrayLike& x);
Array bitwise_not(const ArrayLike& x);
Array invert(const ArrayLike& x);
Array nan_to_num(const ArrayLike& x, double nan = 0.0);  // infinities become the largest finite numbers
Array copy(const ArrayLike& x);                          // an array with memory of its own
Array stop_gradient(const ArrayLike& x);                 // x, a constant to every derivative
Array astype(const ArrayLike& x, DType dtype);

// ---- elementwise, two operands
Array add(const ArrayLike& a, const ArrayLike& b);
Array subtract(const ArrayLike& a, const ArrayLike& b);
Array multiply(const ArrayLike& a, const ArrayLike& b);
Array divide(const ArrayLike& a, const ArrayLike& b);  // of integers: a float
Array true_divide(const ArrayLike& a, const ArrayLike& b);
Array floor_divide(const ArrayLike& a, const ArrayLike& b);  // rounds down: -7, 2 gives -4
Array remainder(const ArrayLike& a, const ArrayLike& b);     // has the sign of b: -7, 2 gives 1
Array mod(const ArrayLike& a, const ArrayLike& b);
Array fmod(const ArrayLike& a, const ArrayLike& b);   // has the sign of a: -7, 2 gives -1
Array power(const ArrayLike& a, const ArrayLike& b);  // an integer number as exponent multiplies: power(x, 3) is x*x*x
Array pow(const ArrayLike& a, const ArrayLike& b);
Array maximum(const ArrayLike& a, const ArrayLike& b);  // derivatives share a tie
Array minimum(const ArrayLike& a, const ArrayLike& b);
Array fmax(const ArrayLike& a, const ArrayLike& b);  // ignores nan
Array fmin(const ArrayLike& a, const ArrayLike& b);
Array atan2(const ArrayLike& y, const ArrayLike& x);
Array arctan2(const ArrayLike& y, const ArrayLike& x);
Array hypot(const ArrayLike& a, const ArrayLike& b);
Array logaddexp(const ArrayLike& a, const ArrayLike& b);  // log(exp(a) + exp(b))
Array copysign(const ArrayLike& a, const ArrayLike& b);
Array nextafter(const ArrayLike& a, const ArrayLike& b);
Array heaviside(const ArrayLike& x, const ArrayLike& at_zero);
Array xlogy(const ArrayLike& x, const ArrayLike& y);  // x log(y), 0 where x is 0
Array xlog1py(const ArrayLike& x, const ArrayLike& y);
Array bitwise_and(const ArrayLike& a, const ArrayLike& b);
Array bitwise_or(const ArrayLike& a, const ArrayLike& b);
Array bitwise_xor(const ArrayLike& a, const ArrayLike& b);
Array left_shift(const ArrayLike& a, const ArrayLike& b);
Array right_shift(const ArrayLike& a, const ArrayLike& b);  // keeps the sign
Array logical_and(const ArrayLike& a, const ArrayLike& b);
Array logical_or(const ArrayLike& a, const ArrayLike& b);
Array logical_xor(const ArrayLike& a, const ArrayLike& b);
Array equal(const ArrayLike& a, const ArrayLike& b);
Array not_equal(const ArrayLike& a, const ArrayLike& b);
Array less(const ArrayLike& a, const ArrayLike& b);
Array less_equal(const ArrayLike& a, const ArrayLike& b);
Array greater(const ArrayLike& a, const ArrayLike& b);
Array greater_equal(const ArrayLike& a, const ArrayLike& b);

Array where(const ArrayLike& condition, const ArrayLike& x, const ArrayLike& y);
Array clip(const ArrayLike& x, const ArrayLike& lo, const ArrayLike& hi);

// ---- reductions
Array sum(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array mean(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array prod(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array max(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array min(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array all(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array any(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array argmax(const ArrayLike& x, std::optional<int> axis = {},
             bool keepdims = false);  // without axis: of the flat array
Array argmin(const ArrayLike& x, std::optional<int> axis = {}, bool keepdims = false);
Array var(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false, double ddof = 0);
Array std(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false, double ddof = 0);
Array logsumexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array count_nonzero(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array norm(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false,
           double ord = 2);  // of vectors; matrices: Frobenius
template <std::same_as<Array> T, std::same_as<Array> U>
Array max(const T&, const U&) = delete;  // of two arrays: write maximum(x, y)
template <std::same_as<Array> T, std::same_as<Array> U>
Array min(const T&, const U&) = delete;  // of two arrays: write minimum(x, y)

// ---- products
Array dot(const ArrayLike& a, const ArrayLike& b);
Array matmul(const ArrayLike& a, const ArrayLike& b);  // leading axes are a batch, and broadcast
Array vdot(const ArrayLike& a, const ArrayLike& b);
Array inner(const ArrayLike& a, const ArrayLike& b);
Array outer(const ArrayLike& a, const ArrayLike& b);
Array kron(const ArrayLike& a, const ArrayLike& b);
Array cross(const ArrayLike& a, const ArrayLike& b);  // of vectors of 3 along the last axis
Array tensordot(const ArrayLike& a, const ArrayLike& b, int axes = 2);
Array tensordot(const ArrayLike& a, const ArrayLike& b, const std::vector<int>& a_axes, const std::vector<int>& b_axes);
struct Subscripts {
  std::string_view text;
  Location at;
  Subscripts(const char* s, const Location& at = Location::current()) : text(s), at(at) {}
  Subscripts(const std::string& s, const Location& at = Location::current()) : text(s), at(at) {}
};
Array einsum_of(const Subscripts& subscripts, std::vector<Array> xs);
// einsum("bij,bjk->bik", x, y); repeated labels are diagonals, "..." the other axes; operands contract from the left.
template <class... A>
  requires(std::convertible_to<const A&, Array> && ...)
Array einsum(const Subscripts& subscripts, const A&... xs) {
  return einsum_of(subscripts, {Array(xs)...});
}
Array trace(const ArrayLike& x, std::int64_t offset = 0);  // of the first two axes

// ---- shapes
Array reshape(const ArrayLike& x, const Shape& shape);  // one size may be -1
Array ravel(const ArrayLike& x);
Array transpose(const ArrayLike& x, const Axes& axes = {});
Array swapaxes(const ArrayLike& x, int a, int b);
Array moveaxis(const ArrayLike& x, const Axes& source, const Axes& destination);
Array broadcast_to(const ArrayLike& x, const Shape& shape);
Array expand_dims(const ArrayLike& x, const Axes& axis);
Array squeeze(const ArrayLike& x, const Axes& axis = {});
Array concatenate(const ArrayList& xs, int axis = 0);
Array stack(const ArrayList& xs, int axis = 0);
std::vector<Array> split(const ArrayLike& x, std::int64_t n, int axis = 0);
std::vector<Array> split(const ArrayLike& x, const std::vector<std::int64_t>& positions, int axis = 0);
std::vector<Array> unstack(const ArrayLike& x, int axis = 0);
Array tile(const ArrayLike& x, const Shape& repeats);
Array repeat(const ArrayLike& x, std::int64_t repeats, std::optional<int> axis = {});
Array flip(const ArrayLike& x, const Axes& axis = {});
Array roll(const ArrayLike& x, std::int64_t shift, std::optional<int> axis = {});
Array roll(const ArrayLike& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);
Array pad(const ArrayLike& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
          const ArrayLike& value = 0);
Array pad(const ArrayLike& x, std::int64_t width, const ArrayLike& value = 0);  // on both sides of every axis
Array triu(const ArrayLike& x, std::int64_t k = 0);
Array tril(const ArrayLike& x, std::int64_t k = 0);
Array diag(const ArrayLike& x, std::int64_t k = 0);      // of a vector: the matrix; of a matrix: the diagonal
Array diagonal(const ArrayLike& x, std::int64_t k = 0);  // of the first two axes, put last
Array diff(const ArrayLike& x, int n = 1, int axis = -1);

// ---- looking at values: of concrete arrays only
bool allclose(const ArrayLike& a, const ArrayLike& b, double rtol = 1e-5, double atol = 1e-8);
bool array_equal(const ArrayLike& a, const ArrayLike& b);

namespace lax {

Array convert_element_type(const ArrayLike& x, DType dtype);
Array integer_pow(const ArrayLike& x, int y);
Array rem(const ArrayLike& a, const ArrayLike& b);  // has the sign of a
Array div(const ArrayLike& a, const ArrayLike& b);  // of integers: truncated
Array population_count(const ArrayLike& x);
enum class Rounding { to_nearest_even, away_from_zero };  // what becomes of halves
Array round(const ArrayLike& x, Rounding rounding);
Array shift_right_logical(const ArrayLike& a, const ArrayLike& b);
Array select_n(const ArrayLike& which, const ArrayList& cases);  // which: bool, or integers for more than two cases
Array clamp(const ArrayLike& lo, const ArrayLike& x, const ArrayLike& hi);

// Output axis dimensions[i] is axis i of x; the other axes are new.
Array broadcast_in_dim(const ArrayLike& x, const Shape& shape, const std::vector<int>& dimensions);
Array slice(const ArrayLike& x, const Shape& start, const Shape& limit, const OptionalShape& strides = {});
// Per axis (before, after, between); negative numbers before and after remove elements.
using Padding = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
Array pad(const ArrayLike& x, const ArrayLike& value, const std::vector<Padding>& config);
Array rev(const ArrayLike& x, const std::vector<int>& dimensions);
Array iota(const Shape& shape, int dimension, DType dtype = i32, const Location& at = Location::current());

struct DotDimensions {
  std::vector<int> lhs_contracting = {}, rhs_contracting = {}, lhs_batch = {}, rhs_batch = {};
};
// The result's axes: batch, then what is left of a, then of b.
Array dot_general(const ArrayLike& a, const ArrayLike& b, const DotDimensions& dimensions,
                  std::optional<DType> preferred_element_type = {});

}  // namespace lax
}  // namespace anew
