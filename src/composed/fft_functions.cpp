// The functions of anew::fft, made of the rows of ops/fft.cpp: inverses, other axes, several axes, lengths,
// frequencies.
#include <anew/fft.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/axes.h"
#include "ops/fft.h"
#include "ops/matrix.h"
#include "ops/promote.h"

namespace anew::fft {
namespace {

// The last axis cut or filled with zeros to n elements.
Array resized(std::string_view op, const Array& x, std::int64_t n, const Location& at) {
  const Type type = type_of(x);
  const std::int64_t have = type.shape[-1];
  if (n < 1) throw Error(fmt::format("[{}] needs at least one point along the axis, got {}", op, n), line_or(at));
  if (have == n) return x;
  if (have > n) return x[{ellipsis, slice(0, n)}];
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(type.shape.ndim()));
  widths.back().second = n - have;
  return anew::pad(x, widths);
}

// A transform along one axis, of n points where they are given.
struct Transform {
  int axis;
  std::optional<std::int64_t> n;
};
// The last axis first.
std::vector<Transform> transforms(std::string_view op, const Type& type, const Lengths& s, const Axes& axes,
                                  const Location& at) {
  std::vector<int> list;
  if (!axes.all()) {
    for (int a : axes.list()) list.push_back(checked_axis(op, a, type.shape.ndim(), type, at));
  } else {
    const int count = s ? s->ndim() : type.shape.ndim();
    if (count > type.shape.ndim())
      throw Error(fmt::format("[{}] {} lengths for the axes of {}", op, count, type.str()), line_or(at));
    list = axis_range(type.shape.ndim() - count, type.shape.ndim());
  }
  if (s && s->ndim() != static_cast<int>(list.size()))
    throw Error(fmt::format("[{}] {} lengths for {} axes", op, s->ndim(), list.size()), line_or(at));
  if (list.empty()) throw Error(fmt::format("[{}] needs an axis, got {}", op, type.str()), line_or(at));
  std::vector<Transform> out;
  for (std::size_t i = list.size(); i-- > 0;)
    out.push_back({list[i], s ? std::optional((*s)[static_cast<int>(i)]) : std::nullopt});
  return out;
}

struct Operands {
  Complex z;
  DType result;
};
Operands pair_of(std::string_view op, const ArrayLike& re, const ArrayLike& im) {
  auto [x, y, dtype] = matrix_operands(re, im);
  if (!(type_of(x).shape == type_of(y).shape))
    throw Error(fmt::format("[{}] real and imaginary parts differ: {} and {}", op, type_of(x).str(), type_of(y).str()),
                line_or(re.at));
  return {{x, y}, dtype};
}

Array to_last(const Array& x, int axis) { return moveaxis(x, axis, -1); }
Array from_last(const Array& x, int axis) { return moveaxis(x, -1, axis); }

Complex along(std::string_view op, const Complex& z, const Transform& s, bool inverse, const Location& at) {
  Array x = to_last(z.first, s.axis), y = to_last(z.second, s.axis);
  const std::int64_t n = s.n.value_or(type_of(x).shape[-1]);
  x = resized(op, x, n, at), y = resized(op, y, n, at);
  Arrays out = inverse ? bind_fft(y, x, at) : bind_fft(x, y, at);
  if (!inverse) return {from_last(out[0], s.axis), from_last(out[1], s.axis)};
  const auto points = static_cast<double>(n);
  return {from_last(out[1] / points, s.axis), from_last(out[0] / points, s.axis)};
}
Complex real_along(std::string_view op, const Array& x, const Transform& s, const Location& at) {
  Array a = to_last(x, s.axis);
  Arrays out = bind_rfft(resized(op, a, s.n.value_or(type_of(a).shape[-1]), at), at);
  return {from_last(out[0], s.axis), from_last(out[1], s.axis)};
}
Array back_to_real_along(std::string_view op, const Complex& z, const Transform& s, const Location& at) {
  Array x = to_last(z.first, s.axis), y = to_last(z.second, s.axis);
  const std::int64_t n = s.n.value_or(2 * (type_of(x).shape[-1] - 1));
  if (n < 1) throw Error(fmt::format("[{}] needs at least one point along the axis, got {}", op, n), line_or(at));
  return from_last(bind_irfft(resized(op, x, n / 2 + 1, at), resized(op, y, n / 2 + 1, at), n, at), s.axis);
}

Complex complex_transform(std::string_view op, const ArrayLike& re, const ArrayLike& im, const Lengths& s,
                          const Axes& axes, bool inverse) {
  auto [z, dtype] = pair_of(op, re, im);
  PinLine pin(re.at, op);
  for (const Transform& one : transforms(op, type_of(z.first), s, axes, re.at)) z = along(op, z, one, inverse, re.at);
  return {converted(z.first, dtype), converted(z.second, dtype)};
}
Complex real_transform(std::string_view op, const ArrayLike& x, const Lengths& s, const Axes& axes) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at, op);
  std::vector<Transform> all = transforms(op, type_of(a), s, axes, x.at);
  Complex z = real_along(op, a, all[0], x.at);
  for (std::size_t i = 1; i < all.size(); ++i) z = along(op, z, all[i], false, x.at);
  return {converted(z.first, dtype), converted(z.second, dtype)};
}
Array inverse_real_transform(std::string_view op, const ArrayLike& re, const ArrayLike& im, const Lengths& s,
                             const Axes& axes) {
  auto [z, dtype] = pair_of(op, re, im);
  PinLine pin(re.at, op);
  std::vector<Transform> all = transforms(op, type_of(z.first), s, axes, re.at);
  for (std::size_t i = 1; i < all.size(); ++i) z = along(op, z, all[i], true, re.at);
  return converted(back_to_real_along(op, z, all[0], re.at), dtype);
}

Lengths one_length(std::optional<std::int64_t> n) { return n ? Lengths(Shape{*n}) : Lengths(); }

Array shifted(std::string_view op, const ArrayLike& x, const Axes& axes, bool back) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  std::vector<int> list = checked_axes(op, axes, type, x.at);
  std::vector<std::int64_t> by;
  for (int a : list) by.push_back(back ? -(type.shape[a] / 2) : type.shape[a] / 2);
  PinLine pin(x.at, op);
  return list.empty() ? x.value : roll(x, by, list);
}

void require_points(std::string_view op, std::int64_t n, const Location& at) {
  if (n < 1) throw Error(fmt::format("[{}] needs at least one point, got {}", op, n), line_or(at));
}

}  // namespace

Complex fft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n, int axis) {
  return complex_transform("fft", re, im, one_length(n), axis, false);
}
Complex ifft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n, int axis) {
  return complex_transform("ifft", re, im, one_length(n), axis, true);
}
Complex rfft(const ArrayLike& x, std::optional<std::int64_t> n, int axis) {
  return real_transform("rfft", x, one_length(n), axis);
}
Array irfft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n, int axis) {
  return inverse_real_transform("irfft", re, im, one_length(n), axis);
}
Complex fftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return complex_transform("fftn", re, im, s, axes, false);
}
Complex ifftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return complex_transform("ifftn", re, im, s, axes, true);
}
Complex rfftn(const ArrayLike& x, const Lengths& s, const Axes& axes) { return real_transform("rfftn", x, s, axes); }
Array irfftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return inverse_real_transform("irfftn", re, im, s, axes);
}
Complex fft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return complex_transform("fft2", re, im, s, axes, false);
}
Complex ifft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return complex_transform("ifft2", re, im, s, axes, true);
}
Complex rfft2(const ArrayLike& x, const Lengths& s, const Axes& axes) { return real_transform("rfft2", x, s, axes); }
Array irfft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s, const Axes& axes) {
  return inverse_real_transform("irfft2", re, im, s, axes);
}
Array hfft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n, int axis) {
  check_operand(im.value, line_or(re.at));
  PinLine pin(re.at);
  Array y = inverse_real_transform("hfft", re, negative(im), one_length(n), axis);
  return y * static_cast<double>(type_of(y).shape[axis]);
}
Complex ihfft(const ArrayLike& x, std::optional<std::int64_t> n, int axis) {
  auto [re, im] = real_transform("ihfft", x, one_length(n), axis);
  PinLine pin(x.at);
  const auto points = static_cast<double>(n.value_or(type_of(x.value).shape[axis]));
  return {re / points, -im / points};
}

Array fftfreq(std::int64_t n, double d, DType dtype, const Location& at) {
  require_points("fftfreq", n, at);
  PinLine pin(at);
  Array k = arange(n, i32);
  return astype(where(k < (n + 1) / 2, k, k - n), dtype) / (static_cast<double>(n) * d);
}
Array rfftfreq(std::int64_t n, double d, DType dtype, const Location& at) {
  require_points("rfftfreq", n, at);
  PinLine pin(at);
  return arange(n / 2 + 1, dtype) / (static_cast<double>(n) * d);
}
Array fftshift(const ArrayLike& x, const Axes& axes) { return shifted("fftshift", x, axes, false); }
Array ifftshift(const ArrayLike& x, const Axes& axes) { return shifted("ifftshift", x, axes, true); }

}  // namespace anew::fft
