// Short lines sorted side by side: a tile holds element i of several lines next to each other, and Batcher's merge
// exchange compares whole rows of it. Which elements are compared does not depend on what they are, so all lines go
// together.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "runtime/lanes.h"

namespace anew {

// The lines of a tile whose rows are a line of the cache.
template <class K>
inline constexpr int tile_lines = 64 / sizeof(K);

// Sorts n rows of keys, which are signed.
template <class K>
void sort_tile(std::int64_t n, K* tile) {
  constexpr int some = tile_lines<K>, width = LaneVector<K>::width;
  if (n < 2) return;
  const std::int64_t top = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))) / 2;
  for (std::int64_t p = top; p > 0; p /= 2)
    for (std::int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (std::int64_t from = r; from + d < n; from += 2 * p) {
        K *a = tile + from * some, *b = a + d * some, *end = tile + std::min(from + p, n - d) * some;
        for (; a < end; a += width, b += width) {
          const auto x = load_lanes(a), y = load_lanes(b);
          const auto less = x < y;
          store_lanes(a, less ? x : y);
          store_lanes(b, less ? y : x);
        }
      }
      if (q == p) break;
    }
}

// Lines of elements of one size: line l starts at x + start[l], and `stride` is from one element to the next.
template <class E>
struct LinesAt {
  E* x;
  std::int64_t stride;
  const std::int64_t* start;
  int present;  // lines; a tile repeats the last for those that are missing

  bool side_by_side() const {
    for (int l = 1; l < present; ++l)
      if (start[l] != start[l - 1] + 1) return false;
    return true;
  }
};

// n elements of each line into a tile of so many lines.
template <int lines, class E>
[[gnu::flatten]] void fill_tile(const LinesAt<const E>& from, std::int64_t n, E* tile) {
  constexpr int width = LaneVector<E>::width;
  const auto start = [&](int l) { return from.x + from.start[std::min(l, from.present - 1)]; };
  std::int64_t i = 0;
  if (from.stride == 1) {
    for (; i + width <= n; i += width)
      for (int g = 0; g < lines; g += width) {
        LanesOf<E> v[width];
        for (int l = 0; l < width; ++l) v[l] = load_lanes(start(g + l) + i);
        turn(v);
        for (int j = 0; j < width; ++j) store_lanes(tile + (i + j) * lines + g, v[j]);
      }
  } else if (from.present == lines && from.side_by_side()) {
    for (; i < n; ++i) std::memcpy(tile + i * lines, from.x + from.start[0] + i * from.stride, lines * sizeof(E));
  }
  for (; i < n; ++i)
    for (int l = 0; l < lines; ++l) std::memcpy(tile + i * lines + l, start(l) + i * from.stride, sizeof(E));
}
// And back, for those that are there.
template <int lines, class E>
[[gnu::flatten]] void empty_tile(const LinesAt<E>& to, std::int64_t n, const E* tile) {
  constexpr int width = LaneVector<E>::width;
  std::int64_t i = 0;
  if (to.stride == 1) {
    for (; i + width <= n; i += width)
      for (int g = 0; g < to.present; g += width) {
        LanesOf<E> v[width];
        for (int j = 0; j < width; ++j) v[j] = load_lanes(tile + (i + j) * lines + g);
        turn(v);
        for (int l = 0; l < std::min(width, to.present - g); ++l) store_lanes(to.x + to.start[g + l] + i, v[l]);
      }
  } else if (to.present == lines && to.side_by_side()) {
    for (; i < n; ++i) std::memcpy(to.x + to.start[0] + i * to.stride, tile + i * lines, lines * sizeof(E));
  }
  for (; i < n; ++i)
    for (int l = 0; l < to.present; ++l)
      std::memcpy(to.x + to.start[l] + i * to.stride, tile + i * lines + l, sizeof(E));
}

}  // namespace anew
