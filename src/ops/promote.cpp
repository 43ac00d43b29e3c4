// Promotion, weak numbers, broadcasting, axes.
#include "ops/promote.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace anew {
namespace {

std::string types_of(std::span<const Array> xs) {
  std::string text;
  for (std::size_t i = 0; i < xs.size(); ++i)
    text += (i == 0 ? "" : i + 1 == xs.size() ? " and " : ", ") + type_of(xs[i]).str();
  return text;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  if (is_signed(a) == is_signed(b) && size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  if (is_float(a)) return f32;  // bf16 and f16
  // Of an unsigned and a signed type: a signed one wider than the unsigned. There is none for u64.
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  for (DType d : all_dtypes)
    if (is_signed_integer(d) && size_of(d) >= size_of(with_sign) && size_of(d) > size_of(without)) return d;
  return default_float();
}

DType floating(DType d) { return is_float(d) ? d : is_integer(d) && size_of(d) == 8 ? f64 : f32; }

DType common_dtype(std::span<const Array> xs) {
  using detail::Kind;
  auto is_number = [](const Array& x) { return is_weak(x) && type_of(x).dtype != bool_; };
  std::optional<Kind> weak, most;
  for (const Array& x : xs) {
    std::optional<Kind>& kind = is_number(x) ? weak : most;
    kind = std::max(kind.value_or(Kind::boolean), kind_of(type_of(x).dtype));
  }
  if (most && (!weak || *most >= *weak)) {  // of the arrays of the highest kind alone
    std::optional<DType> out;
    for (const Array& x : xs)
      if (DType d = type_of(x).dtype; !is_number(x) && kind_of(d) == *most) out = out ? promote(*out, d) : d;
    return *out;
  }
  if (weak == Kind::floating) return default_float();
  DType wide = default_int();  // or of a number beyond 32 bits, among numbers only
  for (const Array& x : xs)
    if (!most && type_of(x).dtype == i64) wide = i64;
  return wide;
}

Array checked(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return strong(x.value, x.at);
}

Array as_float(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return as_operand(x.value, floating(type_of(x.value).dtype), x.at);
}
Array float_array(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return coerce(x.value, floating(type_of(x.value).dtype), x.at);
}
Array literal(DType dtype, double v) { return make_literal(ir::Literal::of(dtype, v)); }
Array literal_integer(DType dtype, std::int64_t v) { return make_literal(ir::Literal::of(dtype, v)); }
Array zero_like(const Array& x) { return literal(type_of(x).dtype, 0.0); }

namespace {
[[noreturn]] void no_fit(const std::string& number, DType to, const Location& at) {
  fail("array", at, fmt::format("the number {}does not fit {}", number.empty() ? "" : number + " ", name_of(to)),
       "give the dtype i64, or convert the array beside it with astype(x, i64)");
}
template <class T>
void check_range(T v, DType to, const Location& at) {
  if (!is_integer(to)) return;
  visit(to, [&]<class E>(std::type_identity<E>) {
    if constexpr (std::is_integral_v<E> && !std::is_same_v<E, bool>)
      if (std::cmp_less(v, std::numeric_limits<E>::min()) || std::cmp_greater(v, std::numeric_limits<E>::max()))
        no_fit(std::to_string(v), to, at);
  });
}
}  // namespace

void check_fits(std::int64_t v, DType to, const Location& at) { check_range(v, to, at); }
void check_fits(std::uint64_t v, DType to, const Location& at) { check_range(v, to, at); }

Array coerce(const Array& x, DType dtype, const Location& at) {
  check_operand(x, line_or(at));
  const Value& v = *x.value();
  if (v.weak && v.literal) {
    if (is_float(v.type.dtype)) return literal(dtype, v.number);
    check_fits(v.integer, dtype, at);
    return literal_integer(dtype, v.integer);
  }
  if (v.weak) {
    // An argument shows i64, where that is no default, because it does not fit.
    if (is_signed_integer(dtype) && size_of(dtype) < 8 && v.type.dtype == i64 && default_int() == i32 &&
        !v.origin.primitive)
      no_fit("", dtype, at);
    return coerce(v.exact, dtype, at);
  }
  if (v.type.dtype == dtype) return x;
  return lax::convert_element_type(ArrayLike(x, at), dtype);
}

Array as_operand(const Array& x, DType dtype, const Location& at) {
  check_operand(x, line_or(at));
  const Value& v = *x.value();
  if (!v.weak || dtype == bool_ || kind_of(v.type.dtype) > kind_of(dtype)) return coerce(x, dtype, at);
  if (kind_of(v.type.dtype) == kind_of(dtype)) return x;
  if (v.literal) return is_float(dtype) ? Array(static_cast<double>(v.integer)) : Array(v.integer);
  return as_number(coerce(x, wide(dtype), at), is_float(dtype) ? default_float() : default_int());
}

Shape broadcast_shapes(std::string_view op, std::span<const Array> xs, const Location& at) {
  Shape out;
  int ndim = 0;
  for (const Array& x : xs) ndim = std::max(ndim, type_of(x).shape.ndim());
  for (int i = 0; i < ndim; ++i) out.push_back(1);
  for (const Array& x : xs) {
    const Shape& s = x.value()->type.shape;
    for (int i = 1; i <= s.ndim(); ++i) {
      if (s[-i] == 1 || s[-i] == out[-i]) continue;
      if (out[-i] != 1) fail(op, at, fmt::format("shapes do not broadcast: {}", types_of(xs)));
      out[-i] = s[-i];
    }
  }
  return out;
}

Arrays broadcast_operands(std::string_view op, Arrays xs, const Location& at) {
  bool same = true;
  const Shape* first = nullptr;
  for (const Array& x : xs) {
    const Shape& s = x.value()->type.shape;
    if (s.ndim() == 0) continue;
    if (!first) first = &s;
    same = same && s == *first;
  }
  if (same) return xs;
  Shape shape = broadcast_shapes(op, xs, at);
  for (Array& x : xs)
    if (x.value()->type.shape.ndim() != 0) x = broadcast_to(ArrayLike(x, at), shape);
  return xs;
}

Arrays operands(std::string_view op, Arrays xs, const Location& at, std::optional<DType> dtype) {
  for (const Array& x : xs) check_operand(x, line_or(at));
  DType d = dtype ? *dtype : common_dtype(xs);
  bool numbers = std::all_of(xs.begin(), xs.end(), is_weak);
  for (Array& x : xs) x = numbers ? as_operand(x, d, at) : coerce(x, d, at);
  return broadcast_operands(op, std::move(xs), at);
}

std::pair<Array, Array> both(std::string_view op, const ArrayLike& a, const ArrayLike& b, bool as_floats) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> xs{a.value, b.value};
  DType d = common_dtype(xs);
  Arrays out = operands(op, {a.value, b.value}, a.at, as_floats ? floating(d) : d);
  return {out[0], out[1]};
}

int checked_axis(std::string_view op, int axis, int ndim, const Type& type, const Location& at) {
  if (axis < -ndim || axis >= ndim) fail(op, at, fmt::format("axis {} is out of range for {}", axis, type.str()));
  return axis < 0 ? axis + ndim : axis;
}

std::vector<int> checked_axes(std::string_view op, const Axes& axes, const Type& type, const Location& at) {
  std::vector<int> out;
  int ndim = type.shape.ndim();
  if (axes.all()) {
    for (int i = 0; i < ndim; ++i) out.push_back(i);
    return out;
  }
  for (int a : axes.list()) out.push_back(checked_axis(op, a, ndim, type, at));
  std::sort(out.begin(), out.end());
  if (auto it = std::adjacent_find(out.begin(), out.end()); it != out.end())
    fail(op, at, fmt::format("axis {} is given twice for {}", *it, type.str()));
  return out;
}

}  // namespace anew
