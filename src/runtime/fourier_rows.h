// Templates of the kernels of fourier_kernels.h that are not steps: real signals as complex ones of half the length,
// and signals from rows to lanes and back.
#pragma once
#include "runtime/fourier_steps.h"

namespace anew {
namespace {

// Points k and m - k of a real signal from those of the folded one, and back. c, s: half of exp(-2 pi i k / (2 m)).
// Both are (a + conj b, a - conj b) with the latter turned; forward by -i w, back by i conj w.
template <class V>
struct Pair {
  V x, y;
};
template <bool back, class V>
inline void mirror(V c, V s, Pair<V>& a, Pair<V>& b, V half) {
  const V even_x = a.x + b.x, even_y = a.y - b.y, odd_x = a.x - b.x, odd_y = a.y + b.y;
  const V turn_x = back ? fused(s, odd_x, -(c * odd_y)) : fused(s, odd_x, c * odd_y);
  const V turn_y = back ? fused(s, odd_y, c * odd_x) : fused(s, odd_y, -(c * odd_x));
  a.x = fused(half, even_x, turn_x), a.y = fused(half, even_y, turn_y);
  b.x = fused(half, even_x, -turn_x), b.y = fused(-half, even_y, turn_y);
}

// Points k and m - k of signals side by side, from re[0], re[1] and im[0], im[1].
template <bool back, int n, class T>
[[gnu::noinline, gnu::flatten]] void mirror_lanes(std::int64_t lanes, T c, T s, const T* const* re, const T* const* im,
                                                  T* const* to_re, T* const* to_im) {
  const auto half = all_lanes<n>(T(0.5)), vc = all_lanes<n>(c), vs = all_lanes<n>(s);
  for (std::int64_t l = 0; l < lanes; l += n) {
    Pair<Lanes<T, n>> a{load_lanes<n>(re[0] + l), load_lanes<n>(im[0] + l)},
        b{load_lanes<n>(re[1] + l), load_lanes<n>(im[1] + l)};
    mirror<back>(vc, vs, a, b, half);
    store_lanes<n>(to_re[0] + l, a.x);
    store_lanes<n>(to_im[0] + l, a.y);
    store_lanes<n>(to_re[1] + l, b.x);
    store_lanes<n>(to_im[1] + l, b.y);
  }
}
// Points k, k + 1, ... of one signal and their mirror images; ends where these meet.
template <bool back, int n, class T>
[[gnu::noinline, gnu::flatten]] void mirror_row(std::int64_t k, std::int64_t m, const T* cos, const T* sin, const T* re,
                                                const T* im, T* to_re, T* to_im) {
  const auto half = all_lanes<n>(T(0.5));
  using R = Reverse<n>;
  for (; k + n <= m - k - n + 1; k += n) {
    const std::int64_t j = m - k - n + 1;
    auto br = load_lanes<n>(re + j), bi = load_lanes<n>(im + j);
    Pair<Lanes<T, n>> a{load_lanes<n>(re + k), load_lanes<n>(im + k)},
        b{shuffled<R, n>(br, br), shuffled<R, n>(bi, bi)};
    mirror<back>(load_lanes<n>(cos + k), load_lanes<n>(sin + k), a, b, half);
    store_lanes<n>(to_re + k, a.x);
    store_lanes<n>(to_im + k, a.y);
    store_lanes<n>(to_re + j, shuffled<R, n>(b.x, b.x));
    store_lanes<n>(to_im + j, shuffled<R, n>(b.y, b.y));
  }
  if constexpr (n > 1) mirror_row<back, n * sizeof(T) <= 16 ? 1 : n / 2>(k, m, cos, sin, re, im, to_re, to_im);
}
template <bool back, int bytes, class T>
void mirror_all(std::int64_t m, std::int64_t lanes, const T* cos, const T* sin, const T* re, std::int64_t re_distance,
                const T* im, std::int64_t im_distance, T* to_re, T* to_im) {
  constexpr int n = bytes / sizeof(T);
  if (lanes == 1 && re_distance == 1 && im_distance == 1)
    return mirror_row<back, n>(1, m, cos, sin, re, im, to_re, to_im);
  const auto run = lanes % n == 0 ? mirror_lanes<back, n, T> : mirror_lanes<back, 1, T>;
  for (std::int64_t k = 1; k < m - k; ++k) {
    const T *from_re[2] = {re + k * re_distance, re + (m - k) * re_distance},
            *from_im[2] = {im + k * im_distance, im + (m - k) * im_distance};
    T *x[2] = {to_re + k * lanes, to_re + (m - k) * lanes}, *y[2] = {to_im + k * lanes, to_im + (m - k) * lanes};
    run(lanes, cos[k], sin[k], from_re, from_im, x, y);
  }
}

template <int bytes, class T>
[[gnu::flatten]] void unfold(std::int64_t m, std::int64_t lanes, const T* cos, const T* sin, T* re, T* im) {
  for (std::int64_t l = 0; l < lanes; ++l) {
    const T x = re[l], y = im[l];
    re[l] = x + y, re[m * lanes + l] = x - y;
    im[l] = im[m * lanes + l] = 0;
  }
  mirror_all<false, bytes>(m, lanes, cos, sin, re, lanes, im, lanes, re, im);
  if (m % 2 == 0)
    for (std::int64_t l = m / 2 * lanes; l < (m / 2 + 1) * lanes; ++l) im[l] = -im[l];
}
template <int bytes, class T>
[[gnu::flatten]] void fold(std::int64_t m, std::int64_t lanes, const T* cos, const T* sin, const T* re,
                           std::int64_t re_distance, const T* im, std::int64_t im_distance, T* to_re, T* to_im) {
  for (std::int64_t l = 0; l < lanes; ++l) {
    const T x = re[l], y = re[m * re_distance + l];
    to_re[l] = T(0.5) * (x + y), to_im[l] = T(0.5) * (x - y);
  }
  mirror_all<true, bytes>(m, lanes, cos, sin, re, re_distance, im, im_distance, to_re, to_im);
  if (m % 2 == 0)
    for (std::int64_t l = 0; l < lanes; ++l) {
      to_re[m / 2 * lanes + l] = re[m / 2 * re_distance + l];
      to_im[m / 2 * lanes + l] = -im[m / 2 * im_distance + l];
    }
}

template <int bytes, class T>
[[gnu::flatten]] void split(std::int64_t m, const T* x, T* re, T* im) {
  constexpr int n = bytes / sizeof(T);
  std::int64_t j = 0;
  for (; j + n <= m; j += n) {
    const auto a = load_lanes<n>(x + 2 * j), b = load_lanes<n>(x + 2 * j + n);
    store_lanes<n>(re + j, shuffled<Unzip<0>, n>(a, b));
    store_lanes<n>(im + j, shuffled<Unzip<1>, n>(a, b));
  }
  for (; j < m; ++j) re[j] = x[2 * j], im[j] = x[2 * j + 1];
}
template <int bytes, class T>
[[gnu::flatten]] void join(std::int64_t m, const T* re, const T* im, T scale, T* x) {
  constexpr int n = bytes / sizeof(T);
  const auto all = all_lanes<n>(scale);
  std::int64_t j = 0;
  for (; j + n <= m; j += n) {
    const auto a = load_lanes<n>(re + j) * all, b = load_lanes<n>(im + j) * all;
    store_lanes<n>(x + 2 * j, shuffled<Zip<n, 0>, n>(a, b));
    store_lanes<n>(x + 2 * j + n, shuffled<Zip<n, n / 2>, n>(a, b));
  }
  for (; j < m; ++j) x[2 * j] = re[j] * scale, x[2 * j + 1] = im[j] * scale;
}

template <int bytes, class T>
[[gnu::flatten]] void gather_rows(std::int64_t size, const T* const* rows, T* to) {
  constexpr int n = bytes / sizeof(T);
  constexpr std::int64_t lanes = fourier_lanes<T>;
  for (std::int64_t first = 0; first < lanes; first += n) {
    std::int64_t j = 0;
    for (; j + n <= size; j += n) {
      Lanes<T, n> x[n];
      each<n>(n, [&](int l) { x[l] = load_lanes<n>(rows[first + l] + j); });
      interleave<n, n, T>(x);
      each<n>(n, [&](int i) { store_lanes<n>(to + (j + i) * lanes + first, x[i]); });
    }
    for (; j < size; ++j)
      for (int l = 0; l < n; ++l) to[j * lanes + first + l] = rows[first + l][j];
  }
}
template <int bytes, class T>
[[gnu::flatten]] void scatter_rows(std::int64_t size, std::int64_t count, const T* even, const T* odd,
                                   std::int64_t distance, T scale, T* const* rows) {
  constexpr int n = bytes / sizeof(T);
  const auto all = all_lanes<n>(scale);
  for (std::int64_t first = 0; first < count; first += n) {
    const int some = count - first < n ? static_cast<int>(count - first) : n;
    std::int64_t j = 0;
    for (; j + n <= size; j += n) {
      Lanes<T, n> x[n];
      each<n>(n, [&](int i) { x[i] = load_lanes<n>((i % 2 ? odd : even) + (j + i) / 2 * distance + first) * all; });
      interleave<n, n, T>(x);
      for (int l = 0; l < some; ++l) store_lanes<n>(rows[first + l] + j, x[l]);
    }
    for (; j < size; ++j)
      for (int l = 0; l < some; ++l) rows[first + l][j] = (j % 2 ? odd : even)[j / 2 * distance + first + l] * scale;
  }
}

template <class T, int bytes>
const FourierKernels<T>* make_fourier_kernels() {
  static constexpr FourierKernels<T> all{run_step<bytes, T>,    unfold<bytes, T>, fold<bytes, T>,
                                         split<bytes, T>,       join<bytes, T>,   gather_rows<bytes, T>,
                                         scatter_rows<bytes, T>};
  return &all;
}

}  // namespace
}  // namespace anew
