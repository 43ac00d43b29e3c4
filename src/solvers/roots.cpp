// Newton's method and fixed points: loops whose result has the derivatives of the equation (custom_root).
#include <fmt/format.h>

#include "solvers/vectors.h"

namespace anew::solvers {
namespace {

constexpr std::int64_t most_dense = 256;

struct RootProblem {
  std::string_view op;
  Layout layout;
  double tol, atol, ftol;
  int maxiter;
  bool dense;
  Location at;
};

RootProblem root_problem(std::string_view op, const Arrays& x0, const RootOptions& o, int maxiter, const Location& at) {
  const Layout layout(x0);
  if (o.linear_solver != "auto" && o.linear_solver != "dense" && o.linear_solver != "gmres")
    throw Error(fmt::format("[{}] there is no .linear_solver \"{}\"", op, o.linear_solver), at,
                "it is \"auto\", \"dense\" or \"gmres\"");
  check_count(op, ".maxiter", o.maxiter, at);
  const double tol = tolerance_of(o.tol, layout.dtype());
  check_tolerance(op, ".tol", tol, at);
  check_tolerance(op, ".atol", o.atol, at);
  check_tolerance(op, ".ftol", o.ftol, at);
  const bool dense = o.linear_solver == "dense" || (o.linear_solver == "auto" && layout.size() <= most_dense);
  return {op, layout, tol, o.atol, o.ftol, o.maxiter.value_or(maxiter), dense, at};
}

// x, the size of the last step (infinite at first), iterations; `next` gives x and f(x) (or f(x) - x), from which one
// step leads on.
struct Step {
  Array x, residual;
};
using MakeStep = std::function<Step(const Array& x)>;
Arrays iterate(const RootProblem& p, const Array& x0, const MakeStep& step, const VectorFunction& residual) {
  auto small = [&](std::span<const Array> c) { return (c[1] <= p.tol * length(c[0]) + p.atol) | (c[3] <= p.ftol); };
  auto test = [&](std::span<const Array> c) { return logical_not(small(c)) & (c[2] < p.maxiter) & isfinite(c[3]); };
  auto body = [&](std::span<const Array> c) {
    PinLine pin(p.at);
    Step s = step(c[0]);
    return Arrays{s.x, length(s.x - c[0]), c[2] + 1, length(s.residual)};
  };
  const Array first = length(residual(x0));
  Arrays end = flat::while_loop(test, body,
                                {x0, full_like(first, std::numeric_limits<double>::infinity()),
                                 make_literal(ir::Literal::of(i32, std::int64_t{0})), first},
                                {}, {}, p.at);
  const Array last = length(residual(end[0]));
  return {end[0], end[2], last, (small(end) | (last <= p.ftol)) & isfinite(last)};
}

// As results of solve: x as it was given, and what is told of it.
Arrays as_given(const RootProblem& p, const Arrays& end) {
  Arrays out = p.layout.unravel(end[0]);
  out.insert(out.end(), end.begin() + 1, end.end());
  return out;
}

Array solve_linear(const RootProblem& p, const VectorFunction& g, const Array& y) {
  return p.dense ? solve_dense(g, y, p.at) : solve_by_products(g, y, p.at);
}

flat::LinearSolve tangent_rule(const RootProblem& p) {
  return [&p](const FlatFunction& g, std::span<const Array> y) {
    PinLine pin(p.at);
    return p.layout.unravel(solve_linear(p, p.layout.over_vectors(g), p.layout.ravel(y)));
  };
}

}  // namespace
}  // namespace anew::solvers

namespace anew::flat {

Arrays newton(const FlatFunction& user, std::span<const Array> x0, const RootOptions& options, const Location& at) {
  const FlatFunction f = solvers::unpinned(user, at, "newton", "f");
  const Arrays guess = solvers::unknowns("newton", x0, at);
  const solvers::RootProblem p = solvers::root_problem("newton", guess, options, 50, at);
  auto solve = [&](std::span<const Array> start) {
    PinLine pin(at);
    const solvers::VectorFunction g = p.layout.over_vectors(f);
    auto step = [&](const Array& x) {
      FlatFunction flat = [&](std::span<const Array> v) { return Arrays{g(v[0])}; };
      auto [y, linear] = flat::linearize(flat, Arrays{x}, {.at = at});
      solvers::VectorFunction slope = [linear = linear, at](const Array& v) { return linear(Arrays{v}, at)[0]; };
      return solvers::Step{x - solvers::solve_linear(p, slope, y[0]), y[0]};
    };
    return solvers::as_given(p, solvers::iterate(p, p.layout.ravel(start), step, g));
  };
  const PinLine pin(at, p.op);
  return flat::custom_root(f, guess, {.solve = solve, .tangent_solve = solvers::tangent_rule(p)}, at);
}

Arrays fixed_point(const FlatFunction& user, std::span<const Array> x0, const RootOptions& options,
                   const Location& at) {
  const FlatFunction f = solvers::unpinned(user, at, "fixed_point", "f");
  const Arrays guess = solvers::unknowns("fixed_point", x0, at);
  const solvers::RootProblem p = solvers::root_problem("fixed_point", guess, options, 1000, at);
  const FlatFunction difference = [&](std::span<const Array> x) {
    Arrays y = f(x);
    PinLine pin(at);
    if (y.size() == x.size())  // else the error is custom_root's, as it is where a difference would broadcast
      for (std::size_t i = 0; i < x.size(); ++i)
        if (check_operand(y[i], at); type_of(y[i]).shape == type_of(x[i]).shape) y[i] = y[i] - x[i];
    return y;
  };
  auto solve = [&](std::span<const Array> start) {
    PinLine pin(at);
    const solvers::VectorFunction g = p.layout.over_vectors(difference);
    auto step = [&](const Array& x) {
      Array d = g(x);
      return solvers::Step{x + d, d};
    };
    return solvers::as_given(p, solvers::iterate(p, p.layout.ravel(start), step, g));
  };
  const PinLine pin(at, p.op);
  return flat::custom_root(difference, guess, {.solve = solve, .tangent_solve = solvers::tangent_rule(p)}, at);
}

}  // namespace anew::flat
