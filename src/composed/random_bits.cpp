// Counter-based random bits: keys, and bits of every width, equal to JAX's bit for bit. What is drawn from the bits
// (uniform, normal, ...) is in draws.cpp. A draw of n elements is n independent blocks of the cipher, so its bits do
// not depend on threads, slices or vmap.
#include "composed/random_bits.h"

#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include "ops/promote.h"
#include "ops/random.h"

namespace anew {
namespace {

thread_local bool partitionable = true;

// The cipher of every position of an array.
std::pair<Array, Array> blocks(const Array& key, const Shape& shape) {
  const std::int64_t n = shape.size();
  if (shape.ndim() == 0) return threefry(key, literal_integer(u32, 0), literal_integer(u32, 0));
  if (n <= std::int64_t{1} << 32) return threefry(key, literal_integer(u32, 0), reshape(lax::iota({n}, 0, u32), shape));
  Array position = reshape(lax::iota({n}, 0, i64), shape);
  return threefry(key, astype(lax::shift_right_logical(position, 32), u32), astype(position, u32));
}

// The original form: n words from counters 0, 1, ..., n - 1 (and a 0 where n is odd), the first half beside the second.
Array words(std::string_view op, const Array& key, std::int64_t n, const Location& at) {
  if (n >= (std::int64_t{1} << 32) - 1)
    throw Error(fmt::format("[{}] {} words are too many for the original counter", op, n), line_or(at),
                "set_partitionable(true)");
  const std::int64_t half = (n + 1) / 2;
  Array lo = lax::iota({half}, 0, u32), hi = lo + literal_integer(u32, half);
  if (n % 2 == 1) hi = where(hi == literal_integer(u32, n), literal_integer(u32, 0), hi);
  auto [a, b] = threefry(key, lo, hi);
  Array all = concatenate({a, b});
  return n % 2 == 1 ? lax::slice(all, {0}, {n}) : all;
}

Array joined_words(const Array& hi, const Array& lo) {
  return left_shift(astype(hi, u64), literal_integer(u64, 32)) | astype(lo, u64);
}

Array original_bits(std::string_view op, const Array& key, const Shape& shape, int width, const Location& at) {
  const std::int64_t size = shape.size(), n = (size * width + 31) / 32;
  Array all = words(op, key, n, at);
  if (width == 64) {
    auto halves = split(all, 2);
    all = joined_words(halves[0], halves[1]);
  } else if (width < 32) {
    const std::int64_t parts = 32 / width;
    Array shift = lax::iota({n, parts}, 1, u32) * literal_integer(u32, width);
    all = lax::shift_right_logical(broadcast_to(expand_dims(all, 1), {n, parts}), shift) &
          literal_integer(u32, (1 << width) - 1);
    all = lax::slice(ravel(all), {0}, {size});
  }
  return reshape(all, shape);
}

}  // namespace

Array checked_key(std::string_view op, const ArrayLike& key) {
  check_operand(key.value, line_or(key.at));
  const Type type = type_of(key.value);
  if (!(type == Type{{2}, u32}))
    throw Error(
        fmt::format("[{}] needs a key, u32[2], got {}", op, type.str()), line_or(key.at),
        type.dtype == u32 && type.shape.ndim() > 1 ? "vmap draws with several keys" : "random::key(seed) makes one");
  return key.value;
}

Array random_bits(std::string_view op, const Array& key, const Shape& shape, int width, const Location& at) {
  for (std::int64_t n : shape)
    if (n < 0) throw Error(fmt::format("[{}] negative size in shape {}", op, shape.str()), line_or(at));
  if (!partitionable) return original_bits(op, key, shape, width, at);
  auto [hi, lo] = blocks(key, shape);
  if (width == 64) return joined_words(hi, lo);
  Array mixed = hi ^ lo;
  return width == 32 ? mixed : mixed & literal_integer(u32, (1 << width) - 1);
}

namespace random {

bool set_partitionable(bool on) { return std::exchange(partitionable, on); }

Array key(const ArrayLike& seed) {
  check_operand(seed.value, line_or(seed.at));
  const Type type = type_of(seed.value);
  if (type.shape.ndim() != 0 || !is_integer(type.dtype))
    throw Error(fmt::format("[random.key] the seed must be an integer, got {}", type.str()), line_or(seed.at));
  PinLine pin(seed.at);
  if (is_known_number(seed.value)) {
    auto bits = static_cast<std::uint64_t>(seed.value.value()->integer);
    return array(std::vector<std::uint32_t>{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)},
                 u32);
  }
  Array given = exact(seed.value);
  Array hi =
      size_of(type_of(given).dtype) == 8 ? astype(lax::shift_right_logical(given, 32), u32) : literal_integer(u32, 0);
  return stack({hi, astype(given, u32)});
}

Array split(const ArrayLike& key, const Shape& shape) {
  Array k = checked_key("random.split", key);
  for (std::int64_t n : shape)
    if (n < 0) throw Error(fmt::format("[random.split] negative size in shape {}", shape.str()), line_or(key.at));
  PinLine pin(key.at);
  Shape whole = shape;
  whole.push_back(2);
  if (!partitionable) return reshape(words("random.split", k, whole.size(), key.at), whole);
  auto [a, b] = blocks(k, shape);
  return stack({a, b}, -1);
}

std::vector<Array> detail::split_list(const ArrayLike& key, int n) {
  PinLine pin(key.at, "split");
  return unstack(split(key, Shape(n)));
}

Array fold_in(const ArrayLike& key, const ArrayLike& data) {
  Array k = checked_key("random.fold_in", key);
  check_operand(data.value, line_or(key.at));
  const Type type = type_of(data.value);
  if (type.shape.ndim() != 0 || !is_integer(type.dtype))
    throw Error(fmt::format("[random.fold_in] the number must be an integer, got {}", type.str()), line_or(key.at));
  PinLine pin(key.at);
  Array number =
      is_known_number(data.value) ? literal_integer(u32, data.value.value()->integer & 0xffffffff) : astype(data, u32);
  auto [a, b] = threefry(k, literal_integer(u32, 0), number);
  return stack({a, b});
}

Array bits(const ArrayLike& key, const Shape& shape, DType dtype) {
  if (!is_integer(dtype))
    throw Error(fmt::format("[random.bits] needs an integer type, got {}", name_of(dtype)), line_or(key.at));
  Array b = bits(key, shape, static_cast<int>(8 * size_of(dtype)));
  PinLine pin(key.at);
  return astype(b, dtype);
}
Array bits(const ArrayLike& key, const Shape& shape, int width) {
  if (width != 8 && width != 16 && width != 32 && width != 64)
    throw Error(fmt::format("[random.bits] the width is 8, 16, 32 or 64, got {}", width), line_or(key.at));
  Array k = checked_key("random.bits", key);
  PinLine pin(key.at);
  return random_bits("random.bits", k, shape, width, key.at);
}

}  // namespace random
}  // namespace anew
