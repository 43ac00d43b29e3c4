// Indexing by integers, ranges, ellipsis and newaxis, made of slice, rev, squeeze and broadcast_in_dim: views, no
// copies. Integers out of range are errors, ranges are clipped, both as in NumPy.
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/promote.h"

namespace anew {
namespace {

// Along one axis: start, start + step, ..., `count` elements.
struct Range {
  std::int64_t start = 0, count = 0, step = 1;
};

Range range_of(const Slice& s, std::int64_t n, const Type& type, const Location& at) {
  Range r{.step = s.step.value.value_or(1)};
  if (r.step == 0) throw Error(fmt::format("[index] slice step is 0 for {}", type.str()), line_or(at));
  auto clipped = [&](std::int64_t i, std::int64_t lo, std::int64_t hi) {
    return std::clamp(i < 0 ? i + n : i, lo, hi);
  };
  if (r.step > 0) {
    r.start = s.start.value ? clipped(*s.start.value, 0, n) : 0;
    std::int64_t stop = s.stop.value ? clipped(*s.stop.value, 0, n) : n;
    r.count = std::max<std::int64_t>(0, (stop - r.start + r.step - 1) / r.step);
  } else {
    r.start = s.start.value ? clipped(*s.start.value, -1, n - 1) : n - 1;
    std::int64_t stop = s.stop.value ? clipped(*s.stop.value, -1, n - 1) : -1;
    r.count = std::max<std::int64_t>(0, (r.start - stop - r.step - 1) / -r.step);
  }
  return r;
}

[[noreturn]] void no_gather(const Location& at) {
  throw Error("[index] indexing by an integer array needs gather, which this version does not have", line_or(at));
}

}  // namespace

Array Array::operator[](const Index& index) const {
  const Location& at = index.at;
  check_operand(*this, line_or(at));
  const Type type = type_of(*this);
  const int ndim = type.shape.ndim();
  int used = 0, rests = 0;
  for (const IndexItem& item : index.items) {
    if (item.kind == IndexItem::Kind::array) no_gather(at);
    used += item.kind == IndexItem::Kind::integer || item.kind == IndexItem::Kind::range;
    rests += item.kind == IndexItem::Kind::rest;
  }
  if (rests > 1) throw Error("[index] more than one ellipsis", line_or(at));
  if (used > ndim) throw Error(fmt::format("[index] {} indices for {}", used, type.str()), line_or(at));

  Shape start, limit, strides;
  std::vector<int> reversed, dropped, kept;  // axes of x, axes of the sliced array, axes of the result
  int axis = 0, out = 0;
  bool added = false, cut = false;
  auto take = [&](const Range& r) {
    std::int64_t low = r.step > 0 ? r.start : r.start + (r.count - 1) * r.step, step = std::abs(r.step);
    if (r.count == 0) low = 0;
    std::int64_t high = r.count == 0 ? 0 : low + (r.count - 1) * step + 1;
    if (step == 1 && r.count == type.shape[axis]) high = type.shape[axis];
    cut = cut || low != 0 || high != type.shape[axis] || step != 1;
    start.push_back(low);
    limit.push_back(high);
    strides.push_back(step);
    if (r.step < 0) reversed.push_back(axis);
    ++axis;
  };
  auto keep_whole = [&](int until) {
    while (axis < until) {
      take({0, type.shape[axis], 1});
      kept.push_back(out++);
    }
  };
  for (const IndexItem& item : index.items) {
    switch (item.kind) {
      case IndexItem::Kind::integer: {
        std::int64_t n = type.shape[axis], i = item.i < 0 ? item.i + n : item.i;
        if (i < 0 || i >= n)
          throw Error(fmt::format("[index] index {} is out of range for axis {} of {}", item.i, axis, type.str()),
                      line_or(at));
        dropped.push_back(axis);
        take({i, 1, 1});
        --used;
        break;
      }
      case IndexItem::Kind::range:
        take(range_of(item.s, type.shape[axis], type, at));
        kept.push_back(out++);
        --used;
        break;
      case IndexItem::Kind::rest: keep_whole(ndim - used); break;
      case IndexItem::Kind::insert:
        ++out;
        added = true;
        break;
      case IndexItem::Kind::array: break;
    }
  }
  keep_whole(ndim);

  Array x = strong(*this);
  if (cut) x = lax::slice(ArrayLike(x, at), start, limit, strides);
  if (!reversed.empty()) x = lax::rev(ArrayLike(x, at), reversed);
  if (!dropped.empty()) x = squeeze(ArrayLike(x, at), dropped);
  if (!added) return x;
  Shape shape;
  for (int i = 0; i < out; ++i) shape.push_back(1);
  for (std::size_t i = 0; i < kept.size(); ++i) shape[kept[i]] = type_of(x).shape[static_cast<int>(i)];
  return lax::broadcast_in_dim(ArrayLike(x, at), shape, kept);
}

AtRef Array::at(const Index& index) const { return {*this, index}; }

Array AtRef::set(const ArrayLike&) const {
  throw Error("[at] updating by index needs scatter, which this version does not have", line_or(index.at));
}
Array AtRef::add(const ArrayLike&) const {
  throw Error("[at] updating by index needs scatter, which this version does not have", line_or(index.at));
}

}  // namespace anew
