// Templates of the kernels of product_kernels.h over a vector type V of one instruction set. Each file that includes
// this defines V inside its own anonymous namespace, so that no code compiled for one processor is linked for another.
// V: Element, Register, Mask, lanes; zero, load, store, broadcast, fma, add, mask(n), masked load and store; parts, a
// register of `group` columns of every group-th row, and turn, which makes of `group` of these the columns.
#pragma once
#include <cstdint>

#include "runtime/product_kernels.h"

namespace anew {
namespace {

// The registers of a tile of c, unrolled: f(its row and vector, where it lies, whether it is the last of its row, whose
// end may lie beyond the tile's columns).
template <class V, int rows, int vectors, class C, class F>
[[gnu::always_inline]] inline void each_vector(C* c, std::int64_t c_row, F f) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) f(r, v, c + r * c_row + v * V::lanes, v == vectors - 1);
}

// What all tiles do; `chains` calls what it is given for each k, with a pointer to the first row of a, which that moves
// on to the next k.
template <class V, int rows, int vectors, bool whole, class Chains>
[[gnu::always_inline]] inline void any_tile(Chains chains, std::int64_t a_row, std::int64_t a_k,
                                            const typename V::Element* __restrict b, std::int64_t b_k,
                                            typename V::Element* __restrict c, std::int64_t c_row, std::int64_t columns,
                                            Update update) {
  using Element = typename V::Element;
  constexpr int last = vectors - 1;
  // A masked load in the loop costs a slot of arithmetic, so there is none where b may be read to the end of the
  // vector.
  const typename V::Mask mask = V::mask(columns - last * V::lanes);
  typename V::Register x[rows][vectors];
  const auto loaded = [&](const Element* from, bool masked)
                          __attribute__((always_inline)) { return masked ? V::load(from, mask) : V::load(from); };
  const auto each = [&](auto f) __attribute__((always_inline)) { each_vector<V, rows, vectors>(c, c_row, f); };
  if (update == Update::extend)
    each([&](int r, int v, Element* at, bool masked) __attribute__((always_inline)) { x[r][v] = loaded(at, masked); });
  else each([&](int r, int v, Element*, bool) __attribute__((always_inline)) { x[r][v] = V::zero(); });
  chains([&](auto& a) __attribute__((always_inline)) {
    typename V::Register y[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) y[v] = loaded(b + v * V::lanes, v == last && !whole);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const typename V::Register s = V::broadcast(a + r * a_row);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) x[r][v] = V::fma(s, y[v], x[r][v]);
    }
    a += a_k;
    b += b_k;
  });
  if (update == Update::add)
    each([&](int r, int v, Element* at, bool masked)
             __attribute__((always_inline)) { x[r][v] = V::add(loaded(at, masked), x[r][v]); });
  each([&](int r, int v, Element* at, bool masked)
           __attribute__((always_inline)) { masked ? V::store(at, x[r][v], mask) : V::store(at, x[r][v]); });
}

// The tile of c is needed at the end; a long chain is time enough to fetch it.
template <class V, int rows, int vectors>
[[gnu::always_inline]] inline void fetch_to_add(typename V::Element* c, std::int64_t c_row, Update update) {
  if (update == Update::add)
    each_vector<V, rows, vectors>(c, c_row, [](int, int, typename V::Element* at, bool) { V::prefetch(at); });
}

template <class V, int rows, int vectors, bool whole>
void tile(std::int64_t k, const typename V::Element* __restrict a, std::int64_t a_row, std::int64_t a_k,
          const typename V::Element* __restrict b, std::int64_t b_k, typename V::Element* __restrict c,
          std::int64_t c_row, std::int64_t columns, Update update) {
  const auto chain = [&](auto step) __attribute__((always_inline)) {
    if (k >= 32) fetch_to_add<V, rows, vectors>(c, c_row, update);
    // Many row pointers: their arithmetic should not compete with the chains.
#pragma GCC unroll 4
    for (; k > 0; --k) step(a);
  };
  any_tile<V, rows, vectors, whole>(chain, a_row, a_k, b, b_k, c, c_row, columns, update);
}

[[gnu::always_inline]] inline void fetch(Ahead& ahead) {
  __builtin_prefetch(ahead.at, 0, 2);
  ahead.at += Ahead::line_bytes, --ahead.now;
  if (--ahead.left == 0) ahead.at += ahead.stride - ahead.lines * Ahead::line_bytes, ahead.left = ahead.lines;
}

// Between every few k: the rows some k ahead, a row of c, which is large where a is packed, and what is packed next.
template <class V, int rows, int vectors, bool whole>
void packed_tile(std::int64_t k, const typename V::Element* __restrict a, const typename V::Element* __restrict b,
                 std::int64_t b_k, typename V::Element* __restrict c, std::int64_t c_row, std::int64_t columns,
                 Update update, Ahead& ahead) {
  constexpr std::int64_t few = 8, distance = 32, line = Ahead::line_bytes / std::int64_t{sizeof(typename V::Element)};
  const auto chain = [&](auto step) __attribute__((always_inline)) {
    typename V::Element* to = c;
    std::int64_t fetched = k >= distance ? 0 : rows;
    const std::int64_t times = k / few, most = times > 0 ? (ahead.now + times - 1) / times : 0;
    for (; k >= few; k -= few) {
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < few * rows; i += line) V::prefetch(a + distance * rows + i);
      if (fetched < rows) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) V::prefetch_to_write(to + v * V::lanes);
        to += c_row, ++fetched;
      }
      for (std::int64_t i = 0; i < most && ahead.now > 0; ++i) fetch(ahead);
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < few; ++i) step(a);
    }
    for (; k > 0; --k) step(a);
  };
  any_tile<V, rows, vectors, whole>(chain, 1, rows, b, b_k, c, c_row, columns, update);
}

template <class V, int rows, int vectors>
void window_tile(const Run* runs, std::int64_t count, const typename V::Element* __restrict first, std::int64_t a_row,
                 std::int64_t a_k, const typename V::Element* __restrict b, std::int64_t b_k,
                 typename V::Element* __restrict c, std::int64_t c_row, std::int64_t columns, Update update) {
  const auto chain = [&](auto step) __attribute__((always_inline)) {
    fetch_to_add<V, rows, vectors>(c, c_row, update);
    for (const Run* run = runs; run != runs + count; ++run) {
      const typename V::Element* a = first + run->offset;
#pragma GCC unroll 4
      for (std::int64_t k = run->k; k > 0; --k) step(a);
    }
  };
  any_tile<V, rows, vectors, true>(chain, a_row, a_k, b, b_k, c, c_row, columns, update);
}

// Rows beyond the last repeat it, so that nothing is read that is not there.
template <class V>
struct RowPointers {
  const typename V::Element* row[V::lanes];
  RowPointers(const typename V::Element* from, std::int64_t stride, std::int64_t count) {
    for (int r = 0; r < V::lanes; ++r) row[r] = from + (r < count ? r : count - 1) * stride;
  }
};

// Columns of `lanes` rows, as many as x has registers. A row is read to the end before the next ones: rows that are
// pages apart share one set of the first cache, and would drive each other out.
template <class V, int columns>
[[gnu::always_inline]] inline void read_columns(const typename V::Element* const* row, std::int64_t k,
                                                typename V::Register (&x)[columns]) {
#pragma GCC unroll 4
  for (int c = 0; c < V::group; ++c)
#pragma GCC unroll 16
    for (int g = 0; g < columns; g += V::group) x[g + c] = V::parts(row + c, k + g);
#pragma GCC unroll 16
  for (int g = 0; g < columns; g += V::group) V::turn(x + g);
}

template <class V>
void transpose(std::int64_t rows, std::int64_t k, const typename V::Element* from, std::int64_t from_row,
               typename V::Element* to, std::int64_t to_k) {
  const RowPointers<V> in(from, from_row, rows);
  // Vectors are stored whole, the next k over the excess; the last ones then have to be exact.
  const std::int64_t vectors = rows < V::lanes ? k - V::lanes : k;
  std::int64_t i = 0;
  for (; i + V::lanes <= vectors; i += V::lanes) {
    typename V::Register x[V::lanes];
    read_columns<V>(in.row, i, x);
#pragma GCC unroll 16
    for (int g = 0; g < V::lanes; ++g) V::store(to + (i + g) * to_k, x[g]);
  }
  for (; i + V::group <= vectors; i += V::group) {
    typename V::Register x[V::group];
    read_columns<V>(in.row, i, x);
#pragma GCC unroll 4
    for (int g = 0; g < V::group; ++g) V::store(to + (i + g) * to_k, x[g]);
  }
  for (; i < k; ++i)
    for (std::int64_t r = 0; r < rows; ++r) to[i * to_k + r] = in.row[r][i];
}

// One row of a against columns of b that lie along k: they are turned in registers on their way into the chains, of
// which one alone would wait for itself.
template <class V, int vectors>
void dots(std::int64_t k, const typename V::Element* a, std::int64_t a_k, const typename V::Element* b,
          std::int64_t b_column, typename V::Element* c, std::int64_t columns, Update update) {
  using Element = typename V::Element;
  constexpr int last = vectors - 1;
  const RowPointers<V> first(b, b_column, columns < V::lanes ? columns : V::lanes);
  const RowPointers<V> in[] = {first,
                               RowPointers<V>(b + last * V::lanes * b_column, b_column, columns - last * V::lanes)};
  typename V::Register acc[vectors];
  for (int v = 0; v < vectors; ++v) acc[v] = V::zero();
  std::int64_t i = 0;
  for (; i + V::lanes <= k; i += V::lanes)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {  // one after the other: both would not fit the registers
      typename V::Register x[V::lanes];
      read_columns<V>(in[v].row, i, x);
#pragma GCC unroll 16
      for (int g = 0; g < V::lanes; ++g) acc[v] = V::fma(V::broadcast(a + (i + g) * a_k), x[g], acc[v]);
    }
  for (; i + V::group <= k; i += V::group) {
    typename V::Register x[vectors][V::group];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) read_columns<V>(in[v].row, i, x[v]);
#pragma GCC unroll 4
    for (int g = 0; g < V::group; ++g) {
      const typename V::Register s = V::broadcast(a + (i + g) * a_k);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) acc[v] = V::fma(s, x[v][g], acc[v]);
    }
  }
  for (; i < k; ++i)
    for (int v = 0; v < vectors; ++v) {
      Element x[V::lanes];
      for (int r = 0; r < V::lanes; ++r) x[r] = in[v].row[r][i];
      acc[v] = V::fma(V::broadcast(a + i * a_k), V::load(x), acc[v]);
    }
  for (int v = 0; v < vectors; ++v) {
    const typename V::Mask mask = V::mask(v == last ? columns - last * V::lanes : V::lanes);
    if (update == Update::add) acc[v] = V::add(V::load(c + v * V::lanes, mask), acc[v]);
    V::store(c + v * V::lanes, acc[v], mask);
  }
}
template <class V>
void dot(std::int64_t k, const typename V::Element* a, std::int64_t a_k, const typename V::Element* b,
         std::int64_t b_column, typename V::Element* c, std::int64_t columns, Update update) {
  (columns > V::lanes ? dots<V, 2> : dots<V, 1>)(k, a, a_k, b, b_column, c, columns, update);
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

template <class V, int vectors, int max>
struct FillTiles {
  template <class Tiles>
  static void run(Tiles& tiles) {
    if constexpr (max > 0) {
      tiles[0][max] = &tile<V, max, vectors, false>;
      tiles[1][max] = &tile<V, max, vectors, true>;
      FillTiles<V, vectors, max - 1>::run(tiles);
    }
  }
};

// Those of packed rows, down to `min`.
template <class V, int vectors, int min, int max>
struct FillPacked {
  static void run(Kernels<typename V::Element>& t) {
    if constexpr (max >= min) {
      t.packed[vectors][0][max] = &packed_tile<V, max, vectors, false>;
      t.packed[vectors][1][max] = &packed_tile<V, max, vectors, true>;
      FillPacked<V, vectors, min, max - 1>::run(t);
    }
  }
};

template <class V, int vectors, int max>
struct FillWindows {
  template <class Tiles>
  static void run(Tiles& tiles) {
    if constexpr (max > 0) {
      tiles[max] = &window_tile<V, max, vectors>;
      FillWindows<V, vectors, max - 1>::run(tiles);
    }
  }
};

// All tiles that are not packed.
template <class V, int rows, int vectors = Kernels<typename V::Element>::max_vectors>
void fill_tiles(Kernels<typename V::Element>& t) {
  FillTiles<V, vectors, Kernels<typename V::Element>::rows_of(rows, vectors)>::run(t.tile[vectors]);
  if constexpr (vectors > 1) fill_tiles<V, rows, vectors - 1>(t);
}

template <class V, int rows>
const Kernels<typename V::Element>* make_kernels() {
  static const Kernels<typename V::Element> kernels = [] {
    Kernels<typename V::Element> t{};
    t.lanes = V::lanes, t.rows = rows;
    fill_tiles<V, rows>(t);
    FillPacked<V, 1, Kernels<typename V::Element>::fewest_packed(rows), rows>::run(t);
    FillPacked<V, 2, Kernels<typename V::Element>::fewest_packed(rows), rows>::run(t);
    FillWindows<V, 1, rows>::run(t.window[1]);
    FillWindows<V, 2, rows>::run(t.window[2]);
    t.dot = &dot<V>;
    t.transpose = &transpose<V>;
    t.copy = &copy<V>;
    return t;
  }();
  return &kernels;
}

}  // namespace
}  // namespace anew
