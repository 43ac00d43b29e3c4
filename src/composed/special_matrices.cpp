// Matrices with names of their own, as SciPy has them.
#include <anew/indexing.h>
#include <anew/linalg.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>

#include "ops/promote.h"

namespace anew::linalg {
namespace {

Array vector_of(std::string_view op, const ArrayLike& x, std::int64_t least) {
  check_operand(x.value, line_or(x.at));
  Array v = strong(x.value, line_or(x.at));
  if (type_of(v).shape.ndim() != 1 || type_of(v).shape[0] < least)
    fail(op, x.at, fmt::format("needs a vector of at least {} elements, got {}", least, type_of(v).str()));
  return v;
}

void need_size(std::string_view op, std::int64_t n, const Location& at) {
  if (n < 1) fail(op, at, fmt::format("needs a positive size, got {}", n));
}

// n over k, of numbers that f64 holds.
double choose(std::int64_t n, std::int64_t k) {
  double y = 1;
  for (std::int64_t i = 1; i <= k; ++i) y = std::round(y * static_cast<double>(n - k + i) / static_cast<double>(i));
  return y;
}

enum class Part { lower, upper, symmetric };
Part part_of(std::string_view op, const std::string& kind, const Location& at) {
  if (kind == "symmetric") return Part::symmetric;
  if (kind == "lower") return Part::lower;
  if (kind == "upper") return Part::upper;
  fail(op, at, fmt::format("kind is \"{}\", but must be \"symmetric\", \"lower\" or \"upper\"", kind));
}

// From entries that f gives.
template <class F>
Array matrix_of(std::int64_t n, F f, DType dtype, const Location& at) {
  std::vector<double> entries;
  entries.reserve(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) entries.push_back(f(i, j));
  return array(entries, Shape{n, n}, dtype, at);
}

}  // namespace

Array convolution_matrix(const ArrayLike& a, std::int64_t n, const std::string& mode) {
  Array v = vector_of("convolution_matrix", a, 1);
  need_size("convolution_matrix", n, a.at);
  const std::int64_t m = type_of(v).shape[0];
  if (mode != "full" && mode != "same" && mode != "valid")
    fail("convolution_matrix", a.at, fmt::format("mode is \"{}\", but must be \"full\", \"same\" or \"valid\"", mode));
  PinLine pin(a.at);
  Array column = concatenate({v, zeros({n - 1}, type_of(v).dtype)}, 0), row = zeros({n}, type_of(v).dtype);
  Array whole = toeplitz(column, row);  // its first entry is the column's
  if (mode == "full") return whole;
  const std::int64_t rows = mode == "same" ? std::max(m, n) : std::max(m, n) - std::min(m, n) + 1;
  const std::int64_t before = mode == "same" ? (std::min(m, n) - 1) / 2 : std::min(m, n) - 1;
  return whole[{slice(before, before + rows)}];
}

Array fiedler(const ArrayLike& a) {
  Array v = vector_of("fiedler", a, 1);
  PinLine pin(a.at);
  return abs(expand_dims(v, 1) - v);
}

Array fiedler_companion(const ArrayLike& a) {
  Array v = vector_of("fiedler_companion", a, 2);
  PinLine pin(a.at);
  Array c = as_float(v) / v[{0}];
  const DType d = type_of(c).dtype;
  const std::int64_t n = type_of(c).shape[0] - 1;
  if (n == 1) return reshape(-c[{1}], {1, 1});
  Array y = zeros({n, n}, d);
  auto put = [&](std::int64_t i, std::int64_t j, const Array& value) { y = y.at({i, j}).set(value); };
  for (std::int64_t k = 3; k < n; k += 2) put(k, k - 2, ones({}, d));
  for (std::int64_t k = 0; k + 2 < n; k += 2) put(k, k + 2, ones({}, d));
  put(0, 0, -c[{1}]);
  for (std::int64_t k = 2; k <= n; k += 2) put(k - 2, k - 1, -c[{k}]);
  for (std::int64_t k = 3; k <= n; k += 2) put(k - 1, k - 2, -c[{k}]);
  put(1, 0, ones({}, d));
  return y;
}

Array helmert(std::int64_t n, bool full, DType dtype, const Location& at) {
  need_size("helmert", n, at);
  Array y = matrix_of(
      n,
      [&](std::int64_t i, std::int64_t j) {
        const auto k = static_cast<double>(i);
        if (i == 0) return 1 / std::sqrt(static_cast<double>(n));
        return j < i ? 1 / std::sqrt(k * (k + 1)) : j == i ? -std::sqrt(k / (k + 1)) : 0.0;
      },
      dtype, at);
  PinLine pin(at);
  return full ? y : y[{slice(1, n)}];
}

Array invhilbert(std::int64_t n, DType dtype, const Location& at) {
  need_size("invhilbert", n, at);
  return matrix_of(
      n,
      [&](std::int64_t i, std::int64_t j) {
        const double part = choose(i + j, i), sign = (i + j) % 2 == 0 ? 1 : -1;
        return sign * static_cast<double>(i + j + 1) * choose(n + i, n - j - 1) * choose(n + j, n - i - 1) * part *
               part;
      },
      dtype, at);
}

Array pascal(std::int64_t n, const std::string& kind, DType dtype, const Location& at) {
  need_size("pascal", n, at);
  const Part part = part_of("pascal", kind, at);
  return matrix_of(
      n,
      [&](std::int64_t i, std::int64_t j) {
        if (part == Part::symmetric) return choose(i + j, i);
        if (part == Part::upper) std::swap(i, j);
        return j <= i ? choose(i, j) : 0.0;
      },
      dtype, at);
}

Array invpascal(std::int64_t n, const std::string& kind, DType dtype, const Location& at) {
  need_size("invpascal", n, at);
  const Part part = part_of("invpascal", kind, at);
  return matrix_of(
      n,
      [&](std::int64_t i, std::int64_t j) {
        const double sign = (i + j) % 2 == 0 ? 1 : -1;
        if (part == Part::symmetric) {
          double sum = 0;
          for (std::int64_t k = std::max(i, j); k < n; ++k) sum += choose(k, i) * choose(k, j);
          return sign * sum;
        }
        if (part == Part::upper) std::swap(i, j);
        return j <= i ? sign * choose(i, j) : 0.0;
      },
      dtype, at);
}

Array leslie(const ArrayLike& f, const ArrayLike& s) {
  Array top = vector_of("leslie", f, 2), below = vector_of("leslie", s, 1);
  if (type_of(below).shape[0] != type_of(top).shape[0] - 1)
    fail("leslie", f.at,
         fmt::format("survival rates are one less than birth rates, got {} and {}", type_of(below).str(),
                     type_of(top).str()));
  PinLine pin(f.at);
  const DType d = promote_types(type_of(top).dtype, type_of(below).dtype);
  const std::int64_t n = type_of(top).shape[0];
  Array rest = concatenate({diag(astype(below, d)), zeros({n - 1, 1}, d)}, 1);
  return concatenate({expand_dims(astype(top, d), 0), rest}, 0);
}

}  // namespace anew::linalg
