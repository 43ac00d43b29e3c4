// Sorting: zeros are equal, nan comes last; equal elements keep their order.
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

Value before(Writer& w, const Value& a, const Value& b) {
  Value less = w.compare("LT", a, b);
  if (!is_float(a.type.dtype)) return less;
  return w.binary("or", less, w.binary("and", w.is_nan(b), w.unary("not", w.is_nan(a))));
}
Value alike(Writer& w, const Value& a, const Value& b) {
  Value same = w.compare("EQ", a, b);
  if (!is_float(a.type.dtype)) return same;
  return w.binary("or", same, w.binary("and", w.is_nan(a), w.is_nan(b)));
}

Values write_sorted(Writer& w, const Values& x, int axis, const std::function<Value(Writer&, const Values&)>& less) {
  Types pairs, out;
  for (const Value& v : x) {
    pairs.insert(pairs.end(), 2, scalar(v.type.dtype));
    out.push_back(v.type);
  }
  return w.op({"stablehlo.sort",
               fmt::format("dimension = {} : i64, is_stable = true", axis),
               {[&](Writer& r, const Values& v) { r.give({less(r, v)}); }},
               pairs},
              x, out);
}

}  // namespace

Values write_sort(const Context& c) {
  const auto keys = static_cast<std::size_t>(c.param<int>("num_keys"));
  return write_sorted(c.w, c.in, c.param<int>("dimension"), [&](Writer& w, const Values& v) {
    Value less = before(w, v[2 * keys - 2], v[2 * keys - 1]);
    for (std::size_t k = keys - 1; k-- > 0;) {
      const Value &a = v[2 * k], &b = v[2 * k + 1];
      less = w.binary("or", before(w, a, b), w.binary("and", alike(w, a, b), less));
    }
    return less;
  });
}

// The greatest first, nan before all.
Values write_top_k(const Context& c) {
  const int axis = c.param<int>("axis");
  const Value& x = c.in[0];
  const Value places = c.w.iota({x.type.shape, i32}, axis);
  const Values sorted =
      write_sorted(c.w, {x, places}, axis, [](Writer& w, const Values& v) { return before(w, v[1], v[0]); });
  Shape limit = x.type.shape;
  limit[axis] = c.param<std::int64_t>("k");
  Values out;
  for (const Value& v : sorted)
    out.push_back(c.w.slice(v, repeated(limit.ndim(), 0), limit, repeated(limit.ndim(), 1)));
  return out;
}

// How many elements lie before each value (or, from the right, not behind it): all pairs are compared, in one fused
// loop.
Values write_searchsorted(const Context& c) {
  const Value &a = c.in[0], &v = c.in[1];
  const int batch = a.type.shape.ndim() - 1, n = v.type.shape.ndim();
  Shape pairs = v.type.shape;
  pairs.push_back(a.type.shape[-1]);
  std::vector<int> a_axes, v_axes;
  for (int i = 0; i < batch; ++i) a_axes.push_back(i);
  a_axes.push_back(n);
  for (int i = 0; i < n; ++i) v_axes.push_back(i);
  const Value x = c.w.broadcast(a, pairs, a_axes), y = c.w.broadcast(v, pairs, v_axes);
  const bool right = c.param<std::string>("side") == "right";
  const Value counts = right ? c.w.unary("not", before(c.w, y, x)) : before(c.w, x, y);
  return {c.w.reduce("add", c.w.convert(counts, i32), {n}, 0)};
}

}  // namespace anew::stablehlo
