// Random options, factors and rules of solvers. Iterations are few: random functions rarely converge.
#include "calls/random_values.h"

namespace anew::calls {
namespace {

double tolerance(Random& r) { return r.chance(80) ? 1e-3 : make(r, Tag<double>{}); }
std::optional<int> few(Random& r) { return r.chance(80) ? r.below(9) - 1 : 3; }
std::optional<double> maybe(Random& r) {
  if (r.chance(50)) return {};
  return tolerance(r);
}

}  // namespace

linalg::SolveTriangularOptions make(Random& r, Tag<linalg::SolveTriangularOptions>) {
  return {r.below(4) - 1, r.chance(50), r.chance(50)};
}
linalg::CholeskyFactor make(Random& r, Tag<linalg::CholeskyFactor>) {
  if (r.chance(30)) return linalg::cho_factor(eye(3));
  return {r.chance(5) ? Array() : r.array(), r.chance(50)};
}
linalg::LuFactors make(Random& r, Tag<linalg::LuFactors>) {
  if (r.chance(40)) return linalg::lu_factor(eye(3) + 1);
  const Array lu = r.chance(5) ? Array() : r.array(), pivots = r.array();
  return {lu, pivots, r.chance(5) ? Array() : r.array()};
}
flat::LinearSolve make(Random& r, Tag<flat::LinearSolve>) {
  switch (r.below(4)) {
    case 0: return {};
    case 1: return [](const FlatFunction& a, std::span<const Array> b) { return a(b); };
    case 2: return [](const FlatFunction&, std::span<const Array> b) { return Arrays(b.begin(), b.end()); };
    default: return [f = make(r, Tag<FlatFunction>{})](const FlatFunction&, std::span<const Array> b) { return f(b); };
  }
}
flat::LinearSolveRules make(Random& r, Tag<flat::LinearSolveRules>) {
  flat::LinearSolveRules rules;
  rules.solve = make(r, Tag<flat::LinearSolve>{});
  rules.transpose_solve = make(r, Tag<flat::LinearSolve>{});
  rules.symmetric = r.chance(30);
  return rules;
}
flat::RootRules make(Random& r, Tag<flat::RootRules>) {
  const FlatFunction solve = make(r, Tag<FlatFunction>{});
  return {solve, make(r, Tag<flat::LinearSolve>{})};
}
flat::Krylov make(Random& r, Tag<flat::Krylov>) {
  return r.one_of<flat::Krylov>({flat::Krylov::cg, flat::Krylov::bicgstab, flat::Krylov::gmres});
}
flat::KrylovOptions make(Random& r, Tag<flat::KrylovOptions>) {
  flat::KrylovOptions o;
  o.tol = tolerance(r);
  o.atol = tolerance(r);
  o.restart = r.below(9) - 1;
  o.maxiter = few(r);
  if (r.chance(20)) o.x0 = make(r, Tag<Arrays>{});
  if (r.chance(30)) o.M = make(r, Tag<FlatFunction>{});
  return o;
}
RootOptions make(Random& r, Tag<RootOptions>) {
  RootOptions o;
  o.tol = maybe(r);
  o.atol = tolerance(r);
  o.ftol = tolerance(r);
  o.maxiter = few(r);
  o.linear_solver = r.one_of<std::string>({"auto", "auto", "dense", "gmres", "x"});
  return o;
}
flat::OdeOptions make(Random& r, Tag<flat::OdeOptions>) {
  flat::OdeOptions o;
  o.rtol = maybe(r);
  o.atol = maybe(r);
  o.method = r.one_of<std::string>({"dopri5", "bosh3", "rodas4", "x"});
  o.checkpoints = few(r);
  o.max_steps = r.below(20) - 1;
  o.first_step = maybe(r);
  if (r.chance(30)) o.event = make(r, Tag<FlatFunction>{});
  return o;
}

}  // namespace anew::calls
