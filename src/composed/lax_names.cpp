// What jax.lax names beside NumPy: other names, bits, slices along one axis, reductions by an operator.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/axes.h"
#include "ops/promote.h"

namespace anew::lax {
namespace {

Array integers(std::string_view op, const ArrayLike& x) {
  Array a = checked(x);
  if (!is_integer(type_of(a).dtype)) fail(op, x.at, fmt::format("needs integers, got {}", type_of(a).str()));
  return a;
}
DType unsigned_of(DType d) {
  switch (size_of(d)) {
    case 1: return u8;
    case 2: return u16;
    case 4: return u32;
    default: return u64;
  }
}

// Halves joined until one is left: the operator is asked log2(n) times.
Array reduce_axis(const Array& x, const Operator& f, int axis) {
  Array a = x;
  for (std::int64_t n = type_of(a).shape[axis]; n > 1; n = type_of(a).shape[axis]) {
    const std::int64_t half = n / 2;
    Array first = slice_in_dim(a, 0, half, 1, axis), second = slice_in_dim(a, half, 2 * half, 1, axis);
    Array joined = f(first, second);
    check_operand(joined, Location());
    if (type_of(joined) != type_of(first))
      throw Error(fmt::format("[reduce] the operator gives {} for two {}", type_of(joined).str(), type_of(first).str()),
                  Location());
    a = n % 2 == 0 ? joined : concatenate({joined, slice_in_dim(a, 2 * half, n, 1, axis)}, axis);
  }
  return a;
}

}  // namespace

Array eq(const ArrayLike& a, const ArrayLike& b) { return equal(a, b); }
Array ne(const ArrayLike& a, const ArrayLike& b) { return not_equal(a, b); }
Array ge(const ArrayLike& a, const ArrayLike& b) { return greater_equal(a, b); }
Array gt(const ArrayLike& a, const ArrayLike& b) { return greater(a, b); }
Array le(const ArrayLike& a, const ArrayLike& b) { return less_equal(a, b); }
Array lt(const ArrayLike& a, const ArrayLike& b) { return less(a, b); }
Array neg(const ArrayLike& x) { return negative(x); }
Array sub(const ArrayLike& a, const ArrayLike& b) { return subtract(a, b); }
Array mul(const ArrayLike& a, const ArrayLike& b) { return multiply(a, b); }
Array is_finite(const ArrayLike& x) { return isfinite(x); }
Array shift_left(const ArrayLike& a, const ArrayLike& b) { return left_shift(a, b); }
Array shift_right_arithmetic(const ArrayLike& a, const ArrayLike& b) { return right_shift(a, b); }
Array select(const ArrayLike& condition, const ArrayLike& x, const ArrayLike& y) { return where(condition, x, y); }
Array batch_matmul(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return matmul(a, b);
}
Array reduce_sum(const ArrayLike& x, const Axes& axes) {
  PinLine pin(x.at);
  return astype(sum(x, axes), type_of(checked(x)).dtype);
}
Array reduce_prod(const ArrayLike& x, const Axes& axes) {
  PinLine pin(x.at);
  return astype(prod(x, axes), type_of(checked(x)).dtype);
}
Array reduce_and(const ArrayLike& x, const Axes& axes) {
  PinLine pin(x.at);
  return all(x, axes);
}
Array reduce_or(const ArrayLike& x, const Axes& axes) {
  PinLine pin(x.at);
  return any(x, axes);
}
std::pair<Array, Array> approx_max_k(const ArrayLike& x, std::int64_t k, int axis) {
  PinLine pin(x.at);
  return top_k(x, k, axis);
}
std::pair<Array, Array> approx_min_k(const ArrayLike& x, std::int64_t k, int axis) {
  PinLine pin(x.at);
  auto [values, places] = top_k(negative(x), k, axis);
  return {-values, places};
}

Array clz(const ArrayLike& x) {
  Array a = integers("clz", x);
  PinLine pin(x.at);
  const DType d = type_of(a).dtype, word = unsigned_of(d);
  const int width = 8 * static_cast<int>(size_of(d));
  Array bits = astype(a, word);
  for (int shift = 1; shift < width; shift *= 2) bits = bits | shift_right_logical(bits, literal_integer(word, shift));
  return astype(width - astype(population_count(bits), i32), d);
}
Array mulhi(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both("mulhi", a, b, false);
  const DType d = type_of(x).dtype;
  if (!is_integer(d) || size_of(d) > 4)
    fail("mulhi", a.at, fmt::format("needs integers of 32 bits or less, got {}", type_of(x).str()));
  PinLine pin(a.at);
  const DType wide = is_signed(d) ? i64 : u64;
  Array product = astype(x, wide) * astype(y, wide), shift = literal_integer(wide, 8 * static_cast<int>(size_of(d)));
  return astype(right_shift(product, shift), d);
}

// Rounding by the sum with a number whose last bit is where the fraction shall end.
Array reduce_precision(const ArrayLike& x, int exponent_bits, int mantissa_bits) {
  Array a = checked(x);
  const DType d = type_of(a).dtype;
  if (!is_float(d)) fail("reduce_precision", x.at, fmt::format("needs floats, got {}", type_of(a).str()));
  if (exponent_bits < 1 || mantissa_bits < 0)
    fail("reduce_precision", x.at, fmt::format("{} bits of exponent, {} of fraction", exponent_bits, mantissa_bits));
  PinLine pin(x.at);
  const DType exact = d == f64 ? f64 : f32, word = d == f64 ? u64 : u32;
  const int fraction = d == f64 ? 52 : 23, exponents = d == f64 ? 11 : 8, bias = (1 << (exponents - 1)) - 1;
  Array bits = bitcast_convert_type(astype(stop_gradient(a), exact), word);
  auto number = [&](std::uint64_t v) { return literal_integer(word, static_cast<std::int64_t>(v)); };
  const std::uint64_t sign = std::uint64_t{1} << (fraction + exponents);
  Array minus = bits & number(d == f64 ? sign : sign & 0xffffffffu), size = bits ^ minus;
  const int cut = std::max(0, fraction - mantissa_bits);
  if (cut > 0) {  // half to even
    Array odd = shift_right_logical(size, number(static_cast<std::uint64_t>(cut))) & number(1);
    Array half = number((std::uint64_t{1} << (cut - 1)) - 1);
    size = (size + half + odd) & ~number((std::uint64_t{1} << cut) - 1);
  }
  const std::uint64_t inf = ((std::uint64_t{1} << exponents) - 1) << fraction;
  if (exponent_bits < exponents) {
    const int most = (1 << (exponent_bits - 1)) - 1;
    Array exponent = shift_right_logical(size, number(static_cast<std::uint64_t>(fraction)));
    size = where(exponent > number(static_cast<std::uint64_t>(most + bias)), number(inf), size);
    size = where(exponent < number(static_cast<std::uint64_t>(bias - most + 1)), number(0), size);
  }
  Array y = astype(bitcast_convert_type(size | minus, exact), d);
  y = where(isnan(a), stop_gradient(a), y);
  return a + stop_gradient(where(isfinite(a) & isfinite(y), y - a, 0)) + where(isfinite(y) & isfinite(a), 0, y);
}

Array broadcasted_iota(DType dtype, const Shape& shape, int dimension, const Location& at) {
  return iota(shape, dimension, dtype, at);
}
Array broadcast_to_rank(const ArrayLike& x, int ndim) {
  Array a = checked(x);
  Shape shape = type_of(a).shape;
  if (ndim < shape.ndim() || ndim > Shape::max_ndim)
    fail("broadcast_to_rank", x.at, fmt::format("{} does not get {} axes", type_of(a).str(), ndim));
  while (shape.ndim() < ndim) shape.insert(0, 1);
  PinLine pin(x.at);
  return reshape(a, shape);
}
Array collapse(const ArrayLike& x, int start, std::optional<int> stop) {
  Array a = checked(x);
  const Type type = type_of(a);
  const int n = type.shape.ndim(), from = checked_axis("collapse", start, n, type, x.at);
  const int to =
      stop ? checked_axis("collapse", *stop < 0 ? *stop : *stop - 1, n, type, x.at) + (*stop < 0 ? 0 : 1) : n;
  if (to <= from) fail("collapse", x.at, fmt::format("no axes from {} to {} of {}", start, *stop, type.str()));
  Shape shape;
  for (int i = 0; i < n; ++i) {
    if (i > from && i < to) shape[-1] *= type.shape[i];
    else shape.push_back(type.shape[i]);
  }
  PinLine pin(x.at);
  return reshape(a, shape);
}
Array slice_in_dim(const ArrayLike& x, std::optional<std::int64_t> start, std::optional<std::int64_t> limit,
                   std::int64_t stride, int axis) {
  Array a = checked(x);
  const Type type = type_of(a);
  const int i = checked_axis("slice_in_dim", axis, type.shape.ndim(), type, x.at);
  if (stride < 1) fail("slice_in_dim", x.at, fmt::format("the stride is {}", stride));
  const std::int64_t n = type.shape[i];
  auto counted = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + n : v, 0, n); };
  Shape from, to = type.shape, by;
  for (int k = 0; k < to.ndim(); ++k) from.push_back(0), by.push_back(1);
  from[i] = counted(start.value_or(0));
  to[i] = std::max(from[i], counted(limit.value_or(n)));
  by[i] = stride;
  PinLine pin(x.at);
  return slice(a, from, to, stride == 1 ? std::optional<Shape>() : by);
}
Array index_in_dim(const ArrayLike& x, std::int64_t index, int axis, bool keepdims) {
  const Type type = type_of(checked(x));
  const int i = checked_axis("index_in_dim", axis, type.shape.ndim(), type, x.at);
  const std::int64_t n = type.shape[i], k = index < 0 ? index + n : index;
  if (k < 0 || k >= n)
    fail("index_in_dim", x.at, fmt::format("index {} is out of range along axis {} of {}", index, i, type.str()));
  PinLine pin(x.at);
  Array y = slice_in_dim(x, k, k + 1, 1, i);
  return keepdims ? y : squeeze(y, i);
}
Array index_take(const ArrayLike& x, const ArrayList& index, const std::vector<int>& axes) {
  Array a = checked(x);
  const Type type = type_of(a);
  if (index.values.size() != axes.size() || axes.empty())
    fail("index_take", x.at, fmt::format("{} indices for {} axes", index.values.size(), axes.size()));
  PinLine pin(x.at);
  std::vector<int> from, to;
  Shape chosen;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    from.push_back(checked_axis("index_take", axes[i], type.shape.ndim(), type, x.at));
    to.push_back(static_cast<int>(i));
    chosen.push_back(type.shape[from.back()]);
  }
  Array moved = collapse(moveaxis(a, from, to), 0, static_cast<int>(axes.size()));
  return take(moved, ravel_multi_index(index, chosen), 0);
}
std::pair<Array, Array> sort_key_val(const ArrayLike& keys, const ArrayLike& values, int dimension) {
  PinLine pin(keys.at);
  std::vector<Array> y = sort(ArrayList({checked(keys), checked(values)}, keys.at), dimension, 1);
  return {y[0], y[1]};
}
Array scatter_sub(const ArrayLike& x, const ArrayLike& indices, const ArrayLike& updates,
                  const ScatterDimensions& dimensions, const ScatterOptions& options) {
  PinLine pin(x.at);
  return scatter_add(x, indices, negative(updates), dimensions, options);
}

// A user's operator, held to giving an array.
static Operator checked_operator(const Operator& f, const Location& at) {
  detail::check_function(f, at);
  return [&f, at](const Array& a, const Array& b) {
    Array y = f(a, b);
    check_operand(y, line_or(at));
    return y;
  };
}

Array reduce(const ArrayLike& x, const ArrayLike& init, const Operator& given, const Axes& axes) {
  const Operator f = checked_operator(given, x.at);
  Array a = checked(x);
  const Type type = type_of(a);
  Array first = coerce(checked(init), type.dtype, x.at);
  if (type_of(first).shape.ndim() != 0) fail("reduce", x.at, fmt::format("init is {}", type_of(first).str()));
  const std::vector<int> list = checked_axes("reduce", axes, type, x.at);
  PinLine pin(x.at);
  for (int axis : list) {
    Shape one = type_of(a).shape;
    one[axis] = 1;
    if (type_of(a).shape[axis] == 0) a = broadcast_to(first, one);
    a = reduce_axis(a, f, axis);
  }
  return f(squeeze(a, list), broadcast_to(first, type_of(squeeze(a, list)).shape));
}
Array reduce_xor(const ArrayLike& x, const Axes& axes) {
  Array a = checked(x);
  if (is_float(type_of(a).dtype)) fail("reduce_xor", x.at, fmt::format("needs integers, got {}", type_of(a).str()));
  PinLine pin(x.at);
  return reduce(
      a, type_of(a).dtype == bool_ ? Array(false) : Array(0), [](Array u, Array v) { return bitwise_xor(u, v); }, axes);
}

// Every place of a window is a strided slice of the padded array; these are joined.
Array reduce_window(const ArrayLike& x, const ArrayLike& init, const Operator& given, const Shape& window,
                    const Shape& strides, const ConvPadding& padding, const WindowOptions& options) {
  const Operator f = checked_operator(given, x.at);
  Array a = checked(x);
  const Type type = type_of(a);
  const int n = type.shape.ndim();
  Array first = coerce(checked(init), type.dtype, x.at);
  if (type_of(first).shape.ndim() != 0) fail("reduce_window", x.at, fmt::format("init is {}", type_of(first).str()));
  PinLine pin(x.at);
  const Shape out = type_of(reduce_window_sum(zeros(type.shape, f32), window, strides, padding, options)).shape;
  constexpr std::int64_t most = 4096;  // each is a slice
  if (window.size() > most)
    fail("reduce_window", x.at, fmt::format("a window of {} elements; {} are the most", window.size(), most));
  auto at = [](const Shape& s, int i) { return s.ndim() == 0 ? std::int64_t{1} : s[i]; };
  std::vector<Padding> config;
  for (int i = 0; i < n; ++i) {
    const std::int64_t base = at(options.base_dilation, i), by = at(options.window_dilation, i);
    const std::int64_t size = type.shape[i] == 0 ? 0 : (type.shape[i] - 1) * base + 1;
    const std::int64_t width = (window[i] - 1) * by + 1, covered = (out[i] - 1) * strides[i] + width;
    std::int64_t before = 0;
    const std::int64_t missing = std::max<std::int64_t>(0, covered - size);
    if (padding.name().empty()) before = padding.pairs()[static_cast<std::size_t>(i)].first;
    else if (padding.name() == "SAME") before = missing / 2;
    else if (padding.name() == "SAME_LOWER") before = missing - missing / 2;
    config.emplace_back(before, std::max<std::int64_t>(0, covered - before - size), base - 1);
  }
  Array padded = pad(a, first, config), y;
  Shape place;
  for (int i = 0; i < n; ++i) place.push_back(0);
  for (std::int64_t k = 0; k < window.size(); ++k) {
    Shape start, limit;
    for (int i = 0; i < n; ++i) {
      start.push_back(place[i] * at(options.window_dilation, i));
      limit.push_back(start[i] + (out[i] - 1) * strides[i] + 1);
    }
    Array part = slice(padded, start, limit, strides);
    y = y.value() ? f(y, part) : part;
    for (int i = n; i-- > 0;) {
      if (++place[i] < window[i]) break;
      place[i] = 0;
    }
  }
  return y.value() ? f(broadcast_to(first, out), y) : broadcast_to(first, out);
}

}  // namespace anew::lax
