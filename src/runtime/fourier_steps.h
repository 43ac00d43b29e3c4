// Templates of the kernels of fourier_kernels.h over vectors of `bytes` bytes, by compiler vector extensions. What is
// left over at the end of a loop is done by the same code with vectors of half the width, down to single elements; of a
// step, by the table of that width, so that each width is compiled once.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

#include "runtime/fourier_kernels.h"

namespace anew {
namespace {

template <class T, int n>
struct FourierVector {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
  typedef T unaligned __attribute__((vector_size(n * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
struct FourierVector<T, 1> {
  using type = T;
  using unaligned = T;
};
template <class T, int n>
using Lanes = typename FourierVector<T, n>::type;

template <int n, class T>
inline Lanes<T, n> load_lanes(const T* p) {
  return *reinterpret_cast<const typename FourierVector<T, n>::unaligned*>(p);
}
template <int n, class T>
inline void store_lanes(T* p, Lanes<T, n> x) {
  *reinterpret_cast<typename FourierVector<T, n>::unaligned*>(p) = x;
}
template <int n, class T>
inline Lanes<T, n> all_lanes(T x) {
  return x - Lanes<T, n>{};
}

// f(0), f(1), ... up to r, or `count`, at least 1, where r is 0.
template <int r, class F>
inline void each(int count, F f) {
  if constexpr (r == 0) {
    int i = 0;
    do f(i);
    while (++i < count);
  } else {
    [&]<int... i>(std::integer_sequence<int, i...>) { (f(i), ...); }(std::make_integer_sequence<int, r>{});
  }
}

// a * b + c, rounded once.
template <class V>
inline V fused(V a, V b, V c) {
  if constexpr (std::is_same_v<V, float>) return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<V, double>) return __builtin_fma(a, b, c);
  else {
    constexpr bool single = sizeof(a[0]) == 4;
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) {
      if constexpr (single) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
      else return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
    }
#endif
#if defined(__AVX2__) && defined(__FMA__)
    if constexpr (sizeof(V) == 32) {
      if constexpr (single) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
      else return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
    } else if constexpr (sizeof(V) == 16) {
      if constexpr (single) return (V)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
      else return (V)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
    }
#else
    for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); ++i)
      a[i] = single ? __builtin_fmaf(a[i], b[i], c[i]) : __builtin_fma(a[i], b[i], c[i]);
    return a;
#endif
  }
}

// Elements of two vectors side by side, in the order of P.
template <class P, class V, int... i>
inline V shuffled(V a, V b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, P::at(i)...);
}
template <int n, int first>
struct Zip {  // a[first], b[first], a[first + 1], ...
  static constexpr int at(int i) { return first + i / 2 + i % 2 * n; }
};
template <int first>
struct Unzip {  // first, first + 2, ...
  static constexpr int at(int i) { return first + 2 * i; }
};
template <int n>
struct Reverse {
  static constexpr int at(int i) { return n - 1 - i; }
};
template <class P, int n, class V>
inline V shuffled(V a, V b) {
  if constexpr (n == 1) return a;
  else return shuffled<P>(a, b, std::make_integer_sequence<int, n>{});
}

// r vectors to r vectors that hold x[0][0], x[1][0], ..., x[r - 1][0], x[0][1], ...: with r = n a transpose.
template <int r, int n, class T, int pieces = 1>
inline void interleave(Lanes<T, n>* x) {
  if constexpr (pieces < r) {  // r / pieces sequences of `pieces` vectors
    Lanes<T, n> y[r];
    each<r / 2>(r / 2, [&](int i) {
      y[2 * i] = shuffled<Zip<n, 0>, n>(x[i], x[i + r / 2]);
      y[2 * i + 1] = shuffled<Zip<n, n / 2>, n>(x[i], x[i + r / 2]);
    });
    each<r>(r, [&](int i) { x[i] = y[i]; });
    interleave<r, n, T, 2 * pieces>(x);
  }
}

// The transform of r points in registers.
template <class V>
inline void points2(V* x, V* y) {
  const V a = x[0], b = y[0];
  x[0] = a + x[1], y[0] = b + y[1];
  x[1] = a - x[1], y[1] = b - y[1];
}
template <class V>
inline void points4(V& x0, V& y0, V& x1, V& y1, V& x2, V& y2, V& x3, V& y3) {
  const V a = x0 + x2, b = y0 + y2, c = x0 - x2, d = y0 - y2, e = x1 + x3, f = y1 + y3, g = x1 - x3, h = y1 - y3;
  x0 = a + e, y0 = b + f;
  x1 = c + h, y1 = d - g;
  x2 = a - e, y2 = b - f;
  x3 = c - h, y3 = d + g;
}
template <class V>
inline void points8(V half_root, V* x, V* y) {  // sqrt(1 / 2)
  V a[4], b[4], c[4], d[4];
  each<4>(4, [&](int i) {
    a[i] = x[i] + x[i + 4], b[i] = y[i] + y[i + 4], c[i] = x[i] - x[i + 4], d[i] = y[i] - y[i + 4];
  });
  points4(a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]);
  // Of the odd ones, with the common factor left to the end.
  const V e = c[0] + d[2], f = d[0] - c[2], g = c[0] - d[2], h = d[0] + c[2];
  const V u = c[1] + d[1], v = d[1] - c[1], s = d[3] - c[3], t = -(c[3] + d[3]);
  const V p = u + s, q = v + t, m = u - s, n = v - t;
  x[0] = a[0], x[2] = a[1], x[4] = a[2], x[6] = a[3];
  y[0] = b[0], y[2] = b[1], y[4] = b[2], y[6] = b[3];
  x[1] = fused(half_root, p, e), y[1] = fused(half_root, q, f);
  x[5] = fused(-half_root, p, e), y[5] = fused(-half_root, q, f);
  x[3] = fused(half_root, n, g), y[3] = fused(-half_root, m, h);
  x[7] = fused(-half_root, n, g), y[7] = fused(half_root, m, h);
}
// exp(2 pi i k / r) for k <= r / 2.
template <int r>
struct OddRoots;
template <>
struct OddRoots<3> {
  static constexpr double cos[] = {1, -0.5}, sin[] = {0, 0.86602540378443864676};
};
template <>
struct OddRoots<5> {
  static constexpr double cos[] = {1, 0.30901699437494742410, -0.80901699437494742410},
                          sin[] = {0, 0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct OddRoots<7> {
  static constexpr double cos[] = {1, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624},
                          sin[] = {0, 0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};

// An odd number of points, by pairs of mirror images; r 0: `radix` of them, whose roots are given.
template <int r, int n, class S>
inline void points_odd(int radix, const double* roots_cos, const double* roots_sin, Lanes<S, n>* x, Lanes<S, n>* y) {
  using V = Lanes<S, n>;
  constexpr int most = (r == 0 ? fourier_most_radix : r) / 2;
  const int size = r == 0 ? radix : r, half = size / 2;
  const auto root = [&](int at, V& c, V& s) {
    if constexpr (r == 0) c = all_lanes<n>(roots_cos[at]), s = all_lanes<n>(roots_sin[at]);
    else if (at <= half) c = all_lanes<n>(S(OddRoots<r>::cos[at])), s = all_lanes<n>(S(OddRoots<r>::sin[at]));
    else c = all_lanes<n>(S(OddRoots<r>::cos[size - at])), s = all_lanes<n>(S(-OddRoots<r>::sin[size - at]));
  };
  V a[most], b[most], c[most], d[most];  // sums and differences of pairs
  const V x0 = x[0], y0 = y[0];
  V sum_x = x0, sum_y = y0;
  each<r / 2>(half, [&](int j) {
    const V u = x[j + 1], v = y[j + 1], s = x[size - 1 - j], t = y[size - 1 - j];
    a[j] = u + s, b[j] = v + t, c[j] = u - s, d[j] = v - t;
    sum_x += a[j], sum_y += b[j];
  });
  x[0] = sum_x, y[0] = sum_y;
  each<r / 2>(half, [&](int i) {
    const int k = i + 1;
    V p, q;
    root(k, p, q);
    V even_x = fused(p, a[0], x0), even_y = fused(p, b[0], y0), odd_x = q * d[0], odd_y = q * c[0];
    int at = k;
    each<r / 2>(half, [&](int j) {
      if (j == 0) return;
      at = at + k < size ? at + k : at + k - size;
      root(at, p, q);
      even_x = fused(p, a[j], even_x), even_y = fused(p, b[j], even_y);
      odd_x = fused(q, d[j], odd_x), odd_y = fused(q, c[j], odd_y);
    });
    x[k] = even_x + odd_x, y[k] = even_y - odd_y;
    x[size - k] = even_x - odd_x, y[size - k] = even_y + odd_y;
  });
}

// One step, of radix r (0: any odd one). Sums of three terms and more are in double.
template <int r, int bytes, class T>
struct StepOf {
  using S = std::conditional_t<r == 0 || r == 7, double, T>;
  static constexpr int most = r == 0 ? fourier_most_radix : r;
  static constexpr int widest = bytes / sizeof(S) * sizeof(T) < 16 ? 16 / sizeof(T) : bytes / sizeof(S);
  FourierStep<T> step;
  std::int64_t lanes;
  const T *re, *im;
  std::int64_t distance;
  T *to_re, *to_im;

  int radix() const { return r == 0 ? step.radix : r; }
  template <int n>
  struct Points {
    Lanes<T, n> x[most], y[most];
  };

  template <int n>
  void transform(Points<n>& z) const {
    if constexpr (r == 2) points2(z.x, z.y);
    else if constexpr (r == 4) points4(z.x[0], z.y[0], z.x[1], z.y[1], z.x[2], z.y[2], z.x[3], z.y[3]);
    else if constexpr (r == 8) points8(all_lanes<n>(static_cast<T>(0.70710678118654752440)), z.x, z.y);
    else if constexpr (std::is_same_v<S, T>) points_odd<r, n, S>(radix(), step.root_cos, step.root_sin, z.x, z.y);
    else {
      using V = Lanes<S, n>;
      V x[most], y[most];
      for (int j = 0; j < radix(); ++j) x[j] = converted<V>(z.x[j]), y[j] = converted<V>(z.y[j]);
      points_odd<r, n, S>(radix(), step.root_cos, step.root_sin, x, y);
      for (int j = 0; j < radix(); ++j) z.x[j] = converted<Lanes<T, n>>(x[j]), z.y[j] = converted<Lanes<T, n>>(y[j]);
    }
  }
  template <class To, class From>
  static To converted(From x) {
    if constexpr (std::is_arithmetic_v<From>) return static_cast<To>(x);
    else return __builtin_convertvector(x, To);
  }
  template <int n>
  void turn(Lanes<T, n>& x, Lanes<T, n>& y, Lanes<T, n> c, Lanes<T, n> s) const {
    const Lanes<T, n> a = x;
    x = fused(a, c, -(y * s));
    y = fused(a, s, y * c);
  }

  // Neighbours of one part at a time, from `begin` on, with its factors for all of them.
  template <int n, bool turned>
  [[gnu::noinline, gnu::flatten]] void wide(std::int64_t begin) const {
    const std::int64_t parts = step.parts, count = lanes * step.stride, end = begin + (count - begin) / n * n,
                       beside = step.beside;
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t i = p * step.repeat, i_beside = i & (beside - 1);
      const T* const w = turned ? step.factors + (i - i_beside) * (2 * radix() - 2) + i_beside : nullptr;
      for (std::int64_t q = begin; q < end; q += n) {
        Points<n> z;
        each<r>(step.radix, [&](int j) {
          z.x[j] = load_lanes<n>(re + q + distance * (p + j * parts));
          z.y[j] = load_lanes<n>(im + q + distance * (p + j * parts));
        });
        transform<n>(z);
        each<r>(step.radix, [&](int k) {
          if (turned && k > 0) {
            const T* const f = w + (2 * k - 2) * beside;
            turn<n>(z.x[k], z.y[k], all_lanes<n>(f[0]), all_lanes<n>(f[beside]));
          }
          const std::int64_t at = q + count * (radix() * p + k);
          store_lanes<n>(to_re + at, z.x[k]);
          store_lanes<n>(to_im + at, z.y[k]);
        });
      }
    }
    if (end == count) return;
    if constexpr (bytes > 16) rest(end);
    else if constexpr (n > 1) wide<1, turned>(end);
  }
  void rest(std::int64_t begin) const {
    fourier_kernels<T, bytes / 2>()->step(step, lanes, re, im, distance, to_re, to_im, begin);
  }

  // One signal whose stride is small: neighbours of several parts, with factors for each of them; or, where parts are
  // `whole` vectors (the stride is 8), of one part.
  template <int n, bool whole>
  [[gnu::noinline, gnu::flatten]] void narrow(std::int64_t i) const {
    constexpr std::int64_t beside = whole ? 1 : fourier_lanes<T>;
    const std::int64_t count = step.parts * step.stride;
    for (; i + n <= count; i += n) {
      Points<n> z;
      each<r>(step.radix, [&](int j) {
        z.x[j] = load_lanes<n>(re + i + j * count);
        z.y[j] = load_lanes<n>(im + i + j * count);
      });
      transform<n>(z);
      const T* const w = step.factors + (whole ? i / 8 : i & -beside) * (2 * radix() - 2) + i % beside;
      each<r>(step.radix, [&](int k) {
        if (k == 0) return;
        const T* const f = w + (2 * k - 2) * beside;
        if constexpr (whole) turn<n>(z.x[k], z.y[k], all_lanes<n>(f[0]), all_lanes<n>(f[beside]));
        else turn<n>(z.x[k], z.y[k], load_lanes<n>(f), load_lanes<n>(f + beside));
      });
      put<n>(z.x, i, to_re);
      put<n>(z.y, i, to_im);
    }
    if (i == count) return;
    if constexpr (bytes > 16) rest(i);
    else if constexpr (n > 1) narrow<1, whole>(i);
  }
  template <int n>
  void put(Lanes<T, n>* x, std::int64_t i, T* to) const {
    const std::int64_t s = step.stride;
    if constexpr (n > 1 && (r == 2 || r == 4 || r == 8)) {
      if (s == 1) {
        interleave<r, n, T>(x);
        return each<r>(r, [&](int k) { store_lanes<n>(to + i * r + k * n, x[k]); });
      }
    }
    const std::int64_t p = i / s, q = i % s;
    if (s % n == 0) return each<r>(step.radix, [&](int k) { store_lanes<n>(to + q + s * (radix() * p + k), x[k]); });
    if constexpr (n > 1)
      for (int k = 0; k < radix(); ++k) {
        std::int64_t part = p, rest = q;
        for (int e = 0; e < n; ++e, ++rest) {
          if (rest == s) ++part, rest = 0;
          to[rest + s * (radix() * part + k)] = x[k][e];
        }
      }
  }
  void narrow_aligned(std::int64_t begin) const {  // vectors that end where a part ends, if they can
    if constexpr (bytes > 16 && widest * sizeof(T) > 16)
      if (step.stride > 1 && step.stride % widest != 0 && step.stride % (widest / 2) == 0) return rest(begin);
    if (step.beside == 1) return narrow<widest, true>(begin);
    narrow<widest, false>(begin);
  }

  void run(std::int64_t begin) const {
    if (step.parts == 1) return wide<widest, false>(begin);
    if (lanes == 1 && step.stride < fourier_narrow) return narrow_aligned(begin);
    wide<widest, true>(begin);
  }
};

template <int bytes, class T>
void run_step(const FourierStep<T>& step, std::int64_t lanes, const T* re, const T* im, std::int64_t distance, T* to_re,
              T* to_im, std::int64_t begin) {
  switch (step.radix) {
    case 2: return StepOf<2, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    case 3: return StepOf<3, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    case 4: return StepOf<4, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    case 5: return StepOf<5, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    case 7: return StepOf<7, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    case 8: return StepOf<8, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
    default: return StepOf<0, bytes, T>{step, lanes, re, im, distance, to_re, to_im}.run(begin);
  }
}

}  // namespace
}  // namespace anew
