#include "solvers/vectors.h"

#include <anew/linalg.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/returned_by.h"
#include "trace/unpin_line.h"

namespace anew::solvers {

Arrays unknowns(std::string_view op, std::span<const Array> x, const Location& at) {
  if (x.empty()) throw Error(fmt::format("[{}] there is nothing to solve for: the tree holds no array", op), at);
  Arrays out;
  for (const Array& a : x) {
    check_operand(a, at);
    out.push_back(strong(a, at));
    if (!is_float(type_of(out.back()).dtype))
      throw Error(fmt::format("[{}] needs arrays of floating type, got {}", op, type_of(a).str()), at,
                  "convert with astype(x, f32)");
  }
  return out;
}

FlatFunction unpinned(const FlatFunction& f, const Location& at, std::string_view op, std::string_view name) {
  detail::check_function(f, at);
  return [f, op, name](std::span<const Array> x) {
    UnpinLine lines;
    const ReturnedBy returned(op, name);
    return f(x);
  };
}

Layout::Layout(const Arrays& like) {
  for (const Array& x : like) {
    types_.push_back(type_of(x));
    size_ += types_.back().shape.size();
    if (types_.back().dtype == f64) dtype_ = f64;
  }
}

Array Layout::ravel(std::span<const Array> x) const {
  Arrays parts;
  for (const Array& a : x) parts.push_back(astype(reshape(a, {-1}), dtype_));
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}

Arrays Layout::unravel(const Array& v) const {
  Arrays out;
  std::int64_t at = 0;
  for (const Type& t : types_) {
    const std::int64_t n = t.shape.size();
    out.push_back(astype(reshape(v[{slice(at, at + n)}], t.shape), t.dtype));
    at += n;
  }
  return out;
}

Arrays Layout::unravel_rows(const Array& m) const {
  const std::int64_t rows = type_of(m).shape[0];
  Arrays out;
  std::int64_t at = 0;
  for (const Type& t : types_) {
    const std::int64_t n = t.shape.size();
    Shape shape{rows};
    for (std::int64_t d : t.shape) shape.push_back(d);
    out.push_back(astype(reshape(m[{slice(), slice(at, at + n)}], shape), t.dtype));
    at += n;
  }
  return out;
}

std::function<Array(const Array&)> Layout::over_vectors(FlatFunction f) const {
  return [f = std::move(f), *this](const Array& v) { return ravel(f(unravel(v))); };
}

Array length(const Array& v) { return norm(v); }

double tolerance_of(const std::optional<double>& given, DType dtype) {
  return given.value_or(dtype == f64 ? 1e-10 : 1e-6);
}

void check_tolerance(std::string_view op, std::string_view what, double tol, const Location& at) {
  if (!(tol >= 0) || std::isinf(tol))
    throw Error(fmt::format("[{}] {} is {}, but must be a number that is not negative", op, what, tol), at);
}
void check_count(std::string_view op, std::string_view what, const std::optional<int>& n, const Location& at) {
  if (n && *n < 1) throw Error(fmt::format("[{}] {} is {}, but must be at least 1", op, what, *n), at);
}

Array solve_dense(const VectorFunction& g, const Array& y, const Location& at) {
  const Type type = type_of(y);
  const std::int64_t n = type.shape[0];
  FlatFunction flat = [&](std::span<const Array> x) { return Arrays{g(x[0])}; };
  const Arrays one{eye(n, type.dtype)};
  // Rows of eye are unit vectors: g gives the columns of its matrix.
  const Array columns = flat::vmap(flat, one, {.in = {0}}, at)[0];
  return linalg::solve(transpose(columns), y);
}

Array solve_by_products(const VectorFunction& g, const Array& y, const Location& at) {
  auto solve = [&](const FlatFunction& matvec, std::span<const Array> b) {
    const double tol = type_of(b[0]).dtype == f64 ? 1e-12 : 1e-6;
    const auto n = static_cast<int>(std::min<std::int64_t>(type_of(b[0]).shape[0], 50));
    VectorFunction a = [matvec](const Array& v) { return matvec(Arrays{v})[0]; };
    return Arrays{solve_gmres({a, {}, b[0], zeros_like(b[0]), tol, 0, n, 20, at}).x};
  };
  FlatFunction flat = [&](std::span<const Array> x) { return Arrays{g(x[0])}; };
  return flat::custom_linear_solve(flat, Arrays{y}, {.solve = solve, .transpose_solve = solve}, at)[0];
}

}  // namespace anew::solvers
