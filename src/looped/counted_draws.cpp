// Draws of counts, by JAX's algorithms: the same keys are split in the same way, so that draws agree with its.
#include <anew/flat.h>
#include <anew/lax.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "composed/random_bits.h"
#include "ops/promote.h"

namespace anew::random {
namespace {

// log k! less the formula of Stirling, of k up to 9 exactly. JAX holds k to 9 before it asks which one, and so do we.
Array stirling_rest(const Array& k) {
  std::vector<double> exact;
  for (int i = 0; i <= 9; ++i)
    exact.push_back(std::lgamma(i + 1.0) -
                    ((i + 0.5) * std::log(i + 1.0) - (i + 1) + 0.5 * std::log(2 * std::numbers::pi)));
  Array held = lax::clamp(0, k, 9), next = held + 1, square = next * next;
  Array formula = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next;
  return where(k <= 9, take(array(exact, type_of(k).dtype), astype(floor(held), i32), 0), formula);
}

// Sums of geometric draws until they pass the count: for few successes.
Array by_inversion(const Array& key, const Array& count, const Array& p, const Shape& shape, DType d) {
  const Array log_miss = log1p(-p);
  Arrays end = flat::while_loop([&](std::span<const Array> s) { return any(s[1] <= count); },
                                [&](std::span<const Array> s) {  // draws, their sum, key
                                  std::array<Array, 2> keys = split(s[2]);
                                  Array step = ceil(log(uniform(keys[0], shape, d)) / log_miss);
                                  return Arrays{where(s[1] <= count, s[0] + 1, s[0]), s[1] + step, keys[1]};
                                },
                                {zeros(shape, d), zeros(shape, d), key});
  return end[0] - 1;
}

// Transformed rejection with squeeze (Hormann 1993).
Array by_rejection(const Array& key, const Array& count, const Array& p, const Shape& shape, DType d) {
  const Array deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const Array a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, inner = 0.92 - 4.2 / b, r = p / (1 - p);
  const Array alpha = (2.83 + 5.1 / b) * deviation, m = floor((count + 1) * p);
  const Array of_mode = (m + 0.5) * log((m + 1) / (r * (count - m + 1)));
  const Array rest_of_mode = stirling_rest(m) + stirling_rest(count - m);
  Arrays end = flat::while_loop([&](std::span<const Array> s) { return any(~s[1]); },
                                [&](std::span<const Array> s) {  // k, accepted, key
                                  std::array<Array, 3> keys = split<3>(s[2]);
                                  Array u = uniform(keys[1], shape, d) - 0.5, v = uniform(keys[2], shape, d),
                                        away = 0.5 - abs(u);
                                  Array k = floor((2 * a / away + b) * u + c), outside = (k < 0) | (k > count);
                                  Array level = log(v * alpha / (a / (away * away) + b));
                                  Array bound = of_mode + (count + 1) * log((count - m + 1) / (count - k + 1)) +
                                                (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + rest_of_mode -
                                                stirling_rest(k) - stirling_rest(count - k);
                                  Array accept = ((away >= 0.07) & (v <= inner)) | (~outside & (level <= bound));
                                  return Arrays{where(accept, k, s[0]), s[1] | accept, keys[0]};
                                },
                                {full(shape, -1, d), full(shape, false), key});
  return end[0];
}

Array binomial_of(const Array& key, const Array& n, const Array& p, const Shape& shape) {
  const double undefined = std::numeric_limits<double>::quiet_NaN(),
               boundless = std::numeric_limits<double>::infinity();
  const DType d = type_of(p).dtype;
  const Array low = p < 0.5, q0 = where(low, p, 1 - p), bad_count = isnan(n) | (n < 0);
  const Array bad = isnan(q0) | (q0 < 0) | bad_count, q = where(isnan(q0) | (q0 < 0), 0.01, q0);
  const Array few = bad_count | (n * q <= 10), count = floor(n);
  Array y = where(few, by_inversion(key, where(few, count, 0), q, shape, d),
                  by_rejection(key, where(few, 1e4, count), where(few, 0.5, q), shape, d));
  y = where(bad, undefined, y);
  y = where(isinf(n) & ~bad, boundless, y);
  const Array same = low | bad_count | isnan(q0) | isinf(n);
  return where(same, y, count - where(same, 0, y));
}

// n and p as floats of one type.
std::pair<Array, Array> counts_and_chances(std::string_view op, const ArrayLike& key, const ArrayLike& n,
                                           const ArrayLike& p, DType dtype) {
  if (!is_float(dtype)) fail(op, key.at, fmt::format("needs a floating type, got {}", name_of(dtype)));
  check_operand(n.value, line_or(key.at));
  check_operand(p.value, line_or(key.at));
  PinLine pin(key.at, op);
  Array chances = strong(as_float(p), key.at);
  if (size_of(type_of(chances).dtype) < 4) chances = astype(chances, f32);
  return {coerce(n.value, type_of(chances).dtype, key.at), chances};
}
// Whether an array of one shape can be broadcast to the other.
bool fits_in(const Shape& from, const Shape& to) {
  bool fits = from.ndim() <= to.ndim();
  for (int i = 1; fits && i <= from.ndim(); ++i) fits = from[-i] == 1 || from[-i] == to[-i];
  return fits;
}

}  // namespace

Array binomial(const ArrayLike& key, const ArrayLike& n, const ArrayLike& p, const OptionalShape& shape, DType dtype) {
  constexpr std::string_view op = "random.binomial";
  const Array k = checked_key(op, key);
  auto [count, chance] = counts_and_chances(op, key, n, p, dtype);
  const Shape own = broadcast_shapes(op, Arrays{count, chance}, key.at), whole = shape ? *shape : own;
  if (!fits_in(own, whole))
    fail(op, key.at, fmt::format("parameters of shape {} do not fit the shape {}", own.str(), whole.str()));
  PinLine pin(key.at);
  return astype(binomial_of(k, broadcast_to(count, whole), broadcast_to(chance, whole), whole), dtype);
}

// One outcome after the other: how many of what remains.
Array multinomial(const ArrayLike& key, const ArrayLike& n, const ArrayLike& p, const OptionalShape& shape,
                  DType dtype) {
  constexpr std::string_view op = "random.multinomial";
  const Array k = checked_key(op, key);
  auto [count, chances] = counts_and_chances(op, key, n, p, dtype);
  const Shape given = type_of(chances).shape;
  if (given.ndim() == 0)
    fail(op, key.at, fmt::format("p has the outcomes along its last axis, got {}", type_of(chances).str()));
  Shape batch = shape ? *shape : given;
  if (!shape) batch.erase(batch.ndim() - 1);
  Shape whole = batch;
  whole.push_back(given[-1]);
  if (!fits_in(given, whole) || !fits_in(type_of(count).shape, batch))
    fail(op, key.at,
         fmt::format("n of type {} and p of type {} do not fit the batch {}", type_of(count).str(),
                     type_of(chances).str(), batch.str()));
  PinLine pin(key.at);
  const Array each = moveaxis(broadcast_to(chances, whole), -1, 0);
  const Array left = flip(cumsum(flip(each, 0), 0), 0);
  const Array ratios = each / where(left == 0, 1, left), keys = split(k, Shape{given[-1]});
  auto draw = [&](std::span<const Array> remaining, std::span<const Array> x) {
    Array drawn = binomial_of(x[1], remaining[0], clip(x[0], 0, 1), batch);
    return flat::ScanResult{{remaining[0] - drawn}, {drawn}};
  };
  flat::ScanResult r = flat::scan(draw, {broadcast_to(count, batch)}, {ratios, keys}, {}, {}, key.at);
  return astype(moveaxis(r.ys[0], 0, -1), dtype);
}

}  // namespace anew::random
