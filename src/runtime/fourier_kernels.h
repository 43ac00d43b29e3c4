// The inner loops of Fourier transforms, one table of them per width of vectors and element type.
// Invariant: every point is made by the same operations in the same order, whichever vector it lies in: alone, beside
// its neighbours in a signal, or beside the same point of other signals. So all tables give the same bits.
// Files of this table include nothing whose inline code another file could share.
#pragma once
#include <cstdint>

namespace anew {

constexpr int fourier_most_radix = 61;
// Signals that are transformed side by side: a line of the cache of each of their points. A step of a signal alone
// whose stride is less than that and not 8 has its factors repeated, one for every element of a vector.
template <class T>
constexpr std::int64_t fourier_lanes = 64 / sizeof(T);
constexpr std::int64_t fourier_narrow = 16;

// One step of Stockham's form: radix * parts points, `stride` apart, become `radix` interleaved transforms of `parts`
// points. The factors of a part are read together, so they lie together: `beside` of them side by side, a line of the
// cache where vectors of them are read, else 1; first the cosines of output 1 of so many parts, then their sines, then
// those of output 2. So that of output 1 for element i of parts * repeat is at (i - i % beside) * 2 * (radix - 1) +
// i % beside. The roots of the radix itself, exp(2 pi i k / radix), are for odd radices.
template <class T>
struct FourierStep {
  int radix;
  std::int64_t parts, stride, repeat, beside;
  const T* factors;
  const double *root_cos, *root_sin;
};

template <class T>
struct FourierKernels {
  // Of `lanes` signals side by side: point j of a signal is re[j * distance + lane] in `from` (distance is
  // lanes * stride, but for a first step that reads its operand where it lies), and dense in `to`. `begin`: 0, or which
  // neighbours wider vectors have left over.
  using Step = void (*)(const FourierStep<T>& step, std::int64_t lanes, const T* re, const T* im, std::int64_t distance,
                        T* to_re, T* to_im, std::int64_t begin);
  // Of a transform of m points z = (x[0], x[1]), (x[2], x[3]), ... to that of x: points 0 to m, in place; cos and sin
  // are half of exp(-2 pi i k / (2 m)), k <= m / 2.
  using Unfold = void (*)(std::int64_t m, std::int64_t lanes, const T* cos, const T* sin, T* re, T* im);
  // Back: half of what the inverse transform of m points takes. Point j of the operand is re[j * re_distance + lane].
  using Fold = void (*)(std::int64_t m, std::int64_t lanes, const T* cos, const T* sin, const T* re,
                        std::int64_t re_distance, const T* im, std::int64_t im_distance, T* to_re, T* to_im);
  // re[j], im[j] = x[2 j], x[2 j + 1], and back, times `scale`.
  using Split = void (*)(std::int64_t m, const T* x, T* re, T* im);
  using Join = void (*)(std::int64_t m, const T* re, const T* im, T scale, T* x);
  // to[j * lanes + l] = rows[l][j], for all lanes.
  using Gather = void (*)(std::int64_t n, const T* const* rows, T* to);
  // rows[l][j] = scale * (j even: even, else odd)[j / 2 * distance + l] for l < count.
  using Scatter = void (*)(std::int64_t n, std::int64_t count, const T* even, const T* odd, std::int64_t distance,
                           T scale, T* const* rows);
  Step step;
  Unfold unfold;
  Fold fold;
  Split split;
  Join join;
  Gather gather;
  Scatter scatter;
};

// Vectors of 16, 32 and 64 bytes; the latter two on x86-64 only. Whether this machine has them is asked by fourier.cpp.
template <class T, int bytes>
const FourierKernels<T>* fourier_kernels();
template <>
const FourierKernels<float>* fourier_kernels<float, 16>();
template <>
const FourierKernels<double>* fourier_kernels<double, 16>();
template <>
const FourierKernels<float>* fourier_kernels<float, 32>();
template <>
const FourierKernels<double>* fourier_kernels<double, 32>();
template <>
const FourierKernels<float>* fourier_kernels<float, 64>();
template <>
const FourierKernels<double>* fourier_kernels<double, 64>();

}  // namespace anew
