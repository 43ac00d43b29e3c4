// Matrix products, f32 and f64, in the fixed order that makes their bits depend on nothing but the operands: logical k
// in order, in blocks of 256; a block is one chain acc = fma(a, b, acc) from +0; block results are added in order.
// Tiles, strides, forms, batches, threads and instruction sets are free choices under that order. What is packed goes
// to the workspace of the thread that multiplies it; no other memory is used (runtime/workspace.h).
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/pool.h"
#include "runtime/product_kernels.h"

namespace anew {

// How many pieces of b cover a.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Element (i, j) lies at data[i * row_stride + j * column_stride]; strides may be 0 or negative.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride, column_stride;
};

// c(i, j) = sum over k of a(i, k) * b(k, j), for c[i * c_row_stride + j * c_column_stride]. With no k it is +0.
// c overlaps neither a nor b, and no two of its elements are one.
struct ProductEpilogue;
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t c_row_stride,
             std::int64_t c_column_stride, ProductEpilogue* epilogue = nullptr);

// The same onto what c holds, for more k after those that are in it: a product in parts is the whole product, bit for
// bit, if every part but the last has a multiple of 256 k.
template <class T>
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                 std::int64_t c_row_stride, std::int64_t c_column_stride);

// A product whose rows of a are windows: they come in lines, may overlap, and k leads through each in runs. Line i has
// its first row at a + lines[i].a and puts it at c + lines[i].c; further rows are a_row and c_row apart. No run goes
// beyond a block of 256 k. On one thread; columns of c are neighbours.
struct Windows {
  struct Line {
    std::int64_t a, c;
  };
  std::span<const Line> lines;
  std::int64_t rows;  // of a line
  std::int64_t a_row, a_k, c_row;
  std::span<const Run> runs;
};
template <class T>
void window_product(const Windows& rows, std::int64_t n, const T* a, Matrix<T> b, T* c, bool onto);

// Columns of b that a window_product reads fastest where they lie: so many, behind each other.
template <class T>
std::int64_t window_columns();

// to[r * to_row + i] = from[r * from_row + i] for r < rows and i < count; nothing else is written.
template <class T>
void copy_rows(std::int64_t rows, std::int64_t count, const T* from, std::int64_t from_row, T* to, std::int64_t to_row);
// to[r * count + i] = from[r * from_row + i * stride]: elements in other steps, rows behind each other.
template <class T>
void turn_rows(std::int64_t rows, std::int64_t count, const T* from, std::int64_t from_row, std::int64_t stride, T* to);

// One dimension that all three share: a product for each of its indices.
struct BatchDim {
  std::int64_t size, a_stride, b_stride, c_stride;
};
template <class T>
void batched_product(std::span<const BatchDim> batch, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a,
                     Matrix<T> b, T* c, std::int64_t c_row_stride, std::int64_t c_column_stride);

// What is done with a finished product, tile by tile, while it is in the cache. A product that gives all of a dense c
// of `elements` elements calls `tile` for rectangles that cover c, each when it is complete, on any thread, and sets
// `taken`; a product that cannot leaves it to its caller. `width`: columns of c. Or the product is to be added to what
// c holds, as one addition to each of its elements; who asks first learns by `taken` whether this one can: it computes
// nothing then.
struct ProductEpilogue {
  using Tile = FunctionRef<void(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                                std::int64_t width)>;
  enum class Kind : std::uint8_t { tiles, adds, asks_to_add };
  std::int64_t elements = 0;
  Tile tile;
  Kind kind = Kind::tiles;
  bool taken = false;
  static constexpr auto no_tiles = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) {};
};

// Which instructions the product uses: the best that the machine has, unless a test says otherwise.
enum class Isa { portable, avx2, avx512 };
bool has_isa(Isa isa);
Isa product_isa();
void set_product_isa(Isa isa);

// Bytes of a core's second cache, by which a product is cut: what the system tells, or ANEW_L2, or a test (0: neither).
std::int64_t product_cache();
void set_product_cache(std::int64_t bytes);

}  // namespace anew
