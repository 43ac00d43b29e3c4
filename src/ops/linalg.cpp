// Rows of linear algebra that are our own code: cholesky, triangular_solve, lu and solve. All take leading axes as a
// batch, so their batch rules only bring the mapped axis there. cholesky is that of the symmetric part, and each row
// reads no more than its derivative knows of: what finite differences see is what jvp gives.
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/matrix.h"
#include "ops/rows.h"
#include "runtime/factor.h"

namespace anew {
namespace {

struct TriangularParams : ir::ParamsOf<TriangularParams> {
  TriangularParams() = default;
  explicit TriangularParams(const lax::TriangularOptions& o)
      : left_side(o.left_side), lower(o.lower), transpose_a(o.transpose_a), unit_diagonal(o.unit_diagonal) {}
  bool left_side = false, lower = false, transpose_a = false, unit_diagonal = false;
  lax::TriangularOptions options() const { return {left_side, lower, transpose_a, unit_diagonal}; }
  static auto fields() {
    return std::tuple{ir::field("left_side", &TriangularParams::left_side),
                      ir::field("lower", &TriangularParams::lower),
                      ir::field("transpose_a", &TriangularParams::transpose_a),
                      ir::field("unit_diagonal", &TriangularParams::unit_diagonal)};
  }
};

constexpr double well_conditioned = 4;  // on the diagonal of samples

std::vector<ir::Sample> square_samples(const ParamsRef& params = ir::no_params()) {
  std::vector<ir::Sample> out;
  for (DType t : {f32, f64})
    for (const Shape& s : {Shape{3, 3}, Shape{1, 1}, Shape{2, 4, 4}, Shape{0, 0}, Shape{0, 2, 2}})
      out.push_back({params, {{{s, t}, -1, 1, well_conditioned}}});
  return out;
}

// The shapes of a system of equations: a square matrix and right hand sides of one batch, that fit along axis `axis` of
// b.
void require_system(std::string_view op, std::span<const Type> in, int axis, const Location& at) {
  require_count(op, 2, in, at);
  require_square(op, in[0], at);
  require_matrix(op, in[1], at);
  const Type &a = in[0], &b = in[1];
  bool fits = a.dtype == b.dtype && a.shape.ndim() == b.shape.ndim() && a.shape[-1] == b.shape[axis];
  for (int i = 0; fits && i + 2 < a.shape.ndim(); ++i) fits = a.shape[i] == b.shape[i];
  if (!fits) fail(op, at, fmt::format("the operands do not fit: {} and {}", a.str(), b.str()));
}

// ---- cholesky

struct Cholesky {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return scratch_bytes<T>(cholesky_scratch(n));
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      T* to = elements<T>(out[0]) + b * n * n;
      x.read_symmetric(b, to);
      cholesky(n, to, reinterpret_cast<T*>(own));
    });
  }
};

Primitive cholesky_row() {
  Primitive p;
  p.name = "cholesky";
  p.infer = [](const ir::InferArgs& a) {
    require_count("cholesky", 1, a.in, a.at);
    require_square("cholesky", a.in[0], a.at);
    return Types{a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Cholesky>(in[0], in[0].shape[-1]);
  };
  // l^-1 dx l^-T is l^-1 dl plus its transpose: its lower half, with half of the diagonal, is l^-1 dl.
  p.jvp = [](const ir::JvpArgs& a) {
    const Array& l = a.y[0];
    const Type type = type_of(l);
    Array inner = lax::triangular_solve(l, symmetric_part(a.t[0]), {.lower = true, .transpose_a = true});
    inner = lax::triangular_solve(l, inner, {.left_side = true, .lower = true});
    return Arrays{matmul(l, tril(inner) * (1 - 0.5 * eye(type.shape[-1], type.dtype)))};
  };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{{linalg::cholesky(a.x[0])}}; };
  p.facts.flops = flops_per_matrix([](double n, double) { return n * n * n / 3; });
  p.samples = [] { return square_samples(); };
  return p;
}

// ---- triangular_solve

struct TriangularSolve {
  template <class T>
  static std::size_t bytes(const TriangularParams& p, std::int64_t n, std::int64_t columns) {
    return scratch_bytes<T>(n * n) + scratch_bytes<T>(p.left_side ? 0 : n * columns) +
           scratch_bytes<T>(solve_scratch(n, columns));
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, const TriangularParams& p, std::int64_t n, std::int64_t columns) {
    const auto a = matrices<T>(in[0]), b = matrices<T>(in[1]);
    each_matrix(units, n * n * columns, scratch, [&](std::int64_t i, std::byte* own) {
      Pieces pieces(own);
      T *triangle = pieces.take<T>(n * n), *transposed = pieces.take<T>(p.left_side ? 0 : n * columns);
      T* rest = pieces.take<T>(0);
      T* to = elements<T>(out[0]) + i * b.size();
      T* x = p.left_side ? to : transposed;
      // x op(a) = b is op(a)^T x^T = b^T.
      const bool turned = p.transpose_a == p.left_side;
      a.read(i, triangle);
      if (p.left_side) b.read(i, x);
      else b.read_transposed(i, x);
      const Matrix<T> m{triangle, turned ? 1 : n, turned ? n : 1};
      if (p.lower != turned) solve_lower(n, columns, m, p.unit_diagonal, x, rest);
      else solve_upper(n, columns, m, p.unit_diagonal, x, rest);
      if (p.left_side) return;
      for (std::int64_t r = 0; r < columns; ++r)
        for (std::int64_t c = 0; c < n; ++c) to[r * n + c] = x[c * columns + r];
    });
  }
};

Primitive triangular_row() {
  Primitive p;
  p.name = "triangular_solve";
  p.parse = &TriangularParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_system("triangular_solve", a.in, a.params.as<TriangularParams>().left_side ? -2 : -1, a.at);
    return Types{a.in[1]};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    const auto& q = params.as<TriangularParams>();
    return call_by_type<TriangularSolve>(in[0], q, in[0].shape[-1], in[1].shape[q.left_side ? -1 : -2]);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& p = a.params->as<TriangularParams>();
    Array t = a.t[1];
    if (a.t[0].value()) {
      const std::int64_t skipped = p.unit_diagonal ? 1 : 0;
      Array da = p.lower ? tril(a.t[0], -skipped) : triu(a.t[0], skipped);
      if (p.transpose_a) da = transposed(da);
      Array moved = p.left_side ? matmul(da, a.y[0]) : matmul(a.y[0], da);
      t = t.value() ? t - moved : -moved;
    }
    return Arrays{lax::triangular_solve(a.x[0], t, p.options())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    lax::TriangularOptions options = a.params->as<TriangularParams>().options();
    options.transpose_a = !options.transpose_a;
    return Arrays{Array(), lax::triangular_solve(a.x[0], a.ct[0], options)};
  };
  p.batch = [](const ir::BatchArgs& a) {
    Arrays x = all_mapped(a);
    return ir::Batched{{lax::triangular_solve(x[0], x[1], a.params->as<TriangularParams>().options())}};
  };
  p.facts.linear_in = {1};
  p.facts.flops = [](const ir::Params&, std::span<const Type> in, std::span<const Type> out) {
    return static_cast<double>(in[0].shape[-1]) * static_cast<double>(out[0].shape.size());
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    auto add = [&](DType t, Shape a, Shape b, lax::TriangularOptions o) {
      out.push_back({make_params(TriangularParams(o)), {{{a, t}, -1, 1, well_conditioned}, {{b, t}}}});
    };
    for (DType t : {f32, f64}) {
      for (int bits = 0; bits < 16; ++bits) {
        lax::TriangularOptions o{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
        add(t, {3, 3}, o.left_side ? Shape{3, 2} : Shape{2, 3}, o);
      }
      add(t, {2, 3, 3}, {2, 3, 1}, {.left_side = true, .lower = true});
      add(t, {0, 0}, {0, 2}, {.left_side = true});
      add(t, {2, 2}, {2, 0}, {.left_side = true});
    }
    return out;
  };
  return p;
}

// ---- lu

struct Lu {
  template <class T>
  static std::size_t bytes(std::int64_t m, std::int64_t n) {
    return scratch_bytes<T>(lu_scratch(m, n));
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t m, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    const std::int64_t steps = std::min(m, n);
    each_matrix(units, m * n * steps, scratch, [&](std::int64_t b, std::byte* own) {
      T* to = elements<T>(out[0]) + b * m * n;
      std::int32_t* pivots = elements<std::int32_t>(out[1]) + b * steps;
      x.read(b, to);
      lu(m, n, to, pivots, reinterpret_cast<T*>(own));
      permutation_of(steps, pivots, m, elements<std::int32_t>(out[2]) + b * m);
    });
  }
};

// l^-1 dx[permutation] u^-1 is l^-1 dl + du u^-1: strictly lower plus upper. l and u are made square by ones.
Arrays lu_tangent(const ir::JvpArgs& a) {
  const Array& lu = a.y[0];
  const Type type = type_of(lu);
  const std::int64_t m = type.shape[-2], n = type.shape[-1], k = std::min(m, n);
  const int ndim = type.shape.ndim();
  auto grown = [&](const Array& x, int axis, std::int64_t by) {
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(ndim));
    widths[static_cast<std::size_t>(ndim + axis)].second = by;
    return by == 0 ? x : pad(x, widths);
  };
  Array l = grown(lu[{ellipsis, slice(0, k)}], -1, m - k);
  Array u = grown(triu(lu[{ellipsis, slice(0, k), slice()}]), -2, n - k);
  if (n > k) u = u + diag(concatenate({zeros({k}, type.dtype), ones({n - k}, type.dtype)}));
  Array swap = astype(expand_dims(a.y[2], -1) == arange(m), type.dtype);
  Array inner =
      lax::triangular_solve(l, matmul(swap, a.t[0]), {.left_side = true, .lower = true, .unit_diagonal = true});
  inner = lax::triangular_solve(u, inner, {});
  Array unit_l = tril(l, -1) + eye(m, type.dtype);
  return {matmul(unit_l, tril(inner, -1)) + matmul(triu(inner), u), Array(), Array()};
}

Primitive lu_row() {
  Primitive p;
  p.name = "lu";
  p.infer = [](const ir::InferArgs& a) {
    require_count("lu", 1, a.in, a.at);
    require_matrix("lu", a.in[0], a.at);
    const Shape& s = a.in[0].shape;
    Type pivots = with_last(a.in[0], {std::min(s[-2], s[-1])}), permutation = with_last(a.in[0], {s[-2]});
    pivots.dtype = permutation.dtype = i32;
    return Types{a.in[0], pivots, permutation};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Lu>(in[0], in[0].shape[-2], in[0].shape[-1]);
  };
  p.jvp = lu_tangent;
  p.batch = [](const ir::BatchArgs& a) {
    auto [lu, pivots, permutation] = lax::lu(a.x[0]);
    return ir::Batched{{lu, pivots, permutation}};
  };
  p.facts.flops = flops_per_matrix(lu_flops);
  p.samples = [] {
    std::vector<ir::Sample> out = square_samples();
    for (DType t : {f32, f64})
      for (const Shape& s : {Shape{4, 2}, Shape{2, 2, 3}, Shape{3, 0}})
        out.push_back({ir::no_params(), {{{s, t}, -1, 1, well_conditioned}}});
    return out;
  };
  return p;
}

// ---- solve: a x = b by lu. Its derivatives are solves again, with the same matrix, which keeps a and x and no factor.

struct Solve {
  template <class T>
  static std::size_t bytes(std::int64_t n, std::int64_t columns) {
    return scratch_bytes<T>(n * n) + scratch_bytes<T>(n * columns) + 2 * scratch_bytes<std::int32_t>(n) +
           scratch_bytes<T>(std::max(lu_scratch(n, n), solve_scratch(n, columns)));
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n, std::int64_t columns) {
    const auto a = matrices<T>(in[0]), b = matrices<T>(in[1]);
    each_matrix(units, n * n * (n + columns), scratch, [&](std::int64_t i, std::byte* own) {
      Pieces pieces(own);
      T *factors = pieces.take<T>(n * n), *sides = pieces.take<T>(n * columns);
      std::int32_t *pivots = pieces.take<std::int32_t>(n), *permutation = pieces.take<std::int32_t>(n);
      T* rest = pieces.take<T>(0);
      a.read(i, factors);
      b.read(i, sides);
      lu(n, n, factors, pivots, rest);
      permutation_of(n, pivots, n, permutation);
      T* x = elements<T>(out[0]) + i * b.size();
      for (std::int64_t r = 0; r < n; ++r) std::copy_n(sides + permutation[r] * columns, columns, x + r * columns);
      solve_lower<T>(n, columns, {factors, n, 1}, true, x, rest);
      solve_upper<T>(n, columns, {factors, n, 1}, false, x, rest);
    });
  }
};

Primitive solve_row() {
  Primitive p;
  p.name = "solve";
  p.infer = [](const ir::InferArgs& a) {
    require_system("solve", a.in, -2, a.at);
    return Types{a.in[1]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Solve>(in[0], in[0].shape[-1], in[1].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    Array t = a.t[1];
    if (a.t[0].value()) {
      Array moved = matmul(a.t[0], a.y[0]);
      t = t.value() ? t - moved : -moved;
    }
    return Arrays{bind_solve(a.x[0], t, Location::current())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{Array(), bind_solve(transposed(a.x[0]), a.ct[0], Location::current())};
  };
  p.batch = [](const ir::BatchArgs& a) {
    Arrays x = all_mapped(a);
    return ir::Batched{{bind_solve(x[0], x[1], a.at)}};
  };
  p.facts.linear_in = {1};
  p.facts.flops = [factor = flops_per_matrix(lu_flops)](const ir::Params& params, std::span<const Type> in,
                                                        std::span<const Type> out) {
    return factor(params, in, out) +
           2 * static_cast<double>(in[0].shape[-1]) * static_cast<double>(out[0].shape.size());
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType t : {f32, f64})
      for (auto [a, b] : {std::pair<Shape, Shape>{{3, 3}, {3, 2}},
                          {{2, 3, 3}, {2, 3, 1}},
                          {{1, 1}, {1, 1}},
                          {{0, 0}, {0, 2}},
                          {{2, 2}, {2, 0}}})
        out.push_back({ir::no_params(), {{{a, t}, -1, 1, well_conditioned}, {{b, t}}}});
    return out;
  };
  return p;
}

struct LinalgRows : Family {
  const Primitive& cholesky = row(cholesky_row());
  const Primitive& triangular_solve = row(triangular_row());
  const Primitive& lu = row(lu_row());
  const Primitive& solve = row(solve_row());
  const Primitive& qr = row(qr_row());
  const Primitive& eigh = row(eigh_row());
  const Primitive& svd = row(svd_row());
  const Primitive& schur = row(schur_row());
  const Primitive& hessenberg = row(hessenberg_row());
  const Primitive& det = row(det_row());
  const Primitive& cofactor = row(cofactor_row());
  const Primitive& cofactor_tangent = row(cofactor_tangent_row());
};
}  // namespace

std::span<const Primitive* const> linalg_rows() { return rows<LinalgRows>().list(); }

Array bind_solve(const Array& a, const Array& b, const Location& at) {
  return bind1(rows<LinalgRows>().solve, ir::no_params(), {a, b}, at);
}
Arrays bind_qr(const Array& x, bool full_matrices, const Location& at) {
  return anew::bind(rows<LinalgRows>().qr, qr_params(full_matrices), {x}, at);
}
Arrays bind_eigh(const Array& x, const Location& at) {
  return anew::bind(rows<LinalgRows>().eigh, ir::no_params(), {x}, at);
}
Arrays bind_svd(const Array& x, bool full_matrices, bool compute_uv, const Location& at) {
  return anew::bind(rows<LinalgRows>().svd, svd_params(full_matrices, compute_uv), {x}, at);
}
Arrays bind_schur(const Array& x, const Location& at) {
  return anew::bind(rows<LinalgRows>().schur, ir::no_params(), {x}, at);
}
Arrays bind_hessenberg(const Array& x, const Location& at) {
  return anew::bind(rows<LinalgRows>().hessenberg, ir::no_params(), {x}, at);
}
Array bind_det(const Array& x, const Location& at) { return bind1(rows<LinalgRows>().det, ir::no_params(), {x}, at); }
Array bind_cofactor(const Array& x, const Location& at) {
  return bind1(rows<LinalgRows>().cofactor, ir::no_params(), {x}, at);
}
Array bind_cofactor_tangent(const Array& x, const Array& t, const Location& at) {
  return bind1(rows<LinalgRows>().cofactor_tangent, ir::no_params(), {x, t}, at);
}

Array linalg::cholesky(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  return converted(bind1(rows<LinalgRows>().cholesky, ir::no_params(), {a}, x.at), dtype);
}

Array lax::triangular_solve(const ArrayLike& a, const ArrayLike& b, const TriangularOptions& options) {
  auto [x, y, dtype] = matrix_operands(a, b);
  PinLine pin(a.at);
  return converted(bind1(rows<LinalgRows>().triangular_solve, make_params(TriangularParams(options)), {x, y}, a.at),
                   dtype);
}

std::tuple<Array, Array, Array> lax::lu(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = anew::bind(rows<LinalgRows>().lu, ir::no_params(), {a}, x.at);
  return {converted(y[0], dtype), y[1], y[2]};
}

}  // namespace anew
