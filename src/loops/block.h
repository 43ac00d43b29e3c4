// How a function of Vecs becomes a block instruction: a loop over whole vectors, then one padded vector for the rest.
#pragma once
#include <algorithm>

#include "loops/instruction.h"
#include "loops/vec.h"

namespace anew::loops {

#if defined(__AVX2__)
// Which of eight lanes are below n, as the machine's masked moves want it.
inline Native<std::int32_t> below(std::int64_t n) {
  return Native<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<std::int32_t>(n);
}
#endif
// The first n <= 8 lanes, the others zero. Masked stores take some machines long, so all lanes are stored without.
template <class T>
Vec<T> load_some(const Stored<T>* x, std::int64_t n) {
  if (n == lanes) return load<T>(x);
#if defined(__AVX2__)
  const auto mask = below(n);
  if constexpr (sizeof(Stored<T>) == 4) {
    return {{(Native<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(x), (__m256i)mask)}};
  } else if constexpr (sizeof(Stored<T>) == 8) {
    auto* y = reinterpret_cast<const long long*>(x);
    return {{(Native<T>)_mm256_maskload_epi64(y, (__m256i)widen(mask, 0)),
             (Native<T>)_mm256_maskload_epi64(y + 4, (__m256i)widen(mask, 1))}};
  }
#endif
  Stored<T> padded[lanes] = {};
  std::copy_n(x, n, padded);
  return load<T>(padded);
}
template <class T>
void store_some(Stored<T>* x, const Vec<T>& v, std::int64_t n) {
  if (n == lanes) return store<T>(x, v);
#if defined(__AVX2__)
  const auto mask = below(n);
  if constexpr (sizeof(Stored<T>) == 4) {
    return _mm256_maskstore_epi32(reinterpret_cast<int*>(x), (__m256i)mask, (__m256i)v.p[0]);
  } else if constexpr (sizeof(Stored<T>) == 8) {
    auto* y = reinterpret_cast<long long*>(x);
    _mm256_maskstore_epi64(y, (__m256i)widen(mask, 0), (__m256i)v.p[0]);
    _mm256_maskstore_epi64(y + 4, (__m256i)widen(mask, 1), (__m256i)v.p[1]);
    return;
  }
#endif
  Stored<T> whole[lanes];
  store<T>(whole, v);
  std::copy_n(whole, n, x);
}

// F is a stateless callable Vec<A>... -> Vec<R>. Everything it calls is inlined here, or vectors would go through
// memory.
template <class F, class R, class A>
[[gnu::flatten]] void block1(void* r, const void* a, const void*, const void*, std::int64_t n) {
  auto* out = static_cast<Stored<R>*>(r);
  auto* x = static_cast<const Stored<A>*>(a);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store<R>(out + i, F{}(load<A>(x + i)));
  if (i < n) store_some<R>(out + i, F{}(load_some<A>(x + i, n - i)), n - i);
}
template <class F, class R, class A>
[[gnu::flatten]] void block2(void* r, const void* a, const void* b, const void*, std::int64_t n) {
  auto* out = static_cast<Stored<R>*>(r);
  auto* x = static_cast<const Stored<A>*>(a);
  auto* y = static_cast<const Stored<A>*>(b);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store<R>(out + i, F{}(load<A>(x + i), load<A>(y + i)));
  if (i < n) store_some<R>(out + i, F{}(load_some<A>(x + i, n - i), load_some<A>(y + i, n - i)), n - i);
}
template <class F, class A, class T>
[[gnu::flatten]] void block3(void* r, const void* a, const void* b, const void* c, std::int64_t n) {
  auto* out = static_cast<Stored<T>*>(r);
  auto* x = static_cast<const Stored<A>*>(a);
  auto* y = static_cast<const Stored<T>*>(b);
  auto* z = static_cast<const Stored<T>*>(c);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store<T>(out + i, F{}(load<A>(x + i), load<T>(y + i), load<T>(z + i)));
  if (i < n) {
    const std::int64_t m = n - i;
    store_some<T>(out + i, F{}(load_some<A>(x + i, m), load_some<T>(y + i, m), load_some<T>(z + i, m)), m);
  }
}

// Calls f.operator()<T>() with the C++ type in which a dtype is computed.
template <class Function>
auto with_type(DType dtype, Function f) {
  return visit_computed(dtype, [&]<class T>(std::type_identity<T>) { return f.template operator()<T>(); });
}

}  // namespace anew::loops
