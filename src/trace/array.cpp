// Array's own members: looking at types and elements. A traced value has no elements, unless its trace only wraps a
// concrete one (grad, jvp outside of any staging), which is what makes plain `if` work under grad.
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>

#include "base/dtype.h"
#include "base/float_mode.h"
#include "trace/trace.h"

namespace anew {
namespace {

const Value& value_at(const Array& x, const Location& at) {
  check_operand(x, at.line() ? line_or(at) : at);
  return *x.value();
}

// Where an error about x is: the caller's line, or (a conversion has none) the line that made x, or that traces it.
Location place(const Array& x, const Location& at) {
  if (at.line()) return line_or(at);
  const Value* v = x.value();
  while (v && !v->origin.at.line() && v->first.value()) v = v->first.value();
  if (v && v->origin.at.line()) return v->origin.at;
  return v && v->trace ? v->trace->at : at;
}

}  // namespace

Array concrete_behind(const Array& x, std::string_view wanted, const Location& at) {
  value_at(x, at);
  Array y = x;
  while (y.value()->trace && y.value()->trace->concrete_values) y = y.value()->first;
  const Value& v = *y.value();
  if (v.trace)
    throw UnknownValue(
        fmt::format("{} of a traced array {}: its value is not known while the function is traced for {} at {}", wanted,
                    v.type.str(), v.trace->what(), source_line(v.trace->at).str()),
        place(x, at),
        "compute with arrays (where, maximum, cond), or pass what decides as a static argument (an int, bool or enum)");
  if (v.abstract)
    throw Error(fmt::format("{} of an abstract array {}: it has no data", wanted, v.type.str()), place(x, at));
  return y;
}

namespace {

const std::byte* only_element(const Array& x, const Array& y, std::string_view wanted, const Location& at) {
  if (y.value()->type.shape.size() != 1)
    throw Error(
        fmt::format("{} of an array {} with {} elements", wanted, x.value()->type.str(), y.value()->type.shape.size()),
        place(x, at), "only an array of one element is one number; reduce it first (all, any, sum, max)");
  return y.value()->data();
}

template <class T>
T number(const Array& x, std::string_view wanted, const Location& at) {
  Array y = exact(concrete_behind(x, wanted, at));
  const std::byte* p = only_element(x, y, wanted, at);
  const FloatMode mode;
  return visit(y.value()->type.dtype,
               [&]<class S>(std::type_identity<S>) { return convert_number<T>(read_element<S>(p)); });
}

Array weak(ir::Literal l) {
  Array x = make_literal(l);
  mutable_value(x).weak = true;
  return x;
}

// The row-major copy of a strided array is made once and kept with it, so that spans stay valid.
const std::byte* dense_data(const Array& y) {
  const Value& v = *y.value();
  if (v.literal || is_row_major(v.type.shape, v.strides) || v.type.shape.size() == 0) return v.data();
  static std::mutex guard;
  std::lock_guard lock(guard);
  if (!v.dense.array.value()) v.dense.array = contiguous(y);
  return v.dense.array.value()->data();
}

}  // namespace

// Special members and constructors of what every user's file handles are compiled here, once.
Array::Array(const Array&) noexcept = default;
Array& Array::operator=(const Array&) & noexcept = default;
Array& Array::operator=(Array&&) & noexcept = default;
Array::~Array() = default;

Axes::Axes(One one) : all_(false), axes_{one.axis} {}
Axes::Axes(std::initializer_list<int> axes) : all_(axes.size() == 0), axes_(axes) {}
Axes::Axes(std::vector<int> axes) : all_(false), axes_(std::move(axes)) {}

ArrayList::ArrayList(std::initializer_list<Array> xs, const Location& at) : values(xs), at(at) {}
ArrayList::ArrayList(std::vector<Array> xs, const Location& at) : values(std::move(xs)), at(at) {}

Index::Index(std::initializer_list<IndexItem> items, const Location& at) : items(items), at(at) {}
Index::Index(const Index&) = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(const Index&) = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Array Array::from_float(double v) {
  const FloatMode mode;
  Array x = weak(ir::Literal::of(default_float(), v));
  mutable_value(x).number = v;
  return x;
}
Array Array::from_integer(std::int64_t v) {
  const FloatMode mode;
  bool fits = v == static_cast<std::int32_t>(v);
  Array x = weak(ir::Literal::of(fits ? default_int() : i64, v));
  mutable_value(x).number = static_cast<double>(v);
  mutable_value(x).integer = v;
  return x;
}
Array Array::from_unsigned(std::uint64_t v, const Location& at) {
  if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(fmt::format("[array] the number {} does not fit i64", v), line_or(at),
                "array(v, u64) holds it; floating-point numbers keep 53 bits of it");
  return from_integer(static_cast<std::int64_t>(v));
}
Array Array::from_bool(bool v) {
  Array x = weak(ir::Literal::of(bool_, std::int64_t{v}));
  mutable_value(x).number = v;
  mutable_value(x).integer = v;
  return x;
}

Array::Array(const ShapeDtype& type) {
  auto v = std::make_shared<Value>();
  v->type = type;
  v->abstract = true;
  value_ = std::move(v);
}

Array Array::borrow(const void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner,
                    const Location& at) {
  auto bytes = checked_bytes(shape, dtype);
  if (!bytes)
    throw Error(fmt::format("[borrow] an array of type {} is too large (or has a negative size)",
                            ShapeDtype{shape, dtype}.str()),
                line_or(at));
  if (!data && *bytes) fail("borrow", at, "the pointer is null");
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype))
    fail("borrow", at, fmt::format("the pointer is not aligned for {}", name_of(dtype)));
  return make_concrete({shape, dtype}, anew::borrow(const_cast<void*>(data), *bytes, std::move(owner)), 0,
                       row_major(shape));
}

const Shape& Array::shape(const Location& at) const& { return value_at(*this, at).type.shape; }
DType Array::dtype(const Location& at) const { return value_at(*this, at).type.dtype; }
ShapeDtype Array::type(const Location& at) const { return value_at(*this, at).type; }
std::size_t Array::nbytes(const Location& at) const { return value_at(*this, at).type.bytes(); }

bool Array::to_bool(const Location& at) const { return number<bool>(*this, "boolean conversion", at); }
std::int64_t Array::to_integer(const Location& at) const {
  return number<std::int64_t>(*this, "integer conversion", at);
}
double Array::to_double(const Location& at) const { return number<double>(*this, "conversion to a number", at); }

const void* Array::elements(DType dtype, const Location& at) const {
  Array y = concrete_behind(*this, "data()", at);
  const Value& v = *y.value();
  if (v.type.dtype != dtype)
    throw Error(fmt::format("data<{}>() of an array {}", name_of(dtype), v.type.str()), line_or(at),
                "data() takes the exact type; to_vector<T>() converts");
  return dense_data(y);
}

void Array::copy_elements(DType to, void* out, const Location& at) const {
  Array y = exact(concrete_behind(*this, "to_vector()", at));
  const std::byte* from = dense_data(y);
  const auto n = static_cast<std::size_t>(y.value()->type.shape.size());
  const FloatMode mode;
  convert_elements(from, n, y.value()->type.dtype, to, out);
}

}  // namespace anew
