// Templates of the kernels of product_kernels.h over a vector type V of one instruction set. Each file that includes this
// defines V inside its own anonymous namespace, so that no code compiled for one processor is linked for another.
// V: Element, Register, Mask, lanes; zero, load, store, broadcast, fma, add, mask(n), masked load and store, transpose.
#pragma once
#include <cstdint>

#include "runtime/product_kernels.h"

namespace anew {
namespace {

template <class V, int rows, int vectors, bool packed, bool whole>
void tile(std::int64_t k, const typename V::Element* __restrict a, std::int64_t a_row, std::int64_t a_k,
          const typename V::Element* __restrict b, std::int64_t b_k, typename V::Element* __restrict c,
          std::int64_t c_row, std::int64_t columns, Update update) {
  constexpr int last = vectors - 1;
  if constexpr (packed) a_row = 1, a_k = rows;
  // Masked loads cost a slot of arithmetic, so whole tiles have none.
  const typename V::Mask mask = V::mask(whole ? V::lanes : columns - last * V::lanes);
  const auto load_last = [&](const typename V::Element* p) {
    if constexpr (whole) return V::load(p);
    else return V::load(p, mask);
  };
  typename V::Register x[rows][vectors];
  if (update == Update::extend) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < last; ++v) x[r][v] = V::load(c + r * c_row + v * V::lanes);
      x[r][last] = load_last(c + r * c_row + last * V::lanes);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) x[r][v] = V::zero();
    // The tile of c is needed at the end; a long chain is time enough to fetch it.
    if (update == Update::add && k >= 32) {
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) V::prefetch(c + r * c_row + v * V::lanes);
    }
  }
  const auto step = [&]() __attribute__((always_inline)) {
    typename V::Register y[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < last; ++v) y[v] = V::load(b + v * V::lanes);
    y[last] = load_last(b + last * V::lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const typename V::Register s = V::broadcast(a + r * a_row);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) x[r][v] = V::fma(s, y[v], x[r][v]);
    }
    if constexpr (packed) V::prefetch(a + rows * 16);
    a += a_k;
    b += b_k;
  };
  if constexpr (packed) {
    for (; k > 0; --k) step();
  } else {
    // Many row pointers: their arithmetic should not compete with the chains.
#pragma GCC unroll 4
    for (; k > 0; --k) step();
  }
  if (update == Update::add) {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < last; ++v) x[r][v] = V::add(V::load(c + r * c_row + v * V::lanes), x[r][v]);
      x[r][last] = V::add(load_last(c + r * c_row + last * V::lanes), x[r][last]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < last; ++v) V::store(c + r * c_row + v * V::lanes, x[r][v]);
    if constexpr (whole) V::store(c + r * c_row + last * V::lanes, x[r][last]);
    else V::store(c + r * c_row + last * V::lanes, x[r][last], mask);
  }
}

// Squares of lanes x lanes; rows beyond the last repeat it, so that nothing is read that is not there.
template <class V>
void transpose(std::int64_t rows, std::int64_t k, const typename V::Element* from, std::int64_t from_row,
               typename V::Element* to, std::int64_t to_k) {
  using T = typename V::Element;
  const T* row[V::lanes];
  for (int r = 0; r < V::lanes; ++r) row[r] = from + (r < rows ? r : rows - 1) * from_row;
  // Squares may be stored a whole vector wide, the next k over the excess; the last ones then have to be exact.
  const std::int64_t squares = rows < V::lanes ? k - V::lanes : k;
  std::int64_t i = 0;
  for (; i + V::lanes <= squares; i += V::lanes) V::transpose(row, i, to + i * to_k, to_k, rows);
  for (; i < k; ++i)
    for (std::int64_t r = 0; r < rows; ++r) to[i * to_k + r] = row[r][i];
}

template <class V>
void copy(std::int64_t columns, std::int64_t k, const typename V::Element* from, std::int64_t from_k,
          typename V::Element* to, std::int64_t to_k) {
  if (columns == 2 * V::lanes) {
    for (std::int64_t i = 0; i < k; ++i) {
      V::store(to + i * to_k, V::load(from + i * from_k));
      V::store(to + i * to_k + V::lanes, V::load(from + i * from_k + V::lanes));
    }
    return;
  }
  // Whole vectors again, where the excess is overwritten by the next k.
  const std::int64_t whole = columns < V::lanes ? k - V::lanes : 0;
  for (; columns > V::lanes; columns -= V::lanes, from += V::lanes, to += V::lanes)
    for (std::int64_t i = 0; i < k; ++i) V::store(to + i * to_k, V::load(from + i * from_k));
  const typename V::Mask mask = V::mask(columns);
  std::int64_t i = 0;
  for (; i < whole; ++i) V::store(to + i * to_k, V::load(from + i * from_k, mask));
  for (; i < k; ++i) V::store(to + i * to_k, V::load(from + i * from_k, mask), mask);
}

template <class V, int vectors, bool packed, int max>
struct FillTiles {
  template <class Tiles>
  static void run(Tiles& tiles) {
    if constexpr (max > 0) {
      tiles[0][max] = &tile<V, max, vectors, packed, false>;
      tiles[1][max] = &tile<V, max, vectors, packed, true>;
      FillTiles<V, vectors, packed, max - 1>::run(tiles);
    }
  }
};

template <class V, int rows, int wide_rows>
const Kernels<typename V::Element>* make_kernels() {
  static const Kernels<typename V::Element> kernels = [] {
    Kernels<typename V::Element> t{};
    t.lanes = V::lanes, t.rows = rows, t.wide_rows = wide_rows;
    FillTiles<V, 1, false, rows>::run(t.tile[1]);
    FillTiles<V, 2, false, rows>::run(t.tile[2]);
    FillTiles<V, 3, false, wide_rows>::run(t.tile[3]);
    FillTiles<V, 4, false, wide_rows>::run(t.tile[4]);
    FillTiles<V, 1, true, rows>::run(t.packed[1]);
    FillTiles<V, 2, true, rows>::run(t.packed[2]);
    t.transpose = &transpose<V>;
    t.copy = &copy<V>;
    return t;
  }();
  return &kernels;
}

}  // namespace
}  // namespace anew
