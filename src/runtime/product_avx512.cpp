// Kernels of the matrix product for AVX-512: tiles of 12 rows by two vectors, or as many registers otherwise. Compiled
// for x86-64-v4.
#include <immintrin.h>

#include "runtime/product_tiles.h"

namespace anew {
namespace {

// All lanes, said as a mask: the plain forms of these intrinsics draw a false warning from g++ 12.
__m512 low_pairs(__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xffff, a, b); }
__m512 high_pairs(__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xffff, a, b); }
__m512d low_pairs(__m512d a, __m512d b) { return _mm512_maskz_unpacklo_pd(0xff, a, b); }
__m512d high_pairs(__m512d a, __m512d b) { return _mm512_maskz_unpackhi_pd(0xff, a, b); }

struct F32 {
  using Element = float;
  using Register = __m512;
  using Mask = __mmask16;
  static constexpr int lanes = 16;
  static Mask mask(std::int64_t n) { return static_cast<Mask>((1u << n) - 1); }
  static Register zero() { return _mm512_setzero_ps(); }
  static Register load(const float* p) { return _mm512_loadu_ps(p); }
  static Register load(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, Register x) { _mm512_storeu_ps(p, x); }
  static void store(float* p, Register x, Mask m) { _mm512_mask_storeu_ps(p, m, x); }
  static Register broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Register fma(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_to_write(float* p) { asm volatile("prefetchw %0" : : "m"(*p)); }

  // Part i of a register comes from row 4 * part + i, inserted while loading; then 4 x 4 squares inside the parts.
  static Register parts(const float* const* row, std::int64_t k) {
    __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(row[0] + k));
    x = _mm512_mask_broadcast_f32x4(x, 0x00f0, _mm_loadu_ps(row[4] + k));
    x = _mm512_mask_broadcast_f32x4(x, 0x0f00, _mm_loadu_ps(row[8] + k));
    return _mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(row[12] + k));
  }
  static constexpr int group = 4;
  static void turn(Register* x) {
    const __m512d e = _mm512_castps_pd(low_pairs(x[0], x[1])), f = _mm512_castps_pd(high_pairs(x[0], x[1])),
                  g = _mm512_castps_pd(low_pairs(x[2], x[3])), h = _mm512_castps_pd(high_pairs(x[2], x[3]));
    x[0] = _mm512_castpd_ps(low_pairs(e, g));
    x[1] = _mm512_castpd_ps(high_pairs(e, g));
    x[2] = _mm512_castpd_ps(low_pairs(f, h));
    x[3] = _mm512_castpd_ps(high_pairs(f, h));
  }
};

struct F64 {
  using Element = double;
  using Register = __m512d;
  using Mask = __mmask8;
  static constexpr int lanes = 8;
  static Mask mask(std::int64_t n) { return static_cast<Mask>((1u << n) - 1); }
  static Register zero() { return _mm512_setzero_pd(); }
  static Register load(const double* p) { return _mm512_loadu_pd(p); }
  static Register load(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, Register x) { _mm512_storeu_pd(p, x); }
  static void store(double* p, Register x, Mask m) { _mm512_mask_storeu_pd(p, m, x); }
  static Register broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static Register fma(Register a, Register b, Register c) { return _mm512_fmadd_pd(a, b, c); }
  static Register add(Register a, Register b) { return _mm512_add_pd(a, b); }
  static void prefetch(const double* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
  static void prefetch_to_write(double* p) { asm volatile("prefetchw %0" : : "m"(*p)); }

  static Register parts(const double* const* row, std::int64_t k) {
    __m512d x = _mm512_castpd128_pd512(_mm_loadu_pd(row[0] + k));
    x = _mm512_mask_broadcast_f64x2(x, 0x0c, _mm_loadu_pd(row[2] + k));
    x = _mm512_mask_broadcast_f64x2(x, 0x30, _mm_loadu_pd(row[4] + k));
    return _mm512_mask_broadcast_f64x2(x, 0xc0, _mm_loadu_pd(row[6] + k));
  }
  static constexpr int group = 2;
  static void turn(Register* x) {
    const Register a = x[0], b = x[1];
    x[0] = low_pairs(a, b);
    x[1] = high_pairs(a, b);
  }
};

}  // namespace

template <>
const Kernels<float>* avx512_kernels<float>() {
  return make_kernels<F32, 12>();
}
template <>
const Kernels<double>* avx512_kernels<double>() {
  return make_kernels<F64, 12>();
}

}  // namespace anew
