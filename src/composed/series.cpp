// Functions given by points: interpolation, differences, integrals, spaced points, windows of signals; sorting in part.
#include <anew/numpy.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/promote.h"

namespace anew {
namespace {

Array part_of(const Array& x, int axis, std::int64_t begin, std::int64_t end) {
  Shape start, limit = type_of(x).shape;
  for (int i = 0; i < limit.ndim(); ++i) start.push_back(0);
  start[axis] = begin;
  limit[axis] = end;
  return lax::slice(x, start, limit);
}

// A vector along an axis of something with ndim axes.
Array along_axis(const Array& v, int axis, int ndim) {
  Shape line;
  for (int i = 0; i < ndim; ++i) line.push_back(i == axis ? type_of(v).shape[0] : 1);
  return reshape(v, line);
}

int gradient_axis(const Type& type, int axis, const Location& at) {
  const int i = checked_axis("gradient", axis, type.shape.ndim(), type, at);
  if (type.shape[i] < 2)
    fail("gradient", at, fmt::format("needs two points or more along axis {} of {}", i, type.str()));
  return i;
}

void check_points(std::string_view op, std::int64_t n, const Location& at) {
  if (n < 0) fail(op, at, fmt::format("{} points", n));
}
// 2 pi k / (n - 1)
Array angles(std::int64_t n, DType d) {
  return lax::iota({n}, 0, d) * (2 * std::numbers::pi / static_cast<double>(n - 1));
}
DType window_type(std::string_view op, DType dtype, const Location& at) {
  if (!is_float(dtype)) fail(op, at, fmt::format("needs a floating type, got {}", name_of(dtype)));
  return dtype;
}

}  // namespace

// Outside of the points nothing of the line through the last two is used, so its derivative is 0 there.
Array interp(const ArrayLike& x, const ArrayLike& xp, const ArrayLike& fp, const InterpOptions& options) {
  std::array<Array, 3> all{checked(x), checked(xp), checked(fp)};
  const DType d = floating(common_dtype(all));
  const Type points = type_of(all[1]);
  if (points.shape.ndim() != 1 || type_of(all[2]).shape != points.shape || points.shape[0] == 0)
    fail("interp", x.at,
         fmt::format("points are two vectors of one size, got {} and {}", points.str(), type_of(all[2]).str()));
  PinLine pin(x.at);
  Array at = astype(all[0], d), u = astype(all[1], d), v = astype(all[2], d);
  std::int64_t n = points.shape[0];
  if (options.period) {
    const double period = std::abs(*options.period);
    if (!(period > 0)) fail("interp", x.at, fmt::format("the period is {}", *options.period));
    at = remainder(at, period);
    u = remainder(u, period);
    Array order = argsort(stop_gradient(u));
    u = take(u, order, 0);
    v = take(v, order, 0);
    u = concatenate({part_of(u, 0, n - 1, n) - period, u, part_of(u, 0, 0, 1) + period});
    v = concatenate({part_of(v, 0, n - 1, n), v, part_of(v, 0, 0, 1)});
    n += 2;
  }
  if (n == 1) return broadcast_to(v, type_of(at).shape) + zeros_like(at);
  Array right = clip(searchsorted(stop_gradient(u), stop_gradient(at), "right"), 1, n - 1);
  Array u0 = take(u, right - 1, 0), u1 = take(u, right, 0), v0 = take(v, right - 1, 0), v1 = take(v, right, 0);
  Array width = u1 - u0, same = width == 0;
  Array y = where(same, v0, v0 + (at - u0) / where(same, 1, width) * (v1 - v0));
  if (options.period) return y;
  Array low = options.left.value() ? coerce(options.left, d, x.at) : take(v, Array(0), 0);
  Array high = options.right.value() ? coerce(options.right, d, x.at) : take(v, Array(n - 1), 0);
  return where(at < take(u, Array(0), 0), low, where(at > take(u, Array(n - 1), 0), high, y));
}

Array numpy::gradient(const ArrayLike& x, double spacing, int axis) {
  Array a = float_array(x);
  const Type type = type_of(a);
  const int i = gradient_axis(type, axis, x.at);
  PinLine pin(x.at);
  const std::int64_t n = type.shape[i];
  Array first = part_of(a, i, 1, 2) - part_of(a, i, 0, 1), last = part_of(a, i, n - 1, n) - part_of(a, i, n - 2, n - 1);
  if (n == 2) return concatenate({first, last}, i) / spacing;
  Array inner = (part_of(a, i, 2, n) - part_of(a, i, 0, n - 2)) * 0.5;
  return concatenate({first, inner, last}, i) / spacing;
}
Array numpy::gradient(const ArrayLike& x, const Array& coordinates, int axis) {
  Array a = float_array(x), at = float_array(ArrayLike(coordinates, x.at));
  const Type type = type_of(a);
  const int i = gradient_axis(type, axis, x.at);
  PinLine pin(x.at);
  const std::int64_t n = type.shape[i];
  if (type_of(at).shape.ndim() == 0) return gradient(a, 1.0, i) / at;
  if (type_of(at).shape != Shape{n})
    fail("gradient", x.at, fmt::format("{} coordinates along axis {} of {}", type_of(at).str(), i, type.str()));
  Array h = along_axis(diff(astype(at, type.dtype)), i, type.shape.ndim()), steps = diff(a, 1, i) / h;
  Array first = part_of(steps, i, 0, 1), last = part_of(steps, i, n - 2, n - 1);
  if (n == 2) return concatenate({first, last}, i);
  // The parabola through three points.
  Array h0 = part_of(h, i, 0, n - 2), h1 = part_of(h, i, 1, n - 1);
  Array inner = (h1 * part_of(steps, i, 0, n - 2) + h0 * part_of(steps, i, 1, n - 1)) / (h0 + h1);
  return concatenate({first, inner, last}, i);
}
std::vector<Array> numpy::gradient(const ArrayLike& x, double spacing) {
  const Type type = type_of(checked(x));
  Arrays out;
  for (int i = 0; i < type.shape.ndim(); ++i) out.push_back(gradient(x, spacing, i));
  return out;
}

Array trapezoid(const ArrayLike& y, const ArrayLike& x, double dx, int axis) {
  Array a = float_array(y);
  const Type type = type_of(a);
  const int i = checked_axis("trapezoid", axis, type.shape.ndim(), type, y.at);
  PinLine pin(y.at);
  const std::int64_t n = type.shape[i];
  if (n == 0) return sum(a, i);
  Array mid = (part_of(a, i, 1, n) + part_of(a, i, 0, n - 1)) * 0.5;
  if (!x.value.value()) return sum(mid, i) * dx;
  Array at = float_array(ArrayLike(x.value, y.at));
  if (type_of(at).shape.ndim() == 1) {
    if (type_of(at).shape[0] != n)
      fail("trapezoid", y.at, fmt::format("{} places for {} along axis {}", type_of(at).str(), type.str(), i));
    return sum(mid * along_axis(diff(at), i, type.shape.ndim()), i);
  }
  if (type_of(at).shape != type.shape)
    fail("trapezoid", y.at, fmt::format("places {} for {}", type_of(at).str(), type.str()));
  return sum(mid * diff(at, 1, i), i);
}

Array ediff1d(const ArrayLike& x, const ArrayLike& to_end, const ArrayLike& to_begin) {
  Array a = checked(x);
  PinLine pin(x.at);
  Array y = diff(ravel(a));
  const DType d = type_of(y).dtype;
  Arrays parts;
  if (to_begin.value.value()) parts.push_back(ravel(coerce(to_begin.value, d, x.at)));
  parts.push_back(y);
  if (to_end.value.value()) parts.push_back(ravel(coerce(to_end.value, d, x.at)));
  return parts.size() == 1 ? y : concatenate(parts);
}

Array unwrap(const ArrayLike& x, int axis, double period) {
  Array a = float_array(x);
  const Type type = type_of(a);
  const int i = checked_axis("unwrap", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  const std::int64_t n = type.shape[i];
  if (n == 0) return a;
  const double half = period / 2;
  Array step = diff(stop_gradient(a), 1, i), inside = remainder(step + half, period) - half;
  inside = where((inside == -half) & (step > 0), half, inside);
  Array jump = where(abs(step) < half, 0, inside - step);
  return concatenate({part_of(a, i, 0, 1), part_of(a, i, 1, n) + cumsum(jump, i)}, i);
}

Array logspace(double start, double stop, std::int64_t n, double base, DType dtype, bool endpoint, const Location& at) {
  check_points("logspace", n, at);
  PinLine pin(at);
  const DType d = is_float(dtype) ? dtype : default_float();
  return astype(power(literal(d, base), linspace(start, stop, n, d, endpoint, at)), dtype);
}
// Both ends come out exactly.
Array geomspace(double start, double stop, std::int64_t n, DType dtype, bool endpoint, const Location& at) {
  check_points("geomspace", n, at);
  if (!(start != 0 && stop != 0 && (start < 0) == (stop < 0)))
    fail("geomspace", at, fmt::format("from {} to {}: both have one sign, and none is 0", start, stop));
  PinLine pin(at);
  const double sign = start < 0 ? -1 : 1;
  const DType d = is_float(dtype) ? dtype : default_float();
  Array y = sign * exp(linspace(std::log(start * sign), std::log(stop * sign), n, f64, endpoint, at));
  Array i = lax::iota({n}, 0);
  y = where(i == 0, start, y);
  if (endpoint && n > 1) y = where(i == n - 1, stop, y);
  return astype(astype(y, d), dtype);
}

Array bartlett(std::int64_t n, DType dtype, const Location& at) {
  check_points("bartlett", n, at);
  const DType d = window_type("bartlett", dtype, at);
  PinLine pin(at);
  if (n <= 1) return ones({n}, d);
  return 1 - abs(lax::iota({n}, 0, d) * (2.0 / static_cast<double>(n - 1)) - 1);
}
Array blackman(std::int64_t n, DType dtype, const Location& at) {
  check_points("blackman", n, at);
  const DType d = window_type("blackman", dtype, at);
  PinLine pin(at);
  if (n <= 1) return ones({n}, d);
  Array t = angles(n, d);
  return 0.42 - 0.5 * cos(t) + 0.08 * cos(2 * t);
}
Array hamming(std::int64_t n, DType dtype, const Location& at) {
  check_points("hamming", n, at);
  const DType d = window_type("hamming", dtype, at);
  PinLine pin(at);
  return n <= 1 ? ones({n}, d) : 0.54 - 0.46 * cos(angles(n, d));
}
Array hanning(std::int64_t n, DType dtype, const Location& at) {
  check_points("hanning", n, at);
  const DType d = window_type("hanning", dtype, at);
  PinLine pin(at);
  return n <= 1 ? ones({n}, d) : 0.5 - 0.5 * cos(angles(n, d));
}
Array kaiser(std::int64_t n, double beta, DType dtype, const Location& at) {
  check_points("kaiser", n, at);
  const DType d = window_type("kaiser", dtype, at);
  PinLine pin(at);
  if (n <= 1) return ones({n}, d);
  const double half = static_cast<double>(n - 1) / 2;
  Array t = (lax::iota({n}, 0, d) - half) / half;
  return i0(beta * sqrt(maximum(1 - t * t, 0))) / i0(literal(d, beta));
}

Array partition(const ArrayLike& x, std::int64_t k, int axis) {
  const Type type = type_of(checked(x));
  const int i = checked_axis("partition", axis, type.shape.ndim(), type, x.at);
  if (k < -type.shape[i] || k >= type.shape[i])
    fail("partition", x.at, fmt::format("element {} is out of range along axis {} of {}", k, i, type.str()));
  return sort(x, axis);
}
Array argpartition(const ArrayLike& x, std::int64_t k, int axis) {
  const Type type = type_of(checked(x));
  const int i = checked_axis("argpartition", axis, type.shape.ndim(), type, x.at);
  if (k < -type.shape[i] || k >= type.shape[i])
    fail("argpartition", x.at, fmt::format("element {} is out of range along axis {} of {}", k, i, type.str()));
  return argsort(x, axis);
}
Array lexsort(const ArrayList& keys, int axis) {
  if (keys.values.empty()) fail("lexsort", keys.at, "of no keys");
  Arrays operands;
  for (std::size_t i = keys.values.size(); i-- > 0;) operands.push_back(checked(ArrayLike(keys.values[i], keys.at)));
  const Type type = type_of(operands[0]);
  for (const Array& x : operands)
    if (type_of(x).shape != type.shape)
      fail("lexsort", keys.at, fmt::format("shapes differ: {} and {}", type.str(), type_of(x).str()));
  if (type.shape.ndim() == 0) return Array(0);
  const int i = checked_axis("lexsort", axis, type.shape.ndim(), type, keys.at);
  PinLine pin(keys.at);
  operands.push_back(lax::iota(type.shape, i, default_int()));
  const int count = static_cast<int>(keys.values.size());
  return lax::sort(operands, i, count).back();
}

bool array_equiv(const ArrayLike& a, const ArrayLike& b) {
  Array x = checked(a), y = checked(b);
  try {
    std::array<Array, 2> both{x, y};
    broadcast_shapes("array_equiv", both, a.at);
  } catch (const Error&) {
    return false;
  }
  PinLine pin(a.at);
  return all(equal(x, y)).item<bool>(a.at);
}

Array packbits(const ArrayLike& x, std::optional<int> axis, std::string_view bitorder) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (is_float(type.dtype)) fail("packbits", x.at, fmt::format("needs bools or integers, got {}", type.str()));
  if (bitorder != "big" && bitorder != "little")
    fail("packbits", x.at, fmt::format("no order \"{}\"", bitorder), "it is big or little");
  PinLine pin(x.at);
  if (!axis) a = ravel(a);
  const int i = axis ? checked_axis("packbits", *axis, type.shape.ndim(), type, x.at) : 0;
  Array bits = moveaxis(astype(a != 0, u8), i, -1);
  Shape shape = type_of(bits).shape;
  const std::int64_t bytes = (shape[-1] + 7) / 8;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(shape.ndim()));
  widths.back().second = bytes * 8 - shape[-1];
  if (widths.back().second > 0) bits = pad(bits, widths);
  shape[-1] = bytes;
  shape.push_back(8);
  Array place = lax::iota({8}, 0, u8);
  bits = left_shift(reshape(bits, shape), bitorder == "big" ? 7 - place : place);
  return moveaxis(astype(sum(bits, -1), u8), -1, i);
}
Array unpackbits(const ArrayLike& x, std::optional<int> axis, std::optional<std::int64_t> count,
                 std::string_view bitorder) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (type.dtype != u8) fail("unpackbits", x.at, fmt::format("needs u8, got {}", type.str()));
  if (bitorder != "big" && bitorder != "little")
    fail("unpackbits", x.at, fmt::format("no order \"{}\"", bitorder), "it is big or little");
  PinLine pin(x.at);
  if (!axis) a = ravel(a);
  const int i = axis ? checked_axis("unpackbits", *axis, type.shape.ndim(), type, x.at) : 0;
  Array bytes = expand_dims(moveaxis(a, i, -1), -1), place = lax::iota({8}, 0, u8);
  Array bits = bitwise_and(right_shift(bytes, bitorder == "big" ? 7 - place : place), 1);
  Shape shape = type_of(bits).shape;
  shape.erase(shape.ndim() - 1);
  shape[-1] *= 8;
  bits = reshape(bits, shape);
  if (count) {  // cut, or filled up with zeros; a negative number is cut off at the end
    const std::int64_t n = shape[-1], wanted = *count < 0 ? std::max<std::int64_t>(n + *count, 0) : *count;
    if (wanted <= n) bits = part_of(bits, shape.ndim() - 1, 0, wanted);
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(shape.ndim()));
    widths.back().second = wanted - n;
    if (wanted > n) bits = pad(bits, widths);
  }
  return moveaxis(bits, -1, i);
}

}  // namespace anew
