// Rows of determinants: det, its gradient (the cofactors) and the derivative of that along a direction, all right for
// singular matrices, where det * inv is not defined. The second derivative is symmetric: cofactor_tangent is its own
// transpose. From the third on derivatives divide by the determinant.
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/matrix.h"
#include "runtime/cofactor.h"
#include "runtime/factor.h"

namespace anew {
namespace {

struct Det {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return scratch_bytes<T>(n * n) + scratch_bytes<std::int32_t>(n) + scratch_bytes<T>(lu_scratch(n, n));
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      Pieces pieces(own);
      T* factors = pieces.take<T>(n * n);
      std::int32_t* pivots = pieces.take<std::int32_t>(n);
      x.read(b, factors);
      lu(n, n, factors, pivots, pieces.take<T>(0));
      T product = 1;
      for (std::int64_t i = 0; i < n; ++i) {
        if (pivots[i] != i) product = -product;
        product *= factors[i * n + i];
      }
      elements<T>(out[0])[b] = product;
    });
  }
};

struct Cofactor {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return scratch_bytes<T>(n * n) + cofactor_scratch<T>(n);
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]);
    each_matrix(units, 2 * n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      Pieces pieces(own);
      T* copy = pieces.take<T>(n * n);
      x.read(b, copy);
      cofactor(n, copy, elements<T>(out[0]) + b * n * n, pieces.take<std::byte>(0));
    });
  }
};

struct CofactorTangent {
  template <class T>
  static std::size_t bytes(std::int64_t n) {
    return 2 * scratch_bytes<T>(n * n) + cofactor_scratch<T>(n);
  }
  template <class T>
  static void run(const Units& units, std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                  std::byte* scratch, std::int64_t n) {
    const auto x = matrices<T>(in[0]), t = matrices<T>(in[1]);
    each_matrix(units, 5 * n * n * n, scratch, [&](std::int64_t b, std::byte* own) {
      Pieces pieces(own);
      T *copy = pieces.take<T>(n * n), *along = pieces.take<T>(n * n);
      x.read(b, copy);
      t.read(b, along);
      cofactor_tangent(n, copy, along, elements<T>(out[0]) + b * n * n, pieces.take<std::byte>(0));
    });
  }
};

// For each matrix the sum of all products of elements, as a matrix of one element.
Array inner(const Array& x, const Array& y) { return sum(x * y, {-2, -1}, true); }

// The second derivative of the cofactors c, along t and w, from c_t = (<c,t> c - c t^T c) / det.
Array second_tangent(const Array& a, const Array& t, const Array& c_t, const Array& w, const Location& at) {
  Array c = bind_cofactor(a, at), c_w = bind_cofactor_tangent(a, w, at), turned = transposed(t);
  Array top = inner(c_w, t) * c + inner(c, t) * c_w - inner(c, w) * c_t;
  top = top - matmul(matmul(c_w, turned), c) - matmul(matmul(c, turned), c_w);
  return top / expand_dims(bind_det(a, at), {-2, -1});
}

std::vector<ir::Sample> samples_with(int matrices) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const Shape& s : {Shape{4, 4}, Shape{1, 1}, Shape{2, 3, 3}, Shape{0, 0}, Shape{0, 2, 2}}) {
      out.push_back({ir::no_params(), {{{s, d}, -1, 1, 1}}});
      if (matrices == 2) out.back().inputs.push_back({{s, d}});
    }
  return out;
}

}  // namespace

Primitive det_row() {
  Primitive p;
  p.name = "det";
  p.infer = [](const ir::InferArgs& a) {
    require_count("det", 1, a.in, a.at);
    require_square("det", a.in[0], a.at);
    return Types{with_last(a.in[0], {})};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Det>(in[0], in[0].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{sum(bind_cofactor(a.x[0], Location::current()) * a.t[0], {-2, -1})};
  };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{{bind_det(a.x[0], a.at)}}; };
  p.facts.flops = flops_per_matrix(lu_flops);
  p.samples = [] {
    std::vector<ir::Sample> out = samples_with(1);
    for (DType d : {f32, f64})  // ones: of rank 1
      for (const Shape& s : {Shape{2, 2}, Shape{4, 4}}) out.push_back({ir::no_params(), {{{s, d}, 1, 1}}});
    return out;
  };
  return p;
}

Primitive cofactor_row() {
  Primitive p;
  p.name = "cofactor";
  p.infer = [](const ir::InferArgs& a) {
    require_count("cofactor", 1, a.in, a.at);
    require_square("cofactor", a.in[0], a.at);
    return Types{a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<Cofactor>(in[0], in[0].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{bind_cofactor_tangent(a.x[0], a.t[0], Location::current())}; };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{{bind_cofactor(a.x[0], a.at)}}; };
  p.facts.flops = flops_per_matrix([](double n, double) { return 10 * n * n * n / 3; });
  p.samples = [] { return samples_with(1); };
  return p;
}

Primitive cofactor_tangent_row() {
  Primitive p;
  p.name = "cofactor_tangent";
  p.infer = [](const ir::InferArgs& a) {
    require_count("cofactor_tangent", 2, a.in, a.at);
    require_square("cofactor_tangent", a.in[0], a.at);
    if (!(a.in[0] == a.in[1]))
      fail("cofactor_tangent", a.at, fmt::format("the operands do not fit: {} and {}", a.in[0].str(), a.in[1].str()));
    return Types{a.in[0]};
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return call_by_type<CofactorTangent>(in[0], in[0].shape[-1]);
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const Location at = Location::current();
    Array out;
    if (a.t[0].value()) out = second_tangent(a.x[0], a.x[1], a.y[0], a.t[0], at);
    if (!a.t[1].value()) return Arrays{out};
    Array more = bind_cofactor_tangent(a.x[0], a.t[1], at);
    return Arrays{out.value() ? out + more : more};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{Array(), bind_cofactor_tangent(a.x[0], a.ct[0], Location::current())};
  };
  p.batch = [](const ir::BatchArgs& a) {
    Arrays x = all_mapped(a);
    return ir::Batched{{bind_cofactor_tangent(x[0], x[1], a.at)}};
  };
  p.facts.linear_in = {1};
  p.facts.flops = flops_per_matrix([](double n, double) { return 28 * n * n * n / 3; });
  p.samples = [] { return samples_with(2); };
  return p;
}

}  // namespace anew
