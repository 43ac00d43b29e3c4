// Calls of LAPACK's Fortran routines, f32 and f64. They are declared here, with the lengths of their texts that gfortran
// passes, because no header of the reference LAPACK is in C. Matrices are stored by columns there: where a transpose
// will do instead of a copy, it is used.
#include "runtime/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "runtime/matrices.h"

extern "C" {
using Int = int;
using Length = std::size_t;
void sgeqrf_(const Int* m, const Int* n, float* a, const Int* lda, float* tau, float* work, const Int* lwork,
             Int* info);
void dgeqrf_(const Int* m, const Int* n, double* a, const Int* lda, double* tau, double* work, const Int* lwork,
             Int* info);
void sorgqr_(const Int* m, const Int* n, const Int* k, float* a, const Int* lda, const float* tau, float* work,
             const Int* lwork, Int* info);
void dorgqr_(const Int* m, const Int* n, const Int* k, double* a, const Int* lda, const double* tau, double* work,
             const Int* lwork, Int* info);
void ssyevd_(const char* jobz, const char* uplo, const Int* n, float* a, const Int* lda, float* w, float* work,
             const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length, Length);
void dsyevd_(const char* jobz, const char* uplo, const Int* n, double* a, const Int* lda, double* w, double* work,
             const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length, Length);
void sgesdd_(const char* jobz, const Int* m, const Int* n, float* a, const Int* lda, float* s, float* u, const Int* ldu,
             float* vt, const Int* ldvt, float* work, const Int* lwork, Int* iwork, Int* info, Length);
void dgesdd_(const char* jobz, const Int* m, const Int* n, double* a, const Int* lda, double* s, double* u,
             const Int* ldu, double* vt, const Int* ldvt, double* work, const Int* lwork, Int* iwork, Int* info,
             Length);
}

namespace anew {
namespace {

template <class T>
struct Routines;
template <>
struct Routines<float> {
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto orgqr = sorgqr_;
  static constexpr auto syevd = ssyevd_;
  static constexpr auto gesdd = sgesdd_;
};
template <>
struct Routines<double> {
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto orgqr = dorgqr_;
  static constexpr auto syevd = dsyevd_;
  static constexpr auto gesdd = dgesdd_;
};

// The system decides which LAPACK is behind the name. OpenBLAS built without threads gives wrong results to two callers
// at once, so there they wait for each other.
std::unique_lock<std::mutex> turn() {
  static const bool one_at_a_time = [] {
    void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_parallel");
    return symbol && reinterpret_cast<int (*)()>(symbol)() == 0;
  }();
  static std::mutex& mutex = *new std::mutex;
  return one_at_a_time ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

Int leading(std::int64_t n) { return static_cast<Int>(std::max<std::int64_t>(n, 1)); }

template <class T>
bool all_finite(std::int64_t count, const T* x) {
  return std::all_of(x, x + count, [](T v) { return std::isfinite(v); });
}
template <class T>
void fill_nan(std::int64_t count, T* x) {
  if (x) std::fill(x, x + count, std::numeric_limits<T>::quiet_NaN());
}

// call(work, lwork), first with lwork -1, which asks for the size.
template <class T, class F>
void with_work(F call) {
  T size = 0;
  call(&size, -1);
  // In f32 a large size may have been rounded down.
  const auto count = static_cast<std::int64_t>(std::nextafter(size, std::numeric_limits<T>::infinity())) + 1;
  Scratch<T> work(count);
  call(work.data(), static_cast<Int>(count));
}

}  // namespace

template <class T>
void lapack_qr(std::int64_t m, std::int64_t n, std::int64_t q_columns, const T* a, T* q, T* r) {
  if (!all_finite(m * n, a)) {
    fill_nan(m * q_columns, q);
    for (std::int64_t i = 0; i < q_columns; ++i)
      for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : std::numeric_limits<T>::quiet_NaN();
    return;
  }
  auto lock = turn();
  const Int rows = static_cast<Int>(m), columns = static_cast<Int>(n), wide = static_cast<Int>(q_columns),
            reflectors = std::min(rows, columns), lda = leading(m);
  Scratch<T> x(m * std::max(n, q_columns)), tau(std::max<std::int64_t>(reflectors, 1));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) x[j * m + i] = a[i * n + j];
  Int info = 0;
  with_work<T>([&](T* work, Int lwork) {
    Routines<T>::geqrf(&rows, &columns, x.data(), &lda, tau.data(), work, &lwork, &info);
  });
  for (std::int64_t i = 0; i < q_columns; ++i)
    for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : x[j * m + i];
  with_work<T>([&](T* work, Int lwork) {
    Routines<T>::orgqr(&rows, &wide, &reflectors, x.data(), &lda, tau.data(), work, &lwork, &info);
  });
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < q_columns; ++j) q[i * q_columns + j] = x[j * m + i];
}

template <class T>
void lapack_eigh(std::int64_t n, T* a, T* w) {
  if (n == 0) return;
  auto lock = turn();
  const Int size = static_cast<Int>(n);
  Int info = all_finite(n * n, a) ? 0 : 1;
  if (info == 0) {
    const Int iwork_size = 3 + 5 * size;
    Scratch<Int> iwork(iwork_size);
    with_work<T>([&](T* work, Int lwork) {
      // A question about one size is a question about both.
      const Int liwork = lwork == -1 ? -1 : iwork_size;
      Routines<T>::syevd("V", "L", &size, a, &size, w, work, &lwork, iwork.data(), &liwork, &info, 1, 1);
    });
  }
  if (info != 0) {
    fill_nan(n * n, a);
    fill_nan(n, w);
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

template <class T>
void lapack_svd(std::int64_t m, std::int64_t n, bool full, T* a, T* s, T* u, T* vt) {
  const std::int64_t least = std::min(m, n), u_columns = full ? m : least, v_rows = full ? n : least;
  Int info = all_finite(m * n, a) ? 0 : 1;
  if (info == 0 && least > 0) {
    auto lock = turn();
    // Stored by columns a is a^T = v s u^T: n by m, its left vectors are v^T by rows and its right ones u.
    const Int rows = static_cast<Int>(n), columns = static_cast<Int>(m), lda = leading(n), left = leading(n),
              right = leading(u_columns);
    Scratch<Int> iwork(8 * least);
    T none = 0;
    with_work<T>([&](T* work, Int lwork) {
      Routines<T>::gesdd(!u     ? "N"
                         : full ? "A"
                                : "S",
                         &rows, &columns, a, &lda, s, vt ? vt : &none, &left, u ? u : &none, &right, work, &lwork,
                         iwork.data(), &info, 1);
    });
  } else if (info == 0 && u) {  // a matrix without elements: any orthonormal basis
    for (std::int64_t i = 0; i < m * u_columns; ++i) u[i] = i % u_columns == i / u_columns ? T(1) : T(0);
    for (std::int64_t i = 0; i < v_rows * n; ++i) vt[i] = i % n == i / n ? T(1) : T(0);
  }
  if (info != 0) {
    fill_nan(least, s);
    fill_nan(m * u_columns, u);
    fill_nan(v_rows * n, vt);
  }
}

template void lapack_qr(std::int64_t, std::int64_t, std::int64_t, const float*, float*, float*);
template void lapack_qr(std::int64_t, std::int64_t, std::int64_t, const double*, double*, double*);
template void lapack_eigh(std::int64_t, float*, float*);
template void lapack_eigh(std::int64_t, double*, double*);
template void lapack_svd(std::int64_t, std::int64_t, bool, float*, float*, float*, float*);
template void lapack_svd(std::int64_t, std::int64_t, bool, double*, double*, double*, double*);

}  // namespace anew
