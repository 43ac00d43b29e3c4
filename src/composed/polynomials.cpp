// Polynomials by their coefficients, the highest power first, as NumPy's old interface has them. Roots are complex
// numbers, and left out.
#include <anew/linalg.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/promote.h"

namespace anew::numpy {
namespace {

// Coefficients; a number is a polynomial of degree 0.
Array coefficients(std::string_view op, const ArrayLike& p, bool as_floats) {
  Array a = as_floats ? float_array(p) : checked(p);
  if (type_of(a).shape.ndim() == 0) a = reshape(a, {1});
  if (type_of(a).shape.ndim() != 1) fail(op, p.at, fmt::format("needs a vector, got {}", type_of(a).str()));
  return a;
}
std::int64_t count(const Array& p) { return type_of(p).shape[0]; }
std::pair<Array, Array> two(std::string_view op, const ArrayLike& a, const ArrayLike& b, bool as_floats) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  const std::array<Array, 2> given{a.value, b.value};
  DType d = common_dtype(given);
  if (as_floats) d = floating(d);
  return {coefficients(op, {coerce(a.value, d, a.at), a.at}, false),
          coefficients(op, {coerce(b.value, d, a.at), a.at}, false)};
}
Array sum_of(std::string_view op, const ArrayLike& a, const ArrayLike& b, bool minus) {
  auto [p, q] = two(op, a, b, false);
  PinLine pin(a.at, op);
  const std::int64_t n = std::max(count(p), count(q));
  auto whole = [&](const Array& x) { return pad(x, {{n - count(x), 0}}); };
  return minus ? whole(p) - whole(q) : whole(p) + whole(q);
}
// i (i - 1) ... (i - m + 1) for i from `first`, the highest first: what m derivatives bring in front.
Array factors(std::int64_t first, std::int64_t size, std::int64_t m, DType dtype) {
  std::vector<double> out(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    double f = 1;
    for (std::int64_t k = 0; k < std::min(m, first + i) && f <= 1e308; ++k) f *= static_cast<double>(first + i - k);
    out[static_cast<std::size_t>(size - 1 - i)] = f;
  }
  return array(out, dtype);
}
void check_order(std::string_view op, std::int64_t m, const Location& at) {
  if (m < 0) fail(op, at, fmt::format("the order is {}", m), "give 0 or more");
}

}  // namespace

Array polyval(const ArrayLike& p, const ArrayLike& x) {
  check_operand(p.value, line_or(p.at));
  check_operand(x.value, line_or(p.at));
  const std::array<Array, 2> given{p.value, x.value};
  const DType d = common_dtype(given);
  Array c = coerce(p.value, d, p.at), at = coerce(x.value, d, p.at);
  if (type_of(c).shape.ndim() == 0) fail("polyval", p.at, "the coefficients are a scalar", "array({a, b}) is a x + b");
  PinLine pin(p.at);
  Array y = zeros(type_of(at).shape, d);
  for (const Array& coefficient : unstack(c)) y = y * at + coefficient;
  return y;
}

Array polyadd(const ArrayLike& a, const ArrayLike& b) { return sum_of("polyadd", a, b, false); }
Array polysub(const ArrayLike& a, const ArrayLike& b) { return sum_of("polysub", a, b, true); }

Array polymul(const ArrayLike& a, const ArrayLike& b) {
  auto [p, q] = two("polymul", a, b, true);
  PinLine pin(a.at);
  auto filled = [](const Array& x) { return count(x) == 0 ? zeros({1}, type_of(x).dtype) : x; };
  return convolve(filled(p), filled(q));
}

std::pair<Array, Array> polydiv(const ArrayLike& a, const ArrayLike& b) {
  auto [u, v] = two("polydiv", a, b, true);
  if (count(v) == 0) fail("polydiv", a.at, "by a polynomial without coefficients");
  PinLine pin(a.at);
  const std::int64_t n = count(v), steps = count(u) - n + 1;
  Arrays q;
  for (std::int64_t k = 0; k < steps; ++k) {
    q.push_back(u[k] / v[0]);
    u = u.at(slice(k, k + n)).add(-q.back() * v);
  }
  return {q.empty() ? zeros({1}, type_of(u).dtype) : stack(q), u};
}

Array polyder(const ArrayLike& p, std::int64_t m) {
  Array c = coefficients("polyder", p, true);
  check_order("polyder", m, p.at);
  PinLine pin(p.at);
  const std::int64_t n = std::max<std::int64_t>(0, count(c) - m);
  return c[slice(0, n)] * factors(m, n, m, type_of(c).dtype);
}

Array polyint(const ArrayLike& p, std::int64_t m, const ArrayLike& k) {
  Array c = coefficients("polyint", p, true);
  check_order("polyint", m, p.at);
  check_operand(k.value, line_or(p.at));
  Array constants = coefficients("polyint", {coerce(k.value, type_of(c).dtype, p.at), p.at}, false);
  PinLine pin(p.at);
  if (count(constants) == 1) constants = broadcast_to(constants, {m});
  if (count(constants) != m) fail("polyint", p.at, fmt::format("{} constants for {} integrals", count(constants), m));
  const std::int64_t n = count(c) + m;
  return concatenate({c, constants}) / factors(0, n, m, type_of(c).dtype);
}

Array poly(const ArrayLike& roots) {
  Array r = coefficients("poly", roots, true);
  PinLine pin(roots.at);
  Array one = ones({1}, type_of(r).dtype), out = one;
  if (count(r) == 0) return squeeze(out);
  for (const Array& root : unstack(r)) out = convolve(out, concatenate({one, reshape(-root, {1})}));
  return out;
}

Array polyfit(const ArrayLike& x, const ArrayLike& y, std::int64_t degree, const PolyfitOptions& options) {
  Array at = float_array(x), values = float_array(y);
  const Type of_x = type_of(at), of_y = type_of(values);
  if (degree < 0 || degree > 1'000'000) fail("polyfit", x.at, fmt::format("the degree is {}", degree));
  if (of_x.shape.ndim() != 1 || of_y.shape.ndim() < 1 || of_y.shape.ndim() > 2 || of_x.shape[0] == 0 ||
      of_x.shape[0] != of_y.shape[0])
    fail("polyfit", x.at,
         fmt::format("needs points [n] and values [n] or [n, columns], got {} and {}", of_x.str(), of_y.str()));
  PinLine pin(x.at);
  const std::int64_t n = of_x.shape[0];
  Array powers = vander(at, degree + 1);
  if (options.w.value()) {
    Array w = float_array(options.w);
    if (!(type_of(w).shape == Shape{n}))
      fail("polyfit", x.at, fmt::format("weights {} for {} points", type_of(w).str(), n));
    powers = powers * expand_dims(w, 1);
    values = values * (of_y.shape.ndim() == 2 ? expand_dims(w, 1) : w);
  }
  const DType d = type_of(powers).dtype;
  const double rounding = d == f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  Array scale = sqrt(sum(square(powers), 0));
  Array c = linalg::lstsq(powers / scale, values, options.rcond.value_or(static_cast<double>(n) * rounding));
  return of_y.shape.ndim() == 2 ? c / expand_dims(scale, 1) : c / scale;
}

}  // namespace anew::numpy
