// Cofactors by complete pivoting: a[rows][:, columns] = l d w with unit triangular l (lower) and w (upper), the
// elements of both at most 1. Then adj(a) = sign w^-1 adj(d) l^-1, back in the order of a, and its derivative along t
// has that of adj(d) along m = l^-1 t w^-1 in the middle: with p_ij the product of all d but d_i and d_j, -p_ij m_ij
// beside the diagonal and the sum of p_ij m_jj over j != i on it.
#include "runtime/cofactor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace anew {
namespace {

template <class T>
struct Factors {
  std::int64_t n;
  T *l, *w;  // the inverses, dense
  T* d;
  T *before, *after;  // before[i]: the product of d_k, k < i; after[i]: of k >= i
  std::int32_t *rows, *columns;
  T *x, *y;  // n by n each, free
  T sign = 1;

  Factors(std::int64_t n, const T* a, std::byte* scratch) : n(n) {
    Pieces pieces(scratch);
    l = pieces.take<T>(n * n), w = pieces.take<T>(n * n), x = pieces.take<T>(n * n), y = pieces.take<T>(n * n);
    d = pieces.take<T>(n + 1), before = pieces.take<T>(n + 1), after = pieces.take<T>(n + 1);
    rows = pieces.take<std::int32_t>(n), columns = pieces.take<std::int32_t>(n);
    std::copy_n(a, n * n, x);
    std::iota(rows, rows + n, 0);
    std::iota(columns, columns + n, 0);
    for (std::int64_t k = 0; k < n; ++k) eliminate(k);
    invert();
    before[0] = after[n] = 1;
    for (std::int64_t i = 0; i < n; ++i) before[i + 1] = before[i] * d[i];
    for (std::int64_t i = n; i-- > 0;) after[i] = d[i] * after[i + 1];
  }

  // Brings the first largest element that is left to the diagonal; nan counts as largest, so that it is seen.
  void pivot(std::int64_t k) {
    std::int64_t row = k, column = k;
    T most = std::abs(x[k * n + k]);
    for (std::int64_t i = k; i < n && !std::isnan(most); ++i)
      for (std::int64_t j = k; j < n && !std::isnan(most); ++j)
        if (T size = std::abs(x[i * n + j]); !(size <= most)) most = size, row = i, column = j;
    if (row != k) {
      std::swap_ranges(x + row * n, x + row * n + n, x + k * n);
      std::swap(rows[row], rows[k]);
      sign = -sign;
    }
    if (column != k) {
      for (std::int64_t i = 0; i < n; ++i) std::swap(x[i * n + column], x[i * n + k]);
      std::swap(columns[column], columns[k]);
      sign = -sign;
    }
  }
  // Leaves l below the diagonal of x and w above it. Where the pivot is zero, all that is left is.
  void eliminate(std::int64_t k) {
    pivot(k);
    const T* top = x + k * n;
    d[k] = top[k];
    if (d[k] == 0) return;
    for (std::int64_t i = k + 1; i < n; ++i) {
      T* line = x + i * n;
      const T factor = line[k] = line[k] / d[k];
      for (std::int64_t j = k + 1; j < n; ++j) line[j] -= factor * top[j];
    }
    for (std::int64_t j = k + 1; j < n; ++j) x[k * n + j] /= d[k];
  }
  void invert() {
    std::fill_n(l, n * n, T(0));
    std::fill_n(w, n * n, T(0));
    for (std::int64_t i = 0; i < n; ++i) {
      l[i * n + i] = 1;
      for (std::int64_t k = 0; k < i; ++k)
        for (std::int64_t j = 0; j <= k; ++j) l[i * n + j] -= x[i * n + k] * l[k * n + j];
    }
    for (std::int64_t i = n; i-- > 0;) {
      w[i * n + i] = 1;
      for (std::int64_t k = i + 1; k < n; ++k)
        for (std::int64_t j = k; j < n; ++j) w[i * n + j] -= x[i * n + k] * w[k * n + j];
    }
  }

  void product(const T* a, const T* b, T* to) const {
    std::fill_n(to, n * n, T(0));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n; ++k) {
        const T factor = a[i * n + k];
        for (std::int64_t j = 0; j < n; ++j) to[i * n + j] += factor * b[k * n + j];
      }
  }
  // The transpose of `adjugate`, in the order of a.
  void put(const T* adjugate, T* to) const {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) to[rows[j] * n + columns[i]] = sign * adjugate[i * n + j];
  }
};

}  // namespace

template <class T>
void cofactor(std::int64_t n, const T* a, T* to, std::byte* scratch) {
  Factors<T> f(n, a, scratch);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) f.x[i * n + j] = f.before[i] * f.after[i + 1] * f.l[i * n + j];
  f.product(f.w, f.x, f.y);
  f.put(f.y, to);
}

template <class T>
void cofactor_tangent(std::int64_t n, const T* a, const T* t, T* to, std::byte* scratch) {
  Factors<T> f(n, a, scratch);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) f.y[i * n + j] = t[f.rows[i] * n + f.columns[j]];
  f.product(f.l, f.y, f.x);
  f.product(f.x, f.w, f.y);
  T* m = f.y;
  for (std::int64_t i = 0; i < n; ++i) f.x[i * n + i] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    T between = 1;
    for (std::int64_t j = i + 1; j < n; ++j) {
      const T rest = f.before[i] * between * f.after[j + 1];
      between *= f.d[j];
      f.x[i * n + j] = -rest * m[i * n + j];
      f.x[j * n + i] = -rest * m[j * n + i];
      f.x[i * n + i] += rest * m[j * n + j];
      f.x[j * n + j] += rest * m[i * n + i];
    }
  }
  f.product(f.w, f.x, f.y);
  f.product(f.y, f.l, f.x);
  f.put(f.x, to);
}

template void cofactor(std::int64_t, const float*, float*, std::byte*);
template void cofactor(std::int64_t, const double*, double*, std::byte*);
template void cofactor_tangent(std::int64_t, const float*, const float*, float*, std::byte*);
template void cofactor_tangent(std::int64_t, const double*, const double*, double*, std::byte*);

}  // namespace anew
