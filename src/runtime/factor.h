// Cholesky and LU factors and triangular solves of dense row-major matrices, f32 and f64, in blocks of 64 whose updates
// are matrix products. Invariant: every element is made by one fixed sequence of operations that its place and the size
// decide, so bits depend on no library, machine or number of threads. Each says how many elements of scratch it needs.
#pragma once
#include <cstdint>

#include "runtime/product.h"

namespace anew {

// The lower factor of a symmetric matrix, in place, zeros above; all of the lower triangle is nan where there is none.
template <class T>
void cholesky(std::int64_t n, T* a, T* scratch);
std::int64_t cholesky_scratch(std::int64_t n);

// a[permutation] = l u in place, with partial pivoting: the first largest element of a column. A column of zeros is
// left.
template <class T>
void lu(std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots, T* scratch);
std::int64_t lu_scratch(std::int64_t m, std::int64_t n);
// The permutation that swapping row i with row pivots[i], in turn, makes of 0, 1, ..., rows - 1.
void permutation_of(std::int64_t count, const std::int32_t* pivots, std::int64_t rows, std::int32_t* permutation);

// x = a^-1 x for a triangular a of n rows (the other triangle is not read) and a dense x of `columns` columns.
template <class T>
void solve_lower(std::int64_t n, std::int64_t columns, Matrix<T> a, bool unit_diagonal, T* x, T* scratch);
template <class T>
void solve_upper(std::int64_t n, std::int64_t columns, Matrix<T> a, bool unit_diagonal, T* x, T* scratch);
std::int64_t solve_scratch(std::int64_t n, std::int64_t columns);

}  // namespace anew
