// Blocked factorizations. What is far from the diagonal is updated by one matrix product per panel, what is near by
// chains of fma; products go through scratch memory, because theirs is a sum of its own that is subtracted once.
#include "runtime/factor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace anew {
namespace {

constexpr std::int64_t panel = 64;

// c -= a b, for c of m rows and n columns that lie one after the other.
template <class T>
void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                      std::int64_t c_row, T* scratch) {
  if (m == 0 || n == 0 || k == 0) return;
  product<T>(m, n, k, a, b, scratch, n, 1);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) c[i * c_row + j] -= scratch[i * n + j];
}

// y -= s x, of n elements.
template <class T>
void subtract_scaled(std::int64_t n, T s, const T* x, T* y) {
  for (std::int64_t j = 0; j < n; ++j) y[j] = std::fma(-s, x[j], y[j]);
}

template <class T>
bool cholesky_in_place(std::int64_t n, T* a, T* scratch) {
  for (std::int64_t begin = 0; begin < n; begin += panel) {
    const std::int64_t end = std::min(begin + panel, n);
    T* rows = a + begin * n;
    subtract_product<T>(n - begin, end - begin, begin, {rows, n, 1}, {rows, 1, n}, rows + begin, n, scratch);
    for (std::int64_t j = begin; j < end; ++j) {
      auto rest = [&](std::int64_t i) {
        T s = a[i * n + j];
        for (std::int64_t k = begin; k < j; ++k) s = std::fma(-a[i * n + k], a[j * n + k], s);
        return s;
      };
      const T square = rest(j);
      if (!(square > 0)) return false;
      const T root = a[j * n + j] = std::sqrt(square);
      for (std::int64_t i = j + 1; i < n; ++i) a[i * n + j] = rest(i) / root;
    }
  }
  return true;
}

// Rows of x are `x_row` apart, which may be negative: an upper triangle is a lower one seen from the end.
template <class T>
void solve_down(std::int64_t n, std::int64_t columns, Matrix<T> a, bool unit_diagonal, T* x, std::int64_t x_row,
                T* scratch) {
  for (std::int64_t begin = 0; begin < n; begin += panel) {
    const std::int64_t end = std::min(begin + panel, n);
    subtract_product<T>(end - begin, columns, begin, {a.data + begin * a.row_stride, a.row_stride, a.column_stride},
                        {x, x_row, 1}, x + begin * x_row, x_row, scratch);
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = a.data + i * a.row_stride;
      T* to = x + i * x_row;
      for (std::int64_t k = begin; k < i; ++k) subtract_scaled(columns, row[k * a.column_stride], x + k * x_row, to);
      if (unit_diagonal) continue;
      const T d = row[i * a.column_stride];
      for (std::int64_t j = 0; j < columns; ++j) to[j] /= d;
    }
  }
}

// The columns [begin, end) of a, rows from begin on; whole rows are swapped.
template <class T>
void factor_panel(std::int64_t m, std::int64_t n, std::int64_t begin, std::int64_t end, T* a, std::int32_t* pivots) {
  for (std::int64_t j = begin; j < end; ++j) {
    std::int64_t p = j;
    for (std::int64_t i = j + 1; i < m; ++i)
      if (std::abs(a[i * n + j]) > std::abs(a[p * n + j])) p = i;
    pivots[j] = static_cast<std::int32_t>(p);
    if (p != j) std::swap_ranges(a + j * n, a + (j + 1) * n, a + p * n);
    const T pivot = a[j * n + j];
    if (pivot == 0) continue;
    for (std::int64_t i = j + 1; i < m; ++i) {
      const T l = a[i * n + j] /= pivot;
      subtract_scaled(end - j - 1, l, a + j * n + j + 1, a + i * n + j + 1);
    }
  }
}

}  // namespace

std::int64_t cholesky_scratch(std::int64_t n) { return n <= panel ? 0 : (n - panel) * panel; }
std::int64_t lu_scratch(std::int64_t m, std::int64_t n) {
  return std::min(m, n) <= panel ? 0 : (m - panel) * (n - panel);
}
std::int64_t solve_scratch(std::int64_t n, std::int64_t columns) { return n <= panel ? 0 : panel * columns; }

template <class T>
void cholesky(std::int64_t n, T* a, T* scratch) {
  const bool found = cholesky_in_place(n, a, scratch);
  for (std::int64_t i = 0; i < n; ++i) {
    if (!found) std::fill(a + i * n, a + i * n + i + 1, std::numeric_limits<T>::quiet_NaN());
    std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
  }
}

template <class T>
void lu(std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots, T* scratch) {
  const std::int64_t steps = std::min(m, n);
  for (std::int64_t begin = 0; begin < steps; begin += panel) {
    const std::int64_t end = std::min(begin + panel, steps);
    factor_panel(m, n, begin, end, a, pivots);
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t k = begin; k < i; ++k) subtract_scaled(n - end, a[i * n + k], a + k * n + end, a + i * n + end);
    if (end < steps)
      subtract_product<T>(m - end, n - end, end - begin, {a + end * n + begin, n, 1}, {a + begin * n + end, n, 1},
                          a + end * n + end, n, scratch);
  }
}

void permutation_of(std::int64_t count, const std::int32_t* pivots, std::int64_t rows, std::int32_t* permutation) {
  for (std::int64_t i = 0; i < rows; ++i) permutation[i] = static_cast<std::int32_t>(i);
  for (std::int64_t i = 0; i < count; ++i) std::swap(permutation[i], permutation[pivots[i]]);
}

template <class T>
void solve_lower(std::int64_t n, std::int64_t columns, Matrix<T> a, bool unit_diagonal, T* x, T* scratch) {
  solve_down(n, columns, a, unit_diagonal, x, columns, scratch);
}
template <class T>
void solve_upper(std::int64_t n, std::int64_t columns, Matrix<T> a, bool unit_diagonal, T* x, T* scratch) {
  if (n == 0) return;
  a.data += (n - 1) * (a.row_stride + a.column_stride);
  a.row_stride = -a.row_stride, a.column_stride = -a.column_stride;
  solve_down(n, columns, a, unit_diagonal, x + (n - 1) * columns, -columns, scratch);
}

template void cholesky(std::int64_t, float*, float*);
template void cholesky(std::int64_t, double*, double*);
template void lu(std::int64_t, std::int64_t, float*, std::int32_t*, float*);
template void lu(std::int64_t, std::int64_t, double*, std::int32_t*, double*);
template void solve_lower(std::int64_t, std::int64_t, Matrix<float>, bool, float*, float*);
template void solve_lower(std::int64_t, std::int64_t, Matrix<double>, bool, double*, double*);
template void solve_upper(std::int64_t, std::int64_t, Matrix<float>, bool, float*, float*);
template void solve_upper(std::int64_t, std::int64_t, Matrix<double>, bool, double*, double*);

}  // namespace anew
