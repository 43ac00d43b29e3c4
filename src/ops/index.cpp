// Indexing by integers, ranges, ellipsis and newaxis. Reading is slice, rev, squeeze and broadcast_in_dim: views, no
// copies. Writing (x.at(i).set(v)) pads v to the shape of x and selects or adds. Integers out of range are errors, ranges
// are clipped, both as in NumPy.
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

// What an index says of an array: the box that is cut out of it, and the axes of the result.
struct Selection {
  Shape start, limit, strides, box;          // per axis of x; box: sizes of what is cut out
  std::vector<int> reversed, dropped, kept;  // axes of x, axes of the box, axes of the result
  Shape result;
  bool whole = true;  // the box is x
};

class Selector {
 public:
  Selector(const Type& type, const Index& index) : type_(type), at_(index.at) {
    int used = 0, rests = 0;
    for (const IndexItem& item : index.items) {
      if (item.kind == IndexItem::Kind::array) no_gather(at_);
      used += item.kind == IndexItem::Kind::integer || item.kind == IndexItem::Kind::range;
      rests += item.kind == IndexItem::Kind::rest;
    }
    if (rests > 1) throw Error("[index] more than one ellipsis", line_or(at_));
    if (used > ndim()) throw Error(fmt::format("[index] {} indices for {}", used, type.str()), line_or(at_));
    for (const IndexItem& item : index.items) {
      switch (item.kind) {
        case IndexItem::Kind::integer: drop(item.i), --used; break;
        case IndexItem::Kind::range: keep(range_of(item.s, type.shape[axis_], type, at_)), --used; break;
        case IndexItem::Kind::rest: keep_whole(ndim() - used); break;
        case IndexItem::Kind::insert: s_.result.push_back(1); break;
        case IndexItem::Kind::array: break;
      }
    }
    keep_whole(ndim());
  }
  const Selection& selection() const { return s_; }

 private:
  int ndim() const { return type_.shape.ndim(); }

  void take(const Range& r) {
    std::int64_t step = std::abs(r.step), low = 0, high = 0;
    if (r.count > 0) {
      low = r.step > 0 ? r.start : r.start + (r.count - 1) * r.step;
      high = low + (r.count - 1) * step + 1;
    }
    s_.whole = s_.whole && low == 0 && high == type_.shape[axis_] && step == 1;
    s_.start.push_back(low);
    s_.limit.push_back(high);
    s_.strides.push_back(step);
    s_.box.push_back(r.count);
    if (r.step < 0) s_.reversed.push_back(axis_);
    ++axis_;
  }
  void keep(const Range& r) {
    s_.kept.push_back(s_.result.ndim());
    s_.result.push_back(r.count);
    take(r);
  }
  void drop(std::int64_t given) {
    std::int64_t n = type_.shape[axis_], i = given < 0 ? given + n : given;
    if (i < 0 || i >= n)
      throw Error(fmt::format("[index] index {} is out of range for axis {} of {}", given, axis_, type_.str()),
                  line_or(at_));
    s_.dropped.push_back(axis_);
    take({i, 1, 1});
  }
  void keep_whole(int until) {
    while (axis_ < until) keep({0, type_.shape[axis_], 1});
  }

  const Type& type_;
  const Location& at_;
  Selection s_;
  int axis_ = 0;
};

// v where the index points, `elsewhere` in the rest of an array of this shape.
Array placed(const Array& v, const Array& elsewhere, const Selection& s, const Shape& shape) {
  Array x = reshape(v, s.box);
  if (!s.reversed.empty()) x = lax::rev(x, s.reversed);
  std::vector<lax::Padding> config;
  for (int i = 0; i < shape.ndim(); ++i) config.emplace_back(s.start[i], shape[i] - s.limit[i], s.strides[i] - 1);
  return lax::pad(x, elsewhere, config);
}

// The value of an update, of the type and shape that it replaces.
Array fitting(const Array& v, const Type& base, const Selection& s, const Location& at) {
  Array x = coerce(v, base.dtype, at);
  const Type type = type_of(x);
  int added = s.result.ndim() - type.shape.ndim();
  bool fits = added >= 0;
  for (int i = 0; fits && i < type.shape.ndim(); ++i) fits = type.shape[i] == 1 || type.shape[i] == s.result[i + added];
  if (!fits)
    throw Error(fmt::format("[at] a value of type {} does not fit the selected part of {}, of shape {}", type.str(),
                            base.str(), s.result.str()),
                line_or(at));
  return broadcast_to(x, s.result);
}

}  // namespace

Array Array::operator[](const Index& index) const {
  const Location& at = index.at;
  check_operand(*this, line_or(at));
  const Type type = type_of(*this);
  const Selector selector(type, index);
  const Selection& s = selector.selection();
  Array x = strong(*this);
  if (!s.whole) x = lax::slice(ArrayLike(x, at), s.start, s.limit, s.strides);
  if (!s.reversed.empty()) x = lax::rev(ArrayLike(x, at), s.reversed);
  if (!s.dropped.empty()) x = squeeze(ArrayLike(x, at), s.dropped);
  return lax::broadcast_in_dim(ArrayLike(x, at), s.result, s.kept);
}

AtRef Array::at(const Index& index) const { return {*this, index}; }

Array AtRef::set(const ArrayLike& v) const {
  const Location& at = index.at;
  check_operand(base, line_or(at));
  const Type type = type_of(base);
  const Selector selector(type, index);
  const Selection& s = selector.selection();
  PinLine pin(at);
  Array x = fitting(v.value, type, s, at);
  if (s.whole && s.reversed.empty()) return reshape(x, type.shape);
  Array here = placed(full(s.result, true), false, s, type.shape);
  return where(here, placed(x, zero_like(x), s, type.shape), base);
}

Array AtRef::add(const ArrayLike& v) const {
  const Location& at = index.at;
  check_operand(base, line_or(at));
  const Type type = type_of(base);
  const Selector selector(type, index);
  const Selection& s = selector.selection();
  PinLine pin(at);
  Array x = fitting(v.value, type, s, at);
  return base + placed(x, literal(type.dtype, -0.0), s, type.shape);  // adds nothing elsewhere
}

}  // namespace anew
