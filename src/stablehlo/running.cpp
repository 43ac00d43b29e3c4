// Running sums and recurrences along an axis: doubling steps, each of which joins what lies 1, 2, 4, ... places behind.
// So a line of n elements takes log2(n) steps, whose order of joining is another than that of the runtime.
#include "loops/kernel.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

// Each element is the one `by` places before it in the order of running, `edge` where there is none.
Value shifted(Writer& w, const Value& x, int axis, bool reverse, std::int64_t by, const Value& edge) {
  const int n = x.type.shape.ndim();
  Shape before = repeated(n, 0), after = before;
  (reverse ? after : before)[axis] = by;
  (reverse ? before : after)[axis] = -by;
  return w.pad(x, edge, before, after, repeated(n, 0));
}

}  // namespace

Values write_running(const Context& c) {
  const int axis = c.param<int>("axis");
  const bool reverse = c.param<bool>("reverse");
  Value y = c.in[0];
  if (y.type.shape.size() == 0) return {y};
  const DType d = y.type.dtype;
  const Value edge = c.w.constant(scalar(d), loops::identity_bits(c.combine, d));
  for (std::int64_t by = 1; by < y.type.shape[axis]; by *= 2)
    y = c.w.binary(word_of(c.combine), shifted(c.w, y, axis, reverse, by, edge), y);
  return {y};
}

// h[i] = a[i] h[i-1] + b[i]: pairs (a, b), of which two in a row are (a2 a1, a2 b1 + b2).
Values write_recurrence(const Context& c) {
  const int axis = c.param<int>("axis");
  const bool reverse = c.param<bool>("reverse");
  Value a = c.in[0], b = c.in[1];
  if (b.type.shape.size() == 0) return {b};
  const Type one = scalar(b.type.dtype);
  const Value unit = c.w.number(one, 1), zero = c.w.number(one, 0);
  for (std::int64_t by = 1; by < b.type.shape[axis]; by *= 2) {
    const Value first = shifted(c.w, a, axis, reverse, by, unit), h = shifted(c.w, b, axis, reverse, by, zero);
    b = c.w.binary("add", c.w.binary("multiply", a, h), b);
    a = c.w.binary("multiply", a, first);
  }
  return {b};
}

}  // namespace anew::stablehlo
