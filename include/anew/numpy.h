// More of NumPy's functions, with its names and rules: shapes and indices, sets, histograms, averages, what ignores
// nan, windows of signals. The common ones are in <anew/ops.h> and <anew/indexing.h>.
#pragma once
#include <anew/indexing.h>
#include <anew/linalg.h>

namespace anew {

// ---- other names of functions of <anew/ops.h>
Array absolute(const ArrayLike& x);
Array fabs(const ArrayLike& x);  // abs of floats: of integers too a float
Array arcsinh(const ArrayLike& x);
Array arccosh(const ArrayLike& x);
Array arctanh(const ArrayLike& x);
Array deg2rad(const ArrayLike& x);
Array rad2deg(const ArrayLike& x);
Array rint(const ArrayLike& x);
Array bitwise_invert(const ArrayLike& x);
Array bitwise_count(const ArrayLike& x);  // bits that are set; of a negative number those of its absolute value
Array bitwise_left_shift(const ArrayLike& a, const ArrayLike& b);
Array bitwise_right_shift(const ArrayLike& a, const ArrayLike& b);
Array amax(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array amin(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array concat(const ArrayList& xs, int axis = 0);
Array matrix_transpose(const ArrayLike& x);          // of the last two axes
Array around(const ArrayLike& x, int decimals = 0);  // half to even
Array permute_dims(const ArrayLike& x, const Axes& axes);
// Along the only axis where none is given. include_initial: with a 0 (or 1) in front.
Array cumulative_sum(const ArrayLike& x, std::optional<int> axis = {}, bool include_initial = false);
Array cumulative_prod(const ArrayLike& x, std::optional<int> axis = {}, bool include_initial = false);

// ---- elementwise
Array isposinf(const ArrayLike& x);
Array isneginf(const ArrayLike& x);
Array i0(const ArrayLike& x);                                // the modified Bessel function of order 0
Array float_power(const ArrayLike& a, const ArrayLike& b);   // power of floats
Array logaddexp2(const ArrayLike& a, const ArrayLike& b);    // log2(2^a + 2^b)
Array ldexp(const ArrayLike& x, const ArrayLike& exponent);  // x 2^exponent
Array gcd(const ArrayLike& a, const ArrayLike& b);           // of integers; never negative
Array lcm(const ArrayLike& a, const ArrayLike& b);
std::pair<Array, Array> divmod(const ArrayLike& a, const ArrayLike& b);  // floor_divide and remainder
std::pair<Array, Array> modf(const ArrayLike& x);                        // fraction and whole part, both with the sign
std::pair<Array, Array> frexp(const ArrayLike& x);                       // m, e with x = m 2^e, 0.5 <= |m| < 1
// |a - b| <= atol + rtol |b|
Array isclose(const ArrayLike& a, const ArrayLike& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
// The first choice whose condition holds, else `otherwise`.
Array select(const ArrayList& conditions, const ArrayList& choices, const ArrayLike& otherwise = 0);
// The value beside the last condition that holds; one more value is for where none does (else 0).
Array piecewise(const ArrayLike& x, const ArrayList& conditions,
                const std::vector<std::function<Array(Array)>>& values);

// ---- shapes
Array atleast_1d(const ArrayLike& x);
Array atleast_2d(const ArrayLike& x);
Array atleast_3d(const ArrayLike& x);
Array vstack(const ArrayList& xs);
Array hstack(const ArrayList& xs);
Array dstack(const ArrayList& xs);
Array column_stack(const ArrayList& xs);
std::vector<Array> array_split(const ArrayLike& x, std::int64_t n, int axis = 0);  // sizes may differ by one
std::vector<Array> vsplit(const ArrayLike& x, std::int64_t n);
std::vector<Array> hsplit(const ArrayLike& x, std::int64_t n);
std::vector<Array> dsplit(const ArrayLike& x, std::int64_t n);
std::vector<Array> broadcast_arrays(const ArrayList& xs);
Shape broadcast_shapes(const std::vector<Shape>& shapes, const Location& at = Location::current());
struct MeshgridOptions {
  bool sparse = false;          // axes of size 1 instead of repeated values
  std::string indexing = "xy";  // the first array runs along axis 1; "ij": along axis 0
};
std::vector<Array> meshgrid(const ArrayList& xs, const MeshgridOptions& options = {});
std::vector<Array> ix_(const ArrayList& xs);  // arrays that choose the grid of these indices
Array flipud(const ArrayLike& x);
Array fliplr(const ArrayLike& x);
Array rot90(const ArrayLike& x, int k = 1, const Axes& axes = {0, 1});
Array rollaxis(const ArrayLike& x, int axis, int start = 0);
Array empty_like(const ArrayLike& x, std::optional<DType> dtype = {});
Array diagflat(const ArrayLike& x, std::int64_t k = 0);
Array fill_diagonal(const ArrayLike& x, const ArrayLike& value);  // x with this on its main diagonal
Array vander(const ArrayLike& x, std::optional<std::int64_t> n = {}, bool increasing = false);
// A concrete array without the zeros at its front and back, along these axes.
Array trim_zeros(const ArrayLike& x, std::string_view trim = "fb", const Axes& axis = {});
Array apply_along_axis(const std::function<Array(Array)>& f, int axis, const ArrayLike& x);  // f of every line
Array apply_over_axes(const std::function<Array(Array, int)>& f, const ArrayLike& x, const std::vector<int>& axes);
Array fromfunction(const std::function<Array(std::vector<Array>)>& f, const Shape& shape, DType dtype = default_float(),
                   const Location& at = Location::current());  // f of the coordinates of all elements

// ---- products along the last axis, of vectors and matrices behind batches that broadcast
Array vecdot(const ArrayLike& a, const ArrayLike& b);
Array matvec(const ArrayLike& a, const ArrayLike& v);
Array vecmat(const ArrayLike& v, const ArrayLike& a);

// ---- indices
std::vector<Array> diag_indices(std::int64_t n, int ndim = 2, const Location& at = Location::current());
std::vector<Array> diag_indices_from(const ArrayLike& x);
std::pair<Array, Array> tril_indices(std::int64_t rows, std::int64_t k = 0, std::optional<std::int64_t> columns = {},
                                     const Location& at = Location::current());
std::pair<Array, Array> triu_indices(std::int64_t rows, std::int64_t k = 0, std::optional<std::int64_t> columns = {},
                                     const Location& at = Location::current());
std::pair<Array, Array> tril_indices_from(const ArrayLike& x, std::int64_t k = 0);
std::pair<Array, Array> triu_indices_from(const ArrayLike& x, std::int64_t k = 0);
// Where a function such as triu leaves ones, of n rows and columns.
std::pair<Array, Array> mask_indices(std::int64_t n, const std::function<Array(Array, std::int64_t)>& mask,
                                     std::int64_t k = 0, const Location& at = Location::current());
std::vector<Array> unravel_index(const ArrayLike& index, const Shape& shape);
// mode: "clip" or "wrap" what is outside.
Array ravel_multi_index(const ArrayList& index, const Shape& shape, std::string_view mode = "clip");

// ---- shapes that depend on values: with `size` the result has that many, cut or filled up; without one, the arrays
// must be concrete.
struct SizeOptions {
  std::optional<std::int64_t> size = {};
  Array fill_value = {};  // absent: 0, of sets the least element
};
std::vector<Array> nonzero(const ArrayLike& x, const SizeOptions& options = {});  // one array of indices per axis
Array flatnonzero(const ArrayLike& x, const SizeOptions& options = {});
Array argwhere(const ArrayLike& x, const SizeOptions& options = {});  // a row of indices per element
// Elements, or slices along an axis, where the condition holds.
Array compress(const ArrayLike& condition, const ArrayLike& x, std::optional<int> axis = {},
               const SizeOptions& options = {});
Array extract(const ArrayLike& condition, const ArrayLike& x, const SizeOptions& options = {});
struct UniqueOptions {
  std::optional<std::int64_t> size = {};
  Array fill_value = {};         // absent: the least element
  std::optional<int> axis = {};  // of slices along it; absent: of the flat array
};
struct UniqueResult {
  Array values, indices, inverse_indices, counts;  // indices: of the first of equal ones
};
Array unique(const ArrayLike& x, const UniqueOptions& options = {});  // sorted; nan equals nan
UniqueResult unique_all(const ArrayLike& x, const UniqueOptions& options = {});
std::pair<Array, Array> unique_counts(const ArrayLike& x, const UniqueOptions& options = {});
std::pair<Array, Array> unique_inverse(const ArrayLike& x, const UniqueOptions& options = {});
Array unique_values(const ArrayLike& x, const UniqueOptions& options = {});
Array isin(const ArrayLike& x, const ArrayLike& elements, bool invert = false);
Array union1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options = {});
Array intersect1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options = {});
Array setdiff1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options = {});
Array setxor1d(const ArrayLike& a, const ArrayLike& b, const SizeOptions& options = {});

// ---- sorting
Array partition(const ArrayLike& x, std::int64_t k, int axis = -1);  // element k in its place, less before it
Array argpartition(const ArrayLike& x, std::int64_t k, int axis = -1);
Array lexsort(const ArrayList& keys, int axis = -1);       // the order that sorts by the last key, then those before it
bool array_equiv(const ArrayLike& a, const ArrayLike& b);  // equal once broadcast

// ---- counting
struct BincountOptions {
  Array weights = {};
  std::optional<std::int64_t> length = {};  // fixed; absent: up to the largest, of concrete arrays
  std::int64_t minlength = 0;
};
Array bincount(const ArrayLike& x, const BincountOptions& options = {});
Array digitize(const ArrayLike& x, const ArrayLike& bins, bool right = false);  // in which bin; bins up or down
// A number of bins of equal width, or their edges.
class Bins {
 public:
  template <std::integral T>
  Bins(T n) : count(detail::saturated<std::int64_t>(n)) {}
  Bins(const Array& edges) : edges(edges) {}
  std::int64_t count = 0;
  Array edges;
};
struct HistogramOptions {
  std::optional<std::pair<double, double>> range = {};  // absent: from the least to the largest
  Array weights = {};
  bool density = false;
};
Array histogram_bin_edges(const ArrayLike& x, const Bins& bins = 10, const HistogramOptions& options = {});
std::pair<Array, Array> histogram(const ArrayLike& x, const Bins& bins = 10, const HistogramOptions& options = {});
struct Histogram {
  Array counts;
  std::vector<Array> edges;
};
Histogram histogram2d(const ArrayLike& x, const ArrayLike& y, const Bins& bins = 10,
                      const HistogramOptions& options = {});
Histogram histogramdd(const ArrayLike& sample, const Bins& bins = 10, const HistogramOptions& options = {});

// ---- reductions of some elements: those where `where` holds (it broadcasts to x), joined to `initial`
struct ReduceOptions {
  Array where = {};
  Array initial = {};  // of sum, prod, max, min; max and min need one where there may be no elements
};
Array sum(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array prod(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array max(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array min(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array all(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array any(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array mean(const ArrayLike& x, const Axes& axis, bool keepdims, const ReduceOptions& options);
Array var(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof, const ReduceOptions& options);
Array std(const ArrayLike& x, const Axes& axis, bool keepdims, double ddof, const ReduceOptions& options);

// ---- averages
Array average(const ArrayLike& x, const Axes& axis = {}, const ArrayLike& weights = Array(), bool keepdims = false);
Array ptp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);  // largest minus least
// q in [0, 100]; its axes come first. method: as of quantile.
Array percentile(const ArrayLike& x, const ArrayLike& q, const Axes& axis = {}, bool keepdims = false,
                 std::string_view method = "linear");
struct CovOptions {
  bool rowvar = true;  // a row is a variable, a column an observation
  double ddof = 1;
  Array fweights = {}, aweights = {};
};
Array cov(const ArrayLike& x, const CovOptions& options = {});
Array corrcoef(const ArrayLike& x, bool rowvar = true);

// ---- what ignores nan
Array nansum(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanprod(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanmax(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanmin(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanmean(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanvar(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false, double ddof = 0);
Array nanstd(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false, double ddof = 0);
Array nanmedian(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array nanquantile(const ArrayLike& x, const ArrayLike& q, const Axes& axis = {}, bool keepdims = false,
                  std::string_view method = "linear");
Array nanpercentile(const ArrayLike& x, const ArrayLike& q, const Axes& axis = {}, bool keepdims = false,
                    std::string_view method = "linear");
Array nancumsum(const ArrayLike& x, std::optional<int> axis = {});
Array nancumprod(const ArrayLike& x, std::optional<int> axis = {});
Array nanargmax(const ArrayLike& x, std::optional<int> axis = {}, bool keepdims = false);  // -1 where all are nan
Array nanargmin(const ArrayLike& x, std::optional<int> axis = {}, bool keepdims = false);

// ---- functions given by points
struct InterpOptions {
  Array left = {}, right = {};  // outside; absent: the values at the ends
  std::optional<double> period = {};
};
Array interp(const ArrayLike& x, const ArrayLike& xp, const ArrayLike& fp, const InterpOptions& options = {});
Array trapezoid(const ArrayLike& y, const ArrayLike& x = Array(), double dx = 1, int axis = -1);
Array ediff1d(const ArrayLike& x, const ArrayLike& to_end = Array(), const ArrayLike& to_begin = Array());
Array unwrap(const ArrayLike& x, int axis = -1, double period = 6.283185307179586);
Array logspace(double start, double stop, std::int64_t n, double base = 10, DType dtype = default_float(),
               bool endpoint = true, const Location& at = Location::current());
Array geomspace(double start, double stop, std::int64_t n, DType dtype = default_float(), bool endpoint = true,
                const Location& at = Location::current());

// ---- windows of signals, of n points
Array bartlett(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
Array blackman(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
Array hamming(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
Array hanning(std::int64_t n, DType dtype = default_float(), const Location& at = Location::current());
Array kaiser(std::int64_t n, double beta, DType dtype = default_float(), const Location& at = Location::current());

// ---- bits in bytes: u8, along an axis or of the flat array; bitorder "big": the first bit is the highest
Array packbits(const ArrayLike& x, std::optional<int> axis = {}, std::string_view bitorder = "big");
Array unpackbits(const ArrayLike& x, std::optional<int> axis = {}, std::optional<std::int64_t> count = {},
                 std::string_view bitorder = "big");

DType promote_types(DType a, DType b);  // the type of a result of both

namespace linalg {

Array vector_norm(const ArrayLike& x, double ord = 2, const Axes& axis = {}, bool keepdims = false);  // of all, flat
Array matrix_norm(const ArrayLike& x, const NormOrder& ord = "fro", bool keepdims = false);  // of the last two axes
Array vecdot(const ArrayLike& a, const ArrayLike& b);
Array matrix_transpose(const ArrayLike& x);
// The inverse for tensordot: the first `ind` axes are the rows of a matrix, the others its columns.
Array tensorinv(const ArrayLike& x, int ind = 2);
Array tensorsolve(const ArrayLike& a, const ArrayLike& b);  // x with tensordot(a, x, x.ndim()) = b

}  // namespace linalg
// What users call functions of their own, and hand to transformations: `checkpoint(block)` must stay theirs.
namespace numpy {
inline constexpr double pi = 3.141592653589793238462643383279502884;
inline constexpr double e = 2.718281828459045235360287471352662498;
inline constexpr double euler_gamma = 0.577215664901532860606512090082402431;
inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using anew::newaxis;
Array block(const ArrayList& row);  // beside each other along the last axis
Array block(const std::vector<std::vector<Array>>& rows, const Location& at = Location::current());
// Differences in the middle of neighbours, one-sided at the ends; along an axis, or along all of them.
Array gradient(const ArrayLike& x, double spacing, int axis);
Array gradient(const ArrayLike& x, const Array& coordinates, int axis);
std::vector<Array> gradient(const ArrayLike& x, double spacing = 1);
// Of the flat arrays where no axis is given.
Array append(const ArrayLike& x, const ArrayLike& values, std::optional<int> axis = {});
Array insert(const ArrayLike& x, const ArrayLike& index, const ArrayLike& values, std::optional<int> axis = {});
Array delete_(const ArrayLike& x, const ArrayLike& index, std::optional<int> axis = {});  // a concrete index, or mask
// x with these values at places of the flat array; one outside is left out, or with "clip" or "wrap" moved inside.
Array put(const ArrayLike& x, const ArrayLike& index, const ArrayLike& values, std::string_view mode = "drop");
Array place(const ArrayLike& x, const ArrayLike& mask, const ArrayLike& values);  // one after the other, where it holds
// Elements of the choice that each index names; one outside names the first or the last, with "wrap" modulo their
// count.
Array choose(const ArrayLike& index, const ArrayList& choices, std::string_view mode = "clip");
Array resize(const ArrayLike& x, const Shape& shape);  // its elements over and over
Array indices(const Shape& shape, DType dtype = default_int(), const Location& at = Location::current());
Array empty(const Shape& shape, DType dtype = default_float(), const Location& at = Location::current());  // zeros
Array positive(const ArrayLike& x);
Array spacing(const ArrayLike& x);  // from |x| to the next number
DType result_type(const ArrayList& xs);
// Polynomials by coefficients, the highest power first.
Array poly(const ArrayLike& roots);
Array polyval(const ArrayLike& p, const ArrayLike& x);
Array polyadd(const ArrayLike& a, const ArrayLike& b);
Array polysub(const ArrayLike& a, const ArrayLike& b);
Array polymul(const ArrayLike& a, const ArrayLike& b);
std::pair<Array, Array> polydiv(const ArrayLike& a, const ArrayLike& b);  // quotient and remainder
Array polyder(const ArrayLike& p, std::int64_t m = 1);
Array polyint(const ArrayLike& p, std::int64_t m = 1, const ArrayLike& k = 0);  // k: constants, one per integral
struct PolyfitOptions {
  std::optional<double> rcond = {};
  Array w = {};  // of each point; as NumPy has it, beside the residual before it is squared
};
Array polyfit(const ArrayLike& x, const ArrayLike& y, std::int64_t degree, const PolyfitOptions& options = {});
}  // namespace numpy

}  // namespace anew
