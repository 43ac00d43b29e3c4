// What the matrix factorizations share: batches of matrices that lie anyhow in memory, and who runs them.
// Invariant: every matrix of a batch is computed by itself, from a dense copy, so its bits depend on its elements only.
#pragma once
#include <anew/base.h>

#include <algorithm>
#include <cstdint>

#include "runtime/workspace.h"

namespace anew {

// The last two axes are rows and columns, the others the batch.
template <class T>
class Matrices {
 public:
  Matrices(const void* data, const Shape& shape, const Shape& strides)
      : data_(static_cast<const T*>(data)), shape_(shape), strides_(strides) {
    for (int i = 0; i + 2 < shape.ndim(); ++i) count_ *= shape[i];
  }
  std::int64_t count() const { return count_; }
  std::int64_t rows() const { return shape_[-2]; }
  std::int64_t columns() const { return shape_[-1]; }
  std::int64_t size() const { return rows() * columns(); }
  // A dense copy of matrix b, row-major.
  void read(std::int64_t b, T* to) const { copy(b, to, columns(), 1); }
  void read_transposed(std::int64_t b, T* to) const { copy(b, to, 1, rows()); }
  // The symmetric part of matrix b, (x + x^T) / 2, by halves so that nothing overflows.
  void read_symmetric(std::int64_t b, T* to) const {
    const std::int64_t n = rows();
    read(b, to);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        to[i * n + j] = to[j * n + i] = to[i * n + j] * T(0.5) + to[j * n + i] * T(0.5);
  }

 private:
  void copy(std::int64_t b, T* to, std::int64_t to_row, std::int64_t to_column) const {
    const T* from = data_;
    for (int i = shape_.ndim() - 3; i >= 0; --i) {
      from += b % shape_[i] * strides_[i];
      b /= shape_[i];
    }
    const std::int64_t row = strides_[-2], column = strides_[-1];
    for (std::int64_t i = 0; i < rows(); ++i)
      for (std::int64_t j = 0; j < columns(); ++j) to[i * to_row + j * to_column] = from[i * row + j * column];
  }
  const T* data_;
  const Shape& shape_;
  const Shape& strides_;
  std::int64_t count_ = 1;
};

// body(b, its memory) for every matrix; `work` is the cost of one, about in nanoseconds.
template <class F>
void each_matrix(const Units& units, std::int64_t work, std::byte* scratch, F body) {
  units.run(std::max<std::int64_t>(1, 8000 / std::max<std::int64_t>(work, 1)), scratch, body);
}

}  // namespace anew
