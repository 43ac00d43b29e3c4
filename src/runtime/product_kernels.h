// The innermost loops of the matrix product, one table of them per instruction set and element type.
// Invariant: every kernel makes one chain acc = fma(a, b, acc) over its k in order per element of c, nothing else; so
// all tables give the same bits. Files of this table include nothing whose inline code another file could share.
#pragma once
#include <cstdint>

namespace anew {

constexpr std::int64_t product_block = 256;  // k per chain; fixed by the meaning of dot, see docs on bits

// What a tile does with c: set = chain from +0, add = c + (chain from +0), extend = continue the chain in c.
enum class Update { set, add, extend };
// Neighbouring k of a chain: `k` of them, from a + offset on.
struct Run {
  std::int64_t offset, k;
};
// Lines of the cache that will be packed next: runs of `lines` of them, `stride` bytes apart. A tile asks for `now` of
// them, a few at a time between its multiplications, where a burst would hold up what it reads itself.
struct Ahead {
  static constexpr std::int64_t line_bytes = 64;
  const char* at = nullptr;
  std::int64_t stride = 0, lines = 1, now = 0;
  std::int64_t left = lines;  // of the run at hand
};

template <class T>
struct Kernels {
  static constexpr int max_rows = 14, max_vectors = 8;

  // c[r][j] for r < rows and j < columns, where (vectors - 1) * lanes < columns <= vectors * lanes.
  // a(r, k) = a[r * a_row + k * a_k], b(k, j) = b[k * b_k + j].
  using Tile = void (*)(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_k, const T* b, std::int64_t b_k,
                        T* c, std::int64_t c_row, std::int64_t columns, Update update);
  // The same for packed rows, a(r, k) = a[r + k * rows], of a large product; never extends.
  using PackedTile = void (*)(std::int64_t k, const T* a, const T* b, std::int64_t b_k, T* c, std::int64_t c_row,
                              std::int64_t columns, Update update, Ahead& ahead);
  // The same for a whose k come in runs, a(r, k) of the first k of one being a[r * a_row + offset]; b has whole
  // vectors.
  using WindowTile = void (*)(const Run* runs, std::int64_t count, const T* a, std::int64_t a_row, std::int64_t a_k,
                              const T* b, std::int64_t b_k, T* c, std::int64_t c_row, std::int64_t columns,
                              Update update);
  // One row of a by up to twice `lanes` columns of b: a(k) = a[k * a_k], b(k, j) = b[j * b_column + k]; never extends.
  using Dot = void (*)(std::int64_t k, const T* a, std::int64_t a_k, const T* b, std::int64_t b_column, T* c,
                       std::int64_t columns, Update update);
  // to[k * to_k + r] = from[r * from_row + k] for r < rows <= lanes. What lies between the rows of `to`, where to_k is
  // larger, is undefined afterwards; nothing past the last of them is written.
  using Transpose = void (*)(std::int64_t rows, std::int64_t k, const T* from, std::int64_t from_row, T* to,
                             std::int64_t to_k);
  // to[k * to_k + j] = from[k * from_k + j] for j < columns; what lies between is undefined too.
  using Copy = void (*)(std::int64_t columns, std::int64_t k, const T* from, std::int64_t from_k, T* to,
                        std::int64_t to_k);

  int lanes, rows;  // elements of a vector; rows of the largest tiles of 1 and 2 vectors
  // Of more vectors there are tiles of fewer rows, with as many registers.
  static constexpr int rows_of(int rows, int vectors) {
    return vectors <= 2 ? rows : 2 * rows < vectors ? 1 : 2 * rows / vectors;
  }
  int rows_of(int vectors) const { return rows_of(rows, vectors); }
  std::int64_t vectors_of(std::int64_t height) const {
    return 2 * rows < max_vectors * height ? 2 * rows / height : max_vectors;
  }
  Tile tile[max_vectors + 1][2][max_rows + 1];  // [vectors][b has `vectors` whole vectors][rows]
  // Of panels that are packed: many rows are cut evenly, so those have at least half of the largest tile's.
  static constexpr int fewest_packed(int rows) { return rows / 2; }
  PackedTile packed[3][2][max_rows + 1];
  WindowTile window[3][max_rows + 1];
  Dot dot;
  Transpose transpose;
  Copy copy;
};

// The latter two exist on x86-64 only; whether this machine can run them is asked by product.cpp.
template <class T>
const Kernels<T>* portable_kernels();
template <class T>
const Kernels<T>* avx2_kernels();
template <class T>
const Kernels<T>* avx512_kernels();
template <>
const Kernels<float>* portable_kernels();
template <>
const Kernels<double>* portable_kernels();
template <>
const Kernels<float>* avx2_kernels();
template <>
const Kernels<double>* avx2_kernels();
template <>
const Kernels<float>* avx512_kernels();
template <>
const Kernels<double>* avx512_kernels();

}  // namespace anew
