// Kernels of the matrix product for AVX2 with FMA: tiles of 6 rows by two vectors, or as many registers otherwise.
#if defined(__x86_64__)
#include <immintrin.h>

#include "runtime/product_tiles.h"

namespace anew {
namespace {

// n leading ones, as the masked moves want them.
alignas(32) constexpr std::int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

struct F32 {
  using Element = float;
  using Register = __m256;
  using Mask = __m256i;
  static constexpr int lanes = 8;
  static Mask mask(std::int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - n));
  }
  static Register zero() { return _mm256_setzero_ps(); }
  static Register load(const float* p) { return _mm256_loadu_ps(p); }
  static Register load(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store(float* p, Register x) { _mm256_storeu_ps(p, x); }
  static void store(float* p, Register x, Mask m) { _mm256_maskstore_ps(p, m, x); }
  static Register broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Register fma(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_to_write(float* p) { asm volatile("prefetchw %0" : : "m"(*p)); }

  static Register parts(const float* const* row, std::int64_t k) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[0] + k)), _mm_loadu_ps(row[4] + k), 1);
  }
  static constexpr int group = 4;
  static void turn(Register* x) {
    const Register a = x[0], b = x[1], c = x[2], d = x[3];
    const __m256d e = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), f = _mm256_castps_pd(_mm256_unpackhi_ps(a, b)),
                  g = _mm256_castps_pd(_mm256_unpacklo_ps(c, d)), h = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
    x[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(e, g));
    x[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(e, g));
    x[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(f, h));
    x[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(f, h));
  }
};

struct F64 {
  using Element = double;
  using Register = __m256d;
  using Mask = __m256i;
  static constexpr int lanes = 4;
  static Mask mask(std::int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - 2 * n));
  }
  static Register zero() { return _mm256_setzero_pd(); }
  static Register load(const double* p) { return _mm256_loadu_pd(p); }
  static Register load(const double* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store(double* p, Register x) { _mm256_storeu_pd(p, x); }
  static void store(double* p, Register x, Mask m) { _mm256_maskstore_pd(p, m, x); }
  static Register broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Register fma(Register a, Register b, Register c) { return _mm256_fmadd_pd(a, b, c); }
  static Register add(Register a, Register b) { return _mm256_add_pd(a, b); }
  static void prefetch(const double* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_to_write(double* p) { asm volatile("prefetchw %0" : : "m"(*p)); }

  static Register parts(const double* const* row, std::int64_t k) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(row[0] + k)), _mm_loadu_pd(row[2] + k), 1);
  }
  static constexpr int group = 2;
  static void turn(Register* x) {
    const Register a = x[0], b = x[1];
    x[0] = _mm256_unpacklo_pd(a, b);
    x[1] = _mm256_unpackhi_pd(a, b);
  }
};

}  // namespace

template <>
const Kernels<float>* avx2_kernels<float>() {
  return make_kernels<F32, 6>();
}
template <>
const Kernels<double>* avx2_kernels<double>() {
  return make_kernels<F64, 6>();
}

}  // namespace anew
#endif
