// Indexing by integers, ranges, ellipsis, newaxis and arrays, as in NumPy. The part that is known while tracing is a
// box: it is read by slice, rev, squeeze and broadcast_in_dim, views without copies, and written by padding the value
// to the shape of x and selecting or adding. Arrays then choose inside the box, by gather and scatter; a scalar array
// by dynamic_slice. Integers out of range are errors in x[i], ranges are clipped; arrays out of range are clamped when
// read and dropped when written, or as the mode of x.at(i) says, which holds for its integers too.
#include <anew/indexing.h>
#include <fmt/format.h>

#include <limits>

#include "composed/advanced_index.h"
#include "ops/gather.h"
#include "ops/promote.h"

namespace anew {
namespace {

// Along one axis: start, start + step, ..., `count` elements.
struct Range {
  std::int64_t start = 0, count = 0, step = 1;
};

Range range_of(const Slice& s, std::int64_t n, const Type& type, const Location& at) {
  // No step is longer than the longest forward.
  Range r{.step = std::max(s.step.value.value_or(1), -std::numeric_limits<std::int64_t>::max())};
  if (r.step == 0) fail("index", at, fmt::format("slice step is 0 for {}", type.str()));
  auto clipped = [&](std::int64_t i, std::int64_t lo, std::int64_t hi) {
    return std::clamp(i < 0 ? i + n : i, lo, hi);
  };
  if (r.step > 0) {
    r.start = s.start.value ? clipped(*s.start.value, 0, n) : 0;
    std::int64_t stop = s.stop.value ? clipped(*s.stop.value, 0, n) : n;
    r.count = stop > r.start ? 1 + (stop - r.start - 1) / r.step : 0;
  } else {
    r.start = s.start.value ? clipped(*s.start.value, -1, n - 1) : n - 1;
    std::int64_t stop = s.stop.value ? clipped(*s.stop.value, -1, n - 1) : -1;
    r.count = r.start > stop ? 1 - (r.start - stop - 1) / r.step : 0;
  }
  return r;
}

// Where a mask of an index is true: one array of positions per axis of the mask. Its values decide the shape of the
// result, so they must be known.
Arrays true_places(const Array& mask, const Location& at) {
  const Type type = type_of(mask);
  if (type.shape.ndim() == 0) fail("index", at, "a boolean scalar is no index");
  if (!mask.value()->concrete())
    fail("index", at,
         fmt::format("a mask of type {} that is being traced selects an unknown number of elements", type.str()),
         "where(mask, x, y) keeps the shape");
  std::vector<std::vector<std::int32_t>> places(static_cast<std::size_t>(type.shape.ndim()));
  const std::vector<bool> values = mask.to_vector<bool>();
  for (std::size_t flat = 0; flat < values.size(); ++flat) {
    if (!values[flat]) continue;
    auto rest = static_cast<std::int64_t>(flat);
    for (int i = type.shape.ndim(); i-- > 0;) {
      places[static_cast<std::size_t>(i)].push_back(static_cast<std::int32_t>(rest % type.shape[i]));
      rest /= type.shape[i];
    }
  }
  Arrays out;
  for (const auto& p : places) out.push_back(array(p));
  return out;
}

// What an index says of an array: the box that is cut out of it, and the axes of the result.
struct Selection {
  Shape start, limit, strides, box;          // per axis of x; box: sizes of what is cut out
  std::vector<int> reversed, dropped, kept;  // axes of x, axes of the box, axes of the result
  Shape result;
  bool whole = true;  // the box is x
  Choice choice;      // along axes of the result so far
};

enum class Outside { error, as_mode };  // integers that are out of range

class Selector {
 public:
  Selector(const Type& type, const Index& index, Outside outside) : type_(type), at_(index.at), outside_(outside) {
    const PinLine pin(index.at);
    int used = 0, rests = 0;
    for (const IndexItem& item : index.items) {
      const bool array = item.kind == IndexItem::Kind::array;
      if (array) check_operand(item.a, line_or(at_));
      chooses_ = chooses_ || array;
      used += item.kind == IndexItem::Kind::integer || item.kind == IndexItem::Kind::range;
      if (array) used += type_of(item.a).dtype == bool_ ? std::max(1, type_of(item.a).shape.ndim()) : 1;
      rests += item.kind == IndexItem::Kind::rest;
    }
    if (rests > 1) fail("index", at_, "more than one ellipsis");
    if (used > ndim()) fail("index", at_, fmt::format("{} indices for {}", used, type.str()));
    chooses_ = chooses_ || (outside == Outside::as_mode && leaves_range(index, used));
    int groups = 0;  // of neighbouring indices that choose
    bool inside = false;
    for (const IndexItem& item : index.items) {
      const bool choosing = item.kind == IndexItem::Kind::array || (chooses_ && item.kind == IndexItem::Kind::integer);
      groups += choosing && !inside;
      inside = choosing;
      switch (item.kind) {
        case IndexItem::Kind::integer: choosing ? choose_one(item.i) : drop(item.i), --used; break;
        case IndexItem::Kind::range: keep(range_of(item.s, type.shape[axis_], type, at_)), --used; break;
        case IndexItem::Kind::rest: keep_whole(ndim() - used); break;
        case IndexItem::Kind::insert: s_.result.push_back(1); break;
        case IndexItem::Kind::array: used -= choose(item.a); break;
      }
    }
    keep_whole(ndim());
    s_.choice.in_front = groups > 1;
  }
  const Selection& selection() const { return s_; }

 private:
  int ndim() const { return type_.shape.ndim(); }

  // Whether an integer among the items is out of range; `used`: axes that items other than an ellipsis stand for.
  bool leaves_range(const Index& index, int used) const {
    int axis = 0;
    for (const IndexItem& item : index.items) {
      switch (item.kind) {
        case IndexItem::Kind::integer:
          if (const std::int64_t n = type_.shape[axis++]; item.i < -n || item.i >= n) return true;
          break;
        case IndexItem::Kind::range: ++axis; break;
        case IndexItem::Kind::rest: axis += ndim() - used; break;
        case IndexItem::Kind::insert: break;
        case IndexItem::Kind::array:
          axis += type_of(item.a).dtype == bool_ ? std::max(1, type_of(item.a).shape.ndim()) : 1;
          break;
      }
    }
    return false;
  }

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
  std::int64_t in_range(std::int64_t given) const {
    std::int64_t n = type_.shape[axis_], i = given < 0 ? given + n : given;
    if (i < 0 || i >= n)
      fail("index", at_, fmt::format("index {} is out of range for axis {} of {}", given, axis_, type_.str()));
    return i;
  }
  void drop(std::int64_t given) {
    std::int64_t i = in_range(given);
    s_.dropped.push_back(axis_);
    take({i, 1, 1});
  }
  // The axis stays whole in the box, and is chosen from there.
  void choose_from_axis(const Array& i) {
    s_.choice.axes.push_back({s_.result.ndim(), i});
    keep({0, type_.shape[axis_], 1});
  }
  void choose_one(std::int64_t given) {
    if (outside_ == Outside::error) given = in_range(given);
    const bool narrow = given == static_cast<std::int32_t>(given);
    choose_from_axis(literal_integer(narrow ? i32 : i64, given));
  }
  // Returns how many axes it chooses from.
  int choose(const Array& i) {
    const Type type = type_of(i);
    if (type.dtype != bool_) return choose_from_axis(strong(i)), 1;
    const Arrays places = true_places(i, at_);
    for (int k = 0; k < type.shape.ndim(); ++k) {
      if (type.shape[k] != type_.shape[axis_])
        fail("index", at_,
             fmt::format("a mask of type {} does not fit {} from axis {} on", type.str(), type_.str(), axis_ - k));
      choose_from_axis(places[static_cast<std::size_t>(k)]);
    }
    return type.shape.ndim();
  }
  void keep_whole(int until) {
    while (axis_ < until) keep({0, type_.shape[axis_], 1});
  }

  const Type& type_;
  const Location& at_;
  Selection s_;
  int axis_ = 0;
  Outside outside_;
  bool chooses_ = false;  // arrays are among the items, or integers that the mode is asked about
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
Array fitting(const Array& v, const Type& base, const Shape& selected, const Location& at) {
  Array x = coerce(v, base.dtype, at);
  const Type type = type_of(x);
  int added = selected.ndim() - type.shape.ndim();
  bool fits = added >= 0;
  for (int i = 0; fits && i < type.shape.ndim(); ++i) fits = type.shape[i] == 1 || type.shape[i] == selected[i + added];
  if (!fits)
    fail("at", at,
         fmt::format("a value of type {} does not fit the selected part of {}, of shape {}", type.str(), base.str(),
                     selected.str()));
  return broadcast_to(x, selected);
}

// The box, with the axes of the result.
Array box_of(const Array& base, const Selection& s, const Location& at) {
  Array x = strong(base);
  if (!s.whole) x = lax::slice(ArrayLike(x, at), s.start, s.limit, s.strides);
  if (!s.reversed.empty()) x = lax::rev(ArrayLike(x, at), s.reversed);
  if (!s.dropped.empty()) x = squeeze(ArrayLike(x, at), s.dropped);
  return lax::broadcast_in_dim(ArrayLike(x, at), s.result, s.kept);
}
// base with another box.
Array with_box(const Array& base, const Array& box, const Selection& s) {
  const Type type = type_of(base);
  if (s.whole && s.reversed.empty()) return reshape(box, type.shape);
  Array here = placed(full(s.result, true), false, s, type.shape);
  return where(here, placed(box, zero_like(box), s, type.shape), base);
}

bool all_scalars(const Choice& c) {
  for (const Chosen& x : c.axes)
    if (type_of(x.index).shape.ndim() != 0) return false;
  return true;
}

// Scalars choose one slice.
Array slice_at(const Array& box, const Choice& choice, const Location& at) {
  const Type type = type_of(box);
  Arrays starts(static_cast<std::size_t>(type.shape.ndim()), Array(0));
  Shape sizes = type.shape;
  std::vector<int> dropped;
  for (const Chosen& c : choice.axes) {
    starts[static_cast<std::size_t>(c.axis)] = index_operand("index", c.index, at);
    sizes[c.axis] = 1;
    dropped.push_back(c.axis);
  }
  return squeeze(dynamic_slice(ArrayLike(box, at), starts, sizes), dropped);
}

Array read(const Array& base, const Index& index, std::string_view mode, Outside outside) {
  const Location& at = index.at;
  check_operand(base, line_or(at));
  check_mode("index", mode, at);
  const Type type = type_of(base);
  const Selector selector(type, index, outside);
  const Selection& s = selector.selection();
  if (s.choice.axes.empty()) return box_of(base, s, at);
  PinLine pin(at);
  Array box = box_of(base, s, at);
  if (mode == "clip" && all_scalars(s.choice) && type_of(box).shape.size() > 0) return slice_at(box, s.choice, at);
  return choose("index", box, s.choice, mode, at);
}

enum class Update { set, add, multiply, min, max };

Array joined_box(Update kind, const Array& box, const Array& v) {
  switch (kind) {
    case Update::set: return v;
    case Update::add: return box + v;
    case Update::multiply: return box * v;
    case Update::min: return minimum(box, v);
    case Update::max: return maximum(box, v);
  }
  return v;
}

Array write(const AtRef& r, Update kind, const ArrayLike& v, std::string_view mode) {
  const Location& at = r.index.at;
  check_operand(r.base, line_or(at));
  check_mode("at", mode, at);
  const Type type = type_of(r.base);
  const Selector selector(type, r.index, Outside::as_mode);
  const Selection& s = selector.selection();
  PinLine pin(at);
  if (s.choice.axes.empty()) {
    Array x = fitting(v.value, type, s.result, at);
    if (kind == Update::add)  // adds nothing elsewhere
      return r.base + placed(x, literal(type.dtype, -0.0), s, type.shape);
    return with_box(r.base, kind == Update::set ? x : joined_box(kind, box_of(r.base, s, at), x), s);
  }
  Array box = box_of(r.base, s, at);
  const Resolved places = resolve("at", type_of(box), s.choice, mode, at);
  Array x = fitting(v.value, type, places.result, at);
  if (places.nothing) return strong(r.base);
  const auto dimensions = scattering(places.dimensions);
  const lax::ScatterOptions options{places.mode};
  auto scattered = kind == Update::set        ? lax::scatter
                   : kind == Update::add      ? lax::scatter_add
                   : kind == Update::multiply ? lax::scatter_mul
                   : kind == Update::min      ? lax::scatter_min
                                              : lax::scatter_max;
  return with_box(r.base, scattered(box, places.indices, x, dimensions, options), s);
}

}  // namespace

Array Array::operator[](const Index& index) const { return read(*this, index, "clip", Outside::error); }
AtRef Array::at(const Index& index) const { return {*this, index}; }

Array AtRef::get(std::string_view mode) const { return read(base, index, mode, Outside::as_mode); }
Array AtRef::set(const ArrayLike& v, std::string_view mode) const { return write(*this, Update::set, v, mode); }
Array AtRef::add(const ArrayLike& v, std::string_view mode) const { return write(*this, Update::add, v, mode); }
Array AtRef::multiply(const ArrayLike& v, std::string_view mode) const {
  return write(*this, Update::multiply, v, mode);
}
Array AtRef::divide(const ArrayLike& v, std::string_view mode) const {
  PinLine pin(index.at, "at");
  return base / AtRef{ones_like(base), index}.multiply(v, mode);
}
Array AtRef::min(const ArrayLike& v, std::string_view mode) const { return write(*this, Update::min, v, mode); }
Array AtRef::max(const ArrayLike& v, std::string_view mode) const { return write(*this, Update::max, v, mode); }

}  // namespace anew
