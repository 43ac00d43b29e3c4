// QR, symmetric eigenvalues and singular values of one dense row-major matrix, by LAPACK. What does not converge, and
// what has a nan or an infinity in it, gives nan. Each says how many bytes of scratch it needs; what the library behind
// LAPACK takes for itself is not known here.
#pragma once
#include <cstddef>
#include <cstdint>

namespace anew {

// a = q r with q of q_columns columns: min(m, n), or m.
template <class T>
void lapack_qr(std::int64_t m, std::int64_t n, std::int64_t q_columns, const T* a, T* q, T* r, std::byte* scratch);
template <class T>
std::size_t lapack_qr_scratch(std::int64_t m, std::int64_t n, std::int64_t q_columns);
// Eigenvalues ascending in w; the vectors replace the symmetric matrix a, as columns.
template <class T>
void lapack_eigh(std::int64_t n, T* a, T* w, std::byte* scratch);
template <class T>
std::size_t lapack_eigh_scratch(std::int64_t n);
// Singular values, descending, in s; u and vt, unless null, have min(m, n) columns and rows, or m and n if `full`. a is
// used up.
template <class T>
void lapack_svd(std::int64_t m, std::int64_t n, bool full, T* a, T* s, T* u, T* vt, std::byte* scratch);
template <class T>
std::size_t lapack_svd_scratch(std::int64_t m, std::int64_t n, bool full, bool vectors);

// z t z^T = a with t in place of a, quasi-triangular; q h q^T = a with h in place of a, zero below its subdiagonal. All
// are n by n.
template <class T>
void lapack_schur(std::int64_t n, T* a, T* z, std::byte* scratch);
template <class T>
std::size_t lapack_schur_scratch(std::int64_t n);
template <class T>
void lapack_hessenberg(std::int64_t n, T* a, T* q, std::byte* scratch);
template <class T>
std::size_t lapack_hessenberg_scratch(std::int64_t n);

}  // namespace anew
