// What is drawn from random bits: uniform numbers and their transformations. Formulas are JAX's, as its compiler rounds
// them (a uniform number is scaled by one fma), so that uniform, bernoulli and randint agree with it bit for bit. A
// uniform float is its leading random bits as an integer times a power of two, which is exact.
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "composed/random_bits.h"
#include "ops/promote.h"
#include "ops/random.h"

namespace anew {
namespace {

// Of a floating type: bits of the fraction, and the exponent of its smallest normal number.
struct Format {
  int fraction, least;
  int width() const { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(fraction) + 1)); }  // of random bits
  double epsilon() const { return std::ldexp(1.0, -fraction); }
  double almost_minus_one() const { return -1 + std::ldexp(1.0, -fraction - 1); }
  double tiny() const { return std::ldexp(1.0, least); }
};
Format format_of(DType d) {
  return visit(d, []<class T>(std::type_identity<T>) {
    using Limits = std::conditional_t<std::is_class_v<T>, T, std::numeric_limits<T>>;
    return Format{Limits::digits - 1, Limits::min_exponent - 1};
  });
}

void require_float(std::string_view op, DType dtype, const Location& at) {
  if (!is_float(dtype)) fail(op, at, fmt::format("needs a floating type, got {}", name_of(dtype)));
}
void require_shape(std::string_view op, const Array& x, const Shape& shape, const Location& at) {
  if (type_of(x).shape != shape)
    fail(op, at, fmt::format("parameters of shape {} do not fit the shape {}", type_of(x).shape.str(), shape.str()));
}

// 0 <= x < 1
Array unit(std::string_view op, const ArrayLike& key, const Shape& shape, DType dtype) {
  require_float(op, dtype, key.at);
  Array k = checked_key(op, key);
  const int fraction = format_of(dtype).fraction, width = format_of(dtype).width();
  Array leading = lax::shift_right_logical(random_bits(op, k, shape, width, key.at), width - fraction);
  return astype(leading, dtype) * literal(dtype, std::ldexp(1.0, -fraction));
}

bool is_number(const Array& x, double v) { return is_known_number(x) && x.value()->number == v; }

Array between(std::string_view op, const ArrayLike& key, const Shape& shape, DType dtype, const Array& lo,
              const Array& hi) {
  Array u = unit(op, key, shape, dtype);
  if (is_number(lo, 0) && is_number(hi, 1)) return u;  // the rest would change no bit
  Array from = coerce(lo, dtype, key.at), to = coerce(hi, dtype, key.at);
  Array y = maximum(from, scaled(u, to - from, from, key.at));
  require_shape(op, y, shape, key.at);
  return y;
}

struct Limit {
  Array value;
  Array beyond;  // whether the bound was larger than any number of the type
};
// As this type, held inside its range.
Limit integer_limit(std::string_view op, const Array& x, DType dtype, const Location& at) {
  check_operand(x, line_or(at));
  if (is_float(type_of(x).dtype) || type_of(x).dtype == bool_)
    fail(op, at, fmt::format("bounds are integers, got {}", type_of(x).str()));
  if (dtype == i64) return {coerce(x, i64, at), Array(false)};
  const auto least = number_of_bits<std::int64_t>(dtype, extreme_bits(dtype, true));
  const std::int64_t most = dtype == u64 ? std::numeric_limits<std::int64_t>::max()
                                         : number_of_bits<std::int64_t>(dtype, extreme_bits(dtype, false));
  if (is_known_number(x)) {
    const std::int64_t v = x.value()->integer;
    return {literal_integer(dtype, std::clamp(v, least, most)), Array(v > most)};
  }
  if (type_of(x).dtype == dtype && !is_weak(x)) return {x, Array(false)};
  Array wide = coerce(x, i64, at), first = literal_integer(i64, least), last = literal_integer(i64, most);
  return {astype(lax::clamp(first, wide, last), dtype), wide > last};
}

}  // namespace

namespace random {

Array uniform(const ArrayLike& key, const Shape& shape, DType dtype, const ArrayLike& lo, const ArrayLike& hi) {
  check_operand(lo.value, line_or(key.at));
  check_operand(hi.value, line_or(key.at));
  PinLine pin(key.at);
  return between("random.uniform", key, shape, dtype, lo.value, hi.value);
}

Array normal(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  Array u = between("random.normal", key, shape, dtype, format_of(dtype).almost_minus_one(), 1.0);
  return std::numbers::sqrt2 * erf_inv(u);
}

Array truncated_normal(const ArrayLike& key, const ArrayLike& lower, const ArrayLike& upper, const OptionalShape& shape,
                       DType dtype) {
  constexpr std::string_view op = "random.truncated_normal";
  require_float(op, dtype, key.at);
  PinLine pin(key.at);
  Array a = coerce(lower.value, dtype, key.at), b = coerce(upper.value, dtype, key.at);
  std::array<Array, 2> both{a, b};
  Array from = erf(a / std::numbers::sqrt2), to = erf(b / std::numbers::sqrt2);
  Array u = between(op, key, shape ? *shape : broadcast_shapes(op, both, key.at), dtype, from, to);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return clip(std::numbers::sqrt2 * erf_inv(u), nextafter(stop_gradient(a), infinity),
              nextafter(stop_gradient(b), -infinity));
}

Array exponential(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  return -log1p(-unit("random.exponential", key, shape, dtype));
}
Array gumbel(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  return -log(-log(between("random.gumbel", key, shape, dtype, format_of(dtype).tiny(), 1.0)));
}
Array laplace(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  Array u = between("random.laplace", key, shape, dtype, format_of(dtype).almost_minus_one(), 1.0);
  return sign(u) * log1p(-abs(u));
}
Array logistic(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  Array x = between("random.logistic", key, shape, dtype, format_of(dtype).tiny(), 1.0);
  return log(x) - log1p(-x);
}
Array cauchy(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  Array u = between("random.cauchy", key, shape, dtype, format_of(dtype).epsilon(), 1.0);
  return tan(std::numbers::pi * (u - 0.5));
}

Array bernoulli(const ArrayLike& key, const ArrayLike& p, const OptionalShape& shape) {
  constexpr std::string_view op = "random.bernoulli";
  check_operand(p.value, line_or(key.at));
  PinLine pin(key.at);
  Array probability = coerce(p.value, floating(type_of(p.value).dtype), key.at);
  const Shape whole = shape ? *shape : type_of(probability).shape;
  Array y = unit(op, key, whole, type_of(probability).dtype) < probability;
  require_shape(op, y, whole, key.at);
  return y;
}
Array rademacher(const ArrayLike& key, const Shape& shape, DType dtype) {
  PinLine pin(key.at);
  return astype(2 * astype(bernoulli(key, 0.5, shape), i32) - 1, dtype);
}

Array randint(const ArrayLike& key, const Shape& shape, const ArrayLike& lo, const ArrayLike& hi, DType dtype) {
  constexpr std::string_view op = "random.randint";
  if (!is_integer(dtype)) fail(op, key.at, fmt::format("needs an integer type, got {}", name_of(dtype)));
  checked_key(op, key);
  PinLine pin(key.at);
  if (is_stored(dtype)) {  // drawn as i32, with bounds held inside the range
    const auto least = number_of_bits<double>(dtype, extreme_bits(dtype, true));
    const auto most = number_of_bits<double>(dtype, extreme_bits(dtype, false));
    auto held = [&](const ArrayLike& x, double last) {
      Array y = integer_limit(op, x.value, i32, key.at).value;
      return lax::clamp(literal(i32, least), y, literal(i32, last));
    };
    return astype(randint(key, shape, held(lo, most), held(hi, most + 1), i32), dtype);
  }
  Limit from = integer_limit(op, lo.value, dtype, key.at), to = integer_limit(op, hi.value, dtype, key.at);
  const bool wide = size_of(dtype) == 8;
  const DType word = wide ? u64 : u32;
  auto [k1, k2] = split(key);
  Array higher = random_bits(op, k1, shape, wide ? 64 : 32, key.at);
  Array lower = random_bits(op, k2, shape, wide ? 64 : 32, key.at);
  Array one = literal_integer(word, 1), none = to.value <= from.value;
  Array span = where(none, one, astype(to.value - from.value, word));
  span = where(logical_and(to.beyond, ~none), span + one, span);  // wraps to 0 for all numbers of the type
  // Twice as many bits as the type has, modulo span: higher * 2^width + lower.
  Array factor = lax::rem(literal_integer(word, wide ? std::int64_t{1} << 32 : 1 << 16), span);
  factor = lax::rem(factor * factor, span);
  Array offset = lax::rem(lax::rem(higher, span) * factor + lax::rem(lower, span), span);
  Array y = from.value + astype(offset, dtype);
  require_shape(op, y, shape, key.at);
  return y;
}

Array categorical(const ArrayLike& key, const ArrayLike& logits, int axis, const OptionalShape& shape) {
  constexpr std::string_view op = "random.categorical";
  check_operand(logits.value, line_or(key.at));
  PinLine pin(key.at);
  Array x = coerce(logits.value, floating(type_of(logits.value).dtype), key.at);
  const Type type = type_of(x);
  axis = checked_axis(op, axis, type.shape.ndim(), type, key.at);
  Shape others = type.shape;
  others.erase(axis);
  const Shape whole = shape ? *shape : others;
  const int extra = whole.ndim() - others.ndim();
  bool fits = extra >= 0;
  for (int i = 0; fits && i < others.ndim(); ++i) fits = whole[extra + i] == others[i];
  if (!fits)
    fail(op, key.at,
         fmt::format("the shape {} does not end with {}, the other axes of {}", whole.str(), others.str(), type.str()));
  Shape drawn = whole;
  drawn.insert(extra + axis, type.shape[axis]);
  return argmax(gumbel(key, drawn, type.dtype) + x, extra + axis);
}

}  // namespace random
}  // namespace anew
