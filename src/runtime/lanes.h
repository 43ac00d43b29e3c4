// Vectors of numbers by compiler extensions, for lines that run or are sorted side by side, a lane for each.
#pragma once
#include <cstdint>

namespace anew {

template <class T>
struct LaneVector {
  static constexpr int width = 32 / sizeof(T);
  typedef T type __attribute__((vector_size(32)));
  typedef T memory __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
};
template <class T>
using LanesOf = typename LaneVector<T>::type;

template <class T>
LanesOf<T> load_lanes(const T* x) {
  return *reinterpret_cast<const typename LaneVector<T>::memory*>(x);
}
template <class T>
void store_lanes(T* x, LanesOf<T> v) {
  *reinterpret_cast<typename LaneVector<T>::memory*>(x) = v;
}

// Element j of vector i becomes element i of vector j: neighbours are interleaved with those half way on, until all
// have moved.
template <class V, int n>
inline void turn(V (&v)[n]) {
  static_assert(n == 4 || n == 8);
  V w[n];
  for (int apart = 1; apart < n; apart *= 2) {
    for (int k = 0; k < n / 2; ++k) {
      if constexpr (n == 8) {
        w[2 * k] = __builtin_shufflevector(v[k], v[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        w[2 * k + 1] = __builtin_shufflevector(v[k], v[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
      } else {
        w[2 * k] = __builtin_shufflevector(v[k], v[k + 2], 0, 4, 1, 5);
        w[2 * k + 1] = __builtin_shufflevector(v[k], v[k + 2], 2, 6, 3, 7);
      }
    }
    for (int k = 0; k < n; ++k) v[k] = w[k];
  }
}

}  // namespace anew
