// associative_scan: prefixes by halving. Neighbours are combined, their prefixes found, and the elements in between
// filled in: about 2 n combinations in 2 log2(n) calls, each on whole arrays. Equations grow with the logarithm of the
// length.
#include <anew/ops.h>
#include <fmt/format.h>

#include "trace/trace.h"

namespace anew::flat {
namespace {

struct Prefixes {
  const Combine& combine;
  int axis;
  const Location& at;

  // Elements begin, begin + step, ... of every array, before `end`.
  Arrays part(const Arrays& xs, std::int64_t begin, std::int64_t end, std::int64_t step) const {
    PinLine line(at);
    Arrays out;
    for (const Array& x : xs) {
      Shape start, limit = type_of(x).shape, strides;
      for (int i = 0; i < limit.ndim(); ++i) {
        start.push_back(i == axis ? begin : 0);
        strides.push_back(i == axis ? step : 1);
      }
      limit[axis] = end;
      out.push_back(lax::slice(x, start, limit, strides));
    }
    return out;
  }

  Arrays combined(const Arrays& a, const Arrays& b) const {
    Arrays out = combine(a, b);
    if (out.size() != a.size())
      throw Error(fmt::format("[associative_scan] the function gives {} arrays for {}", out.size(), a.size()), at);
    for (std::size_t i = 0; i < out.size(); ++i) {
      check_operand(out[i], at);
      if (!(type_of(out[i]) == type_of(a[i])))
        throw Error(fmt::format("[associative_scan] the function must keep types: it gives {} for {}",
                                type_of(out[i]).str(), type_of(a[i]).str()),
                    at, "it combines whole arrays of elements: f(x[0:2], x[2:4]) has the type of x[0:2]");
    }
    return out;
  }

  // even[0], odd[0], even[1], ...; there may be one more of `even`.
  Array alternating(const Array& even, const Array& odd) const {
    PinLine line(at);
    std::int64_t pairs = type_of(odd).shape[axis];
    Shape shape = type_of(odd).shape;
    shape[axis] *= 2;
    bool longer = type_of(even).shape[axis] > pairs;
    Array first = longer ? part({even}, 0, pairs, 1)[0] : even;
    Array out = reshape(stack({first, odd}, axis + 1), shape);
    return longer ? concatenate({out, part({even}, pairs, pairs + 1, 1)[0]}, axis) : out;
  }

  Arrays of(const Arrays& xs) const {
    std::int64_t n = type_of(xs[0]).shape[axis];
    if (n < 2) return xs;
    Arrays odd = of(combined(part(xs, 0, n - 1, 2), part(xs, 1, n, 2)));
    Arrays even = part(xs, 0, 1, 1);
    if (n > 2) {
      std::int64_t inner = (n - 1) / 2;
      Arrays rest = combined(part(odd, 0, inner, 1), part(xs, 2, n, 2));
      PinLine line(at);
      for (std::size_t i = 0; i < even.size(); ++i) even[i] = concatenate({even[i], rest[i]}, axis);
    }
    Arrays out;
    for (std::size_t i = 0; i < xs.size(); ++i) out.push_back(alternating(even[i], odd[i]));
    return out;
  }
};

}  // namespace

Arrays associative_scan(const Combine& combine, std::span<const Array> xs, const AssociativeScanOptions& options,
                        const Location& at) {
  detail::check_function(combine, at);
  if (xs.empty()) throw Error("[associative_scan] there is no array to scan", at);
  Arrays in(xs.begin(), xs.end());
  int axis = options.axis;
  for (const Array& x : xs) {
    check_operand(x, at);
    Type t = type_of(x), first = type_of(xs[0]);
    int place = options.axis < 0 ? options.axis + t.shape.ndim() : options.axis;
    if (place < 0 || place >= t.shape.ndim())
      throw Error(fmt::format("[associative_scan] {} is not an axis of {}", options.axis, t.str()), at);
    if (&x == &xs[0]) axis = place;
    if (place != axis || t.shape[place] != first.shape[axis])
      throw Error(
          fmt::format("[associative_scan] arrays differ along axis {}: {} and {}", options.axis, first.str(), t.str()),
          at);
  }
  auto flipped = [&](Arrays list) {
    PinLine line(at);
    for (Array& x : list) x = flip(x, axis);
    return list;
  };
  Prefixes prefixes{combine, axis, at};
  return options.reverse ? flipped(prefixes.of(flipped(in))) : prefixes.of(in);
}

}  // namespace anew::flat
