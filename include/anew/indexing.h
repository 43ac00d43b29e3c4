// Reading and writing at computed places, sorting, running sums and windows, with the names of NumPy and JAX.
// Index arrays are integers of any shape; a negative index counts from the end, once. What is out of bounds is clamped
// when read by x[i] and dropped when written by x.at(i); `mode` says otherwise.
#pragma once
#include <anew/convolution.h>
#include <anew/ops.h>

#include <string>

namespace anew {

// ---- reading and writing at computed places
// Elements along an axis (of the flat array without one). mode: "fill" (nan; the least integer), "clip", "wrap".
Array take(const ArrayLike& x, const ArrayLike& indices, std::optional<int> axis = {}, std::string_view mode = "fill");
// out[i][j] = x[indices[i][j]][j] for axis 0; the other axes broadcast.
Array take_along_axis(const ArrayLike& x, const ArrayLike& indices, std::optional<int> axis,
                      std::string_view mode = "fill");
// x with values written where take_along_axis reads.
Array put_along_axis(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& values, std::optional<int> axis);

// Where a slice starts: an integer per axis, {i, 0}, or one array of them.
class Starts {
 public:
  Starts(std::initializer_list<Array> list) : list(list) {}
  Starts(std::vector<Array> list) : list(std::move(list)) {}
  template <class T>
    requires std::convertible_to<const T&, Array>
  Starts(const T& x) : whole(Array(x)) {}
  std::vector<Array> list;
  Array whole;  // where the starts came as one array
};
// A start that does not leave room for the slice is moved until it does.
Array dynamic_slice(const ArrayLike& x, const Starts& start, const Shape& sizes);
Array dynamic_update_slice(const ArrayLike& x, const ArrayLike& update, const Starts& start);

// out[k] = sum of data[i] with ids[i] = k, in order of i; ids outside of [0, segments) are left out.
Array segment_sum(const ArrayLike& data, const ArrayLike& ids, std::int64_t segments);
Array segment_prod(const ArrayLike& data, const ArrayLike& ids, std::int64_t segments);
Array segment_max(const ArrayLike& data, const ArrayLike& ids, std::int64_t segments);  // -inf where there is none
Array segment_min(const ArrayLike& data, const ArrayLike& ids, std::int64_t segments);

// A count per element along the axis.
Array repeat(const ArrayLike& x, const std::vector<std::int64_t>& counts, std::optional<int> axis = {});
// Counts that may be traced; the result is cut to `total`, or goes on with the last element.
Array repeat(const ArrayLike& x, const ArrayLike& counts, std::optional<int> axis, std::int64_t total);

// "edge", "reflect", "symmetric", "wrap"; pad with a value is "constant".
struct PadMode {
  template <std::size_t n>
  PadMode(const char (&text)[n]) : text(text) {}
  PadMode(const std::string& text) : text(text) {}
  std::string text;
};
Array pad(const ArrayLike& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const PadMode& mode);
Array pad(const ArrayLike& x, std::int64_t width, const PadMode& mode);

// ---- sorting: stable, nan last
Array sort(const ArrayLike& x, int axis = -1, bool descending = false);
Array argsort(const ArrayLike& x, int axis = -1, bool descending = false);
// The k largest along an axis, largest first, and where they are; of equal ones the first.
std::pair<Array, Array> top_k(const ArrayLike& x, std::int64_t k, int axis = -1);
// Where v would go in a, which is sorted: before ("left") or after ("right") what equals it.
Array searchsorted(const ArrayLike& a, const ArrayLike& v, std::string_view side = "left");
Array median(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
// q in [0, 1]; its axes come first. method: "linear", "lower", "higher", "midpoint", "nearest".
Array quantile(const ArrayLike& x, const ArrayLike& q, const Axes& axis = {}, bool keepdims = false,
               std::string_view method = "linear");

// ---- running: element i joins all up to i (from i on with `reverse`); without axis of the flat array
Array cumsum(const ArrayLike& x, std::optional<int> axis = {}, bool reverse = false);
Array cumprod(const ArrayLike& x, std::optional<int> axis = {}, bool reverse = false);
Array cummax(const ArrayLike& x, std::optional<int> axis = {}, bool reverse = false);
Array cummin(const ArrayLike& x, std::optional<int> axis = {}, bool reverse = false);
Array cumlogsumexp(const ArrayLike& x, std::optional<int> axis = {}, bool reverse = false);
// h[i] = a[i] h[i-1] + b[i] along an axis, from h[-1] = 0.
Array linear_recurrence(const ArrayLike& a, const ArrayLike& b, int axis = 0, bool reverse = false);

namespace lax {

using anew::cumlogsumexp;
using anew::cummax;
using anew::cummin;
using anew::cumprod;
using anew::cumsum;
using anew::dynamic_slice;
using anew::dynamic_update_slice;
using anew::top_k;

// A slice that is not inside: moved until it is, or read as the fill value and not written. promise_in_bounds is clip.
enum class IndexMode { clip, fill_or_drop, promise_in_bounds };

// The last axis of the indices holds where a slice starts along axes start_index_map of x. Axes offset_dims of the
// result run over the slice, but for its axes of size 1 in collapsed_slice_dims; the others run over the indices. Pairs
// of batching dims run together.
struct GatherDimensions {
  std::vector<int> offset_dims = {}, collapsed_slice_dims = {}, start_index_map = {};
  std::vector<int> operand_batching_dims = {}, start_indices_batching_dims = {};
};
Array gather(const ArrayLike& x, const ArrayLike& indices, const GatherDimensions& dimensions, const Shape& slice_sizes,
             IndexMode mode = IndexMode::fill_or_drop, std::optional<double> fill_value = {});

// The same the other way round: axes update_window_dims of the updates run over a slice.
struct ScatterDimensions {
  std::vector<int> update_window_dims = {}, inserted_window_dims = {}, scatter_dims_to_operand_dims = {};
  std::vector<int> operand_batching_dims = {}, scatter_indices_batching_dims = {};
};
// `unique_indices` promises that no element is written twice: derivatives are cheaper then.
struct ScatterOptions {
  IndexMode mode = IndexMode::fill_or_drop;
  bool unique_indices = false;
};
// Updates are joined to x in the order of the indices, row-major, then of the slice; with `scatter` the last one stays.
Array scatter(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
              const ScatterDimensions& dimensions, const ScatterOptions& options = {});
Array scatter_add(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options = {});
Array scatter_mul(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options = {});
Array scatter_min(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options = {});
Array scatter_max(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options = {});

Array dynamic_slice_in_dim(const ArrayLike& x, const ArrayLike& start, std::int64_t size, int axis = 0);
Array dynamic_index_in_dim(const ArrayLike& x, const ArrayLike& index, int axis = 0, bool keepdims = true);
Array dynamic_update_slice_in_dim(const ArrayLike& x, const ArrayLike& update, const ArrayLike& start, int axis);
Array dynamic_update_index_in_dim(const ArrayLike& x, const ArrayLike& update, const ArrayLike& index, int axis);

// All operands in the order that sorts the first num_keys of them along an axis, the first key first.
std::vector<Array> sort(const ArrayList& operands, int dimension = -1, int num_keys = 1);

struct WindowOptions {
  Shape base_dilation = {}, window_dilation = {};  // empty: 1 everywhere
};
// Sum, largest or least of every window; what padding adds counts as 0, -inf, inf. One size and stride per axis.
Array reduce_window_sum(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options = {});
Array reduce_window_max(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options = {});
Array reduce_window_min(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
                        const WindowOptions& options = {});

}  // namespace lax

namespace nn {

// x [batch..., spatial..., features]: one size and stride (empty: 1) per spatial axis.
Array max_pool(const ArrayLike& x, const Shape& window, const Shape& strides = {},
               const ConvPadding& padding = "VALID");
Array min_pool(const ArrayLike& x, const Shape& window, const Shape& strides = {},
               const ConvPadding& padding = "VALID");
Array avg_pool(const ArrayLike& x, const Shape& window, const Shape& strides = {}, const ConvPadding& padding = "VALID",
               bool count_include_pad = true);

}  // namespace nn
}  // namespace anew
