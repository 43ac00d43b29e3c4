// Sorting. One operand is sorted by its keys, from which its numbers are made again. Several follow the first, whose
// keys of 32 bits are words of 64 with their positions; keys of 64 bits are so twice, by their upper and lower halves.
// Keys and words, all different or alike in all that matters, are sorted by any means: with vectors where the processor
// has long ones, else short lines side by side by a network and long ones by their digits. Several keys are compared.
#include "runtime/sort_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/dtype.h"
#include "runtime/product.h"
#include "runtime/sort_network.h"
#include "runtime/sort_vectors.h"
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

// How this machine sorts a line with vectors, if it does.
template <class K>
SortLine<K> vector_sort() {
#if defined(__x86_64__)
  if (product_isa() == Isa::avx512) return sort_line_avx512;
#endif
  return nullptr;
}
// So many words with positions, or keys of 64 bits, are sorted sooner by comparing them.
bool few(std::int64_t n) { return n <= (vector_sort<std::int64_t>() ? 16 : 200); }

// How lines are sorted: by words of 32 bits of key and 32 of position, by such words of both halves of a key, by keys
// alone, or by comparing entries.
enum class Way { positions, halves, keys, entries };
Way way_of(DType key, std::size_t operands, int keys, std::int64_t length) {
  if (keys > 1 || length > std::numeric_limits<std::int32_t>::max()) return Way::entries;
  return operands == 1 ? Way::keys : size_of(key) <= 4 ? Way::positions : few(length) ? Way::entries : Way::halves;
}

// What one line needs: its first keys with positions, and its other keys; or two times its words, which is as much, or
// its keys alone.
Units units_of(const Lines& lines, int keys) {
  return {lines.count, scratch_bytes<Entry>(lines.length) + scratch_bytes<std::uint64_t>(lines.length * (keys - 1))};
}
template <class K>
Units units_of_keys(const Lines& lines) {
  return {lines.count, scratch_bytes<K>(2 * lines.length)};
}

// Signed keys of 32 bits where that is enough. Numbers have theirs alone but for zeros and nans.
template <class T>
struct Keys {
  using K = std::conditional_t<sizeof(T) <= 4, std::int32_t, std::int64_t>;
  using Number = std::conditional_t<std::is_class_v<T>, float, T>;  // that is compared
  static constexpr K least = std::numeric_limits<K>::min(), most = std::numeric_limits<K>::max();

  // By the number's bits, without branches, for vectors.
  static constexpr K infinity = sizeof(K) == 4 ? 0x7f800000 : static_cast<K>(0x7ff0000000000000);
  static bool lost(K bits) {  // does the key not tell the number?
    return !std::is_integral_v<T> && (((bits & most) > infinity) | (bits == least));
  }
  static K of_bits(K bits) {
    if constexpr (std::is_integral_v<T>) return std::is_unsigned_v<T> && sizeof(T) >= 4 ? bits ^ least : bits;
    else return (bits & most) > infinity ? most : bits == least ? 0 : bits ^ (bits < 0 ? most : 0);
  }
  static K bits_of_key(K key) {
    if constexpr (std::is_integral_v<T>) return of_bits(key);
    else return key ^ (key < 0 ? most : 0);
  }
  // Of elements in memory.
  static K bits(const T* from) {
    const T element = read_element<T>(from);
    if constexpr (std::is_integral_v<T>) return static_cast<K>(element);
    else return std::bit_cast<K>(convert_number<Number>(element));
  }
  static K of(const T* from) { return of_bits(bits(from)); }
  static T number(K key) {
    if constexpr (std::is_same_v<T, bool>) return key != 0;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(bits_of_key(key));
    else return convert_number<T>(std::bit_cast<Number>(bits_of_key(key)));
  }
};
// f(position, key) for every element of a line, with keys of 32 bits where that is enough.
template <class F>
void each_key(const Strided& x, std::int64_t start, std::int64_t stride, std::int64_t n, F f) {
  visit(x.dtype, [&]<class T>(std::type_identity<T>) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::byte* at = x.data + start * size;
    using K = typename Keys<T>::K;
    for (std::int64_t i = 0; i < n; ++i, at += stride * size)
      f(i, static_cast<std::make_unsigned_t<K>>(Keys<T>::of(reinterpret_cast<const T*>(at)) ^ Keys<T>::least));
  });
}

// Elements of the lines of a tile, by words of their size.
template <int some, class T>
void read_lines(const Strided& in, std::int64_t stride, const std::int64_t* start, int present, std::int64_t n, T* to) {
  using E = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if constexpr (sizeof(T) == sizeof(E)) {
    const LinesAt<const E> lines{reinterpret_cast<const E*>(in.data), stride, start, present};
    return fill_tile<some>(lines, n, reinterpret_cast<E*>(to));
  }
  const auto* x = reinterpret_cast<const T*>(in.data);
  for (std::int64_t i = 0; i < n; ++i)
    for (int l = 0; l < some; ++l) to[i * some + l] = read_element<T>(x + start[std::min(l, present - 1)] + i * stride);
}
template <int some, class T>
void write_lines(const Strided& out, std::int64_t stride, const std::int64_t* start, int present, std::int64_t n,
                 const T* from) {
  using E = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if constexpr (sizeof(T) == sizeof(E)) {
    const LinesAt<E> lines{reinterpret_cast<E*>(out.data), stride, start, present};
    return empty_tile<some>(lines, n, reinterpret_cast<const E*>(from));
  }
  auto* y = reinterpret_cast<T*>(out.data);
  for (std::int64_t i = 0; i < n; ++i)
    for (int l = 0; l < present; ++l) y[start[l] + i * stride] = from[i * some + l];
}

// By digits of 8 bits from bit `low` on, the least first; gives back which of the two has the result.
template <class W>
W* sort_digits(std::int64_t n, int low, W* words, W* other) {
  for (int shift = low; shift < static_cast<int>(8 * sizeof(W)); shift += 8) {
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

// Twice as deep as halving goes.
int depth_for(std::int64_t n) { return 2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))); }

// Words by bits 32 and up, or all of them; `words` and `other` have n each, and one has the result.
template <class W>
W* sort_words(std::int64_t n, int low, W* words, W* other) {
  using K = std::make_signed_t<W>;
  const SortLine<K> vectors = vector_sort<K>();
  if (!vectors) return sort_digits(n, low, words, other);
  K* line = reinterpret_cast<K*>(words);
  vectors(n, line, line, reinterpret_cast<K*>(other), Words::without_sign, depth_for(n));
  return words;
}

// Words that are all different, since they have positions in their lower halves. Digits take passes by the bits of a
// key, partitions by the length of a line: they are for lines that fit into a workspace.
std::uint64_t* sort_with_positions(std::int64_t n, std::uint64_t* words, std::uint64_t* other) {
  if (2 * scratch_bytes<std::uint64_t>(n) > workspace_half) return sort_digits(n, 32, words, other);
  if (!few(n)) return sort_words(n, 32, words, other);
  std::sort(words, words + n);
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

// Lines that are sorted in a tile of keys K; a network of long ones does more than their digits do.
template <class K>
bool in_tiles(const Lines& lines) {
  return lines.length <= (lines.count < tile_lines<K> / 2 ? 64 : 2048);
}
// f(first line, starts of lines in an array with such strides, how many, memory for keys) for every tile.
template <class K, class F>
void each_tile(const Lines& lines, std::byte* scratch, F f) {
  constexpr std::int64_t some = tile_lines<K>;
  const Units tiles{(lines.count + some - 1) / some, scratch_bytes<K>(lines.length * some)};
  tiles.run(std::max<std::int64_t>(1, lines.grain() / some), scratch, [&](std::int64_t tile, std::byte* own) {
    const std::int64_t first = tile * some;
    const auto starts = [&](const Shape& strides) {
      std::array<std::int64_t, some> start{};
      for (std::int64_t l = 0; l < some && first + l < lines.count; ++l) start[l] = lines.start(first + l, strides);
      return start;
    };
    f(first, starts, static_cast<int>(std::min(some, lines.count - first)), reinterpret_cast<K*>(own));
  });
}

// By a key of 32 bits and the position.
void sort_positions(std::span<const Strided> in, std::span<const Strided> out, const Lines& lines, std::byte* scratch) {
  using Word = std::uint64_t;
  const std::int64_t n = lines.length, stride = in[0].strides[lines.axis];
  const auto position = [](auto word) { return static_cast<std::int64_t>(word & 0xffffffff); };
  if (!in_tiles<std::int64_t>(lines)) {
    // Digits take passes by the bits of a key, partitions by the length of a line: they are for keys with many bits in
    // lines that fit into a workspace.
    const Units units = units_of(lines, 1);
    const auto sort = units.pieces() == 0 && size_of(in[0].dtype) == 4 ? sort_words<Word> : sort_digits<Word>;
    units.run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
      auto* words = reinterpret_cast<Word*>(own);
      each_key(in[0], lines.start(line, in[0].strides), stride, n,
               [&](std::int64_t i, Word key) { words[i] = key << 32 | static_cast<Word>(i); });
      const Word* sorted = sort(n, 32, words, words + n);
      follow(in, out, lines, line, [&](std::int64_t i) { return position(sorted[i]); });
    });
    return;
  }
  constexpr int some = tile_lines<std::int64_t>;
  each_tile<std::int64_t>(lines, scratch, [&](std::int64_t first, auto starts, int present, std::int64_t* words) {
    visit(in[0].dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (sizeof(T) <= 4) {
        // Elements come into the upper half of the tile; words are made of them from below.
        T* elements = reinterpret_cast<T*>(reinterpret_cast<std::byte*>(words + n * some) - n * some * sizeof(T));
        const auto start = starts(in[0].strides);
        read_lines<some, T>(in[0], stride, start.data(), present, n, elements);
        for (std::int64_t i = 0; i < n; ++i) {
          std::int64_t row[some];
          for (int l = 0; l < some; ++l) row[l] = std::int64_t{Keys<T>::of(elements + i * some + l)} << 32 | i;
          std::memcpy(words + i * some, row, sizeof row);
        }
      }
    });
    sort_tile(n, words);
    for (int l = 0; l < present; ++l)
      follow(in, out, lines, first + l, [&](std::int64_t i) { return position(words[i * some + l]); });
  });
}

// By a key of 64 bits and the position: first by the upper half of what keys are above the least, counted from the
// highest bit that these have, then what is alike in it by the rest, which is no more than 32 bits.
template <class T>
void sort_halves(std::span<const Strided> in, std::span<const Strided> out, const Lines& lines, std::byte* scratch) {
  using Word = std::uint64_t;
  const std::int64_t n = lines.length, stride = in[0].strides[lines.axis];
  units_of(lines, 1).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    const T* x = reinterpret_cast<const T*>(in[0].data) + lines.start(line, in[0].strides);
    const auto key = [&](std::int64_t i) { return static_cast<Word>(Keys<T>::of(x + i * stride) ^ Keys<T>::least); };
    auto *words = reinterpret_cast<Word*>(own), *other = words + n;
    Word least = ~Word{0}, most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      other[i] = key(i);
      least = std::min(least, other[i]), most = std::max(most, other[i]);
    }
    const int low = std::max(0, static_cast<int>(std::bit_width(most - least)) - 32);
    for (std::int64_t i = 0; i < n; ++i) words[i] = (other[i] - least) >> low << 32 | static_cast<Word>(i);
    Word* const sorted = sort_with_positions(n, words, other);
    const auto position = [&](std::int64_t i) { return static_cast<std::int64_t>(sorted[i] & 0xffffffff); };
    for (std::int64_t i = 0, end; low > 0 && i < n; i = end) {
      end = i + 1;
      while (end < n && sorted[end] >> 32 == sorted[i] >> 32) ++end;
      if (end == i + 1) continue;
      for (std::int64_t j = i; j < end; ++j)
        sorted[j] = (key(position(j)) - least) << (64 - low) >> (64 - low) << 32 | static_cast<Word>(position(j));
      Word* const alike = sort_with_positions(end - i, sorted + i, (sorted == words ? other : words) + i);
      if (alike != sorted + i) std::copy_n(alike, end - i, sorted + i);
    }
    follow(in, out, lines, line, position);
  });
}

// Zeros and nans share keys: they are put back in the order that they had.
template <class T>
void put_back(const T* x, std::int64_t stride, std::int64_t n, T* y, std::int64_t out_stride) {
  if constexpr (!std::is_integral_v<T>) {
    using Number = typename Keys<T>::Number;
    std::int64_t zero_at = 0, nan_at = n;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = convert_number<Number>(x[i * stride]);
      zero_at += value < 0, nan_at -= value != value;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = convert_number<Number>(x[i * stride]);
      if (value != value) y[nan_at++ * out_stride] = x[i * stride];
      else if (value == 0) y[zero_at++ * out_stride] = x[i * stride];
    }
  }
}

// Of shorter ones a tile sorts more at a time.
constexpr std::int64_t shortest_in_vectors = 6;

// One operand, by its keys alone: where they lie.
template <class T, class K>
void sort_dense(SortLine<K> vectors, const Strided& in, const Strided& out, const Lines& lines, std::byte* scratch) {
  constexpr Words kind = !std::is_integral_v<T>  ? Words::floats
                         : std::is_unsigned_v<T> ? Words::without_sign
                                                 : Words::with_sign;
  const std::int64_t n = lines.length;
  units_of_keys<K>(lines).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    const std::byte* from = in.data + lines.start(line, in.strides) * std::int64_t{sizeof(T)};
    std::byte* to = out.data + lines.start(line, out.strides) * std::int64_t{sizeof(T)};
    if (vectors(n, reinterpret_cast<const K*>(from), reinterpret_cast<K*>(to), reinterpret_cast<K*>(own), kind,
                depth_for(n)))
      put_back(reinterpret_cast<const T*>(from), 1, n, reinterpret_cast<T*>(to), 1);
  });
}

// The same of long lines, as words that lie together.
template <class T>
void sort_long(const Strided& in, const Strided& out, const Lines& lines, std::byte* scratch) {
  using K = typename Keys<T>::K;
  using Word = std::make_unsigned_t<K>;
  const std::int64_t n = lines.length, stride = in.strides[lines.axis], out_stride = out.strides[lines.axis];
  units_of_keys<K>(lines).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    auto* words = reinterpret_cast<Word*>(own);
    const T* from = reinterpret_cast<const T*>(in.data) + lines.start(line, in.strides);
    T* to = reinterpret_cast<T*>(out.data) + lines.start(line, out.strides);
    bool lost = false;
    for (std::int64_t i = 0; i < n; ++i) {
      const K bits = Keys<T>::bits(from + i * stride);
      words[i] = static_cast<Word>(Keys<T>::of_bits(bits) ^ Keys<T>::least);
      lost |= Keys<T>::lost(bits);
    }
    const Word* sorted = sort_words(n, 0, words, words + n);
    for (std::int64_t i = 0; i < n; ++i)
      to[i * out_stride] = Keys<T>::number(static_cast<K>(sorted[i]) ^ Keys<T>::least);
    if (lost) put_back(from, stride, n, to, out_stride);
  });
}

template <class T>
void sort_keys(const Strided& in, const Strided& out, const Lines& lines, std::byte* scratch) {
  using K = typename Keys<T>::K;
  const std::int64_t n = lines.length, stride = in.strides[lines.axis], out_stride = out.strides[lines.axis];
  const SortLine<K> vectors = vector_sort<K>();
  if (vectors && sizeof(T) == sizeof(K) && stride == 1 && out_stride == 1 && n >= shortest_in_vectors)
    return sort_dense<T>(vectors, in, out, lines, scratch);
  if (!in_tiles<K>(lines)) return sort_long<T>(in, out, lines, scratch);
  const auto* x = reinterpret_cast<const T*>(in.data);
  auto* y = reinterpret_cast<T*>(out.data);
  constexpr int some = tile_lines<K>;
  each_tile<K>(lines, scratch, [&](std::int64_t, auto starts, int present, K* keys) {
    T* elements = reinterpret_cast<T*>(reinterpret_cast<std::byte*>(keys + n * some) - n * some * sizeof(T));
    const auto start = starts(in.strides), end = starts(out.strides);
    read_lines<some, T>(in, stride, start.data(), present, n, elements);
    const std::int64_t count = n * some;
    if constexpr (sizeof(T) < sizeof(K))
      for (std::int64_t i = 0; i < count; ++i) keys[i] = Keys<T>::bits(elements + i);
    K lost = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      lost |= Keys<T>::lost(keys[i]);
      keys[i] = Keys<T>::of_bits(keys[i]);
    }
    sort_tile(n, keys);
    elements = reinterpret_cast<T*>(keys);
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == sizeof(K)) {
        keys[i] = Keys<T>::bits_of_key(keys[i]);
      } else {
        const T number = Keys<T>::number(keys[i]);
        std::memcpy(elements + i, &number, sizeof number);
      }
    }
    write_lines<some, T>(out, out_stride, end.data(), present, n, elements);
    if (lost)
      for (int l = 0; l < present; ++l) put_back(x + start[l], stride, n, y + end[l], out_stride);
  });
}

}  // namespace

std::uint64_t sort_key(const std::byte* data, DType dtype, std::int64_t offset) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) {
    return sort_key_of(read_element<T>(data + offset * static_cast<std::int64_t>(sizeof(T))));
  });
}

std::size_t sort_scratch(const Shape& shape, int axis, DType first, std::size_t operands, int keys) {
  const Lines lines(shape, axis);
  if (way_of(first, operands, keys, lines.length) != Way::keys) return units_of(lines, keys).scratch();
  return (size_of(first) <= 4 ? units_of_keys<std::int32_t>(lines) : units_of_keys<std::int64_t>(lines)).scratch();
}
std::size_t top_k_scratch(const Shape& shape, int axis) { return units_of(Lines(shape, axis), 1).scratch(); }

void sort_lines(std::span<const Strided> in, std::span<const Strided> out, int axis, int keys, std::byte* scratch) {
  const Lines lines(in[0].shape, axis);
  if (lines.length == 0 || lines.count == 0) return;
  const Way way = way_of(in[0].dtype, in.size(), keys, lines.length);
  if (way == Way::positions) return sort_positions(in, out, lines, scratch);
  if (way == Way::halves)
    return visit(in[0].dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (sizeof(T) == 8) sort_halves<T>(in, out, lines, scratch);
    });
  if (way == Way::keys)
    return visit(in[0].dtype, [&]<class T>(std::type_identity<T>) { sort_keys<T>(in[0], out[0], lines, scratch); });
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
    // A heap of the k best so far, the worst of them on top.
    const auto before = [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    };
    each_key(in, from, in.strides[axis], lines.length, [&](std::int64_t i, std::uint64_t key) {
      const Entry entry{~key, i};
      if (i < k) {
        order[i] = entry;
        if (i + 1 == k) std::make_heap(order, order + k, before);
      } else if (entry.key < order[0].key) {
        std::pop_heap(order, order + k, before);
        order[k - 1] = entry;
        std::push_heap(order, order + k, before);
      }
    });
    std::sort_heap(order, order + k, before);
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
