// The two rows of linear algebra that StableHLO has.
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

Value transposed(Writer& w, const Value& x) {
  std::vector<int> order;
  const int n = x.type.shape.ndim();
  for (int i = 0; i < n - 2; ++i) order.push_back(i);
  order.push_back(n - 1);
  order.push_back(n - 2);
  return w.transpose(x, order);
}

}  // namespace

// Of the symmetric part; above the diagonal there are zeros.
Values write_cholesky(const Context& c) {
  const Value& x = c.in[0];
  if (x.type.shape.size() == 0) return {x};
  const int n = x.type.shape.ndim();
  const Value half = c.w.number(x.type, 0.5);
  const Value symmetric = c.w.binary("multiply", c.w.binary("add", x, transposed(c.w, x)), half);
  const Value l = c.w.op1({"stablehlo.cholesky", "lower = true"}, {symmetric}, x.type);
  const Type places{x.type.shape, i32};
  const Value inside = c.w.compare("GE", c.w.iota(places, n - 2), c.w.iota(places, n - 1));
  return {c.w.select(inside, l, c.w.number(x.type, 0))};
}

Values write_triangular_solve(const Context& c) {
  if (c.out[0].shape.size() == 0) return {c.in[1]};
  const std::string attributes =
      fmt::format("left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}",
                  c.param<bool>("left_side"), c.param<bool>("lower"),
                  c.param<bool>("transpose_a") ? "TRANSPOSE" : "NO_TRANSPOSE", c.param<bool>("unit_diagonal"));
  return {c.w.op1({"stablehlo.triangular_solve", attributes}, c.in, c.out[0])};
}

}  // namespace anew::stablehlo
