// Sorting: a line's keys are made once and sorted with their positions; then every operand follows. A key of 32 bits
// and a position are one word; words of 64 bits, all different or alike in all that matters, are sorted by any means:
// short lines side by side by a network, long ones by their digits. Keys of 64 bits that others follow, and several
// keys, are compared.
#include "runtime/sort_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/dtype.h"
#include "runtime/workspace.h"

namespace anew {
namespace {

constexpr std::uint64_t sign = std::uint64_t{1} << 63;

std::uint64_t key_of(double x) {
  if (x != x) return ~std::uint64_t{0};
  if (x == 0) x = 0.0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return bits & sign ? ~bits : bits | sign;
}
template <class T>
std::uint64_t sort_key_of(T x) {
  if constexpr (!std::is_integral_v<T>) return key_of(convert_number<double>(x));
  else if constexpr (std::is_unsigned_v<T>) return static_cast<std::uint64_t>(x);
  else return static_cast<std::uint64_t>(x) ^ sign;
}
struct Entry {
  std::uint64_t key;
  std::int64_t position;
};

// Lines along an axis: their number, and where line i starts in an array.
struct Lines {
  std::int64_t count = 1, length;
  int axis;
  const Shape& shape;
  Lines(const Shape& shape, int axis) : length(shape[axis]), axis(axis), shape(shape) {
    for (int i = 0; i < shape.ndim(); ++i)
      if (i != axis) count *= shape[i];
  }
  std::int64_t start(std::int64_t line, const Shape& strides) const {
    std::int64_t offset = 0;
    for (int i = shape.ndim(); i-- > 0;) {
      if (i == axis) continue;
      offset += line % shape[i] * strides[i];
      line /= shape[i];
    }
    return offset;
  }
  std::int64_t grain() const { return std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, length)); }
};

constexpr std::int64_t network_lines = 8, network_length = 128;

// How lines are sorted: by words of 32 bits of key and 32 of position, by keys alone, or by comparing entries.
enum class Way { positions, keys, entries };
Way way_of(DType key, std::size_t operands, int keys, std::int64_t length) {
  if (keys > 1 || length > std::numeric_limits<std::int32_t>::max()) return Way::entries;
  return size_of(key) <= 4 ? Way::positions : operands == 1 ? Way::keys : Way::entries;
}

// What one line needs: its first keys with positions, and its other keys; or two times its words.
Units units_of(const Lines& lines, int keys) {
  return {lines.count, scratch_bytes<Entry>(lines.length) + scratch_bytes<std::uint64_t>(lines.length * (keys - 1))};
}

std::uint32_t short_key_of(float x) {
  if (x != x) return ~std::uint32_t{0};
  if (x == 0) x = 0.0f;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return bits >> 31 ? ~bits : bits | std::uint32_t{1} << 31;
}
// f(position, key) for every element of a line, with keys of 32 bits where that is enough.
template <class F>
void each_key(const Strided& x, std::int64_t start, std::int64_t stride, std::int64_t n, F f) {
  visit(x.dtype, [&]<class T>(std::type_identity<T>) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::byte* at = x.data + start * size;
    for (std::int64_t i = 0; i < n; ++i, at += stride * size) {
      const T value = read_element<T>(at);
      if constexpr (sizeof(T) > 4) f(i, sort_key_of(value));
      else if constexpr (!std::is_integral_v<T>) f(i, short_key_of(convert_number<float>(value)));
      else if constexpr (std::is_unsigned_v<T>) f(i, static_cast<std::uint32_t>(value));
      else f(i, static_cast<std::uint32_t>(value) ^ std::uint32_t{1} << 31);
    }
  });
}

// Batcher's merge exchange of n words of each of several lines side by side.
void sort_network(std::int64_t n, std::int64_t* words) {
  if (n < 2) return;
  const std::int64_t top = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))) / 2;
  for (std::int64_t p = top; p > 0; p /= 2)
    for (std::int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (std::int64_t i = 0; i + d < n; ++i) {
        if ((i & p) != r) continue;
        std::int64_t* __restrict a = words + i * network_lines, * __restrict b = words + (i + d) * network_lines;
        for (std::int64_t l = 0; l < network_lines; ++l) {
          const std::int64_t x = a[l], y = b[l];
          a[l] = x < y ? x : y;
          b[l] = x < y ? y : x;
        }
      }
      if (q == p) break;
    }
}

// By digits of 8 bits from bit `low` on, the least first; gives back which of the two has the result.
std::uint64_t* sort_digits(std::int64_t n, int low, std::uint64_t* words, std::uint64_t* other) {
  for (int shift = low; shift < 64; shift += 8) {
    std::array<std::int64_t, 256> start{};
    for (std::int64_t i = 0; i < n; ++i) ++start[words[i] >> shift & 255];
    if (start[words[0] >> shift & 255] == n) continue;
    std::int64_t sum = 0;
    for (std::int64_t& count : start) sum += std::exchange(count, sum);
    for (std::int64_t i = 0; i < n; ++i) other[start[words[i] >> shift & 255]++] = words[i];
    std::swap(words, other);
  }
  return words;
}

void copy_element(std::byte* to, std::int64_t t, const std::byte* from, std::int64_t f, std::size_t bytes) {
  std::memcpy(to + t * static_cast<std::int64_t>(bytes), from + f * static_cast<std::int64_t>(bytes), bytes);
}

// The element at position(i) of a line becomes element i, for all operands.
template <class F>
void follow(std::span<const Strided> in, std::span<const Strided> out, const Lines& lines, std::int64_t line,
            F position) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::int64_t from = lines.start(line, in[k].strides), to = lines.start(line, out[k].strides),
                       in_stride = in[k].strides[lines.axis], out_stride = out[k].strides[lines.axis];
    by_size(size_of(in[k].dtype), [&](auto zero) {
      using T = decltype(zero);
      const T* x = reinterpret_cast<const T*>(in[k].data) + from;
      T* y = reinterpret_cast<T*>(out[k].data) + to;
      for (std::int64_t i = 0; i < lines.length; ++i) y[i * out_stride] = x[position(i) * in_stride];
    });
  }
}

// Every line by its words: make(line, put) calls put(i, word) for each, take(line, word) reads word(i) in order.
// Bits below `low` count only between words that are alike in the others, and grow with i.
template <class Make, class Take>
void sort_by_words(const Lines& lines, int low, std::byte* scratch, Make make, Take take) {
  const std::int64_t n = lines.length, some = network_lines;
  if (n > network_length) {
    units_of(lines, 1).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
      auto* words = reinterpret_cast<std::uint64_t*>(own);
      make(line, [&](std::int64_t i, std::uint64_t word) { words[i] = word; });
      const std::uint64_t* sorted = sort_digits(n, low, words, words + n);
      take(line, [&](std::int64_t i) { return sorted[i]; });
    });
    return;
  }
  const Units groups{(lines.count + some - 1) / some, scratch_bytes<std::int64_t>(n * some)};
  groups.run(std::max<std::int64_t>(1, lines.grain() / some), scratch, [&](std::int64_t group, std::byte* own) {
    auto* words = reinterpret_cast<std::int64_t*>(own);
    const std::int64_t first = group * some;
    for (std::int64_t l = 0; l < some; ++l)  // lines that are missing repeat the last
      make(std::min(first + l, lines.count - 1),
           [&](std::int64_t i, std::uint64_t word) { words[i * some + l] = static_cast<std::int64_t>(word ^ sign); });
    sort_network(n, words);
    for (std::int64_t l = 0; l < some && first + l < lines.count; ++l)
      take(first + l, [&](std::int64_t i) { return static_cast<std::uint64_t>(words[i * some + l]) ^ sign; });
  });
}

// By a key of 32 bits and the position.
void sort_positions(std::span<const Strided> in, std::span<const Strided> out, const Lines& lines, std::byte* scratch) {
  const auto make = [&](std::int64_t line, auto put) {
    each_key(in[0], lines.start(line, in[0].strides), in[0].strides[lines.axis], lines.length,
             [&](std::int64_t i, std::uint64_t key) { put(i, key << 32 | static_cast<std::uint64_t>(i)); });
  };
  sort_by_words(lines, 32, scratch, make, [&](std::int64_t line, auto word) {
    follow(in, out, lines, line, [&](std::int64_t i) { return static_cast<std::int64_t>(word(i) & 0xffffffff); });
  });
}

// Numbers from their keys. Those that share one, zeros and nans, are put back in the order that they had.
template <class T>
void put_numbers(const T* x, std::int64_t stride, std::int64_t n, const auto& key, T* y, std::int64_t out_stride) {
  std::int64_t zeros = 0, zero_at = 0, nans = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t k = key(i);
    if constexpr (std::is_same_v<T, double>) {
      y[i * out_stride] = std::bit_cast<double>(k & sign ? k ^ sign : ~k);
      zeros += k == sign, zero_at += k < sign, nans += k == ~std::uint64_t{0};
    } else {
      y[i * out_stride] = static_cast<T>(std::is_signed_v<T> ? k ^ sign : k);
    }
  }
  if (zeros + nans == 0) return;
  std::int64_t nan_at = n - nans;
  for (std::int64_t i = 0; i < n; ++i) {
    const T value = x[i * stride];
    if (value != value) y[nan_at++ * out_stride] = value;
    else if (value == 0 && zeros > 0) y[zero_at++ * out_stride] = value;
  }
}

// One operand of 64 bits: by its keys alone.
void sort_keys(const Strided& in, const Strided& out, const Lines& lines, std::byte* scratch) {
  const std::int64_t stride = in.strides[lines.axis];
  const auto make = [&](std::int64_t line, auto put) {
    each_key(in, lines.start(line, in.strides), stride, lines.length, put);
  };
  sort_by_words(lines, 0, scratch, make, [&](std::int64_t line, auto word) {
    visit(in.dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (sizeof(T) == 8)
        put_numbers(reinterpret_cast<const T*>(in.data) + lines.start(line, in.strides), stride, lines.length, word,
                    reinterpret_cast<T*>(out.data) + lines.start(line, out.strides), out.strides[lines.axis]);
    });
  });
}

}  // namespace

std::uint64_t sort_key(const std::byte* data, DType dtype, std::int64_t offset) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) {
    return sort_key_of(read_element<T>(data + offset * static_cast<std::int64_t>(sizeof(T))));
  });
}

std::size_t sort_scratch(const Shape& shape, int axis, int keys) {
  return units_of(Lines(shape, axis), keys).scratch();
}

void sort_lines(std::span<const Strided> in, std::span<const Strided> out, int axis, int keys, std::byte* scratch) {
  const Lines lines(in[0].shape, axis);
  if (lines.length == 0 || lines.count == 0) return;
  const Way way = way_of(in[0].dtype, in.size(), keys, lines.length);
  if (way == Way::positions) return sort_positions(in, out, lines, scratch);
  if (way == Way::keys) return sort_keys(in[0], out[0], lines, scratch);
  units_of(lines, keys).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    Pieces pieces(own);
    Entry* order = pieces.take<Entry>(lines.length);
    std::uint64_t* more = pieces.take<std::uint64_t>(lines.length * (keys - 1));  // of the keys after the first
    const auto keys_of = [&](int k, auto f) {
      each_key(in[k], lines.start(line, in[k].strides), in[k].strides[axis], lines.length, f);
    };
    keys_of(0, [&](std::int64_t i, std::uint64_t key) { order[i] = {key, i}; });
    for (int k = 1; k < keys; ++k)
      keys_of(k, [&](std::int64_t i, std::uint64_t key) { more[(k - 1) * lines.length + i] = key; });
    std::sort(order, order + lines.length, [&](const Entry& a, const Entry& b) {
      if (a.key != b.key) return a.key < b.key;
      for (int k = 1; k < keys; ++k) {
        const auto x = more[(k - 1) * lines.length + a.position], y = more[(k - 1) * lines.length + b.position];
        if (x != y) return x < y;
      }
      return a.position < b.position;
    });
    follow(in, out, lines, line, [&](std::int64_t i) { return order[i].position; });
  });
}

void top_k_lines(const Strided& in, const Strided& values, const Strided& positions, int axis, std::byte* scratch) {
  const Lines lines(in.shape, axis), results(values.shape, axis);
  const std::int64_t k = values.shape[axis];
  if (k == 0) return;
  const std::size_t bytes = size_of(in.dtype);
  units_of(lines, 1).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    Entry* order = Pieces(own).take<Entry>(lines.length);
    const std::int64_t from = lines.start(line, in.strides);
    for (std::int64_t i = 0; i < lines.length; ++i)
      order[i] = {~sort_key(in.data, in.dtype, from + i * in.strides[axis]), i};
    std::partial_sort(order, order + k, order + lines.length, [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    });
    const std::int64_t to = results.start(line, values.strides), at = results.start(line, positions.strides);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t position = order[i].position;
      copy_element(values.data, to + i * values.strides[axis], in.data, from + position * in.strides[axis], bytes);
      reinterpret_cast<std::int32_t*>(positions.data)[at + i * positions.strides[axis]] =
          static_cast<std::int32_t>(position);
    }
  });
}

void search_sorted(const Strided& a, const Strided& v, bool right, const Strided& out) {
  const int batch = a.shape.ndim() - 1;
  const std::int64_t n = a.shape[batch], count = v.shape.size();
  auto* results = reinterpret_cast<std::int32_t*>(out.data);
  parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t flat = begin; flat < end; ++flat) {
      std::int64_t rest = flat, start = 0, from = 0, to = 0;
      for (int i = v.shape.ndim(); i-- > 0;) {
        const std::int64_t at = rest % v.shape[i];
        rest /= v.shape[i];
        from += at * v.strides[i];
        to += at * out.strides[i];
        if (i < batch) start += at * a.strides[i];
      }
      const std::uint64_t key = sort_key(v.data, v.dtype, from);
      std::int64_t low = 0, high = n;
      while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        const std::uint64_t x = sort_key(a.data, a.dtype, start + middle * a.strides[batch]);
        if (right ? x <= key : x < key) low = middle + 1;
        else high = middle;
      }
      results[to] = static_cast<std::int32_t>(low);
    }
  });
}

}  // namespace anew
