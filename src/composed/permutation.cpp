// Random orders and choices: elements are sorted by random keys, often enough that equal keys do not matter.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include <cmath>

#include "composed/random_bits.h"
#include "ops/promote.h"

namespace anew::random {
namespace {

// Every line along the axis in an order of its own.
Array shuffled(std::string_view op, Array key, Array x, int axis, const Location& at) {
  constexpr double exponent = 3, words = 4294967295.0;
  const auto n = static_cast<double>(std::max<std::int64_t>(1, type_of(x).shape.size()));
  const int rounds = static_cast<int>(std::ceil(exponent * std::log(n) / std::log(words)));
  for (int i = 0; i < rounds; ++i) {
    auto [next, now] = split(key);
    key = next;
    x = lax::sort({random_bits(op, now, type_of(x).shape, 32, at), x}, axis)[1];
  }
  return x;
}

std::int64_t count_of(std::string_view op, const Array& x, const Location& at) {
  if (!is_integer(type_of(x).dtype))
    fail(op, at, fmt::format("needs an integer or an array with axes, got {}", type_of(x).str()));
  return is_known_number(x) ? x.value()->integer : x.item<std::int64_t>(at);
}

}  // namespace

Array permutation(const ArrayLike& key, const ArrayLike& x, int axis, bool independent) {
  constexpr std::string_view op = "random.permutation";
  Array k = checked_key(op, key);
  check_operand(x.value, line_or(key.at));
  PinLine pin(key.at);
  const Type type = type_of(x.value);
  if (type.shape.ndim() == 0) return shuffled(op, k, arange(count_of(op, x.value, key.at)), 0, key.at);
  axis = checked_axis(op, axis, type.shape.ndim(), type, key.at);
  if (independent || type.shape.ndim() == 1) return shuffled(op, k, strong(x.value, x.at), axis, key.at);
  return take(x, shuffled(op, k, arange(type.shape[axis]), 0, key.at), axis);
}

Array shuffle(const ArrayLike& key, const ArrayLike& x, int axis) { return permutation(key, x, axis); }

Array choice(const ArrayLike& key, const ArrayLike& a, const Shape& shape, const ChoiceOptions& options) {
  constexpr std::string_view op = "random.choice";
  checked_key(op, key);
  check_operand(a.value, line_or(key.at));
  PinLine pin(key.at);
  const Type type = type_of(a.value);
  const bool numbers = type.shape.ndim() == 0;
  const int axis = numbers ? 0 : checked_axis(op, options.axis, type.shape.ndim(), type, key.at);
  const std::int64_t n = numbers ? count_of(op, a.value, key.at) : type.shape[axis], draws = shape.size();
  Shape result = type.shape;
  if (!numbers) result.erase(axis);
  for (int i = 0; i < shape.ndim(); ++i) result.insert(axis + i, shape[i]);
  if (n <= 0 && draws > 0) fail(op, key.at, "from no elements");
  if (!options.replace && draws > n)
    fail(op, key.at, fmt::format("{} draws from {} elements without replacement", draws, n));
  if (options.p && options.p->shape() != Shape(n))
    fail(op, key.at, fmt::format("probabilities {} for {} elements", options.p->type().str(), n));
  if (draws == 0) return zeros(result, numbers ? default_int() : type.dtype);
  Array index;
  if (!options.p && options.replace) {
    index = randint(key, Shape(draws), 0, n);
  } else if (!options.p) {
    Array order = permutation(key, n);
    index = lax::slice(order, {0}, {draws});
  } else {
    Array p = coerce(*options.p, floating(type_of(*options.p).dtype), key.at);
    if (options.replace) {
      Array total = cumsum(p, 0);
      index = astype(searchsorted(total, total[-1] * (1 - uniform(key, Shape(draws), type_of(p).dtype))), i32);
    } else {
      index = astype(top_k(gumbel(key, Shape(n), type_of(p).dtype) + log(p), draws).second, i32);
    }
  }
  return reshape(numbers ? index : take(a, index, axis), result);
}

}  // namespace anew::random
