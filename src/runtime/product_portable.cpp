// Kernels of the matrix product in plain C++: vectors are small arrays that a compiler may or may not turn into
// registers. std::fma is exact everywhere, so the bits are those of the other tables.
#include <cmath>

#include "runtime/product_tiles.h"

namespace anew {
namespace {

template <class T>
struct Plain {
  using Element = T;
  static constexpr int lanes = 16 / sizeof(T);
  struct Register {
    T x[lanes];
  };
  using Mask = std::int64_t;
  static Mask mask(std::int64_t n) { return n; }
  static Register zero() { return {}; }
  static Register load(const T* p) { return load(p, lanes); }
  static Register load(const T* p, Mask m) {
    Register y{};
    for (int i = 0; i < lanes; ++i)
      if (i < m) y.x[i] = p[i];
    return y;
  }
  static void store(T* p, const Register& y) { store(p, y, lanes); }
  static void store(T* p, const Register& y, Mask m) {
    for (int i = 0; i < lanes; ++i)
      if (i < m) p[i] = y.x[i];
  }
  static Register broadcast(const T* p) {
    Register y;
    for (T& v : y.x) v = *p;
    return y;
  }
  static Register fma(const Register& a, const Register& b, const Register& c) {
    Register y;
    for (int i = 0; i < lanes; ++i) y.x[i] = std::fma(a.x[i], b.x[i], c.x[i]);
    return y;
  }
  static Register add(const Register& a, const Register& b) {
    Register y;
    for (int i = 0; i < lanes; ++i) y.x[i] = a.x[i] + b.x[i];
    return y;
  }
  static void prefetch(const T*) {}
  static void prefetch_to_write(T*) {}
  static constexpr int group = 1;
  static Register parts(const T* const* row, std::int64_t k) {
    Register y;
    for (int r = 0; r < lanes; ++r) y.x[r] = row[r][k];
    return y;
  }
  static void turn(Register*) {}
};

// Where there is AVX2, only tests run these: few tiles, which are compiled in a third of the time.
#if defined(__AVX2__)
constexpr int largest_tile = 3;
#else
constexpr int largest_tile = 6;
#endif

}  // namespace

template <>
const Kernels<float>* portable_kernels<float>() {
  return make_kernels<Plain<float>, largest_tile>();
}
template <>
const Kernels<double>* portable_kernels<double>() {
  return make_kernels<Plain<double>, largest_tile>();
}

}  // namespace anew
