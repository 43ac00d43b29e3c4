// Making arrays. Data (braces, vectors) becomes a concrete array at once, a captured constant to any trace; what a
// formula gives (zeros, arange, eye, ...) is bound as equations, so that a trace recomputes it instead of keeping it.
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/float_mode.h"
#include "ops/promote.h"

namespace anew {

Array copy(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  if (!x.value.value()->concrete()) return x.value;  // has no memory
  Array a = contiguous(strong(x.value, x.at));
  if (a.value()->buffer && a.value()->buffer != x.value.value()->buffer) return a;
  const Array fresh = empty_array(a.value()->type, x.at);
  std::memcpy(fresh.value()->buffer->data(), a.value()->data(), a.value()->type.bytes());
  return fresh;
}

namespace {

bool all_numbers(std::initializer_list<Array> v) {
  for (const Array& x : v)
    if (!is_known_number(x)) return false;
  return true;
}

Array of_numbers(std::initializer_list<Array> v, DType dtype, const Location& at) {
  bool whole = std::none_of(v.begin(), v.end(), [](const Array& x) { return is_float(type_of(x).dtype); });
  if (whole) {  // i64 does not fit a double
    std::vector<std::int64_t> values;
    for (const Array& x : v) values.push_back(x.value()->integer);
    return detail::from_memory(values.data(), values.size(), i64, Shape(values.size()), dtype, at);
  }
  std::vector<double> values;
  for (const Array& x : v) values.push_back(x.value()->number);
  return detail::from_memory(values.data(), values.size(), f64, Shape(values.size()), dtype, at);
}

Array fill(std::string_view op, const Shape& shape, const Array& scalar, const Location& at) {
  if (std::any_of(shape.begin(), shape.end(), [](auto n) { return n < 0; }))
    fail(op, at, fmt::format("negative size in shape {}", shape.str()));
  return lax::broadcast_in_dim(ArrayLike(scalar, at), shape, {});
}

}  // namespace

namespace detail {

Array from_memory(const void* data, std::size_t count, DType from, const Shape& shape, DType to, const Location& at) {
  if (static_cast<std::int64_t>(count) != shape.size())
    fail("array", at, fmt::format("{} numbers do not fill shape {}", count, shape.str()));
  if (is_integer(from) && is_integer(to) && from != to)
    visit(from, [&]<class T>(std::type_identity<T>) {
      using Wide = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
      for (std::size_t i = 0; i < count; ++i)
        check_fits(convert_number<Wide>(read_element<T>(static_cast<const std::byte*>(data) + i * sizeof(T))), to, at);
    });
  Array x = empty_array({shape, to}, line_or(at));
  const FloatMode mode;
  void* out = x.value()->buffer->data();
  if (from != to) convert_elements(data, count, from, to, out);
  else if (count) std::memcpy(out, data, count * size_of(to));
  return x;
}

void ragged(const Location& at) { fail("array", at, "rows of different lengths"); }

}  // namespace detail

Array array(std::initializer_list<Array> v, const Location& at) {
  if (v.size() == 0) return detail::from_memory(nullptr, 0, f32, Shape{0}, default_float(), at);
  for (const Array& x : v) check_operand(x, line_or(at));
  if (all_numbers(v)) return of_numbers(v, common_dtype({v.begin(), v.size()}), at);
  return stack(ArrayList(v, at));
}
Array array(std::initializer_list<Array> v, std::optional<DType> dtype, const Location& at) {
  if (!dtype) return array(v, at);
  for (const Array& x : v) check_operand(x, line_or(at));
  if (all_numbers(v)) return of_numbers(v, *dtype, at);
  return array(v, at).astype(*dtype, at);
}
Array array(std::initializer_list<std::initializer_list<Array>> v, const Location& at) {
  std::vector<Array> rows, flat;
  for (auto& row : v) {
    if (row.size() != v.begin()->size()) detail::ragged(at);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  for (const Array& x : flat) check_operand(x, line_or(at));
  DType d = flat.empty() ? default_float() : common_dtype(flat);
  for (auto& row : v) rows.push_back(array(row, d, at));
  return stack(ArrayList(std::move(rows), at));
}
Array array(std::initializer_list<std::initializer_list<Array>> v, std::optional<DType> dtype, const Location& at) {
  if (!dtype) return array(v, at);
  std::vector<Array> rows;
  for (auto& row : v) {
    if (row.size() != v.begin()->size()) detail::ragged(at);
    rows.push_back(array(row, dtype, at));
  }
  return stack(ArrayList(std::move(rows), at));
}

Array zeros(const Shape& shape, DType dtype, const Location& at) { return fill("zeros", shape, literal(dtype, 0), at); }
Array ones(const Shape& shape, DType dtype, const Location& at) { return fill("ones", shape, literal(dtype, 1), at); }
Array full(const Shape& shape, const ArrayLike& v, std::optional<DType> dtype) {
  PinLine pin(v.at);
  check_operand(v.value, line_or(v.at));
  Array x = dtype ? coerce(v.value, *dtype, v.at) : strong(v.value, v.at);
  return type_of(x).shape.ndim() == 0 ? fill("full", shape, x, v.at) : broadcast_to(ArrayLike(x, v.at), shape);
}
Array zeros_like(const ArrayLike& x, std::optional<DType> dtype) { return full_like(x, ArrayLike(0, x.at), dtype); }
Array ones_like(const ArrayLike& x, std::optional<DType> dtype) { return full_like(x, ArrayLike(1, x.at), dtype); }
Array full_like(const ArrayLike& x, const ArrayLike& v, std::optional<DType> dtype) {
  PinLine pin(x.at);
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  return full(type.shape, ArrayLike(v.value, x.at), dtype.value_or(type.dtype));
}

Array operator+(const ArrayLike& a) { return copy(a); }

Array eye(std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype, const Location& at) {
  if (rows < 0 || columns < 0) fail("eye", at, fmt::format("of {} rows and {} columns", rows, columns));
  PinLine pin(at);
  Shape shape{rows, columns};
  Array row = lax::iota(shape, 0);
  k = std::clamp(k, -std::max<std::int64_t>(0, rows), std::max<std::int64_t>(0, columns));  // beside it all are alike
  return astype((k ? row + literal_integer(i32, k) : row) == lax::iota(shape, 1), dtype);
}
Array eye(std::int64_t n, DType dtype, const Location& at) { return eye(n, n, 0, dtype, at); }
Array identity(std::int64_t n, DType dtype, const Location& at) { return eye(n, n, 0, dtype, at); }

Array arange(const ArrayLike& stop, std::optional<DType> dtype) {
  return arange(ArrayLike(0, stop.at), stop, ArrayLike(1, stop.at), dtype);
}

Array arange(const ArrayLike& start, const ArrayLike& stop, const ArrayLike& step, std::optional<DType> dtype) {
  for (const ArrayLike* x : {&start, &stop, &step}) check_operand(x->value, line_or(start.at));
  std::array<Array, 3> all{start.value, stop.value, step.value};
  DType d = dtype.value_or(common_dtype(all));
  double from = is_known_number(start.value) ? start.value.value()->number : start.value.item<double>(start.at);
  double to = is_known_number(stop.value) ? stop.value.value()->number : stop.value.item<double>(start.at);
  double by = is_known_number(step.value) ? step.value.value()->number : step.value.item<double>(start.at);
  if (by == 0) fail("arange", start.at, "the step is 0");
  const FloatMode mode;
  const double count = std::ceil((to - from) / by);
  if (!(count < 0x1p62))  // a nan, too
    fail("arange", start.at, fmt::format("from {} to {} by {} there are too many numbers to count", from, to, by));
  auto n = static_cast<std::int64_t>(std::max(0.0, count));
  PinLine pin(start.at);
  Array x = lax::iota({n}, 0, d);
  if (by < 0 && is_integer(d) && is_known_number(step.value) && !is_float(type_of(step.value).dtype))
    x = x * literal_integer(d, step.value.value()->integer);  // unsigned numbers go down by one that wraps around
  else if (by != 1) x = x * coerce(step.value, d, start.at);
  return from == 0 ? x : x + coerce(start.value, d, start.at);
}

Array linspace(double start, double stop, std::int64_t n, DType dtype, bool endpoint, const Location& at) {
  if (n < 0) fail("linspace", at, fmt::format("{} points", n));
  PinLine pin(at);
  auto parts = static_cast<double>(endpoint ? n - 1 : n);
  if (parts <= 0) return full({n}, start, dtype);
  DType exact = is_float(dtype) ? dtype : default_float();
  Array s = lax::iota({n}, 0, exact) / parts;  // both ends come out exactly
  return astype(start * (1 - s) + stop * s, dtype);
}

}  // namespace anew
