// Array: an immutable value, concrete or traced; what operations take (ArrayLike) and how arrays are made and indexed.
// Copying an Array copies a handle. A C++ number converts implicitly and keeps its digits until it meets an array,
// whose dtype it takes.
#pragma once
#include <anew/base.h>

#include <memory>
#include <optional>
#include <utility>

namespace anew {

class Array;
class ArrayLike;
class Index;
struct Value;  // what an Array holds; inside the library only

// A list of axes; {} means all of them.
class Axes {
 public:
  Axes() = default;
  template <std::integral T>
  Axes(T axis) : Axes(One{detail::saturated<int>(axis)}) {}
  Axes(std::initializer_list<int> axes);
  Axes(std::vector<int> axes);
  bool all() const { return all_; }
  const std::vector<int>& list() const { return axes_; }

 private:
  struct One {
    int axis;
  };
  explicit Axes(One one);
  bool all_ = true;
  std::vector<int> axes_;
};

struct AtRef;
template <class T>
class KeptData;

class Array {
 public:
  Array() = default;  // no array yet: using it throws
  Array(const Array&) noexcept;
  Array(Array&&) = default;
  // Of variables only: x[i] is a new array, and assigning to it would change nothing.
  Array& operator=(const Array&) & noexcept;
  Array& operator=(Array&&) & noexcept;
  ~Array();
  template <class T = Array>
  void operator=(const T&) && {
    static_assert(never<T>, "anew: x[i] is a copy, assigning to it changes nothing; write x = x.at(i).set(v)");
  }
  template <Number T>
  Array(T v, const Location& at = Location::current()) : Array(from_number(v, at)) {}
  Array(const ShapeDtype& abstract);  // a type without data, for make_program, eval_shape and plans
  // Wraps memory without copying it; `owner` is kept as long as any array looks at the memory.
  static Array borrow(const void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner = {},
                      const Location& at = Location::current());

  const Shape& shape(const Location& at = Location::current()) const&;
  Shape shape(const Location& at = Location::current()) const&& { return shape(at); }  // of a temporary: a copy
  DType dtype(const Location& at = Location::current()) const;
  ShapeDtype type(const Location& at = Location::current()) const;
  int ndim(const Location& at = Location::current()) const { return shape(at).ndim(); }
  std::int64_t size(const Location& at = Location::current()) const { return shape(at).size(); }
  std::size_t nbytes(const Location& at = Location::current()) const;
  template <Number T = double>
  T item(const Location& at = Location::current()) const {
    return convert_item<T>(at);
  }
  // The elements, row-major. T must be the exact type; the span is valid as long as this array lives.
  template <class T>
  std::span<const T> data(const Location& at = Location::current()) const& {
    return {static_cast<const T*>(elements(detail::dtype_of<T>(), at)), static_cast<std::size_t>(shape(at).size())};
  }
  // Of a temporary: what this gives keeps the array.
  template <class T>
  KeptData<T> data(const Location& at = Location::current()) const&&;
  template <class T = double>
  std::vector<T> to_vector(const Location& at = Location::current()) const {
    static_assert(sizeof(T) == size_of(detail::dtype_of<T>()));
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> out(static_cast<std::size_t>(shape(at).size()));
    copy_elements(detail::dtype_of<T>(), out.data(), at);
    if constexpr (std::is_same_v<T, bool>) return {out.begin(), out.end()};
    else return out;
  }

  // A conversion cannot know its line: errors name the line that made the value.
  explicit operator bool() const { return to_bool(Location()); }
  template <Number T>
    requires(!std::same_as<T, bool>)
  explicit operator T() const {
    return convert_item<T>(Location());
  }

  Array operator[](const Index& index) const;
  AtRef at(const Index& index) const;
  Array reshape(const Shape& shape, const Location& at = Location::current()) const;
  Array astype(DType dtype, const Location& at = Location::current()) const;
  Array T(const Location& at = Location::current()) const;

  Array& operator+=(const ArrayLike& b) &;  // rebinds: x = x + b
  Array& operator-=(const ArrayLike& b) &;
  Array& operator*=(const ArrayLike& b) &;
  Array& operator/=(const ArrayLike& b) &;
  Array& operator%=(const ArrayLike& b) &;
  Array& operator&=(const ArrayLike& b) &;
  Array& operator|=(const ArrayLike& b) &;
  Array& operator^=(const ArrayLike& b) &;
  Array& operator<<=(const ArrayLike& b) &;
  Array& operator>>=(const ArrayLike& b) &;
  template <class T>
  void operator+=(const T&) && {
    static_assert(never<T>, "anew: x[i] is a copy, += on it changes nothing; write x = x.at(i).add(v)");
  }
  template <class T>
  void operator-=(const T&) && {
    static_assert(never<T>, "anew: x[i] is a copy, -= on it changes nothing; write x = x.at(i).add(-v)");
  }
  template <class T>
  void operator*=(const T&) && {
    static_assert(never<T>, "anew: x[i] is a copy, *= on it changes nothing; write x = x.at(i).multiply(v)");
  }
  template <class T>
  void operator/=(const T&) && {
    static_assert(never<T>, "anew: x[i] is a copy, /= on it changes nothing; write x = x.at(i).divide(v)");
  }

  friend Array operator+(const ArrayLike& a, const ArrayLike& b);
  friend Array operator-(const ArrayLike& a, const ArrayLike& b);
  friend Array operator*(const ArrayLike& a, const ArrayLike& b);
  friend Array operator/(const ArrayLike& a, const ArrayLike& b);
  friend Array operator%(const ArrayLike& a, const ArrayLike& b);
  friend Array operator-(const ArrayLike& a);
  friend Array operator+(const ArrayLike& a);  // positive(a)
  friend Array operator<(const ArrayLike& a, const ArrayLike& b);
  friend Array operator<=(const ArrayLike& a, const ArrayLike& b);
  friend Array operator>(const ArrayLike& a, const ArrayLike& b);
  friend Array operator>=(const ArrayLike& a, const ArrayLike& b);
  friend Array operator==(const ArrayLike& a, const ArrayLike& b);
  friend Array operator!=(const ArrayLike& a, const ArrayLike& b);
  friend Array operator&(const ArrayLike& a, const ArrayLike& b);
  friend Array operator|(const ArrayLike& a, const ArrayLike& b);
  friend Array operator^(const ArrayLike& a, const ArrayLike& b);
  friend Array operator~(const ArrayLike& a);
  friend Array operator<<(const ArrayLike& a, const ArrayLike& b);  // left_shift, right_shift
  friend Array operator>>(const ArrayLike& a, const ArrayLike& b);
  friend std::ostream& operator<<(std::ostream&, const Array&);

  // Inside the library.
  explicit Array(std::shared_ptr<const Value> value) : value_(std::move(value)) {}
  const Value* value() const { return value_.get(); }
  const std::shared_ptr<const Value>& shared_value() const { return value_; }

 private:
  template <class T>
  static constexpr bool never = false;
  template <class T>
  static Array from_number(T v, [[maybe_unused]] const Location& at) {
    if constexpr (std::is_floating_point_v<T>) return from_float(static_cast<double>(v));
    else if constexpr (std::is_same_v<T, bool>) return from_bool(v);
    else if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 8) return from_unsigned(v, at);
    else return from_integer(v);
  }
  static Array from_unsigned(std::uint64_t v, const Location& at);  // throws where i64 does not hold it
  static Array from_float(double v);
  static Array from_integer(std::int64_t v);
  static Array from_bool(bool v);
  template <Number T>
  T convert_item(const Location& at) const {
    if constexpr (std::is_same_v<T, bool>) return to_bool(at);
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(to_integer(at));
    else return static_cast<T>(to_double(at));
  }
  const void* elements(DType dtype, const Location& at) const;  // row-major; throws where the dtype is another
  void copy_elements(DType to, void* out, const Location& at) const;
  bool to_bool(const Location& at) const;
  std::int64_t to_integer(const Location& at) const;
  double to_double(const Location& at) const;
  std::shared_ptr<const Value> value_;
};

// Elements of an array that was a temporary, and the array.
template <class T>
class KeptData : public std::span<const T> {
 public:
  explicit KeptData(const Array& array, const Location& at) : std::span<const T>(array.data<T>(at)), array_(array) {}

 private:
  Array array_;
};
template <class T>
KeptData<T> Array::data(const Location& at) const&& {
  return KeptData<T>(*this, at);
}

// What every operation takes: an array, or anything that converts to one, and the line where that happened.
class ArrayLike {
 public:
  template <class T>
    requires std::convertible_to<const T&, Array>
  ArrayLike(const T& x, const Location& at = Location::current()) : value(array_of(x, at)), at(at) {}
  Array value;
  Location at;

 private:
  template <class T>
  static Array array_of(const T& x, const Location& at) {
    if constexpr (Number<T>) return Array(x, at);  // an error has the user's line
    else return x;
  }
};

class ArrayList {
 public:
  ArrayList(std::initializer_list<Array> xs, const Location& at = Location::current());
  ArrayList(std::vector<Array> xs, const Location& at = Location::current());
  std::vector<Array> values;
  Location at;
};

// What the name of an overloaded function stands for where a transformation takes a function: with <cmath>, `sin` is
// several functions, and one of them is ours. Where the user has one of that name too, which of the two is meant is not
// known, and the call does not compile.
namespace detail {
class Elementwise {
 public:
  using anew_function = Array (*)(const ArrayLike&);
  Elementwise(anew_function f) : f_(f) {}
  Elementwise(Array (*)(const Array&)) = delete;
  Elementwise(Array (*)(Array)) = delete;
  Array operator()(const ArrayLike& x) const { return f_(x); }

 private:
  anew_function f_;
};
class ElementwisePair {
 public:
  using anew_function = Array (*)(const ArrayLike&, const ArrayLike&);
  ElementwisePair(anew_function f) : f_(f) {}
  ElementwisePair(Array (*)(const Array&, const Array&)) = delete;
  ElementwisePair(Array (*)(Array, Array)) = delete;
  Array operator()(const ArrayLike& a, const ArrayLike& b) const { return f_(a, b); }

 private:
  anew_function f_;
};
}  // namespace detail

// ---- indexing: x[i], x[{slice(1, 5), 0, ellipsis, newaxis}]
struct Bound {
  std::optional<std::int64_t> value;
  Bound(none_t) {}
  template <std::integral T>
  Bound(T v) : value(detail::saturated<std::int64_t>(v)) {}
};
struct Slice {
  Bound start = none, stop = none, step = none;
};
// x[a, b] is the comma operator, which forgets a. Between numbers only the compiler's warning tells.
template <class A, class B>
  requires(std::same_as<A, Slice> || std::same_as<B, Slice> || std::same_as<A, ellipsis_t> ||
           std::same_as<B, ellipsis_t>)
Slice operator,(const A&, const B&) {
  static_assert(sizeof(A) == 0, "anew: x[a, b] is C++'s comma operator, which forgets a; write x[{a, b}]");
  return {};
}

inline Slice slice() { return {}; }
inline Slice slice(Bound stop) { return {none, stop, none}; }
inline Slice slice(Bound start, Bound stop, Bound step = none) { return {start, stop, step}; }

struct IndexItem {
  enum class Kind { integer, range, rest, insert, array } kind;
  std::int64_t i = 0;
  Slice s = {};
  Array a = {};
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  IndexItem(T v) : kind(Kind::integer), i(detail::saturated<std::int64_t>(v)) {}
  IndexItem(Slice s) : kind(Kind::range), s(s) {}
  IndexItem(ellipsis_t) : kind(Kind::rest) {}
  IndexItem(newaxis_t) : kind(Kind::insert) {}
  IndexItem(none_t) : kind(Kind::insert) {}
  IndexItem(Array a) : kind(Kind::array), a(std::move(a)) {}
};
class Index {
 public:
  Index(std::initializer_list<IndexItem> items, const Location& at = Location::current());
  template <class T>
    requires std::convertible_to<const T&, IndexItem>
  Index(const T& item, const Location& at = Location::current()) : Index({IndexItem(item)}, at) {}
  Index(const Index&);
  Index(Index&&) noexcept;
  Index& operator=(const Index&);
  Index& operator=(Index&&) noexcept;
  ~Index();
  std::vector<IndexItem> items;
  Location at;
};
// x.at(i).set(v): a new array, changed at i. Integer arrays in i may repeat: `set` keeps the last, the others join all
// in order. What lies outside is dropped, or as `mode` says: "clip", "drop", "wrap"; for `get` "clip", "fill" (nan),
// "wrap".
struct AtRef {
  Array base;
  Index index;
  Array get(std::string_view mode = "clip") const;
  Array set(const ArrayLike& v, std::string_view mode = "drop") const;
  Array add(const ArrayLike& v, std::string_view mode = "drop") const;
  Array multiply(const ArrayLike& v, std::string_view mode = "drop") const;
  Array divide(const ArrayLike& v, std::string_view mode = "drop") const;
  Array min(const ArrayLike& v, std::string_view mode = "drop") const;
  Array max(const ArrayLike& v, std::string_view mode = "drop") const;
};

// ---- making arrays
namespace detail {
template <class T>
DType literal_dtype() {
  if constexpr (std::is_same_v<T, bool>) return bool_;
  else return std::is_integral_v<T> ? default_int() : default_float();
}
// Copies `count` numbers of C++ type `from` into a new array.
Array from_memory(const void* data, std::size_t count, DType from, const Shape& shape, DType to, const Location& at);
[[noreturn]] void ragged(const Location& at);

// Ranges of numbers, of such ranges, ...: how many one in the other; 0 for anything else, and for text.
template <class R>
consteval std::size_t depth_of() {
  if constexpr (requires(const R& r) {
                  typename R::value_type;
                  r.begin();
                  r.end();
                  r.size();
                }) {
    using V = std::remove_cv_t<typename R::value_type>;
    if constexpr (Number<V>) return !std::is_same_v<V, char>;
    else return depth_of<V>() > 0 ? depth_of<V>() + 1 : 0;
  }
  return 0;
}
template <class R>
struct ElementOf {
  using type = std::remove_cv_t<R>;
};
template <class R>
  requires(depth_of<R>() > 0)
struct ElementOf<R> : ElementOf<typename R::value_type> {};
template <class R>
using element_of = typename ElementOf<R>::type;

template <class R, class T>
void flatten(const R& v, std::size_t depth, std::vector<std::int64_t>& sizes, std::vector<T>& out, const Location& at) {
  const auto size = static_cast<std::int64_t>(v.size());
  if (depth == sizes.size()) sizes.push_back(size);
  else if (sizes[depth] != size) ragged(at);
  for (const auto& x : v)
    if constexpr (depth_of<std::remove_cvref_t<decltype(x)>>() > 0) flatten(x, depth + 1, sizes, out, at);
    else out.push_back(x);
}
}  // namespace detail

// std::vector<bool> is not a range of bool; everything else is copied as it lies.
template <Number T>
Array array(const std::vector<T>& v, const Shape& shape, std::optional<DType> dtype = {},
            const Location& at = Location::current()) {
  constexpr DType from = detail::dtype_of<T>();
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<char> bytes(v.begin(), v.end());
    return detail::from_memory(bytes.data(), bytes.size(), bool_, shape, dtype.value_or(bool_), at);
  } else if constexpr (sizeof(T) != size_of(from)) {  // a long double
    std::vector<double> wide(v.begin(), v.end());
    return detail::from_memory(wide.data(), wide.size(), from, shape, dtype.value_or(from), at);
  } else {
    return detail::from_memory(v.data(), v.size(), from, shape, dtype.value_or(from), at);
  }
}
template <Number T>
Array array(const std::vector<T>& v, std::optional<DType> dtype = {}, const Location& at = Location::current()) {
  return array(v, Shape(v.size()), dtype, at);
}
// std::array, std::span, and vectors of vectors or the like: rows of the same length.
template <class Range>
  requires(detail::depth_of<Range>() > 0)
Array array(const Range& v, std::optional<DType> dtype = {}, const Location& at = Location::current()) {
  std::vector<detail::element_of<Range>> flat;
  std::vector<std::int64_t> sizes;
  detail::flatten(v, 0, sizes, flat, at);
  sizes.resize(detail::depth_of<Range>());  // 0 where there are no rows
  return array(flat, Shape(sizes, at), dtype, at);
}
template <Number T>
Array array(std::initializer_list<T> v, std::optional<DType> dtype = {}, const Location& at = Location::current()) {
  return array(std::vector<T>(v), Shape(v.size()), dtype.value_or(detail::literal_dtype<T>()), at);
}
template <Number T>
Array array(std::initializer_list<std::initializer_list<T>> v, std::optional<DType> dtype = {},
            const Location& at = Location::current()) {
  std::vector<T> flat;
  for (auto& row : v) {
    if (row.size() != v.begin()->size()) detail::ragged(at);
    for (T x : row) flat.push_back(x);
  }
  return array(flat, {v.size(), v.begin()->size()}, dtype.value_or(detail::literal_dtype<T>()), at);
}
template <Number T>
Array array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> v, std::optional<DType> dtype = {},
            const Location& at = Location::current()) {
  std::vector<T> flat;
  for (auto& plane : v) {
    for (auto& row : plane) {
      if (plane.size() != v.begin()->size() || row.size() != v.begin()->begin()->size()) detail::ragged(at);
      for (T x : row) flat.push_back(x);
    }
  }
  Shape shape{v.size(), v.begin()->size(), v.begin()->size() ? v.begin()->begin()->size() : 0};
  return array(flat, shape, dtype.value_or(detail::literal_dtype<T>()), at);
}
template <Number T>
Array array(T v, std::optional<DType> dtype = {}, const Location& at = Location::current()) {
  return array(std::vector<T>{v}, Shape{}, dtype.value_or(detail::literal_dtype<T>()), at);
}
Array array(std::initializer_list<Array> v,
            const Location& at = Location::current());  // mixed numbers, or arrays: stacked
Array array(std::initializer_list<std::initializer_list<Array>> v, const Location& at = Location::current());
// The dtype as in the templates above: with a better match here, array({1, 2}, f64) would be ambiguous.
Array array(std::initializer_list<Array> v, std::optional<DType> dtype, const Location& at = Location::current());
Array array(std::initializer_list<std::initializer_list<Array>> v, std::optional<DType> dtype,
            const Location& at = Location::current());
Array asarray(const ArrayLike& x);

// How arrays are printed, as in NumPy: digits after the point at most, number of elements from which an array is
// printed with "...", width of a line, and whether small numbers may be written without exponents. What is absent stays
// as it is.
struct PrintOptions {
  std::optional<int> precision = {};           // at first 8
  std::optional<std::int64_t> threshold = {};  // 1000
  std::optional<int> linewidth = {};           // 75
  std::optional<bool> suppress = {};           // false
};
// For all threads. Returns the former options, all of them.
PrintOptions set_printoptions(const PrintOptions& options, const Location& at = Location::current());
PrintOptions get_printoptions();

}  // namespace anew
