// Counter-based random bits: the row threefry2x32, keys, and bits of every width, equal to JAX's bit for bit. What is
// drawn from the bits (uniform, normal, ...) is in draws.cpp. A draw of n elements is n independent blocks of the
// cipher, so its bits do not depend on threads, slices or vmap.
#include "ops/random.h"

#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct Words {
  Expr a, b;
};

Expr rotate_left(Expr x, int by) { return shl(x, like(x, by)) | shr_logical(x, like(x, 32 - by)); }

// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
Words threefry(Expr key_a, Expr key_b, Expr a, Expr b) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Expr keys[3] = {key_a, key_b, key_a ^ key_b ^ like(key_a, 0x1BD11BDA)};
  a = a + keys[0];
  b = b + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int r : rotations[group % 2]) {
      a = a + b;
      b = rotate_left(b, r) ^ a;
    }
    a = a + keys[(group + 1) % 3];
    b = b + keys[(group + 2) % 3] + like(b, group + 1);
  }
  return {a, b};
}

Primitive threefry_row() {
  Primitive p = elementwise_row("threefry2x32", 4, Accepts::integers, false, 120, {});
  p.infer = [one = p.infer](const ir::InferArgs& a) {
    Types out = one(a);
    if (out[0].dtype != u32) fail("threefry2x32", a.at, fmt::format("needs u32, got {}", a.in[0].str()));
    out.push_back(out[0]);
    return out;
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    int second = 0;
    loops::Kernel k = loops::elementwise(in, [&](std::span<const Expr> x) {
      Words w = threefry(x[0], x[1], x[2], x[3]);
      second = w.b.id();
      return w.a;
    });
    loops::Store store = k.stores[0];  // the second output lies as the first does
    store.node = second;
    ++store.to.operand;
    k.stores.push_back(store);
    k.operands.push_back(k.operands.back());
    return ir::Lowered{{std::move(k)}, {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array(), Array()}; };
  p.samples = [] {
    std::vector<ir::Sample> out;
    ir::SampleInput scalar{{{}, u32}, 0, 1e9}, vector{{{5}, u32}, 0, 1e9};
    for (const Shape& s : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}})
      out.push_back({ir::no_params(), std::vector<ir::SampleInput>(4, {{s, u32}, 0, 1e9})});
    out.push_back({ir::no_params(), {scalar, scalar, scalar, vector}});
    return out;
  };
  return p;
}

// x * y + z with one rounding: what uniform numbers are scaled by.
Primitive fma_row() {
  Primitive p = elementwise_row("fma", 3, Accepts::floats, false, 2,
                                [](std::span<const Expr> x) { return loops::fma(x[0], x[1], x[2]); });
  p.jvp = [](const ir::JvpArgs& a) {
    Array t;
    if (a.t[0].value()) t = fitted(a.t[0] * a.x[1], a.y[0]);
    if (a.t[1].value()) t = add_tangents(t, fitted(a.t[1] * a.x[0], a.y[0]));
    if (a.t[2].value()) t = add_tangents(t, fitted(a.t[2], a.y[0]));
    return Arrays{t};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (ir::Sample& s : binary_samples({}, {})) {
      s.inputs.push_back(s.inputs[0]);
      out.push_back(s);
    }
    return out;
  };
  return p;
}

struct RandomRows : Family {
  const Primitive& fma = row(fma_row());
  const Primitive& threefry2x32 = row(threefry_row());
};
const RandomRows& rows() {
  static const RandomRows& r = *new RandomRows;
  return r;
}

thread_local bool partitionable = true;

std::pair<Array, Array> block(const Array& key, const Array& hi, const Array& lo) {
  Location at = Location::current();
  Arrays words = anew::bind(rows().threefry2x32, ir::no_params(), {key[0], key[1], hi, lo}, at);
  return {words[0], words[1]};
}

// The cipher of every position of an array.
std::pair<Array, Array> blocks(const Array& key, const Shape& shape) {
  const std::int64_t n = shape.size();
  if (shape.ndim() == 0) return block(key, literal_integer(u32, 0), literal_integer(u32, 0));
  if (n <= std::int64_t{1} << 32) return block(key, literal_integer(u32, 0), reshape(lax::iota({n}, 0, u32), shape));
  Array position = reshape(lax::iota({n}, 0, i64), shape);
  return block(key, astype(lax::shift_right_logical(position, 32), u32), astype(position, u32));
}

// The original form: n words from counters 0, 1, ..., n - 1 (and a 0 where n is odd), the first half beside the second.
Array words(std::string_view op, const Array& key, std::int64_t n, const Location& at) {
  if (n >= (std::int64_t{1} << 32) - 1)
    fail(op, at, fmt::format("{} words are too many for the original counter", n), "set_partitionable(true)");
  const std::int64_t half = (n + 1) / 2;
  Array lo = lax::iota({half}, 0, u32), hi = lo + literal_integer(u32, half);
  if (n % 2 == 1) hi = where(hi == literal_integer(u32, n), literal_integer(u32, 0), hi);
  auto [a, b] = block(key, lo, hi);
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

std::span<const ir::Primitive* const> random_rows() { return rows().list(); }

Array scaled(const Array& x, const Array& y, const Array& z, const Location& at) {
  return anew::bind(rows().fma, ir::no_params(), operands("fma", {x, y, z}, at), at)[0];
}

Array checked_key(std::string_view op, const ArrayLike& key) {
  check_operand(key.value, line_or(key.at));
  const Type type = type_of(key.value);
  if (!(type == Type{{2}, u32}))
    fail(op, key.at, fmt::format("needs a key, u32[2], got {}", type.str()),
         type.dtype == u32 && type.shape.ndim() > 1 ? "vmap draws with several keys" : "random::key(seed) makes one");
  return key.value;
}

Array random_bits(std::string_view op, const Array& key, const Shape& shape, int width, const Location& at) {
  for (std::int64_t n : shape)
    if (n < 0) fail(op, at, fmt::format("negative size in shape {}", shape.str()));
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
    fail("random.key", seed.at, fmt::format("the seed must be an integer, got {}", type.str()));
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
    if (n < 0) fail("random.split", key.at, fmt::format("negative size in shape {}", shape.str()));
  PinLine pin(key.at);
  Shape whole = shape;
  whole.push_back(2);
  if (!partitionable) return reshape(words("random.split", k, whole.size(), key.at), whole);
  auto [a, b] = blocks(k, shape);
  return stack({a, b}, -1);
}

std::vector<Array> detail::split_list(const ArrayLike& key, int n) {
  PinLine pin(key.at);
  return unstack(split(key, Shape(n)));
}

Array fold_in(const ArrayLike& key, const ArrayLike& data) {
  Array k = checked_key("random.fold_in", key);
  check_operand(data.value, line_or(key.at));
  const Type type = type_of(data.value);
  if (type.shape.ndim() != 0 || !is_integer(type.dtype))
    fail("random.fold_in", key.at, fmt::format("the number must be an integer, got {}", type.str()));
  PinLine pin(key.at);
  Array number =
      is_known_number(data.value) ? literal_integer(u32, data.value.value()->integer & 0xffffffff) : astype(data, u32);
  auto [a, b] = block(k, literal_integer(u32, 0), number);
  return stack({a, b});
}

Array bits(const ArrayLike& key, const Shape& shape, DType dtype) {
  if (!is_integer(dtype)) fail("random.bits", key.at, fmt::format("needs an integer type, got {}", name_of(dtype)));
  Array b = bits(key, shape, static_cast<int>(8 * size_of(dtype)));
  PinLine pin(key.at);
  return astype(b, dtype);
}
Array bits(const ArrayLike& key, const Shape& shape, int width) {
  if (width != 8 && width != 16 && width != 32 && width != 64)
    fail("random.bits", key.at, fmt::format("the width is 8, 16, 32 or 64, got {}", width));
  Array k = checked_key("random.bits", key);
  PinLine pin(key.at);
  return random_bits("random.bits", k, shape, width, key.at);
}

}  // namespace random
}  // namespace anew
