// What plans of Fourier transforms share: roots of unity, the kernels of this machine, signals brought side by side.
#pragma once
#include <cstdint>
#include <utility>

#include "runtime/fourier.h"
#include "runtime/workspace.h"

namespace anew {

// exp(2 pi i k / n) for 0 <= k < n. Reduced to an eighth of the circle in integers, so that mirror images are exact.
std::pair<double, double> root_of_unity(std::int64_t k, std::int64_t n);

template <class T>
const FourierKernels<T>& fourier_kernels_here();

// Signals side by side pay from half a line of them on, if they fit into the workspace of a thread: `points` of each,
// twice, real and imaginary.
template <class T>
std::int64_t signals_together(std::int64_t points) {
  return scratch_bytes<T>(4 * points * fourier_lanes<T>) <= workspace_half ? fourier_lanes<T> : 1;
}
// Rows of long signals, whose own vectors are all full, are not worth bringing side by side either.
template <class T>
bool as_rows(std::int64_t together, const FourierSignals<T>& x, const FourierSignals<T>& y, std::int64_t points) {
  if (together == 1 || 2 * x.count <= fourier_lanes<T>) return true;
  return x.stride == 1 && y.stride == 1 && points >= 256 && points % fourier_narrow == 0;
}

// Where all signals lie side by side: null, or element 0 of the first.
template <class T>
const T* side_by_side(const FourierSignals<T>& x) {
  if (x.count < fourier_lanes<T>) return nullptr;
  for (std::int64_t l = 1; l < x.count; ++l)
    if (x.start[static_cast<std::size_t>(l)] != x.start[0] + l) return nullptr;
  return x.start[0];
}
// Element j of signal l to to[j * lanes + l]; lanes that have no signal repeat the first.
template <class T>
void bring(const FourierSignals<T>& x, std::int64_t n, T* to) {
  constexpr std::int64_t lanes = fourier_lanes<T>;
  auto start = x.start;
  for (std::int64_t l = x.count; l < lanes; ++l) start[static_cast<std::size_t>(l)] = start[0];
  if (x.stride == 1) return fourier_kernels_here<T>().gather(n, start.data(), to);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t l = 0; l < lanes; ++l) to[j * lanes + l] = start[static_cast<std::size_t>(l)][j * x.stride];
}
// Rows of n elements from signals side by side: even elements of one array, odd ones of another.
template <class T>
void take_rows(std::int64_t n, std::int64_t count, const T* even, const T* odd, std::int64_t distance, T scale, T* to) {
  std::array<T*, fourier_lanes<T>> rows;
  for (std::int64_t l = 0; l < count; ++l) rows[static_cast<std::size_t>(l)] = to + l * n;
  fourier_kernels_here<T>().scatter(n, count, even, odd, distance, scale, rows.data());
}
template <class T>
void take_rows(std::int64_t n, std::int64_t count, const T* from, T* to) {
  take_rows(n, count, from, from + fourier_lanes<T>, 2 * fourier_lanes<T>, T(1), to);
}

}  // namespace anew
