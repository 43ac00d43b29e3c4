// Eight numbers at a time: Vec<T> is one or two 32-byte registers, Mask is eight conditions. It is the value type with
// which block instructions and native math functions are instantiated, by compiler vector extensions plus the few
// instructions those cannot name. Invariant: each lane gets exactly the bits of the scalar operation in number.h.
#pragma once
#include <cstring>

#include "loops/integer_division.h"
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace anew::loops {

inline constexpr int lanes = 8;

template <class T, int bytes = 32>
struct NativeOf {
  typedef T type __attribute__((vector_size(bytes)));
};
// The same in memory: aligned like its elements.
template <class T>
struct Unaligned {
  typedef T type __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
};
template <class T>
using Native = typename NativeOf<T>::type;
template <class T>
using Half = typename NativeOf<T, 16>::type;

template <class T>
struct Vec {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  static constexpr int parts = sizeof(T) * lanes / 32;
  Native<T> p[parts];
};
using Mask = Vec<bool>;
template <>
struct Vec<bool> {
  Native<std::int32_t> m;  // -1 where true
};

// The type of a value in memory and in block registers.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
Vec<T> load(const Stored<T>* x) {
  Vec<T> r;
  if constexpr (std::is_same_v<T, bool>) {
#if defined(__AVX2__)
    r.m = 0 - (Native<std::int32_t>)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
#else
    typename NativeOf<std::uint8_t, 8>::type u;
    std::memcpy(&u, x, lanes);
    r.m = __builtin_convertvector(u, Native<std::int32_t>) != 0;
#endif
  } else {
    // Not memcpy, which the compiler splits into pieces that wait for each other.
    auto* from = reinterpret_cast<const typename Unaligned<T>::type*>(x);
    for (int k = 0; k < Vec<T>::parts; ++k) r.p[k] = from[k];
  }
  return r;
}
template <class T>
void store(Stored<T>* x, const Vec<T>& v) {
  if constexpr (std::is_same_v<T, bool>) {
#if defined(__AVX2__)
    const auto m = (__m256i)v.m;
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(x), bytes);
#else
    const auto u = __builtin_convertvector(v.m & 1, typename NativeOf<std::uint8_t, 8>::type);
    std::memcpy(x, &u, lanes);
#endif
  } else {
    auto* to = reinterpret_cast<typename Unaligned<T>::type*>(x);
    for (int k = 0; k < Vec<T>::parts; ++k) to[k] = v.p[k];
  }
}
template <class T>
Vec<T> broadcast(T x) {
  Vec<T> r;
  if constexpr (std::is_same_v<T, bool>) r.m = Native<std::int32_t>{} - (x ? 1 : 0);
  else
    for (auto& p : r.p) p = Native<T>{} + x;
  return r;
}

// Lane by lane, for what has no vector instruction.
template <class T>
struct Spilled {
  Stored<T> x[lanes];
  explicit Spilled(const Vec<T>& v) { store<T>(x, v); }
  T operator[](int i) const { return static_cast<T>(x[i]); }
};
template <class R, class F, class... A>
Vec<R> lanewise(F f, const Vec<A>&... x) {
  Stored<R> out[lanes];
  [&](const Spilled<A>&... in) {
    for (int i = 0; i < lanes; ++i) out[i] = static_cast<Stored<R>>(f(in[i]...));
  }(Spilled<A>(x)...);
  return load<R>(out);
}

template <class T, class F, class... A>
Vec<T> each(F f, const A&... x) {
  Vec<T> r;
  for (int k = 0; k < Vec<T>::parts; ++k) r.p[k] = f(x.p[k]...);
  return r;
}

// ---- masks
inline Mask narrow(Native<std::int64_t> lo, Native<std::int64_t> hi) {
  return {__builtin_shufflevector((Native<std::int32_t>)lo, (Native<std::int32_t>)hi, 0, 2, 4, 6, 8, 10, 12, 14)};
}
inline Native<std::int64_t> widen(Native<std::int32_t> m, int part) {
  return __builtin_convertvector(
      part ? __builtin_shufflevector(m, m, 4, 5, 6, 7) : __builtin_shufflevector(m, m, 0, 1, 2, 3),
      Native<std::int64_t>);
}
inline Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
inline Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
inline Mask operator^(Mask a, Mask b) { return {a.m ^ b.m}; }
inline Mask operator~(Mask a) { return {~a.m}; }
inline bool any(Mask a) {
#if defined(__AVX2__)
  return _mm256_movemask_ps((__m256)a.m) != 0;
#else
  std::int32_t r = 0;
  for (int i = 0; i < lanes; ++i) r |= a.m[i];
  return r != 0;
#endif
}
inline Mask both(Mask a, Mask b) { return a & b; }
inline Mask either(Mask a, Mask b) { return a | b; }
inline Mask select(Mask c, Mask a, Mask b) { return {(c.m & a.m) | (~c.m & b.m)}; }
template <class T>
Vec<T> select(Mask c, Vec<T> a, Vec<T> b) {
  Vec<T> r;
  if constexpr (sizeof(T) == 4) r.p[0] = c.m ? a.p[0] : b.p[0];
  else
    for (int k = 0; k < 2; ++k) r.p[k] = widen(c.m, k) ? a.p[k] : b.p[k];
  return r;
}

template <class T>
Vec<T> rarely(Mask c, Vec<T> a, Vec<T> b) {
  return select(c, a, b);
}

template <class T, class F>
Mask compare(F f, const Vec<T>& a, const Vec<T>& b) {
  if constexpr (sizeof(T) == 4) return {(Native<std::int32_t>)f(a.p[0], b.p[0])};
  else return narrow((Native<std::int64_t>)f(a.p[0], b.p[0]), (Native<std::int64_t>)f(a.p[1], b.p[1]));
}
#define ANEW_LOOPS_COMPARE(symbol)                                   \
  template <class T>                                                 \
  Mask operator symbol(Vec<T> a, Vec<T> b) {                         \
    return compare([](auto x, auto y) { return x symbol y; }, a, b); \
  }
ANEW_LOOPS_COMPARE(==)
ANEW_LOOPS_COMPARE(!=)
ANEW_LOOPS_COMPARE(<)
ANEW_LOOPS_COMPARE(<=)
ANEW_LOOPS_COMPARE(>)
ANEW_LOOPS_COMPARE(>=)
#undef ANEW_LOOPS_COMPARE
// false < true
inline Mask operator==(Mask a, Mask b) { return ~(a ^ b); }
inline Mask operator!=(Mask a, Mask b) { return a ^ b; }
inline Mask operator<(Mask a, Mask b) { return ~a & b; }
inline Mask operator<=(Mask a, Mask b) { return ~a | b; }
inline Mask operator>(Mask a, Mask b) { return a & ~b; }
inline Mask operator>=(Mask a, Mask b) { return a | ~b; }

// ---- arithmetic. Integers wrap, so they are added as unsigned.
#define ANEW_LOOPS_ARITHMETIC(symbol)                                                   \
  template <class T>                                                                    \
  Vec<T> operator symbol(Vec<T> a, Vec<T> b) {                                          \
    using U = Native<typename Wrapping<T>::type>;                                       \
    return each<T>([](auto x, auto y) { return (Native<T>)((U)x symbol(U) y); }, a, b); \
  }
ANEW_LOOPS_ARITHMETIC(+)
ANEW_LOOPS_ARITHMETIC(-)
ANEW_LOOPS_ARITHMETIC(*)
#undef ANEW_LOOPS_ARITHMETIC
template <class T>
Vec<T> operator/(Vec<T> a, Vec<T> b) {
  if constexpr (std::integral<T>) return lanewise<T>([](T x, T y) { return divide(x, y); }, a, b);
  else return each<T>([](auto x, auto y) { return x / y; }, a, b);
}
template <class T>
Vec<T> rem(Vec<T> a, Vec<T> b) {
  if constexpr (std::integral<T>) return lanewise<T>([](T x, T y) { return remainder(x, y); }, a, b);
  else return lanewise<T>([](T x, T y) { return std::fmod(x, y); }, a, b);
}

template <std::integral T>
Vec<T> operator&(Vec<T> a, Vec<T> b) {
  return each<T>([](auto x, auto y) { return x & y; }, a, b);
}
template <std::integral T>
Vec<T> operator|(Vec<T> a, Vec<T> b) {
  return each<T>([](auto x, auto y) { return x | y; }, a, b);
}
template <std::integral T>
Vec<T> operator^(Vec<T> a, Vec<T> b) {
  return each<T>([](auto x, auto y) { return x ^ y; }, a, b);
}
template <std::integral T>
Vec<T> operator~(Vec<T> a) {
  return each<T>([](auto x) { return ~x; }, a);
}

// Shifts by a number below the width.
template <std::integral T>
Vec<T> shl(Vec<T> a, int n) {
  return each<T>([n](auto x) { return x << n; }, a);
}
template <std::integral T>
Vec<T> shr_logical(Vec<T> a, int n) {
  using U = Native<std::make_unsigned_t<T>>;
  return each<T>([n](auto x) { return (Native<T>)((U)x >> n); }, a);
}
template <std::integral T>
Vec<T> shr_arith(Vec<T> a, int n) {
  using S = Native<std::make_signed_t<T>>;
  return each<T>([n](auto x) { return (Native<T>)((S)x >> n); }, a);
}

// Shifts by any amount, as kernel.h defines them.
template <std::integral T>
Vec<T> shift_amount(Vec<T> n) {
  return n & broadcast(static_cast<T>(sizeof(T) * 8 - 1));
}
template <std::integral T>
Mask shifts_out(Vec<T> n) {
  return (n & broadcast(static_cast<T>(~(sizeof(T) * 8 - 1)))) != Vec<T>{};
}
template <std::integral T>
Vec<T> shl(Vec<T> a, Vec<T> n) {
  using U = Native<std::make_unsigned_t<T>>;
  return select(shifts_out(n), Vec<T>{},
                each<T>([](auto x, auto k) { return (Native<T>)((U)x << (U)k); }, a, shift_amount(n)));
}
template <std::integral T>
Vec<T> shr_logical(Vec<T> a, Vec<T> n) {
  using U = Native<std::make_unsigned_t<T>>;
  return select(shifts_out(n), Vec<T>{},
                each<T>([](auto x, auto k) { return (Native<T>)((U)x >> (U)k); }, a, shift_amount(n)));
}
template <std::integral T>
Vec<T> shr_arith(Vec<T> a, Vec<T> n) {
  using S = Native<std::make_signed_t<T>>;
  const Vec<T> k = select(shifts_out(n), broadcast(static_cast<T>(sizeof(T) * 8 - 1)), shift_amount(n));
  return each<T>([](auto x, auto m) { return (Native<T>)((S)x >> (S)m); }, a, k);
}

// ---- floats
template <class To, class From>
Vec<To> bitcast(Vec<From> x) {
  static_assert(sizeof(To) == sizeof(From));
  return each<To>([](auto v) { return (Native<To>)v; }, x);
}
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <class T>
using FloatOf = std::conditional_t<sizeof(T) == 4, float, double>;
template <std::floating_point T>
Vec<BitsOf<T>> bits(Vec<T> x) {
  return bitcast<BitsOf<T>>(x);
}
template <std::integral T>
Vec<FloatOf<T>> real(Vec<T> x) {
  return bitcast<FloatOf<T>>(x);
}

template <class T>
Vec<T> operator-(Vec<T> a) {
  if constexpr (std::integral<T>) return Vec<T>{} - a;
  else return real(bits(a) ^ broadcast(std::numeric_limits<BitsOf<T>>::min()));
}
template <class T>
Vec<T> abs(Vec<T> a) {
  if constexpr (std::is_unsigned_v<T>) return a;
  else if constexpr (std::integral<T>) return select(a < Vec<T>{}, Vec<T>{} - a, a);
  else return real(bits(a) & broadcast(std::numeric_limits<BitsOf<T>>::max()));
}

#if defined(__AVX2__) && defined(__FMA__)
inline Vec<float> fma(Vec<float> x, Vec<float> y, Vec<float> z) { return {{_mm256_fmadd_ps(x.p[0], y.p[0], z.p[0])}}; }
inline Vec<double> fma(Vec<double> x, Vec<double> y, Vec<double> z) {
  return {{_mm256_fmadd_pd(x.p[0], y.p[0], z.p[0]), _mm256_fmadd_pd(x.p[1], y.p[1], z.p[1])}};
}
inline Vec<float> sqrt(Vec<float> x) { return {{_mm256_sqrt_ps(x.p[0])}}; }
inline Vec<double> sqrt(Vec<double> x) { return {{_mm256_sqrt_pd(x.p[0]), _mm256_sqrt_pd(x.p[1])}}; }
template <int mode>
Vec<float> rounded_to(Vec<float> x) {
  return {{_mm256_round_ps(x.p[0], mode | _MM_FROUND_NO_EXC)}};
}
template <int mode>
Vec<double> rounded_to(Vec<double> x) {
  return {{_mm256_round_pd(x.p[0], mode | _MM_FROUND_NO_EXC), _mm256_round_pd(x.p[1], mode | _MM_FROUND_NO_EXC)}};
}
template <std::floating_point T>
Vec<T> floor(Vec<T> x) {
  return rounded_to<_MM_FROUND_TO_NEG_INF>(x);
}
template <std::floating_point T>
Vec<T> ceil(Vec<T> x) {
  return rounded_to<_MM_FROUND_TO_POS_INF>(x);
}
template <std::floating_point T>
Vec<T> trunc(Vec<T> x) {
  return rounded_to<_MM_FROUND_TO_ZERO>(x);
}
template <std::floating_point T>
Vec<T> round_even(Vec<T> x) {
  return rounded_to<_MM_FROUND_TO_NEAREST_INT>(x);
}
#else
template <std::floating_point T>
Vec<T> fma(Vec<T> x, Vec<T> y, Vec<T> z) {
  return lanewise<T>([](T a, T b, T c) { return std::fma(a, b, c); }, x, y, z);
}
template <std::floating_point T>
Vec<T> sqrt(Vec<T> x) {
  return lanewise<T>([](T a) { return std::sqrt(a); }, x);
}
template <std::floating_point T>
Vec<T> floor(Vec<T> x) {
  return lanewise<T>([](T a) { return std::floor(a); }, x);
}
template <std::floating_point T>
Vec<T> ceil(Vec<T> x) {
  return lanewise<T>([](T a) { return std::ceil(a); }, x);
}
template <std::floating_point T>
Vec<T> trunc(Vec<T> x) {
  return lanewise<T>([](T a) { return std::trunc(a); }, x);
}
template <std::floating_point T>
Vec<T> round_even(Vec<T> x) {
  return lanewise<T>([](T a) { return std::nearbyint(a); }, x);
}
#endif

// ---- conversions
template <class To, class From>
Vec<To> convert(Vec<From> x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != Vec<From>{};
  } else if constexpr (std::is_same_v<From, bool>) {
    return select(x, broadcast(To{1}), Vec<To>{});
  } else if constexpr (std::integral<To> && std::integral<From> && sizeof(To) == sizeof(From)) {
    return bitcast<To>(x);
  } else if constexpr (std::integral<From> && sizeof(From) == 8 && sizeof(To) == 4 && std::integral<To>) {
    return bitcast<To>(Vec<std::int32_t>{{narrow((Native<std::int64_t>)x.p[0], (Native<std::int64_t>)x.p[1]).m}});
  } else if constexpr (std::is_same_v<From, std::int32_t> && std::is_same_v<To, float>) {
    return {{__builtin_convertvector(x.p[0], Native<float>)}};
#if defined(__AVX2__)
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, std::int32_t>) {
    // The machine gives the smallest integer for whatever does not fit.
    const Vec<To> r{{(Native<To>)_mm256_cvttps_epi32(x.p[0])}};
    const Vec<To> high = select(x >= broadcast(0x1p31f), broadcast(std::numeric_limits<To>::max()), r);
    return select(x == x, high, Vec<To>{});
#endif
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double>) {
    return {{__builtin_convertvector(__builtin_shufflevector(x.p[0], x.p[0], 0, 1, 2, 3), Native<double>),
             __builtin_convertvector(__builtin_shufflevector(x.p[0], x.p[0], 4, 5, 6, 7), Native<double>)}};
  } else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>) {
    return {{__builtin_shufflevector(__builtin_convertvector(x.p[0], Half<float>),
                                     __builtin_convertvector(x.p[1], Half<float>), 0, 1, 2, 3, 4, 5, 6, 7)}};
  } else {
    return lanewise<To>([](From v) { return convert_number<To>(v); }, x);
  }
}

// ---- what math.h needs beside operators
template <class T>
Vec<T> like(Vec<T>, double value) {
  return broadcast(static_cast<T>(value));
}
inline Vec<double> to_f64(Vec<float> x) { return convert<double>(x); }
inline Vec<float> to_f32(Vec<double> x) { return convert<float>(x); }
inline Vec<float> to_f32(Vec<std::int32_t> x) { return convert<float>(x); }
inline Vec<std::int32_t> to_i32(Vec<std::int64_t> x) { return convert<std::int32_t>(x); }

// What a stored type keeps of each lane.
template <class T>
Vec<T> wrapped(Vec<T> x, int bits) {  // the low bits of a 32-bit integer, with or without sign
  const int rest = 32 - bits;
  if constexpr (std::is_signed_v<T>) return shr_arith(shl(x, rest), rest);
  else return shr_logical(shl(x, rest), rest);
}
inline Vec<float> rounded(DType dtype, Vec<float> x) {
  if (dtype == bf16) {
    const auto u = bitcast<std::uint32_t>(x);
    const auto r = u + broadcast(0x7fffu) + (shr_logical(u, 16) & broadcast(1u));
    const auto quiet = u | broadcast(0x400000u);
    return bitcast<float>(select(x == x, r, quiet) & broadcast(0xffff0000u));
  }
#if defined(__AVX2__) && defined(__F16C__)
  if (dtype == f16) {  // the scalar operation gives one nan of each sign
    const Vec<float> r{{_mm256_cvtph_ps(_mm256_cvtps_ph(x.p[0], _MM_FROUND_TO_NEAREST_INT))}};
    const auto nan = (bitcast<std::uint32_t>(x) & broadcast(0x80000000u)) | broadcast(0x7fc00000u);
    return select(x == x, r, bitcast<float>(nan));
  }
#endif
  return lanewise<float>([dtype](float v) { return rounded(dtype, v); }, x);
}

}  // namespace anew::loops
