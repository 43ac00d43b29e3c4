// Functions that read or write at computed places, made of gather and scatter: take and its kin, segments, repeats,
// pads.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "composed/advanced_index.h"
#include "ops/axes.h"
#include "ops/gather.h"
#include "ops/promote.h"

namespace anew {

void check_mode(std::string_view op, std::string_view mode, const Location& at) {
  if (mode != "clip" && mode != "fill" && mode != "drop" && mode != "wrap" && mode != "promise_in_bounds")
    fail(op, at, fmt::format("no mode \"{}\"", mode), "modes are clip, fill, drop, wrap, promise_in_bounds");
}

Resolved resolve(std::string_view op, const Type& x, const Choice& choice, std::string_view mode, const Location& at) {
  check_mode(op, mode, at);
  Resolved r;
  r.mode = mode == "fill" || mode == "drop" ? lax::IndexMode::fill_or_drop
           : mode == "clip"                 ? lax::IndexMode::clip
                                            : lax::IndexMode::promise_in_bounds;
  Arrays indices;
  std::vector<int> axes;
  DType d = i32;
  for (const Chosen& c : choice.axes) {
    Array i = index_operand(op, c.index, at);
    if (type_of(i).dtype != i32) d = i64;
    indices.push_back(i);
    axes.push_back(c.axis);
  }
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t n = x.shape[axes[k]];
    indices[k] = astype(indices[k], d);
    indices[k] = mode == "wrap" && n > 0 ? wrapped_around(indices[k], n) : counted_from_end(indices[k], n);
    r.nothing = r.nothing || n == 0;
  }
  const Shape common = broadcast_shapes(op, indices, at);
  for (Array& i : indices) i = broadcast_to(i, common);
  r.indices = indices.size() == 1 ? expand_dims(indices[0], -1) : stack(indices, -1);

  int before = 0;  // kept axes in front of the places
  std::vector<int> kept = axes_without(x.shape.ndim(), axes);
  if (!choice.in_front)
    for (int i : kept) before += i < *std::min_element(axes.begin(), axes.end());
  for (int i = 0; i < x.shape.ndim(); ++i) r.slice_sizes.push_back(contains(axes, i) ? 1 : x.shape[i]);
  for (int i = 0; i < before; ++i) r.result.push_back(x.shape[kept[static_cast<std::size_t>(i)]]);
  for (std::int64_t n : common) r.result.push_back(n);
  for (std::size_t i = static_cast<std::size_t>(before); i < kept.size(); ++i) r.result.push_back(x.shape[kept[i]]);
  r.dimensions.offset_dims = joined(axis_range(0, before), axis_range(before + common.ndim(), r.result.ndim()));
  r.dimensions.collapsed_slice_dims = axes;
  r.dimensions.start_index_map = axes;
  std::sort(r.dimensions.collapsed_slice_dims.begin(), r.dimensions.collapsed_slice_dims.end());
  if (r.nothing && r.result.size() > 0)
    fail(op, at, fmt::format("cannot choose elements along an axis of size 0 of {}", x.str()));
  r.nothing = r.nothing || r.result.size() == 0;
  return r;
}

Array choose(std::string_view op, const Array& x, const Choice& choice, std::string_view mode, const Location& at) {
  const Type type = type_of(x);
  Resolved r = resolve(op, type, choice, mode, at);
  if (r.nothing) return zeros_of({r.result, type.dtype});
  return lax::gather(ArrayLike(x, at), r.indices, r.dimensions, r.slice_sizes, r.mode);
}

namespace {

// In "clip" a negative index is 0, as in NumPy: nothing is counted from the end.
Array clipped(const Array& i) { return maximum(i, literal_integer(type_of(i).dtype, 0)); }

// Dimension numbers that read one element along `axis` per index, all other axes running together; sizes of 1 are
// stretched.
struct Lines {
  Array x, indices;  // of equal sizes but for the axis; indices has one more axis, the last
  lax::GatherDimensions dimensions;
  Shape ones;
};
Lines lines(std::string_view op, Array x, Array indices, int axis, const Location& at) {
  const Type type = type_of(x);
  Shape whole = type.shape, chosen = type_of(indices).shape;
  bool fits = chosen.ndim() == whole.ndim();
  for (int i = 0; fits && i < whole.ndim(); ++i) {
    if (i == axis) continue;
    fits = whole[i] == chosen[i] || whole[i] == 1 || chosen[i] == 1;
    whole[i] = chosen[i] = whole[i] == 1 ? chosen[i] : whole[i];
  }
  if (!fits)
    fail(op, at, fmt::format("indices {} do not fit {} along axis {}", type_of(indices).str(), type.str(), axis));
  Lines l{broadcast_to(x, whole), expand_dims(broadcast_to(indices, chosen), -1), {}, {}};
  std::vector<int> others = axes_without(whole.ndim(), {axis});
  l.dimensions = {{}, {axis}, {axis}, others, others};
  for (int i = 0; i < whole.ndim(); ++i) l.ones.push_back(1);
  return l;
}

lax::IndexMode read_mode(std::string_view op, std::string_view mode, const Location& at) {
  if (mode == "fill") return lax::IndexMode::fill_or_drop;
  if (mode == "clip") return lax::IndexMode::clip;
  if (mode == "wrap" || mode == "promise_in_bounds") return lax::IndexMode::promise_in_bounds;
  fail(op, at, fmt::format("no mode \"{}\"", mode), "modes are clip, fill, wrap, promise_in_bounds");
}

// Where the k-th of `total` elements comes from, so that element i comes counts[i] times.
Array sources(const Array& counts, std::int64_t total) {
  Array ends = cumsum(counts, 0);
  return searchsorted(ends, lax::iota({total}, 0, type_of(ends).dtype), "right");
}

// The index along an axis of n elements that position i, counted from the first of them, stands for.
std::int64_t mirrored(const std::string& mode, std::int64_t i, std::int64_t n) {
  auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return modulo(i, n);
  if (mode == "reflect") {
    if (n == 1) return 0;
    std::int64_t k = modulo(i, 2 * (n - 1));
    return k < n ? k : 2 * (n - 1) - k;
  }
  std::int64_t k = modulo(i, 2 * n);
  return k < n ? k : 2 * n - 1 - k;
}

enum class Segment { sum, prod, max, min };

Array segments(std::string_view op, Segment kind, const ArrayLike& data, const ArrayLike& ids, std::int64_t count) {
  Array x = checked(data), i = index_operand(op, ids.value, data.at);
  const Type type = type_of(x), id = type_of(i);
  if (id.shape.ndim() != 1 || type.shape.ndim() == 0 || type.shape[0] != id.shape[0] || count < 0)
    fail(op, data.at, fmt::format("{} segments of {} by ids {}", count, type.str(), id.str()),
         "ids has one integer per row of the data");
  PinLine pin(data.at, op);
  Shape out = type.shape;
  out[0] = count;
  const DType d = type.dtype;
  auto extreme = [&](bool least) { return make_literal(ir::Literal{d, extreme_bits(d, least)}); };
  Array neutral = kind == Segment::sum    ? literal(d, 0.0)
                  : kind == Segment::prod ? literal(d, 1.0)
                                          : extreme(kind == Segment::max);
  Array base = lax::broadcast_in_dim(neutral, out, {});
  if (count == 0 || type.shape[0] == 0) return base;
  lax::ScatterDimensions places{axis_range(1, type.shape.ndim()), {0}, {0}};
  Array at = expand_dims(i, 1);
  switch (kind) {
    case Segment::sum: return lax::scatter_add(base, at, x, places);
    case Segment::prod: return lax::scatter_mul(base, at, x, places);
    case Segment::max: return lax::scatter_max(base, at, x, places);
    case Segment::min: return lax::scatter_min(base, at, x, places);
  }
  return base;
}

}  // namespace

Array take(const ArrayLike& x, const ArrayLike& indices, std::optional<int> axis, std::string_view mode) {
  Array a = checked(x), i = index_operand("take", indices.value, x.at);
  const Type type = type_of(a);
  read_mode("take", mode, x.at);
  int along = axis ? checked_axis("take", *axis, type.shape.ndim(), type, x.at) : 0;
  PinLine pin(x.at);
  if (!axis) a = ravel(a);
  if (mode == "clip") i = clipped(i);
  return choose("take", a, {{{along, i}}}, mode, x.at);
}

Array take_along_axis(const ArrayLike& x, const ArrayLike& indices, std::optional<int> axis, std::string_view mode) {
  Array a = checked(x), i = index_operand("take_along_axis", indices.value, x.at);
  const Type type = type_of(a);
  lax::IndexMode how = read_mode("take_along_axis", mode, x.at);
  int along = axis ? checked_axis("take_along_axis", *axis, type.shape.ndim(), type, x.at) : 0;
  PinLine pin(x.at);
  if (!axis) a = ravel(a), i = ravel(i);
  const std::int64_t n = type_of(a).shape[along];
  i = mode == "wrap" && n > 0 ? wrapped_around(i, n) : mode == "clip" ? clipped(i) : counted_from_end(i, n);
  Lines l = lines("take_along_axis", a, i, along, x.at);
  Shape out = type_of(l.indices).shape;
  out.erase(out.ndim() - 1);
  if (out.size() == 0) return zeros_of({out, type.dtype});
  return lax::gather(l.x, l.indices, l.dimensions, l.ones, how);
}

Array put_along_axis(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& values, std::optional<int> axis) {
  Array a = checked(x), i = index_operand("put_along_axis", indices.value, x.at);
  const Type type = type_of(a);
  int along = axis ? checked_axis("put_along_axis", *axis, type.shape.ndim(), type, x.at) : 0;
  PinLine pin(x.at);
  if (!axis) a = ravel(a), i = ravel(i);
  Lines l = lines("put_along_axis", a, counted_from_end(i, type_of(a).shape[along]), along, x.at);
  if (type_of(l.x).shape != type_of(a).shape)
    fail("put_along_axis", x.at,
         fmt::format("indices {} do not fit {} along axis {}", type_of(i).str(), type_of(a).str(), along));
  Shape out = type_of(l.indices).shape;
  out.erase(out.ndim() - 1);
  Array v = broadcast_to(coerce(values.value, type.dtype, x.at), out);
  if (out.size() == 0) return a;
  return reshape(lax::scatter(l.x, l.indices, v, scattering(l.dimensions)), type.shape);
}

Array segment_sum(const ArrayLike& data, const ArrayLike& ids, std::int64_t count) {
  return segments("segment_sum", Segment::sum, data, ids, count);
}
Array segment_prod(const ArrayLike& data, const ArrayLike& ids, std::int64_t count) {
  return segments("segment_prod", Segment::prod, data, ids, count);
}
Array segment_max(const ArrayLike& data, const ArrayLike& ids, std::int64_t count) {
  return segments("segment_max", Segment::max, data, ids, count);
}
Array segment_min(const ArrayLike& data, const ArrayLike& ids, std::int64_t count) {
  return segments("segment_min", Segment::min, data, ids, count);
}

// Lists of indices are made for these at once.
constexpr std::int64_t most_indices = std::numeric_limits<std::int32_t>::max();

Array repeat(const ArrayLike& x, const std::vector<std::int64_t>& counts, std::optional<int> axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  int along = axis ? checked_axis("repeat", *axis, type.shape.ndim(), type, x.at) : 0;
  const std::int64_t n = axis ? type.shape[along] : type.shape.size();
  if (static_cast<std::int64_t>(counts.size()) != n)
    fail("repeat", x.at, fmt::format("{} counts for {} elements of {}", counts.size(), n, type.str()));
  std::int64_t total = 0;
  for (std::int64_t c : counts) {
    if (c < 0) fail("repeat", x.at, fmt::format("a negative number of repeats: {}", c));
    if (__builtin_add_overflow(total, c, &total) || total > most_indices)
      fail("repeat", x.at, fmt::format("more than {} elements along an axis of {}", most_indices, type.str()));
  }
  PinLine pin(x.at);
  const auto from = with_line("repeat", line_or(x.at), [&] {
    std::vector<std::int32_t> list;
    list.reserve(static_cast<std::size_t>(total));
    for (std::size_t i = 0; i < counts.size(); ++i)
      list.insert(list.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int32_t>(i));
    return list;
  });
  if (!axis) a = ravel(a);
  return choose("repeat", a, {{{along, array(from)}}}, "promise_in_bounds", x.at);
}

Array repeat(const ArrayLike& x, const ArrayLike& counts, std::optional<int> axis, std::int64_t total) {
  Array a = checked(x), c = index_operand("repeat", counts.value, x.at);
  const Type type = type_of(a);
  int along = axis ? checked_axis("repeat", *axis, type.shape.ndim(), type, x.at) : 0;
  PinLine pin(x.at);
  if (!axis) a = ravel(a);
  const std::int64_t n = type_of(a).shape[along];
  if (type_of(c).shape.ndim() == 0) c = broadcast_to(c, {n});
  if (type_of(c).shape != Shape{n} || total < 0)
    fail("repeat", x.at,
         fmt::format("counts {} and a total of {} for {} elements of {}", type_of(c).str(), total, n, type.str()));
  return choose("repeat", a, {{{along, sources(c, total)}}}, "clip", x.at);
}

Array pad(const ArrayLike& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const PadMode& mode) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (mode.text == "constant") return pad(x, widths, zero_like(a));
  if (mode.text != "edge" && mode.text != "reflect" && mode.text != "symmetric" && mode.text != "wrap")
    fail("pad", x.at, fmt::format("no mode \"{}\"", mode.text), "modes are constant, edge, reflect, symmetric, wrap");
  const bool one = widths.size() == 1;
  if (!one && static_cast<int>(widths.size()) != type.shape.ndim())
    fail("pad", x.at, fmt::format("{} widths for {}", widths.size(), type.str()));
  PinLine pin(x.at);
  for (int i = 0; i < type.shape.ndim(); ++i) {
    const std::pair<std::int64_t, std::int64_t>& width = widths[one ? 0 : static_cast<std::size_t>(i)];
    const std::int64_t before = width.first, after = width.second, n = type.shape[i];
    if (before < 0 || after < 0) fail("pad", x.at, fmt::format("negative width ({}, {})", before, after));
    if (before == 0 && after == 0) continue;
    if (before > most_indices || after > most_indices || n > most_indices - before - after)
      fail("pad", x.at, fmt::format("more than {} elements along axis {} of {}", most_indices, i, type.str()));
    if (n == 0) fail("pad", x.at, fmt::format("nothing to repeat along axis {} of {}", i, type.str()));
    const auto from = with_line("pad", line_or(x.at), [&] {
      std::vector<std::int32_t> list;
      list.reserve(static_cast<std::size_t>(before + n + after));
      for (std::int64_t k = -before; k < n + after; ++k)
        list.push_back(static_cast<std::int32_t>(mirrored(mode.text, k, n)));
      return list;
    });
    a = choose("pad", a, {{{i, array(from)}}}, "promise_in_bounds", x.at);
  }
  return a;
}

Array pad(const ArrayLike& x, std::int64_t width, const PadMode& mode) { return pad(x, {{width, width}}, mode); }

}  // namespace anew
