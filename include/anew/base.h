// The vocabulary every other header uses: dtypes, shapes, types, source lines, errors and warnings.
// Nothing here knows about arrays.
#pragma once
#include <anew/dtype.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace anew {

using Location = std::source_location;

template <class T>
concept Number = std::is_arithmetic_v<T>;

std::ostream& operator<<(std::ostream&, DType d);

// Default types, of numbers and of arrays made without a dtype: f32 and i32; with x64, as in JAX, f64 and i64.
bool x64_enabled();
inline DType default_float() { return x64_enabled() ? f64 : f32; }
inline DType default_int() { return x64_enabled() ? i64 : i32; }
inline DType default_uint() { return x64_enabled() ? u64 : u32; }
// For all threads; at the start off, unless the environment has ANEW_ENABLE_X64=1. Returns the former setting.
bool enable_x64(bool on = true);
// For this thread, as long as the object lives; whatever enable_x64 says.
class [[nodiscard]] X64 {
 public:
  explicit X64(bool on = true);
  ~X64();
  X64(const X64&) = delete;
  X64& operator=(const X64&) = delete;

 private:
  int saved_;
};

// Subnormal numbers, below 1.2e-38 in f32 and 2.2e-308 in f64, count as zeros in all that is computed from here on, in
// all threads: with them many processors take a hundred times as long. At the start off, unless the environment has
// ANEW_FLUSH_SUBNORMALS=1. Returns the former setting.
bool flush_subnormals(bool on = true);

// The empty tree, an absent axis, open ends of a slice, parts of an index.
struct none_t {
  friend constexpr bool operator==(none_t, none_t) = default;
};
inline constexpr none_t none{};
inline constexpr int no_axis = -1 - 0x7fffffff;  // in vmap: what all examples share; no number of an axis
struct ellipsis_t {};
inline constexpr ellipsis_t ellipsis{};
struct newaxis_t {};
inline constexpr newaxis_t newaxis{};

inline namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::size_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::size_t operator""_GiB(unsigned long long n) { return n << 30; }
}  // namespace literals

namespace detail {
// The nearest number that To holds: what does not fit is out of range, never another number.
template <std::signed_integral To, std::integral T>
constexpr To saturated(T v) {
  constexpr To most = std::numeric_limits<To>::max(), least = std::numeric_limits<To>::min();
  if constexpr (std::is_unsigned_v<T>)
    return static_cast<unsigned long long>(v) > static_cast<unsigned long long>(most) ? most : static_cast<To>(v);
  else return static_cast<long long>(v) > most ? most : static_cast<long long>(v) < least ? least : static_cast<To>(v);
}
}  // namespace detail

// A size in a brace list: any integer converts, so that {2, v.size()} is neither an error nor a warning.
struct Dim {
  std::int64_t value;
  template <std::integral T>
  constexpr Dim(T v) : value(detail::saturated<std::int64_t>(v)) {}
};

// Sizes of an array, outermost first. At most `max_ndim` of them, held inline; negative sizes are kept as given
// (reshape reads -1) and refused by whoever makes an array.
class Shape {
 public:
  static constexpr int max_ndim = 16;

  constexpr Shape() { clear(); }
  constexpr Shape(const Shape& other) { copy(other); }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): numbers, copied onto themselves too
  constexpr Shape& operator=(const Shape& other) {
    copy(other);
    return *this;
  }
  constexpr ~Shape() = default;
  template <std::integral T>
  constexpr Shape(T n) : Shape() {
    push_back(detail::saturated<std::int64_t>(n));
  }
  constexpr Shape(std::initializer_list<Dim> dims, const Location& at = Location::current()) : Shape() {
    if (!std::is_constant_evaluated()) assign(dims, at);
    else
      for (Dim d : dims) push_back(d.value);
  }
  // A span, or what converts to one. A template, so that copying a Shape does not ask whether Shapes do.
  template <class R>
    requires(!std::same_as<R, Shape> && !std::integral<R> &&
             std::convertible_to<const R&, std::span<const std::int64_t>>)
  explicit Shape(const R& dims, const Location& at = Location::current()) : Shape() {
    std::span<const std::int64_t> span(dims);
    assign(span.data(), span.size(), at);
  }
  Shape(const std::vector<std::int64_t>& dims, const Location& at = Location::current());
  Shape(const std::vector<int>& dims, const Location& at = Location::current());

  constexpr int ndim() const { return ndim_; }
  constexpr std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i < 0 ? i + ndim_ : i)]; }
  constexpr std::int64_t& operator[](int i) { return dims_[static_cast<std::size_t>(i < 0 ? i + ndim_ : i)]; }
  constexpr std::int64_t size() const {  // number of elements; of more than can be counted, the largest number
    std::int64_t n = 1;
    for (std::int64_t d : *this)
      if (__builtin_mul_overflow(n, d, &n)) n = std::numeric_limits<std::int64_t>::max();
    return n;
  }
  constexpr void push_back(std::int64_t d) {
    if (ndim_ == max_ndim) too_many(Location());
    dims_[static_cast<std::size_t>(ndim_++)] = d;
  }
  void insert(int at, std::int64_t d);
  void erase(int at);

  constexpr std::int64_t* begin() { return dims_; }
  constexpr std::int64_t* end() { return dims_ + ndim_; }
  constexpr const std::int64_t* begin() const { return dims_; }
  constexpr const std::int64_t* end() const { return dims_ + ndim_; }

  std::string str() const;  // "[5,4]"
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.ndim_ != b.ndim_) return false;
    for (int i = 0; i < a.ndim_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  friend std::ostream& operator<<(std::ostream&, const Shape&);

 private:
  [[noreturn]] static void too_many(const Location& at);  // without a line: the one in force
  void assign(std::initializer_list<Dim> dims, const Location& at);
  void assign(const std::int64_t* dims, std::size_t count, const Location& at);

  // Types are copied all the time and mostly have few axes: only these are set and copied, and the rest where there is
  // one.
  static constexpr int usual = 4;
  constexpr void clear() {
    for (int i = 0; i < (std::is_constant_evaluated() ? max_ndim : usual); ++i) dims_[i] = 0;
  }
  constexpr void copy(const Shape& other) {
    if (std::is_constant_evaluated()) clear();
    for (int i = 0; i < usual; ++i) dims_[i] = other.dims_[i];
    for (int i = usual; i < other.ndim_; ++i) dims_[i] = other.dims_[i];
    ndim_ = other.ndim_;
  }
  std::int64_t dims_[max_ndim];
  int ndim_ = 0;
};

// A Shape or none: {2, 3}, a number, a Shape; std::nullopt or {}.
class OptionalShape : public std::optional<Shape> {
 public:
  OptionalShape() = default;
  OptionalShape(std::nullopt_t) {}
  OptionalShape(const std::optional<Shape>& shape) : std::optional<Shape>(shape) {}
  OptionalShape(const Shape& shape) : std::optional<Shape>(shape) {}
  OptionalShape(std::initializer_list<Dim> dims, const Location& at = Location::current())
      : std::optional<Shape>(Shape(dims, at)) {}
  template <class T>
    requires(!std::derived_from<T, std::optional<Shape>> && std::convertible_to<const T&, Shape>)
  OptionalShape(const T& shape) : std::optional<Shape>(Shape(shape)) {}
};

// The type of an array: what is known of it before it has data.
struct ShapeDtype {
  Shape shape;
  DType dtype = f32;
  std::size_t bytes() const {  // where they cannot be counted, the largest number
    std::size_t n = 0;
    const bool over = __builtin_mul_overflow(static_cast<std::size_t>(shape.size()), size_of(dtype), &n);
    return over ? std::numeric_limits<std::size_t>::max() : n;
  }
  std::string str() const;  // "f32[5,4]"
  friend bool operator==(const ShapeDtype&, const ShapeDtype&) = default;
  friend std::ostream& operator<<(std::ostream&, const ShapeDtype&);
};

// A user's line, as text.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
  std::string str() const;  // "model.cpp:41 (layer)"
};
SourceLine source_line(const Location& at);

// Every misuse of the library. what() ends with "; at model.cpp:41 (layer)" and, where there is one, "; hint: ...".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, const Location& at = Location::current(), const std::string& hint = "");
  const std::string& file() const { return file_; }
  int line() const { return line_; }

 private:
  std::string file_;
  int line_ = 0;
};

// A broken promise of the library itself.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text, const Location& at = Location::current());
};

struct Warning {
  std::string text, file;
  int line = 0;
};
// What happens to warnings; by default one line on stderr per place. Returns the former handler; {} restores the
// default.
using WarningHandler = std::function<void(const Warning&)>;
WarningHandler set_warning_handler(WarningHandler handler);

namespace detail {
// Functions that a user gives may be empty. `at` without a line: where the current transformation was asked for.
[[noreturn]] void empty_function(const Location& at);
template <class F>
inline constexpr bool may_be_empty = std::is_pointer_v<F> || std::is_member_pointer_v<F>;
template <class S>
inline constexpr bool may_be_empty<std::function<S>> = true;
template <class F>
void check_function([[maybe_unused]] const F& f, [[maybe_unused]] const Location& at = {}) {
  if constexpr (may_be_empty<F>)
    if (!f) empty_function(at);
}
}  // namespace detail

}  // namespace anew
