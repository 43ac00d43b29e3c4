// Rows of linear algebra that call LAPACK: qr, eigh (of the symmetric part), svd, schur and hessenberg, batched over
// leading axes.
// Derivatives divide by the gaps between eigenvalues or singular values: where two are equal, those of the vectors are
// inf or nan, while those of the values themselves are right.
#include <fmt/format.h>

#include "ops/matrix.h"
#include "runtime/lapack.h"

namespace anew {
namespace {

struct QrParams : ir::ParamsOf<QrParams> {
  explicit QrParams(bool full_matrices = false) : full_matrices(full_matrices) {}
  bool full_matrices;
  static auto fields() { return std::tuple{ir::field("full_matrices", &QrParams::full_matrices)}; }
};
struct SvdParams : ir::ParamsOf<SvdParams> {
  explicit SvdParams(bool full_matrices = false, bool compute_uv = true)
      : full_matrices(full_matrices), compute_uv(compute_uv) {}
  bool full_matrices, compute_uv;
  static auto fields() {
    return std::tuple{ir::field("full_matrices", &SvdParams::full_matrices),
                      ir::field("compute_uv", &SvdParams::compute_uv)};
  }
};

void no_basis_derivative(std::string_view op, const Array& x) {
  fail(op, Location::current(),
       fmt::format("has no derivative with full_matrices: nothing fixes the added vectors of {}", type_of(x).str()));
}

std::vector<ir::Sample> samples_of(const ParamsRef& params, std::initializer_list<Shape> shapes, double diagonal) {
  std::vector<ir::Sample> out;
  for (DType t : {f32, f64})
    for (const Shape& s : shapes) out.push_back({params, {{{s, t}, -1, 1, diagonal}}});
  return out;
}
std::vector<ir::Sample> joined_samples(std::initializer_list<std::vector<ir::Sample>> lists) {
  std::vector<ir::Sample> out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

// 1 / (v_j - v_i) off the diagonal, 0 on it.
Array inverse_gaps(const Array& v) {
  const Type type = type_of(v);
  Array one = eye(type.shape[-1], type.dtype);
  return 1 / (along_rows(v) - along_columns(v) + one) - one;
}

// dq = q (w - s) + dx r^-1 with s = q^T dx r^-1 and w, antisymmetric, the lower half of s less its transpose. A wide
// matrix has the q of its first columns. dr = q^T (dx - dq r).
Arrays qr_tangent(const ir::JvpArgs& a) {
  const Array &q = a.y[0], &r = a.y[1];
  const Shape shape = type_of(a.x[0]).shape;
  if (a.params->as<QrParams>().full_matrices && shape[-2] > shape[-1]) no_basis_derivative("qr", a.x[0]);
  const std::int64_t k = std::min(shape[-2], shape[-1]);
  Array first = shape[-1] > k ? a.t[0][{ellipsis, slice(0, k)}] : a.t[0];
  Array square = shape[-1] > k ? r[{ellipsis, slice(0, k)}] : r;
  Array moved = lax::triangular_solve(square, first, {});
  Array s = matmul(transposed(q), moved), lower = tril(s, -1);
  Array dq = matmul(q, lower - transposed(lower) - s) + moved;
  return {dq, triu(matmul(transposed(q), a.t[0] - matmul(dq, r)))};
}

Arrays eigh_tangent(const ir::JvpArgs& a) {
  const Array &w = a.y[0], &v = a.y[1];
  Array inner = matmul(matmul(transposed(v), symmetric_part(a.t[0])), v);
  return {diagonal_of(inner), matmul(v, inverse_gaps(w) * inner)};
}

// With m = u^T dx v: ds is its diagonal, u^T du = f * (m s + s m^T), v^T dv = f * (s m + m^T s), f_ij = 1 / (s_j^2 -
// s_i^2); what dx moves out of the span of u or v comes on top.
Arrays svd_tangent(const ir::JvpArgs& a) {
  const auto& p = a.params->as<SvdParams>();
  const Array& dx = a.t[0];
  const Shape shape = type_of(a.x[0]).shape;
  if (!p.compute_uv) {
    Arrays y = bind_svd(a.x[0], false, true, Location::current());
    return {diagonal_of(matmul(matmul(transposed(y[1]), dx), transposed(y[2])))};
  }
  if (p.full_matrices && shape[-1] != shape[-2]) no_basis_derivative("svd", a.x[0]);
  const Array &s = a.y[0], &u = a.y[1], &vt = a.y[2];
  Array v = transposed(vt), m = matmul(matmul(transposed(u), dx), v);
  Array f = inverse_gaps(s * s), ms = m * along_rows(s), sm = along_columns(s) * m;
  Array du = matmul(u, f * (ms + transposed(ms))), dv = matmul(v, f * (sm + transposed(sm)));
  if (shape[-2] > shape[-1]) {
    Array out = matmul(dx, v);
    du = du + (out - matmul(u, matmul(transposed(u), out))) / along_rows(s);
  }
  if (shape[-1] > shape[-2]) {
    Array out = matmul(transposed(dx), u);
    dv = dv + (out - matmul(v, matmul(vt, out))) / along_rows(s);
  }
  return {diagonal_of(m), du, transposed(dv)};
}

struct Qr {
  template <class T>
  static std::size_t bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
    return scratch_bytes<T>(m * n) + lapack_qr_scratch<T>(m, n, k);
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, m * n * k, scratch, [&](std::int64_t b, std::byte* own) {
      Pieces pieces(own);
      T* copy = pieces.take<T>(m * n);
      x.read(b, copy);
      lapack_qr(m, n, k, copy, elements<T>(out[0]) + b * m * k, elements<T>(out[1]) + b * k * n,
                pieces.take<std::byte>(0));
    });
  }
};

struct Eigh {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return lapack_eigh_scratch<T>(n);
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, 10 * n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      T* v = elements<T>(out[1]) + b * n * n;
      x.read_symmetric(b, v);
      lapack_eigh(n, v, elements<T>(out[0]) + b * n, own);
    });
  }
};

struct Svd {
  template <class T>
  static std::size_t bytes(const SvdParams& p, std::int64_t m, std::int64_t n) {
    return scratch_bytes<T>(m * n) + lapack_svd_scratch<T>(m, n, p.compute_uv && p.full_matrices, p.compute_uv);
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, const SvdParams& p, std::int64_t m, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    const std::int64_t k = std::min(m, n);
    each_matrix(units, 20 * m * n * k, scratch, [&](std::int64_t b, std::byte* own) {
      Pieces pieces(own);
      T* copy = pieces.take<T>(m * n);
      std::byte* rest = pieces.take<std::byte>(0);
      x.read(b, copy);
      T* s = elements<T>(out[0]) + b * k;
      if (!p.compute_uv) return lapack_svd<T>(m, n, false, copy, s, nullptr, nullptr, rest);
      const bool full = p.full_matrices;
      const std::int64_t u_size = m * (full ? m : k), v_size = (full ? n : k) * n;
      lapack_svd(m, n, full, copy, s, elements<T>(out[1]) + b * u_size, elements<T>(out[2]) + b * v_size, rest);
    });
  }
};

struct Schur {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return lapack_schur_scratch<T>(n);
  }
  template <class T>
  static void compute(std::int64_t n, T* a, T* z, std::byte* scratch) {
    lapack_schur(n, a, z, scratch);
  }
};
struct Hessenberg {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return lapack_hessenberg_scratch<T>(n);
  }
  template <class T>
  static void compute(std::int64_t n, T* a, T* q, std::byte* scratch) {
    lapack_hessenberg(n, a, q, scratch);
  }
};
// By a similarity: the form replaces a copy of the matrix, the basis is beside it.
template <class Form>
struct Similar : Form {
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, 20 * n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      T* a = elements<T>(out[0]) + b * n * n;
      x.read(b, a);
      Form::compute(n, a, elements<T>(out[1]) + b * n * n, own);
    });
  }
};
template <class Form>
Primitive similar_row(const char* name, double flops, Arrays (*bind)(const Array&, const Location&)) {
  Primitive p;
  p.name = name;
  p.infer = [name](const ir::InferArgs& a) {
    require_count(name, 1, a.in, a.at);
    require_square(name, a.in[0], a.at);
    return Types{a.in[0], a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Similar<Form>>(in[0], in[0].shape[-1]);
  };
  p.jvp = NoDerivative{name};
  p.batch = [bind](const ir::BatchArgs& a) { return ir::Batched{bind(a.x[0], a.at)}; };
  p.facts.flops = flops_per_matrix([flops](double n, double) { return flops * n * n * n; });
  p.samples = [] { return samples_of(ir::no_params(), {{3, 3}, {1, 1}, {2, 2, 2}, {0, 0}, {0, 3, 3}}, 3); };
  return p;
}

}  // namespace

Arrays NoDerivative::operator()(const ir::JvpArgs& a) const {
  throw Error(fmt::format("[{}] has no derivative, but its arguments depend on what is differentiated", op), a.at,
              "stop_gradient the arguments; eigh, svd and qr have derivatives");
}
Primitive schur_row() { return similar_row<Schur>("schur", 25, bind_schur); }
Primitive hessenberg_row() { return similar_row<Hessenberg>("hessenberg", 5, bind_hessenberg); }

ParamsRef qr_params(bool full_matrices) { return make_params(QrParams(full_matrices)); }
ParamsRef svd_params(bool full_matrices, bool compute_uv) { return make_params(SvdParams(full_matrices, compute_uv)); }

Primitive qr_row() {
  Primitive p;
  p.name = "qr";
  p.parse = &QrParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("qr", 1, a.in, a.at);
    require_matrix("qr", a.in[0], a.at);
    const std::int64_t m = a.in[0].shape[-2], n = a.in[0].shape[-1],
                       k = a.params.as<QrParams>().full_matrices ? m : std::min(m, n);
    return Types{with_last(a.in[0], {m, k}), with_last(a.in[0], {k, n})};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type> out) {
    return call_by_type<Qr>(in[0], in[0].shape[-2], in[0].shape[-1], out[0].shape[-1]);
  };
  p.jvp = qr_tangent;
  p.batch = [](const ir::BatchArgs& a) {
    return ir::Batched{bind_qr(a.x[0], a.params->as<QrParams>().full_matrices, a.at)};
  };
  p.facts.flops = flops_per_matrix([](double m, double n) { return 4 * lu_flops(m, n); });
  p.samples = [] {
    return joined_samples({samples_of(qr_params(false), {{3, 3}, {4, 2}, {2, 3}, {2, 3, 2}, {0, 0}, {1, 1}}, 2),
                           samples_of(qr_params(true), {{3, 3}, {2, 4}}, 2)});
  };
  return p;
}

Primitive eigh_row() {
  Primitive p;
  p.name = "eigh";
  p.infer = [](const ir::InferArgs& a) {
    require_count("eigh", 1, a.in, a.at);
    require_square("eigh", a.in[0], a.at);
    return Types{with_last(a.in[0], {a.in[0].shape[-1]}), a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Eigh>(in[0], in[0].shape[-1]);
  };
  p.jvp = eigh_tangent;
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{bind_eigh(a.x[0], a.at)}; };
  p.facts.flops = flops_per_matrix([](double n, double) { return 9 * n * n * n; });
  p.samples = [] { return samples_of(ir::no_params(), {{3, 3}, {1, 1}, {2, 2, 2}, {0, 0}, {0, 3, 3}}, 3); };
  return p;
}

Primitive svd_row() {
  Primitive p;
  p.name = "svd";
  p.parse = &SvdParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("svd", 1, a.in, a.at);
    require_matrix("svd", a.in[0], a.at);
    const auto& q = a.params.as<SvdParams>();
    const std::int64_t m = a.in[0].shape[-2], n = a.in[0].shape[-1], k = std::min(m, n);
    if (!q.compute_uv) return Types{with_last(a.in[0], {k})};
    return Types{with_last(a.in[0], {k}), with_last(a.in[0], {m, q.full_matrices ? m : k}),
                 with_last(a.in[0], {q.full_matrices ? n : k, n})};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Svd>(in[0], params.as<SvdParams>(), in[0].shape[-2], in[0].shape[-1]);
  };
  p.jvp = svd_tangent;
  p.batch = [](const ir::BatchArgs& a) {
    const auto& q = a.params->as<SvdParams>();
    return ir::Batched{bind_svd(a.x[0], q.full_matrices, q.compute_uv, a.at)};
  };
  p.facts.flops = flops_per_matrix([](double m, double n) {
    const double least = std::min(m, n);
    return 14 * m * n * least + 8 * least * least * least;
  });
  p.samples = [] {
    return joined_samples({samples_of(svd_params(false, true), {{3, 3}, {3, 2}, {2, 4}, {2, 2, 2}, {0, 2}}, 3),
                           samples_of(svd_params(true, true), {{2, 2}}, 3),
                           samples_of(svd_params(false, false), {{3, 2}, {2, 2, 3}, {0, 0}}, 3)});
  };
  return p;
}

std::pair<Array, Array> linalg::qr(const ArrayLike& x, bool full_matrices) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = bind_qr(a, full_matrices, x.at);
  return {converted(y[0], dtype), converted(y[1], dtype)};
}
std::pair<Array, Array> linalg::eigh(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = bind_eigh(a, x.at);
  return {converted(y[0], dtype), converted(y[1], dtype)};
}
Array linalg::eigvalsh(const ArrayLike& x) {
  PinLine pin(x.at);
  return eigh(x).first;
}
std::tuple<Array, Array, Array> linalg::svd(const ArrayLike& x, bool full_matrices) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = bind_svd(a, full_matrices, true, x.at);
  return {converted(y[1], dtype), converted(y[0], dtype), converted(y[2], dtype)};
}
std::pair<Array, Array> linalg::schur(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = bind_schur(a, x.at);
  return {converted(y[0], dtype), converted(y[1], dtype)};
}
std::pair<Array, Array> linalg::hessenberg(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  Arrays y = bind_hessenberg(a, x.at);
  return {converted(y[0], dtype), converted(y[1], dtype)};
}
Array linalg::svdvals(const ArrayLike& x) {
  auto [a, dtype] = matrix_operand(x);
  PinLine pin(x.at);
  return converted(bind_svd(a, false, false, x.at)[0], dtype);
}

}  // namespace anew
