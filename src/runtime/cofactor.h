// Cofactors of dense row-major matrices, the gradient of the determinant, and their derivative along a direction; f32
// and f64. A = X D Y by complete pivoting, D diagonal, and the cofactors of D are products of its elements: nothing is
// divided by a small pivot, so singular matrices of any rank have the right ones. Invariant: one fixed sequence of
// operations.
#pragma once
#include <cstdint>

#include "runtime/workspace.h"

namespace anew {

// to[i][j] = (-1)^(i+j) times the determinant of a without row i and column j. `to` may not be a.
template <class T>
void cofactor(std::int64_t n, const T* a, T* to, std::byte* scratch);
// The derivative of the cofactors of a along t. `to` may be neither.
template <class T>
void cofactor_tangent(std::int64_t n, const T* a, const T* t, T* to, std::byte* scratch);
template <class T>
std::size_t cofactor_scratch(std::int64_t n) {  // bytes, of either
  return 4 * scratch_bytes<T>(n * n) + 3 * scratch_bytes<T>(n + 1) + 2 * scratch_bytes<std::int32_t>(n);
}

}  // namespace anew
