// The table of dtypes: one line each, from which the enumeration and everything that is known of a dtype derive.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace anew {

// Elements of types that C++ does not have, with what std::numeric_limits would say of them: x.data<bfloat16>().
struct bfloat16 {
  static constexpr int digits = 8, min_exponent = -125;
  std::uint16_t bits;
  operator float() const;       // the same number
  static bfloat16 of(float x);  // the nearest, ties to even
};
struct float16 {
  static constexpr int digits = 11, min_exponent = -13;
  std::uint16_t bits;
  operator float() const;
  static float16 of(float x);
};

// Columns: the dtype; its name in printed types; its name in params; the C++ type of an element; the dtype in which
// kernels compute it. Where that is another one the dtype is only stored: each result is rounded, or wraps around.
// clang-format off
#define ANEW_DTYPES(line)                            \
  line(bool_, "bool", "bool", bool, bool_)           \
  line(i8, "i8", "int8", std::int8_t, i32)           \
  line(i16, "i16", "int16", std::int16_t, i32)       \
  line(i32, "i32", "int32", std::int32_t, i32)       \
  line(i64, "i64", "int64", std::int64_t, i64)       \
  line(u8, "u8", "uint8", std::uint8_t, u32)         \
  line(u16, "u16", "uint16", std::uint16_t, u32)     \
  line(u32, "u32", "uint32", std::uint32_t, u32)     \
  line(u64, "u64", "uint64", std::uint64_t, u64)     \
  line(bf16, "bf16", "bfloat16", bfloat16, f32)      \
  line(f16, "f16", "float16", float16, f32)          \
  line(f32, "f32", "float32", float, f32)            \
  line(f64, "f64", "float64", double, f64)
// clang-format on

enum class DType : std::uint8_t {
#define ANEW_DTYPE(name, text, long_text, element, computed) name,
  ANEW_DTYPES(ANEW_DTYPE)
#undef ANEW_DTYPE
};
using enum DType;

namespace detail {
enum class Kind : std::uint8_t { boolean, integer, floating };
template <class T>
constexpr Kind kind_of_element() {
  return std::is_same_v<T, bool> ? Kind::boolean : std::is_integral_v<T> ? Kind::integer : Kind::floating;
}
struct DTypeLine {
  DType dtype;
  std::string_view name, long_name;
  std::size_t size;
  Kind kind;
  bool is_signed;
  DType computed;
};
inline constexpr DTypeLine dtypes[] = {
#define ANEW_DTYPE(name, text, long_text, element, computed) \
  {name, text, long_text, sizeof(element), kind_of_element<element>(), !std::is_unsigned_v<element>, computed},
    ANEW_DTYPES(ANEW_DTYPE)
#undef ANEW_DTYPE
};
constexpr const DTypeLine& line_of(DType d) { return dtypes[static_cast<std::size_t>(d)]; }

// The dtype that holds numbers of a C++ type; of a long double, f64.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bfloat16>) return bf16;
  if constexpr (std::is_same_v<T, float16>) return f16;
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>,
                "anew: no dtype holds this type; elements are numbers, bool, bfloat16 or float16");
  for (const DTypeLine& l : dtypes)
    if (l.kind == kind_of_element<T>() && l.size == std::min<std::size_t>(sizeof(T), 8) &&
        l.is_signed == !std::is_unsigned_v<T>)
      return l.dtype;
  throw "no dtype holds this type";
}
}  // namespace detail

constexpr bool is_float(DType d) { return detail::line_of(d).kind == detail::Kind::floating; }
constexpr bool is_integer(DType d) { return detail::line_of(d).kind == detail::Kind::integer; }
constexpr std::size_t size_of(DType d) { return detail::line_of(d).size; }
constexpr std::string_view name_of(DType d) { return detail::line_of(d).name; }            // "f32"
constexpr std::string_view long_name_of(DType d) { return detail::line_of(d).long_name; }  // "float32", as in params

}  // namespace anew
