// QR, symmetric eigenvalues and singular values of one dense row-major matrix, by LAPACK. What does not converge, and
// what has a nan or an infinity in it, gives nan.
#pragma once
#include <cstdint>

namespace anew {

// a = q r with q of q_columns columns: min(m, n), or m.
template <class T>
void lapack_qr(std::int64_t m, std::int64_t n, std::int64_t q_columns, const T* a, T* q, T* r);
// Eigenvalues ascending in w; the vectors replace the symmetric matrix a, as columns.
template <class T>
void lapack_eigh(std::int64_t n, T* a, T* w);
// Singular values, descending, in s; u and vt, unless null, have min(m, n) columns and rows, or m and n if `full`. a is used up.
template <class T>
void lapack_svd(std::int64_t m, std::int64_t n, bool full, T* a, T* s, T* u, T* vt);

}  // namespace anew
