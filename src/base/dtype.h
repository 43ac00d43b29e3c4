// What the library asks the table of dtypes beyond the public questions: the C++ type of an element, the dtype that
// kernels compute in, the range of integers; and how numbers of every dtype are encoded and converted. Nothing else
// lists dtypes.
#pragma once
#include <anew/base.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace anew {

inline constexpr auto all_dtypes = [] {
  std::array<DType, std::size(detail::dtypes)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = detail::dtypes[i].dtype;
  return all;
}();

constexpr detail::Kind kind_of(DType d) { return detail::line_of(d).kind; }
constexpr bool is_signed(DType d) { return detail::line_of(d).is_signed; }
constexpr bool is_signed_integer(DType d) { return is_integer(d) && is_signed(d); }
// Stored types are computed in a wider one: bf16 and f16 in f32, narrow integers in 32 bits.
constexpr DType computed_type(DType d) { return detail::line_of(d).computed; }
constexpr bool is_stored(DType d) { return computed_type(d) != d; }

// f(std::type_identity<T>{}), T being the C++ type of an element.
template <class F>
constexpr decltype(auto) visit(DType d, F&& f) {
  switch (d) {
#define ANEW_DTYPE(name, text, long_text, element, computed) \
  case name: return f(std::type_identity<element>{});
    ANEW_DTYPES(ANEW_DTYPE)
#undef ANEW_DTYPE
  }
  __builtin_unreachable();
}

template <DType d>
struct ElementOf;
template <class T>
struct ComputedOf;
#define ANEW_DTYPE(name, text, long_text, element, computed) \
  template <>                                                \
  struct ElementOf<name> {                                   \
    using type = element;                                    \
  };
ANEW_DTYPES(ANEW_DTYPE)
#undef ANEW_DTYPE
#define ANEW_DTYPE(name, text, long_text, element, computed) \
  template <>                                                \
  struct ComputedOf<element> {                               \
    using type = ElementOf<computed>::type;                  \
    static constexpr DType dtype = name;                     \
  };
ANEW_DTYPES(ANEW_DTYPE)
#undef ANEW_DTYPE
// The type in which elements of type T are computed.
template <class T>
using Computed = typename ComputedOf<T>::type;
template <class T>
inline constexpr DType dtype_of_element = ComputedOf<T>::dtype;
// f(std::type_identity<T>{}), T being the type in which elements are computed.
template <class F>
constexpr decltype(auto) visit_computed(DType d, F&& f) {
  return visit(d,
               [&]<class T>(std::type_identity<T>) -> decltype(auto) { return f(std::type_identity<Computed<T>>{}); });
}

// The unsigned type of the same width, in which integers wrap around; other types are themselves.
template <class T>
struct Wrapping {
  using type = T;
};
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct Wrapping<T> {
  using type = std::make_unsigned_t<T>;
};

// f(T{}) with the type in which sums and products are made: integers as unsigned ones, where wrapping is defined.
template <class F>
auto visit_arithmetic(DType d, F f) {
  if (is_stored(d)) throw InternalError("no arithmetic of " + std::string(name_of(d)));
  return visit_computed(d, [&]<class T>(std::type_identity<T>) { return f(typename Wrapping<T>::type{}); });
}

// bf16 and f16 by bits; rounding to nearest even. A nan stays a nan.
inline float float_of_bf16(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }
inline std::uint16_t bf16_of_float(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
  return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
inline float float_of_f16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // 2^112 moves the exponent from bias 15 to 127 and normalises subnormals exactly.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}
inline std::uint16_t f16_of_float(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more
  if (magnitude <
      0x38800000u)  // below 2^-14: the sum aligns the value to the unit of subnormals, rounded by the machine
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) & 0x7ffu));
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}

// A number of one type as one of another: floats to integers saturate and a nan gives 0, integers wrap around, to bool
// is != 0. Elements of stored types are what they stand for.
template <class To, class From>
To convert_number(From x) {
  if constexpr (std::is_same_v<From, bfloat16>) {
    return convert_number<To>(float_of_bf16(x.bits));
  } else if constexpr (std::is_same_v<From, float16>) {
    return convert_number<To>(float_of_f16(x.bits));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return {bf16_of_float(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, float16>) {
    return {f16_of_float(static_cast<float>(x))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    // The largest To may not be a float: compare with the power of two just above it.
    constexpr From below = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
    if (x != x) return 0;
    if (x < below) return std::numeric_limits<To>::min();
    if (x >= above) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
T read_element(const void* from) {
  if constexpr (std::is_same_v<T, bool>) return *static_cast<const std::uint8_t*>(from) != 0;
  else {
    T v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
}
template <class T>
std::uint64_t bits_of_element(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
// The bits of a number in a dtype, and the number that bits stand for.
template <class T>
std::uint64_t bits_of(DType d, T v) {
  return visit(d, [&]<class E>(std::type_identity<E>) { return bits_of_element(convert_number<E>(v)); });
}
template <class T>
T number_of_bits(DType d, std::uint64_t bits) {
  return visit(d, [&]<class E>(std::type_identity<E>) { return convert_number<T>(read_element<E>(&bits)); });
}
inline float float_of_bits(DType d, std::uint64_t bits) { return number_of_bits<float>(d, bits); }
// What a floating type of at most 32 bits keeps of x.
inline float rounded(DType d, float x) { return is_stored(d) ? float_of_bits(d, bits_of(d, x)) : x; }

// The bits of the least and of the greatest value, infinities of floats.
template <class T>
constexpr T extreme(bool least) {
  using L = std::numeric_limits<T>;
  if constexpr (L::has_infinity) return least ? -L::infinity() : L::infinity();
  else return least ? L::lowest() : L::max();
}
inline std::uint64_t extreme_bits(DType d, bool least) {
  return visit(d, [&]<class E>(std::type_identity<E>) {
    return bits_of_element(
        convert_number<E>(extreme<std::conditional_t<std::is_integral_v<E>, E, Computed<E>>>(least)));
  });
}

// n elements of one dtype as those of another.
inline void convert_elements(const void* from, std::size_t n, DType source, DType target, void* to) {
  visit(source, [&]<class S>(std::type_identity<S>) {
    visit(target, [&]<class T>(std::type_identity<T>) {
      const auto* in = static_cast<const std::byte*>(from);
      auto* out = static_cast<T*>(to);
      for (std::size_t i = 0; i < n; ++i) out[i] = convert_number<T>(read_element<S>(in + i * sizeof(S)));
    });
  });
}

}  // namespace anew
