// Lists of arrays as vectors: what Krylov methods, Newton's method and integrators compute with.
#pragma once
#include <anew/ops.h>
#include <anew/solvers.h>

#include "trace/trace.h"

namespace anew::solvers {

// Arrays, none of them a number; throws where one is not of floating type.
Arrays unknowns(std::string_view op, std::span<const Array> x, const Location& at);
// A user's function, called from within the library: what it binds has its own lines. Errors of `op` about the tree
// that it returns call it `name`.
FlatFunction unpinned(const FlatFunction& f, const Location& at, std::string_view op, std::string_view name);

// One vector of all elements, of the widest of the dtypes, and back.
class Layout {
 public:
  explicit Layout(const Arrays& like);
  std::int64_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  Array ravel(std::span<const Array> x) const;
  Arrays unravel(const Array& v) const;
  // Of the rows of a matrix: arrays with one more axis in front.
  Arrays unravel_rows(const Array& m) const;
  // f as a function of vectors.
  std::function<Array(const Array&)> over_vectors(FlatFunction f) const;

 private:
  Types types_;
  std::int64_t size_ = 0;
  DType dtype_ = f32;
};

Array length(const Array& v);  // the root of the sum of squares
double tolerance_of(const std::optional<double>& given, DType dtype);
void check_tolerance(std::string_view op, std::string_view what, double tol, const Location& at);
void check_count(std::string_view op, std::string_view what, const std::optional<int>& n, const Location& at);

// x of matvec(x) = b for vectors; with iterations, the residual's norm and whether it is small enough.
struct KrylovResult {
  Array x, iterations, residual, converged;
};
using VectorFunction = std::function<Array(const Array&)>;
struct KrylovSystem {
  VectorFunction a, m;  // m may be empty
  Array b, x0;
  double tol, atol;
  int restart, maxiter;
  Location at;
};
KrylovResult solve_cg(const KrylovSystem& s);
KrylovResult solve_bicgstab(const KrylovSystem& s);
KrylovResult solve_gmres(const KrylovSystem& s);

// x of g(x) = y for a linear g of vectors, by its matrix; or without it.
Array solve_dense(const VectorFunction& g, const Array& y, const Location& at);
Array solve_by_products(const VectorFunction& g, const Array& y, const Location& at);

}  // namespace anew::solvers
