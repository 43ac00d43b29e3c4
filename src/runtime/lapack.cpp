// Calls of LAPACK's Fortran routines, f32 and f64. They are declared here, with the lengths of their texts that
// gfortran passes, because no header of the reference LAPACK is in C. Matrices are stored by columns there: where a
// transpose will do instead of a copy, it is used.
#include "runtime/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "runtime/workspace.h"

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
void sgees_(const char* jobvs, const char* sort, const void* select, const Int* n, float* a, const Int* lda, Int* sdim,
            float* wr, float* wi, float* vs, const Int* ldvs, float* work, const Int* lwork, Int* bwork, Int* info,
            Length, Length);
void dgees_(const char* jobvs, const char* sort, const void* select, const Int* n, double* a, const Int* lda, Int* sdim,
            double* wr, double* wi, double* vs, const Int* ldvs, double* work, const Int* lwork, Int* bwork, Int* info,
            Length, Length);
void sgehrd_(const Int* n, const Int* ilo, const Int* ihi, float* a, const Int* lda, float* tau, float* work,
             const Int* lwork, Int* info);
void dgehrd_(const Int* n, const Int* ilo, const Int* ihi, double* a, const Int* lda, double* tau, double* work,
             const Int* lwork, Int* info);
void sorghr_(const Int* n, const Int* ilo, const Int* ihi, float* a, const Int* lda, const float* tau, float* work,
             const Int* lwork, Int* info);
void dorghr_(const Int* n, const Int* ilo, const Int* ihi, double* a, const Int* lda, const double* tau, double* work,
             const Int* lwork, Int* info);
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
  static constexpr auto gees = sgees_;
  static constexpr auto gehrd = sgehrd_;
  static constexpr auto orghr = sorghr_;
};
template <>
struct Routines<double> {
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto orgqr = dorgqr_;
  static constexpr auto syevd = dsyevd_;
  static constexpr auto gesdd = dgesdd_;
  static constexpr auto gees = dgees_;
  static constexpr auto gehrd = dgehrd_;
  static constexpr auto orghr = dorghr_;
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

// The best size of the work array, as call(work, lwork) answers to lwork -1.
template <class T, class F>
std::int64_t work_size(F call) {
  T size = 0;
  call(&size, -1);
  // In f32 a large size may have been rounded down.
  return static_cast<std::int64_t>(std::nextafter(size, std::numeric_limits<T>::infinity())) + 1;
}

// The calls of one matrix; arrays may be null where only sizes are asked for.
template <class T>
struct Qr {
  Int rows, columns, wide, reflectors, lda;
  T *x = nullptr, *tau = nullptr;
  Int info = 0;
  Qr(std::int64_t m, std::int64_t n, std::int64_t q_columns)
      : rows(static_cast<Int>(m)),
        columns(static_cast<Int>(n)),
        wide(static_cast<Int>(q_columns)),
        reflectors(std::min(rows, columns)),
        lda(leading(m)) {}
  std::int64_t x_size() const { return std::int64_t{rows} * std::max(columns, wide); }
  std::int64_t tau_size() const { return std::max(reflectors, 1); }
  void factor(T* work, Int lwork) { Routines<T>::geqrf(&rows, &columns, x, &lda, tau, work, &lwork, &info); }
  void expand(T* work, Int lwork) { Routines<T>::orgqr(&rows, &wide, &reflectors, x, &lda, tau, work, &lwork, &info); }
  std::int64_t factor_work() {
    return work_size<T>([&](T* work, Int lwork) { factor(work, lwork); });
  }
  std::int64_t expand_work() {
    return work_size<T>([&](T* work, Int lwork) { expand(work, lwork); });
  }
};

template <class T>
struct Eigh {
  Int size, iwork_size;
  T *a = nullptr, *w = nullptr;
  Int* iwork = nullptr;
  Int info = 0;
  explicit Eigh(std::int64_t n) : size(static_cast<Int>(n)), iwork_size(3 + 5 * size) {}
  void run(T* work, Int lwork) {
    // A question about one size is a question about both, and answered in both places.
    Int answer = 0;
    const Int liwork = lwork == -1 ? -1 : iwork_size;
    Routines<T>::syevd("V", "L", &size, a, &size, w, work, &lwork, lwork == -1 ? &answer : iwork, &liwork, &info, 1, 1);
  }
  std::int64_t work() {
    return work_size<T>([&](T* work, Int lwork) { run(work, lwork); });
  }
};

// Stored by columns a is a^T = v s u^T: n by m, its left vectors are v^T by rows and its right ones u.
template <class T>
struct Svd {
  const char* job;
  Int rows, columns, left, right;
  T *a = nullptr, *s = nullptr, *u, *vt, none = 0;
  Int* iwork = nullptr;
  Int info = 0;
  Svd(std::int64_t m, std::int64_t n, bool full, bool vectors)
      : job(!vectors ? "N"
            : full   ? "A"
                     : "S"),
        rows(static_cast<Int>(n)),
        columns(static_cast<Int>(m)),
        left(leading(n)),
        right(leading(full ? m : std::min(m, n))),
        u(&none),
        vt(&none) {}
  Svd(const Svd&) = delete;
  void run(T* work, Int lwork) {
    Routines<T>::gesdd(job, &rows, &columns, a, &left, s, vt, &left, u, &right, work, &lwork, iwork, &info, 1);
  }
  std::int64_t iwork_size() const { return 8 * std::int64_t{std::min(rows, columns)}; }
  std::int64_t work() {
    return work_size<T>([&](T* work, Int lwork) { run(work, lwork); });
  }
};

template <class T>
struct Schur {
  Int size;
  T *a = nullptr, *z = nullptr, *real = nullptr, *imaginary = nullptr;  // parts of eigenvalues
  Int info = 0;
  explicit Schur(std::int64_t n) : size(static_cast<Int>(n)) {}
  void run(T* work, Int lwork) {
    Int sorted = 0;
    Routines<T>::gees("V", "N", nullptr, &size, a, &size, &sorted, real, imaginary, z, &size, work, &lwork, nullptr,
                      &info, 1, 1);
  }
  std::int64_t work() {
    return work_size<T>([&](T* work, Int lwork) { run(work, lwork); });
  }
};

template <class T>
struct Hessenberg {
  Int size, first = 1;
  T *a = nullptr, *tau = nullptr;
  Int info = 0;
  explicit Hessenberg(std::int64_t n) : size(static_cast<Int>(n)) {}
  void reduce(T* work, Int lwork) { Routines<T>::gehrd(&size, &first, &size, a, &size, tau, work, &lwork, &info); }
  void expand(T* work, Int lwork) { Routines<T>::orghr(&size, &first, &size, a, &size, tau, work, &lwork, &info); }
  std::int64_t work() {
    return std::max(work_size<T>([&](T* work, Int lwork) { reduce(work, lwork); }),
                    work_size<T>([&](T* work, Int lwork) { expand(work, lwork); }));
  }
};

template <class T>
void transpose_in_place(std::int64_t n, T* a) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

}  // namespace

template <class T>
std::size_t lapack_schur_scratch(std::int64_t n) {
  if (n == 0) return 0;
  auto lock = turn();
  return scratch_bytes<T>(2 * n) + scratch_bytes<T>(Schur<T>(n).work());
}

template <class T>
void lapack_schur(std::int64_t n, T* a, T* z, std::byte* scratch) {
  if (n == 0) return;
  bool found = all_finite(n * n, a);
  if (found) {
    auto lock = turn();
    Schur<T> schur(n);
    const std::int64_t count = schur.work();
    Pieces pieces(scratch);
    schur.a = a, schur.z = z, schur.real = pieces.take<T>(2 * n), schur.imaginary = schur.real + n;
    transpose_in_place(n, a);
    schur.run(pieces.take<T>(count), static_cast<Int>(count));
    found = schur.info == 0;
    transpose_in_place(n, a);
    transpose_in_place(n, z);
  }
  if (!found) {
    fill_nan(n * n, a);
    fill_nan(n * n, z);
  }
}

template <class T>
std::size_t lapack_hessenberg_scratch(std::int64_t n) {
  if (n == 0) return 0;
  auto lock = turn();
  return scratch_bytes<T>(n) + scratch_bytes<T>(Hessenberg<T>(n).work());
}

template <class T>
void lapack_hessenberg(std::int64_t n, T* a, T* q, std::byte* scratch) {
  if (n == 0) return;
  if (!all_finite(n * n, a)) {
    fill_nan(n * n, a);
    fill_nan(n * n, q);
    return;
  }
  auto lock = turn();
  Hessenberg<T> hessenberg(n);
  const std::int64_t count = hessenberg.work();
  Pieces pieces(scratch);
  hessenberg.a = a, hessenberg.tau = pieces.take<T>(n);
  T* work = pieces.take<T>(count);
  transpose_in_place(n, a);
  hessenberg.reduce(work, static_cast<Int>(count));
  std::copy(a, a + n * n, q);  // below the subdiagonal are the reflectors
  hessenberg.a = q;
  hessenberg.expand(work, static_cast<Int>(count));
  transpose_in_place(n, a);
  transpose_in_place(n, q);
  for (std::int64_t i = 2; i < n; ++i) std::fill(a + i * n, a + i * n + i - 1, T(0));
}

template <class T>
std::size_t lapack_qr_scratch(std::int64_t m, std::int64_t n, std::int64_t q_columns) {
  auto lock = turn();
  Qr<T> qr(m, n, q_columns);
  return scratch_bytes<T>(qr.x_size()) + scratch_bytes<T>(qr.tau_size()) +
         scratch_bytes<T>(std::max(qr.factor_work(), qr.expand_work()));
}

template <class T>
void lapack_qr(std::int64_t m, std::int64_t n, std::int64_t q_columns, const T* a, T* q, T* r, std::byte* scratch) {
  if (!all_finite(m * n, a)) {
    fill_nan(m * q_columns, q);
    for (std::int64_t i = 0; i < q_columns; ++i)
      for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : std::numeric_limits<T>::quiet_NaN();
    return;
  }
  auto lock = turn();
  Qr<T> qr(m, n, q_columns);
  const std::int64_t factor_work = qr.factor_work(), expand_work = qr.expand_work();
  Pieces pieces(scratch);
  T* x = qr.x = pieces.take<T>(qr.x_size());
  qr.tau = pieces.take<T>(qr.tau_size());
  T* work = pieces.take<T>(std::max(factor_work, expand_work));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) x[j * m + i] = a[i * n + j];
  qr.factor(work, static_cast<Int>(factor_work));
  for (std::int64_t i = 0; i < q_columns; ++i)
    for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : x[j * m + i];
  qr.expand(work, static_cast<Int>(expand_work));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < q_columns; ++j) q[i * q_columns + j] = x[j * m + i];
}

template <class T>
std::size_t lapack_eigh_scratch(std::int64_t n) {
  if (n == 0) return 0;
  auto lock = turn();
  Eigh<T> eigh(n);
  return scratch_bytes<Int>(eigh.iwork_size) + scratch_bytes<T>(eigh.work());
}

template <class T>
void lapack_eigh(std::int64_t n, T* a, T* w, std::byte* scratch) {
  if (n == 0) return;
  auto lock = turn();
  Eigh<T> eigh(n);
  const bool finite = all_finite(n * n, a);
  if (finite) {
    const std::int64_t count = eigh.work();
    Pieces pieces(scratch);
    eigh.a = a, eigh.w = w, eigh.iwork = pieces.take<Int>(eigh.iwork_size);
    eigh.run(pieces.take<T>(count), static_cast<Int>(count));
  }
  if (!finite || eigh.info != 0) {
    fill_nan(n * n, a);
    fill_nan(n, w);
  }
  transpose_in_place(n, a);
}

template <class T>
std::size_t lapack_svd_scratch(std::int64_t m, std::int64_t n, bool full, bool vectors) {
  if (std::min(m, n) == 0) return 0;
  auto lock = turn();
  Svd<T> svd(m, n, full, vectors);
  return scratch_bytes<Int>(svd.iwork_size()) + scratch_bytes<T>(svd.work());
}

template <class T>
void lapack_svd(std::int64_t m, std::int64_t n, bool full, T* a, T* s, T* u, T* vt, std::byte* scratch) {
  const std::int64_t least = std::min(m, n), u_columns = full ? m : least, v_rows = full ? n : least;
  bool found = all_finite(m * n, a);
  if (found && least > 0) {
    auto lock = turn();
    Svd<T> svd(m, n, full, u != nullptr);
    const std::int64_t count = svd.work();
    Pieces pieces(scratch);
    svd.a = a, svd.s = s, svd.iwork = pieces.take<Int>(svd.iwork_size());
    if (u) svd.u = u, svd.vt = vt;
    svd.run(pieces.take<T>(count), static_cast<Int>(count));
    found = svd.info == 0;
  } else if (found && u) {  // a matrix without elements: any orthonormal basis
    for (std::int64_t i = 0; i < m * u_columns; ++i) u[i] = i % u_columns == i / u_columns ? T(1) : T(0);
    for (std::int64_t i = 0; i < v_rows * n; ++i) vt[i] = i % n == i / n ? T(1) : T(0);
  }
  if (!found) {
    fill_nan(least, s);
    fill_nan(m * u_columns, u);
    fill_nan(v_rows * n, vt);
  }
}

#define ANEW_LAPACK(T)                                                                             \
  template void lapack_qr(std::int64_t, std::int64_t, std::int64_t, const T*, T*, T*, std::byte*); \
  template std::size_t lapack_qr_scratch<T>(std::int64_t, std::int64_t, std::int64_t);             \
  template void lapack_eigh(std::int64_t, T*, T*, std::byte*);                                     \
  template std::size_t lapack_eigh_scratch<T>(std::int64_t);                                       \
  template void lapack_svd(std::int64_t, std::int64_t, bool, T*, T*, T*, T*, std::byte*);          \
  template std::size_t lapack_svd_scratch<T>(std::int64_t, std::int64_t, bool, bool);              \
  template void lapack_schur(std::int64_t, T*, T*, std::byte*);                                    \
  template std::size_t lapack_schur_scratch<T>(std::int64_t);                                      \
  template void lapack_hessenberg(std::int64_t, T*, T*, std::byte*);                               \
  template std::size_t lapack_hessenberg_scratch<T>(std::int64_t)
ANEW_LAPACK(float);
ANEW_LAPACK(double);
#undef ANEW_LAPACK

}  // namespace anew
