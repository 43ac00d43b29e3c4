// Conjugate gradients, BiCGSTAB and GMRES on vectors, as loops; and their front, which makes each the solution of a
// linear equation with implicit derivatives (custom_linear_solve).
#include <anew/linalg.h>
#include <fmt/format.h>

#include "solvers/vectors.h"

namespace anew::solvers {
namespace {

Array times_m(const KrylovSystem& s, const Array& v) { return s.m ? s.m(v) : v; }

Array bound_of(const KrylovSystem& s) { return maximum(s.tol * length(s.b), s.atol); }

// What is told of a solution: its residual is computed anew, for recurrences drift. Hence also the factor 2.
KrylovResult judged(const KrylovSystem& s, const Array& x, const Array& iterations) {
  Array residual = length(s.b - s.a(x));
  return {x, iterations, residual, residual <= 2 * bound_of(s)};
}

// How loops begin.
Array zero_count() { return make_literal(ir::Literal::of(i32, std::int64_t{0})); }
Array yes() { return make_literal(ir::Literal::of(bool_, std::int64_t{1})); }

// a / b, and 0 where b is: a method that cannot go on stays where it is.
Array quotient(const Array& a, const Array& b) { return where(b == 0, 0, a / where(b == 0, 1, b)); }
Array normalized(const Array& v, const Array& size) { return quotient(v, broadcast_to(size, type_of(v).shape)); }

Arrays loop(const KrylovSystem& s, const flat::LoopCondition& test, const FlatFunction& body, const Arrays& init) {
  return flat::while_loop(test, body, init, {}, {}, s.at);
}

}  // namespace

KrylovResult solve_cg(const KrylovSystem& s) {
  const Array bound = square(bound_of(s));
  Array r = s.b - s.a(s.x0), z = times_m(s, r);
  auto squared = [&](const Array& residual, const Array& gamma) { return s.m ? dot(residual, residual) : gamma; };
  const Array gamma = dot(r, z);
  auto test = [&](std::span<const Array> c) { return (squared(c[1], c[3]) > bound) & (c[4] < s.maxiter); };
  auto body = [&](std::span<const Array> c) {
    const Array &x = c[0], &r = c[1], &p = c[2], &gamma = c[3];
    Array ap = s.a(p), alpha = quotient(gamma, dot(p, ap)), next = r - alpha * ap, z = times_m(s, next);
    Array gamma_next = dot(next, z);
    return Arrays{x + alpha * p, next, z + quotient(gamma_next, gamma) * p, gamma_next, c[4] + 1};
  };
  Arrays end = loop(s, test, body, {s.x0, r, z, gamma, zero_count()});
  return judged(s, end[0], end[4]);
}

KrylovResult solve_bicgstab(const KrylovSystem& s) {
  const Array bound = square(bound_of(s)), r0 = s.b - s.a(s.x0), one = array(1, type_of(r0).dtype);
  // x, r, p, q, alpha, omega, rho, iterations, whether it can go on
  auto test = [&](std::span<const Array> c) { return (dot(c[1], c[1]) > bound) & (c[7] < s.maxiter) & c[8]; };
  auto body = [&](std::span<const Array> c) {
    const Array &x = c[0], &r = c[1], &p = c[2], &q = c[3], &alpha = c[4], &omega = c[5], &rho = c[6];
    Array rho_next = dot(r0, r), beta = quotient(rho_next, rho) * quotient(alpha, omega);
    Array p_next = r + beta * (p - omega * q), p_hat = times_m(s, p_next), q_next = s.a(p_hat);
    Array alpha_next = quotient(rho_next, dot(r0, q_next)), half = r - alpha_next * q_next;
    Array s_hat = times_m(s, half), t = s.a(s_hat);
    // Half a step may be enough.
    Array enough = dot(half, half) < bound, omega_next = where(enough, 0, quotient(dot(t, half), dot(t, t)));
    Array goes_on = (rho_next != 0) & (alpha_next != 0) & (omega_next != 0);
    return Arrays{x + alpha_next * p_hat + omega_next * s_hat,
                  half - omega_next * t,
                  p_next,
                  q_next,
                  alpha_next,
                  omega_next,
                  rho_next,
                  c[7] + 1,
                  goes_on};
  };
  Arrays end = loop(s, test, body, {s.x0, r0, r0, r0, one, one, one, zero_count(), yes()});
  return judged(s, end[0], end[7]);
}

// One more vector of the basis, of which the rows of c[0] are the first (restart + 1 of them). c: v, q, u, steps,
// residual, |r| at the start. Column j of the Hessenberg matrix, turned by all rotations so far (the orthogonal q), is
// column j of the upper triangular u; q e1 |r| is the right side.
Arrays arnoldi_step(const KrylovSystem& s, std::span<const Array> c) {
  const Array &v = c[0], &q = c[1], &u = c[2], &j = c[3];
  const Type type = type_of(u);
  const Array rows = arange(type.shape[0]), columns = arange(type.shape[1]);
  Array here = rows == j, next = rows == j + 1;
  Array w = times_m(s, s.a(matmul(astype(here, type.dtype), v)));
  // Twice is enough.
  Array h = matmul(v, w);
  w = w - matmul(h, v);
  Array again = matmul(v, w);
  w = w - matmul(again, v);
  Array size = length(w);
  Array column = matmul(q, where(next, size, h + again));
  Array a = sum(where(here, column, 0)), b = sum(where(next, column, 0)), d = hypot(a, b);
  Array cos = where(d == 0, 1, quotient(a, d)), sin = quotient(b, d);
  Array q_here = matmul(astype(here, type.dtype), q), q_next = matmul(astype(next, type.dtype), q);
  Array turned = where(expand_dims(here, 1), cos * q_here + sin * q_next,
                       where(expand_dims(next, 1), cos * q_next - sin * q_here, q));
  column = where(here, d, where(next, 0, column));
  Array residual = abs(sum(where(next, turned[{slice(), 0}], 0))) * c[5];
  return Arrays{where(expand_dims(next, 1), normalized(w, size), v),
                turned,
                where(columns == j, expand_dims(column, 1), u),
                j + 1,
                residual,
                c[5]};
}

KrylovResult solve_gmres(const KrylovSystem& s) {
  const Type type = type_of(s.b);
  const std::int64_t n = type.shape[0], m = std::min<std::int64_t>(s.restart, n);
  const Array rows = arange(m + 1), columns = arange(m), bound = bound_of(s);
  // The bound holds for b - A x; with M the method sees M (b - A x), and is held to the same part of M b.
  Array small = bound;
  if (s.m) small = quotient(bound * length(s.m(s.b)), length(s.b));
  auto arnoldi_test = [&](std::span<const Array> c) { return (c[3] < m) & (c[4] > small); };
  auto arnoldi = [&](std::span<const Array> c) { return arnoldi_step(s, c); };
  // x, M (b - A x), its norm, restarts, iterations, whether the last one was of use
  auto test = [&](std::span<const Array> c) { return (c[2] > small) & (c[3] < s.maxiter) & c[5]; };
  auto cycle = [&](std::span<const Array> c) {
    const Array &x = c[0], &r = c[1], &size = c[2];
    Array first = where(expand_dims(rows == 0, 1), normalized(r, size), zeros({m + 1, n}, type.dtype));
    Arrays end = loop(s, arnoldi_test, arnoldi,
                      {first, eye(m + 1, type.dtype), zeros({m + 1, m}, type.dtype), zero_count(), size, size});
    // Columns that were not reached count as those of the identity, with 0 on the right.
    Array diagonal = eye(m, type.dtype), u = end[2][{slice(0, m)}];
    Array dead = (columns >= end[3]) | (diag(u) == 0);
    u = where(dead, diagonal, u);
    Array right = where(dead, 0, end[1][{slice(0, m), 0}] * size);
    Array y = squeeze(lax::triangular_solve(u, expand_dims(right, 1), {.left_side = true}), 1);
    Array x_next = x + matmul(y, end[0][{slice(0, m)}]);
    Array r_next = times_m(s, s.b - s.a(x_next)), size_next = length(r_next);
    Array better = size_next < size;
    return Arrays{where(better, x_next, x),
                  where(better, r_next, r),
                  where(better, size_next, size),
                  c[3] + 1,
                  c[4] + end[3],
                  better};
  };
  Array r = times_m(s, s.b - s.a(s.x0));
  Arrays end = loop(s, test, cycle, {s.x0, r, length(r), zero_count(), zero_count(), yes()});
  return judged(s, end[0], end[4]);
}

}  // namespace anew::solvers

namespace anew {
namespace detail {

FlatFunction matrix_function(const Array& a, std::string_view op, const Location& at) {
  check_operand(a, at);
  const ir::Type type = type_of(a);
  if (type.shape.ndim() != 2 || type.shape[0] != type.shape[1])
    throw Error(fmt::format("[{}] needs a square matrix, or a function that multiplies by one; got {}", op, type.str()),
                at, "for a batch of matrices use vmap");
  return [a, type, op = std::string(op), at](std::span<const Array> x) {
    const ir::Type v = type_of(x[0]);
    if (x.size() != 1 || v.shape.ndim() != 1 || v.shape[0] != type.shape[0])
      throw Error(fmt::format("[{}] the matrix {} and the vector {} do not fit", op, type.str(), v.str()), at);
    PinLine pin(at, op);
    return Arrays{matmul(a, x[0])};
  };
}

}  // namespace detail

namespace flat {

Arrays krylov(Krylov method, const FlatFunction& matvec, std::span<const Array> b, const KrylovOptions& o,
              const Location& at) {
  const std::string_view op = method == Krylov::cg ? "cg" : method == Krylov::gmres ? "gmres" : "bicgstab";
  const Arrays right = solvers::unknowns(op, b, at);
  solvers::check_tolerance(op, ".tol", o.tol, at);
  solvers::check_tolerance(op, ".atol", o.atol, at);
  solvers::check_count(op, ".maxiter", o.maxiter, at);
  solvers::check_count(op, ".restart", o.restart, at);
  Arrays x0;
  if (!o.x0.empty() && o.x0.size() != right.size())
    throw Error(fmt::format("[{}] .x0 has {} arrays, but b has {}", op, o.x0.size(), right.size()), at);
  for (std::size_t i = 0; i < o.x0.size(); ++i) {
    check_operand(o.x0[i], at);
    x0.push_back(strong(o.x0[i], at));
    if (!(type_of(x0[i]) == type_of(right[i])))
      throw Error(fmt::format("[{}] .x0 is {}, but b is {}", op, type_of(x0[i]).str(), type_of(right[i]).str()), at);
  }
  PinLine pin(at, op);
  const solvers::Layout layout(right);
  auto solve = [&](bool guess) {
    return [&, guess](const FlatFunction& a, std::span<const Array> y) {
      PinLine inside(at, op);
      const Array v = layout.ravel(y);
      solvers::KrylovSystem s{
          layout.over_vectors(a),
          o.M ? layout.over_vectors(solvers::unpinned(o.M, at, op, ".M")) : solvers::VectorFunction(),
          v,
          guess && !x0.empty() ? layout.ravel(x0) : zeros_like(v),
          o.tol,
          o.atol,
          o.restart,
          o.maxiter.value_or(static_cast<int>(std::min<std::int64_t>(10 * layout.size(), 1 << 30))),
          at};
      solvers::KrylovResult r = method == Krylov::cg      ? solvers::solve_cg(s)
                                : method == Krylov::gmres ? solvers::solve_gmres(s)
                                                          : solvers::solve_bicgstab(s);
      Arrays out = layout.unravel(r.x);
      out.insert(out.end(), {r.iterations, r.residual, r.converged});
      return out;
    };
  };
  LinearSolveRules rules{.solve = solve(true), .tangent_solve = solve(false)};
  if (method == Krylov::cg) rules.symmetric = true;
  else
    rules.transpose_solve = [&](const FlatFunction& vecmat, std::span<const Array> ct) {
      return solve(false)(vecmat, ct);
    };
  return flat::custom_linear_solve(solvers::unpinned(matvec, at, op, "A"), right, rules, at);
}

}  // namespace flat
}  // namespace anew
