// Counting: bincount, bins and histograms.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/saturate.h"
#include "ops/promote.h"

namespace anew {
namespace {

// Known edges, or `count` of equal width over the range of the values; of no values, or of one, around it.
Array edges_of(std::string_view op, const Array& x, const Bins& bins, const HistogramOptions& options,
               const Location& at) {
  if (bins.edges.value()) {
    Array edges = float_array(ArrayLike(bins.edges, at));
    if (type_of(edges).shape.ndim() != 1 || type_of(edges).shape[0] < 2)
      fail(op, at, fmt::format("the edges of bins are a vector of two or more, got {}", type_of(edges).str()));
    return edges;
  }
  if (bins.count < 1) fail(op, at, fmt::format("{} bins", bins.count));
  const DType d = type_of(x).dtype;
  Array lo = literal(d, 0), hi = literal(d, 1);
  if (options.range) {
    lo = literal(d, options.range->first);
    hi = literal(d, options.range->second);
    if (!std::isfinite(options.range->first) || !(options.range->first <= options.range->second) ||
        !std::isfinite(options.range->second))
      fail(op, at, fmt::format("the range ({}, {})", options.range->first, options.range->second));
  } else if (type_of(x).shape.size() > 0) {
    lo = min(x);
    hi = max(x);
  }
  Array flat = lo == hi;
  lo = where(flat, lo - 0.5, lo);
  hi = where(flat, hi + 0.5, hi);
  Array s = lax::iota({saturating_add(bins.count, 1)}, 0, d) / static_cast<double>(bins.count);
  return lo * (1 - s) + hi * s;
}

// The bin of each element, with the right edge in the last; outside: the number of bins.
Array bin_of(const Array& x, const Array& edges) {
  const std::int64_t bins = type_of(edges).shape[0] - 1;
  Array i = searchsorted(edges, x, "right") - 1;
  Array last = take(edges, Array(bins), 0), first = take(edges, Array(0), 0);
  i = where(x == last, bins - 1, i);
  return where((x >= first) & (x <= last), i, bins);
}

Array weights_of(std::string_view op, const HistogramOptions& options, const Shape& shape, DType d,
                 const Location& at) {
  if (!options.weights.value()) return ones(shape, d);
  Array w = ravel(checked(ArrayLike(options.weights, at)));
  if (type_of(w).shape != shape)
    fail(op, at, fmt::format("weights {} for {} values", type_of(options.weights).str(), shape.size()));
  return is_float(type_of(w).dtype) ? w : astype(w, d);
}

}  // namespace

Array bincount(const ArrayLike& x, const BincountOptions& options) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.shape.ndim() != 1 || (!is_integer(type.dtype) && type.dtype != bool_))
    fail("bincount", x.at, fmt::format("needs a vector of integers, got {}", type.str()));
  if (options.minlength < 0) fail("bincount", x.at, fmt::format("minlength is {}", options.minlength));
  PinLine pin(x.at);
  if (type.dtype == bool_ || size_of(type.dtype) < 4) a = astype(a, i32);
  std::int64_t length = options.minlength;
  if (options.length) {
    length = *options.length;
    if (length < 0) fail("bincount", x.at, fmt::format("length is {}", length));
  } else if (type.shape[0] > 0) {
    try {
      length = std::max(length, saturating_add(max(a).item<std::int64_t>(x.at), 1));
    } catch (const Error&) {
      fail("bincount", x.at, "how many bins there are depends on values, which a traced function does not have",
           "give their number, .length = n");
    }
  }
  Array w = options.weights.value() ? checked(ArrayLike(options.weights, x.at)) : ones(type.shape, default_int());
  if (type_of(w).shape != type.shape)
    fail("bincount", x.at, fmt::format("weights {} for {}", type_of(w).str(), type.str()));
  if (length == 0) return zeros({0}, type_of(w).dtype);
  return zeros({length}, type_of(w).dtype).at(clip(a, 0, length)).add(w);  // what is below 0 counts as 0
}

Array digitize(const ArrayLike& x, const ArrayLike& bins, bool right) {
  Array a = checked(x), edges = checked(bins);
  const Type type = type_of(edges);
  if (type.shape.ndim() != 1) fail("digitize", x.at, fmt::format("bins are a vector, got {}", type.str()));
  PinLine pin(x.at);
  const std::int64_t n = type.shape[0];
  if (n == 0) return zeros(type_of(a).shape, default_int());
  const char* side = right ? "left" : "right";
  Array up = searchsorted(edges, a, side);
  Array down = n - searchsorted(flip(edges), a, side);
  return where(edges[n - 1] >= edges[0], up, down);
}

Array histogram_bin_edges(const ArrayLike& x, const Bins& bins, const HistogramOptions& options) {
  Array a = float_array(x);
  PinLine pin(x.at);
  return edges_of("histogram_bin_edges", a, bins, options, x.at);
}

std::pair<Array, Array> histogram(const ArrayLike& x, const Bins& bins, const HistogramOptions& options) {
  Array a = float_array(x);
  PinLine pin(x.at);
  a = ravel(a);
  Array edges = edges_of("histogram", a, bins, options, x.at);
  Array w = weights_of("histogram", options, type_of(a).shape, type_of(a).dtype, x.at);
  const std::int64_t n = type_of(edges).shape[0] - 1;
  Array counts = zeros({n}, type_of(w).dtype).at(bin_of(a, edges)).add(w);
  if (options.density) counts = counts / diff(edges) / sum(counts);
  return {counts, edges};
}

Histogram histogramdd(const ArrayLike& sample, const Bins& bins, const HistogramOptions& options) {
  Array a = float_array(sample);
  const Type type = type_of(a);
  if (type.shape.ndim() != 2 || type.shape[1] == 0)
    fail("histogramdd", sample.at, fmt::format("needs a row per point, got {}", type.str()));
  PinLine pin(sample.at);
  Histogram out;
  Array flat = zeros({type.shape[0]}, i32), outside = full({type.shape[0]}, false), volume = Array(1);
  Shape shape;
  if (type.shape[1] > Shape::max_ndim) fail("histogramdd", sample.at, fmt::format("of {} axes", type.shape[1]));
  for (const Array& x : unstack(a, 1)) {
    Array edges = edges_of("histogramdd", x, bins, options, sample.at), bin = bin_of(x, edges);
    const std::int64_t n = type_of(edges).shape[0] - 1;
    out.edges.push_back(edges);
    if (shape.size() > (std::int64_t{1} << 30) / n)
      fail("histogramdd", sample.at, fmt::format("{} bins along each of {} axes are too many", n, type.shape[1]));
    shape.push_back(n);
    outside = outside | (bin == n);
    flat = flat * n + astype(bin, i32);
    volume = expand_dims(volume, -1) * diff(edges);
  }
  Array w = weights_of("histogramdd", options, {type.shape[0]}, type.dtype, sample.at);
  const std::int64_t all = shape.size();
  Array counts = zeros({all}, type_of(w).dtype).at(where(outside, all, flat)).add(w);
  out.counts = reshape(counts, shape);
  if (options.density) out.counts = out.counts / volume / sum(counts);
  return out;
}
Histogram histogram2d(const ArrayLike& x, const ArrayLike& y, const Bins& bins, const HistogramOptions& options) {
  auto [a, b] = both("histogram2d", x, y, true);
  if (type_of(a).shape.ndim() != 1 || type_of(b).shape != type_of(a).shape)
    fail("histogram2d", x.at,
         fmt::format("needs two vectors of one size, got {} and {}", type_of(a).str(), type_of(b).str()));
  PinLine pin(x.at);
  return histogramdd(stack({a, b}, 1), bins, options);
}

}  // namespace anew
