// The tables of functions that are not elementwise: an example of each, or why it has no derivative. Integers among the
// operands come last, so that the floating-point ones are operands 0, 1, ...
#include <anew/anew.h>

#include "laws/functions.h"

namespace anew::test {
namespace {

using X = std::span<const Array>;
using Inputs = std::vector<ir::SampleInput>;

Inputs of(const Shape& a) { return {{{a, f64}, -2, 2}}; }
Inputs of(const Shape& a, const Shape& b) { return {{{a, f64}, -2, 2}, {{b, f64}, -2, 2}}; }
Inputs matrix(std::int64_t n) { return {{{{n, n}, f64}, -0.5, 0.5, 2}}; }
Inputs chosen(const Shape& a, const Shape& index) { return {{{a, f64}, -2, 2}, {{index, i32}, 0, 2}}; }
Inputs written(const Shape& a, const Shape& v, const Shape& index) {
  return {{{a, f64}, 0.4, 2}, {{v, f64}, 0.4, 2}, {{index, i32}, 0, 2}};
}

template <class F>
ComposedFunction entry(std::string name, Inputs inputs, F f) {
  return {std::move(name),
          [f](X x) {
            if constexpr (std::same_as<decltype(f(x)), Array>) return Arrays{f(x)};
            else return Arrays(f(x));
          },
          std::move(inputs)};
}
template <class P>
Arrays list(const P& pair) {
  return {pair.first, pair.second};
}

const lax::GatherDimensions rows_of{{1}, {0}, {0}};
const lax::ScatterDimensions to_rows{{1}, {0}, {0}};

std::vector<ComposedFunction> of_ops() {
  return {
      entry("full", of({}), [](X x) { return full({2, 3}, x[0]); }),
      entry("full_like", of({2}, {}), [](X x) { return full_like(x[0], x[1]); }),
      entry("copy", of({3}), [](X x) { return sin(copy(x[0])) * copy(x[0] * 2); }),
      entry("astype", of({3}), [](X x) { return sin(astype(x[0], f64)); }),
      entry("where", of({3}, {3}), [](X x) { return where(x[0] > 0, sin(x[0]), x[0] * x[1]); }),
      entry("clip", of({5}), [](X x) { return clip(x[0] * x[0], 0.5, 1.5); }),
      entry("lax::clamp", of({5}, {}), [](X x) { return lax::clamp(x[1] - 1, sin(x[0]), x[1] + 1); }),
      entry("lax::select_n", of({3}, {3}), [](X x) { return lax::select_n(x[0] > 0, {x[0] * x[1], exp(x[1])}); }),
      entry("lax::convert_element_type", of({3}), [](X x) { return sin(lax::convert_element_type(x[0], f64)); }),
      entry("sum", of({2, 3}), [](X x) { return sum(sin(x[0]), 1); }),
      entry("mean", of({2, 3}), [](X x) { return mean(sin(x[0]), 0); }),
      entry("prod", of({2, 3}), [](X x) { return prod(x[0], 1); }),
      entry("max", of({2, 3}), [](X x) { return max(sin(x[0]), 1); }),
      entry("min", of({2, 3}), [](X x) { return min(sin(x[0]), 1); }),
      entry("var", of({2, 3}), [](X x) { return var(x[0], 1); }),
      entry("std", of({2, 3}), [](X x) { return anew::std(x[0], 1); }),
      entry("logsumexp", of({2, 3}), [](X x) { return logsumexp(x[0], 1); }),
      entry("norm", of({2, 3}), [](X x) { return norm(x[0], 1); }),
      entry("dot", of({2, 3}, {3}), [](X x) { return dot(x[0], x[1]); }),
      entry("matmul", of({2, 3}, {3, 2}), [](X x) { return matmul(x[0], x[1]); }),
      entry("vdot", of({3}, {3}), [](X x) { return vdot(x[0], x[1]); }),
      entry("inner", of({2, 3}, {3}), [](X x) { return inner(x[0], x[1]); }),
      entry("outer", of({2}, {3}), [](X x) { return outer(x[0], x[1]); }),
      entry("kron", of({2, 2}, {2}), [](X x) { return kron(x[0], x[1]); }),
      entry("cross", of({3}, {3}), [](X x) { return cross(x[0], x[1]); }),
      entry("tensordot", of({2, 3}, {2, 3}), [](X x) { return tensordot(x[0], x[1]); }),
      entry("einsum", of({2, 3}, {3}), [](X x) { return einsum("ij,j,ij->i", x[0], x[1], x[0]); }),
      entry("einsum_of", of({2, 3}, {3}), [](X x) { return einsum_of("ij,j->i", {x[0], x[1]}); }),
      entry("trace", of({3, 3}), [](X x) { return trace(x[0] * x[0]); }),
      entry("reshape", of({2, 3}), [](X x) { return sin(reshape(x[0], {3, 2})); }),
      entry("ravel", of({2, 3}), [](X x) { return sin(ravel(x[0])); }),
      entry("transpose", of({2, 3}), [](X x) { return sin(transpose(x[0])); }),
      entry("swapaxes", of({2, 3}), [](X x) { return sin(swapaxes(x[0], 0, 1)); }),
      entry("moveaxis", of({2, 3, 2}), [](X x) { return sin(moveaxis(x[0], 0, 2)); }),
      entry("broadcast_to", of({3}), [](X x) { return sin(broadcast_to(x[0], {2, 3})); }),
      entry("expand_dims", of({3}), [](X x) { return sin(expand_dims(x[0], 0)); }),
      entry("squeeze", of({1, 3}), [](X x) { return sin(squeeze(x[0], 0)); }),
      entry("concatenate", of({2}, {3}), [](X x) { return sin(concatenate({x[0], x[1]})); }),
      entry("stack", of({3}, {3}), [](X x) { return stack({x[0] * x[1], sin(x[1])}); }),
      entry("split", of({4}), [](X x) { return split(sin(x[0]), 2); }),
      entry("unstack", of({2, 2}), [](X x) { return unstack(sin(x[0])); }),
      entry("tile", of({2}), [](X x) { return sin(tile(x[0], {2})); }),
      entry("repeat", of({2}), [](X x) { return sin(repeat(x[0], 2)); }),
      entry("flip", of({3}), [](X x) { return sin(flip(x[0])) * x[0]; }),
      entry("roll", of({3}), [](X x) { return sin(roll(x[0], 1)) * x[0]; }),
      entry("pad", of({3}, {}), [](X x) { return sin(pad(x[0], {{1, 2}}, x[1])); }),
      entry("triu", of({3, 3}), [](X x) { return sin(triu(x[0])); }),
      entry("tril", of({3, 3}), [](X x) { return sin(tril(x[0])); }),
      entry("diag", of({3}), [](X x) { return sin(diag(x[0])); }),
      entry("diagonal", of({3, 3}), [](X x) { return sin(diagonal(x[0])); }),
      entry("diff", of({4}), [](X x) { return sin(diff(x[0])); }),
      entry("lax::broadcast_in_dim", of({3}), [](X x) { return sin(lax::broadcast_in_dim(x[0], {3, 2}, {0})); }),
      entry("lax::slice", of({4}), [](X x) { return sin(lax::slice(x[0], {1}, {3})); }),
      entry("lax::pad", of({3}, {}), [](X x) { return sin(lax::pad(x[0], x[1], {{1, -1, 1}})); }),
      entry("lax::rev", of({2, 3}), [](X x) { return sin(lax::rev(x[0], {1})) * x[0]; }),
      entry("lax::dot_general", of({2, 3}, {3, 2}),
            [](X x) { return lax::dot_general(x[0], x[1], {.lhs_contracting = {1}, .rhs_contracting = {0}}); }),
  };
}

std::vector<ComposedFunction> of_nn() {
  auto attention = [](X x) { return nn::dot_product_attention(x[0], x[1], x[1] * x[0], {.is_causal = true}); };
  return {
      entry("nn::glu", of({2, 4}), [](X x) { return nn::glu(x[0]); }),
      entry("nn::softmax", of({2, 3}), [](X x) { return nn::softmax(x[0]); }),
      entry("nn::log_softmax", of({2, 3}), [](X x) { return nn::log_softmax(x[0]); }),
      entry("nn::logsumexp", of({2, 3}), [](X x) { return nn::logsumexp(x[0], 1); }),
      entry("special::logsumexp", of({2, 3}), [](X x) { return special::logsumexp(x[0], 1); }),
      entry("nn::standardize", of({2, 4}), [](X x) { return nn::standardize(x[0]); }),
      entry("nn::layer_norm", of({2, 4}, {4}), [](X x) { return nn::layer_norm(x[0], x[1], sin(x[1])); }),
      entry("nn::rms_norm", of({2, 4}, {4}), [](X x) { return nn::rms_norm(x[0], x[1]); }),
      entry("nn::dropout", of({8}), [](X x) { return sin(nn::dropout(random::key(3), 0.5, x[0])); }),
      entry("nn::softmax_cross_entropy", chosen({2, 3}, {2}),
            [](X x) { return nn::softmax_cross_entropy(x[0], x[1]); }),
      entry("nn::embedding", chosen({3, 2}, {4}), [](X x) { return sin(nn::embedding(x[0], x[1])); }),
      entry("nn::dot_product_attention", of({1, 3, 2, 2}, {1, 3, 2, 2}), attention),
      entry("nn::max_pool", of({1, 4, 4, 1}), [](X x) { return nn::max_pool(sin(x[0]), {2, 2}, {2, 2}); }),
      entry("nn::min_pool", of({1, 4, 4, 1}), [](X x) { return nn::min_pool(sin(x[0]), {2, 2}, {2, 2}); }),
      entry("nn::avg_pool", of({1, 4, 4, 1}), [](X x) { return nn::avg_pool(sin(x[0]), {2, 2}); }),
  };
}

std::vector<ComposedFunction> of_indexing() {
  return {
      entry("Array::operator[]", of({4, 3}), [](X x) { return sin(x[0][{slice(1, 3), 2}]); }),
      entry("AtRef::get", chosen({4}, {3}), [](X x) { return sin(x[0].at(x[1]).get("fill")); }),
      entry("AtRef::set", written({4}, {}, {}), [](X x) { return sin(x[0]).at(x[2]).set(exp(x[1])); }),
      entry("AtRef::add", written({4}, {3}, {3}), [](X x) { return sin(sin(x[0]).at(x[2]).add(x[1])); }),
      entry("AtRef::multiply", written({4}, {3}, {3}), [](X x) { return x[0].at(x[2]).multiply(x[1]); }),
      entry("AtRef::divide", written({4}, {3}, {3}), [](X x) { return x[0].at(x[2]).divide(x[1]); }),
      entry("AtRef::min", written({4}, {}, {}), [](X x) { return sin(x[0].at(x[2]).min(x[1])); }),
      entry("AtRef::max", written({4}, {}, {}), [](X x) { return sin(x[0].at(x[2]).max(x[1])); }),
      entry("take", chosen({4}, {3}), [](X x) { return sin(take(x[0], x[1])); }),
      entry("take_along_axis", chosen({3, 2}, {1, 2}), [](X x) { return sin(take_along_axis(x[0], x[1], 0)); }),
      entry("put_along_axis", written({3, 2}, {1, 2}, {1, 2}),
            [](X x) { return sin(put_along_axis(x[0], x[2], x[1], 0)); }),
      entry("dynamic_slice", chosen({4}, {}), [](X x) { return sin(dynamic_slice(x[0], {x[1]}, {2})); }),
      entry("dynamic_update_slice", written({4}, {2}, {}),
            [](X x) { return sin(dynamic_update_slice(x[0], x[1], {x[2]})); }),
      entry("segment_sum", chosen({4}, {4}), [](X x) { return sin(segment_sum(x[0], x[1], 3)); }),
      entry("segment_prod", chosen({4}, {4}), [](X x) { return segment_prod(x[0], x[1], 3); }),
      entry("segment_max", chosen({4}, {4}), [](X x) { return tanh(segment_max(x[0], x[1] % 2, 2)); }),
      entry("segment_min", chosen({4}, {4}), [](X x) { return tanh(segment_min(x[0], x[1] % 2, 2)); }),
      entry("sort", of({5}), [](X x) { return sin(sort(x[0])) * x[0]; }),
      entry("lax::sort", of({5}, {5}), [](X x) { return lax::sort({sin(x[0]), x[0] * x[1]}); }),
      entry("top_k", of({5}), [](X x) { return top_k(sin(x[0]), 2).first; }),
      entry("median", of({5}), [](X x) { return sin(median(x[0])); }),
      entry("quantile", of({5}), [](X x) { return sin(quantile(x[0], 0.3)); }),
      entry("cumsum", of({4}), [](X x) { return sin(cumsum(x[0])); }),
      entry("cumprod", of({4}), [](X x) { return cumprod(x[0]); }),
      entry("cummax", of({4}), [](X x) { return sin(cummax(x[0])); }),
      entry("cummin", of({4}), [](X x) { return sin(cummin(x[0])); }),
      entry("cumlogsumexp", of({4}), [](X x) { return cumlogsumexp(x[0]); }),
      entry("linear_recurrence", of({4}, {4}), [](X x) { return linear_recurrence(x[0], x[1]); }),
      entry("lax::gather", chosen({4, 2}, {3, 1}), [](X x) { return sin(lax::gather(x[0], x[1], rows_of, {1, 2})); }),
      entry("lax::scatter", written({4, 2}, {1, 2}, {1, 1}),
            [](X x) { return sin(lax::scatter(x[0], x[2], x[1], to_rows)); }),
      entry("lax::scatter_add", written({4, 2}, {3, 2}, {3, 1}),
            [](X x) { return sin(lax::scatter_add(x[0], x[2], x[1], to_rows)); }),
      entry("lax::scatter_mul", written({4, 2}, {3, 2}, {3, 1}),
            [](X x) { return lax::scatter_mul(x[0], x[2], x[1], to_rows); }),
      entry("lax::scatter_min", written({4, 2}, {3, 2}, {3, 1}),
            [](X x) { return sin(lax::scatter_min(x[0], x[2], x[1], to_rows)); }),
      entry("lax::scatter_max", written({4, 2}, {3, 2}, {3, 1}),
            [](X x) { return sin(lax::scatter_max(x[0], x[2], x[1], to_rows)); }),
      entry("lax::dynamic_slice_in_dim", chosen({4}, {}),
            [](X x) { return sin(lax::dynamic_slice_in_dim(x[0], x[1], 2)); }),
      entry("lax::dynamic_index_in_dim", chosen({4}, {}),
            [](X x) { return sin(lax::dynamic_index_in_dim(x[0], x[1])); }),
      entry("lax::dynamic_update_slice_in_dim", written({4}, {2}, {}),
            [](X x) { return sin(lax::dynamic_update_slice_in_dim(x[0], x[1], x[2], 0)); }),
      entry("lax::dynamic_update_index_in_dim", written({4}, {}, {}),
            [](X x) { return sin(lax::dynamic_update_index_in_dim(x[0], x[1], x[2], 0)); }),
      entry("lax::reduce_window_sum", of({5}),
            [](X x) { return sin(lax::reduce_window_sum(x[0], {2}, {1}, "VALID")); }),
      entry("lax::reduce_window_max", of({5}), [](X x) { return sin(lax::reduce_window_max(x[0], {2}, {1}, "SAME")); }),
      entry("lax::reduce_window_min", of({5}), [](X x) { return sin(lax::reduce_window_min(x[0], {2}, {1}, "SAME")); }),
      entry("conv_general_dilated", of({1, 2, 5}, {3, 2, 2}),
            [](X x) { return conv_general_dilated(x[0], x[1], {1}, "SAME"); }),
      entry("conv_transpose", of({1, 4, 2}, {2, 2, 3}), [](X x) { return conv_transpose(x[0], x[1], {2}, "VALID"); }),
      entry("convolve", of({4}, {3}), [](X x) { return convolve(x[0], x[1]); }),
      entry("correlate", of({4}, {3}), [](X x) { return correlate(x[0], x[1]); }),
  };
}

std::vector<ComposedFunction> of_linalg() {
  using namespace linalg;
  auto symmetric = [](const Array& x) { return (x + x.T()) / 2; };
  Inputs system = matrix(3);
  system.push_back({{{3}, f64}, -1, 1});
  return {
      entry("lax::triangular_solve", system,
            [](X x) { return triangular_solve(x[0], expand_dims(x[1], 1), {.left_side = true, .lower = true}); }),
      entry("lax::lu", matrix(3), [](X x) { return ::std::get<0>(lax::lu(x[0])); }),
      entry("linalg::cholesky", matrix(3), [](X x) { return cholesky(x[0]); }),
      entry("linalg::qr", matrix(3), [](X x) { return list(qr(x[0])); }),
      entry("linalg::eigh", matrix(3), [=](X x) { return eigh(symmetric(x[0])).first; }),
      entry("linalg::eigvalsh", matrix(3), [](X x) { return eigvalsh(x[0]); }),
      entry("linalg::svd", matrix(3), [](X x) { return ::std::get<1>(svd(x[0], false)); }),
      entry("linalg::svdvals", matrix(3), [](X x) { return svdvals(x[0]); }),
      entry("linalg::solve", system, [](X x) { return linalg::solve(x[0], x[1]); }),
      entry("linalg::inv", matrix(3), [](X x) { return inv(x[0]); }),
      entry("linalg::pinv", matrix(3), [](X x) { return pinv(x[0]); }),
      entry("linalg::lstsq", system, [](X x) { return lstsq(x[0], x[1]); }),
      entry("linalg::det", matrix(3), [](X x) { return det(x[0]); }),
      entry("linalg::slogdet", matrix(3), [](X x) { return slogdet(x[0]).second; }),
      entry("linalg::norm", matrix(3), [](X x) { return linalg::norm(x[0], "nuc"); }),
      entry("linalg::cond", matrix(3), [](X x) { return linalg::cond(x[0]); }),
      entry("linalg::matrix_power", matrix(3), [](X x) { return matrix_power(x[0], 3); }),
      entry("linalg::multi_dot", of({2, 3}, {3, 2}), [](X x) { return multi_dot({x[0], x[1], x[0]}); }),
      entry("linalg::expm", matrix(3), [](X x) { return expm(x[0] * 0.1); }),
      entry("linalg::solve_triangular", system, [](X x) { return solve_triangular(x[0], x[1], {.lower = true}); }),
      entry("linalg::cho_solve", system, [=](X x) { return cho_solve(cho_factor(matmul(x[0], x[0].T())), x[1]); }),
      entry("linalg::lu_solve", system, [](X x) { return lu_solve(lu_factor(x[0]), x[1]); }),
      entry("linalg::solve_banded", system, [](X x) { return solve_banded(1, 1, x[0] + 4, x[1]); }),
      entry("linalg::tridiagonal_solve", system,
            [](X x) { return tridiagonal_solve(x[1], diag(x[0]) + 4, x[1] * 0.5, x[1]); }),
      entry("linalg::sqrtm", matrix(3), [](X x) { return sqrtm(matmul(x[0], x[0].T())); }),
      entry("linalg::polar", matrix(3), [](X x) { return list(polar(x[0])); }),
      entry("linalg::block_diag", of({2}, {2, 2}), [](X x) { return block_diag({sin(x[0]), x[1]}); }),
      entry("linalg::toeplitz", of({3}, {3}), [](X x) { return toeplitz(sin(x[0]), x[1]); }),
      entry("linalg::circulant", of({3}), [](X x) { return circulant(sin(x[0])); }),
      entry("linalg::hankel", of({3}, {3}), [](X x) { return hankel(sin(x[0]), x[1]); }),
      entry("linalg::companion", of({3}), [](X x) { return companion(x[0] + 3); }),
  };
}

std::vector<ComposedFunction> of_fft_and_random() {
  auto curved = [](const fft::Complex& z) { return Arrays{sin(z.first), z.first * z.second}; };
  return {
      entry("fft::fft", of({4}, {4}), [=](X x) { return curved(fft::fft(x[0], x[1])); }),
      entry("fft::ifft", of({4}, {4}), [=](X x) { return curved(fft::ifft(x[0], x[1])); }),
      entry("fft::rfft", of({5}), [=](X x) { return curved(fft::rfft(x[0])); }),
      entry("fft::irfft", of({3}, {3}), [](X x) { return sin(fft::irfft(x[0], x[1])); }),
      entry("fft::fftn", of({2, 3}, {2, 3}), [=](X x) { return curved(fft::fftn(x[0], x[1])); }),
      entry("fft::ifftn", of({2, 3}, {2, 3}), [=](X x) { return curved(fft::ifftn(x[0], x[1])); }),
      entry("fft::rfftn", of({2, 4}), [=](X x) { return curved(fft::rfftn(x[0])); }),
      entry("fft::irfftn", of({2, 3}, {2, 3}), [](X x) { return sin(fft::irfftn(x[0], x[1])); }),
      entry("fft::fftshift", of({5}), [](X x) { return sin(fft::fftshift(x[0])) * x[0]; }),
      entry("fft::ifftshift", of({5}), [](X x) { return sin(fft::ifftshift(x[0])) * x[0]; }),
      entry("random::uniform", of({}, {}),
            [](X x) { return sin(random::uniform(random::key(1), {3}, f64, x[0] - 3, x[1] + 3)); }),
      entry("random::truncated_normal", of({}, {}),
            [](X x) { return random::truncated_normal(random::key(1), x[0] - 3, x[1] + 3, Shape{3}, f64); }),
      entry("random::permutation", of({4}), [](X x) { return sin(random::permutation(random::key(1), x[0])) * x[0]; }),
      entry("random::shuffle", of({4}), [](X x) { return sin(random::shuffle(random::key(1), x[0])) * x[0]; }),
      entry("random::choice", of({4}), [](X x) { return sin(random::choice(random::key(1), x[0], {3})); }),
  };
}

// The rows of tests/golden/functions as examples: their inputs by kind and sizes.
Arrays listed(const Array& x) { return {x}; }
Arrays listed(const std::vector<Array>& xs) { return xs; }
Arrays listed(const std::pair<Array, Array>& xs) { return {xs.first, xs.second}; }
struct Kind {
  DType dtype;
  double lo, hi;
  template <std::same_as<int>... Size>
  ir::SampleInput operator()(Size... sizes) const {
    return {{Shape{sizes...}, dtype}, lo, hi};
  }
};
constexpr Kind f{f64, -2, 2}, p{f64, 0.4, 2}, u{f64, 0.05, 0.95}, n{i32, 0, 4};

#define FUNCTION(name, python, call, ...) entry(#name, Inputs{__VA_ARGS__}, [](X x) { return listed(call); }),
#define EDGE(...)
std::vector<ComposedFunction> recorded_numpy() {
  return {
#include "golden/functions/numpy.def"
  };
}
std::vector<ComposedFunction> recorded_lax() {
  return {
#include "golden/functions/lax.def"
  };
}
std::vector<ComposedFunction> recorded_special() {
  return {
#include "golden/functions/special.def"
  };
}
std::vector<ComposedFunction> recorded_stats() {
  return {
#include "golden/functions/stats.def"
  };
}
std::vector<ComposedFunction> recorded_linalg() {
  return {
#include "golden/functions/linalg.def"
  };
}
std::vector<ComposedFunction> recorded_random() {
  return {
#include "golden/functions/random.def"
  };
}
#undef FUNCTION
#undef EDGE

}  // namespace

const std::vector<ComposedFunction>& composed_functions() {
  static const std::vector<ComposedFunction> table = [] {
    std::vector<ComposedFunction> all;
    for (auto part : {of_ops, of_nn, of_indexing, of_linalg, of_fft_and_random, recorded_numpy, recorded_lax,
                      recorded_special, recorded_stats, recorded_linalg, recorded_random})
      for (ComposedFunction& f : part()) all.push_back(std::move(f));
    return all;
  }();
  return table;
}

const std::vector<std::pair<std::string, std::string>>& functions_without_derivatives() {
  static const std::vector<std::pair<std::string, std::string>> table = [] {
    std::vector<std::pair<std::string, std::string>> all;
    auto add = [&](const char* why, std::initializer_list<const char*> names) {
      for (const char* name : names) all.emplace_back(name, why);
    };
    add("no factor of a similarity has a derivative, in JAX neither", {"linalg::schur", "linalg::hessenberg"});
    add("makes constants", {"linalg::hilbert",
                            "linalg::hadamard",
                            "linalg::helmert",
                            "linalg::invhilbert",
                            "linalg::pascal",
                            "linalg::invpascal",
                            "zeros",
                            "ones",
                            "zeros_like",
                            "ones_like",
                            "eye",
                            "identity",
                            "arange",
                            "linspace",
                            "tri",
                            "lax::iota",
                            "fft::fftfreq",
                            "fft::rfftfreq",
                            "array",
                            "asarray",
                            "nn::one_hot"});
    add("gives bools or integers", {"isfinite",
                                    "isinf",
                                    "isnan",
                                    "signbit",
                                    "logical_not",
                                    "bitwise_not",
                                    "invert",
                                    "bitwise_and",
                                    "bitwise_or",
                                    "bitwise_xor",
                                    "left_shift",
                                    "right_shift",
                                    "logical_and",
                                    "logical_or",
                                    "logical_xor",
                                    "equal",
                                    "not_equal",
                                    "less",
                                    "less_equal",
                                    "greater",
                                    "greater_equal",
                                    "all",
                                    "any",
                                    "argmax",
                                    "argmin",
                                    "count_nonzero",
                                    "argsort",
                                    "searchsorted",
                                    "lax::population_count",
                                    "lax::shift_right_logical",
                                    "linalg::matrix_rank"});
    add("gives indices, counts or bools", {"rint",
                                           "bitwise_invert",
                                           "bitwise_count",
                                           "bitwise_left_shift",
                                           "bitwise_right_shift",
                                           "isposinf",
                                           "isneginf",
                                           "gcd",
                                           "lcm",
                                           "isclose",
                                           "ix_",
                                           "unravel_index",
                                           "ravel_multi_index",
                                           "diag_indices",
                                           "diag_indices_from",
                                           "tril_indices",
                                           "triu_indices",
                                           "tril_indices_from",
                                           "triu_indices_from",
                                           "mask_indices",
                                           "nonzero",
                                           "flatnonzero",
                                           "argwhere",
                                           "isin",
                                           "argpartition",
                                           "lexsort",
                                           "bincount",
                                           "digitize",
                                           "nanargmax",
                                           "nanargmin",
                                           "packbits",
                                           "unpackbits",
                                           "lax::eq",
                                           "lax::ne",
                                           "lax::ge",
                                           "lax::gt",
                                           "lax::le",
                                           "lax::lt",
                                           "lax::is_finite",
                                           "lax::shift_left",
                                           "lax::shift_right_arithmetic",
                                           "lax::reduce_and",
                                           "lax::reduce_or",
                                           "lax::reduce_xor",
                                           "lax::clz",
                                           "lax::mulhi",
                                           "lax::bitcast_convert_type",
                                           "stats::rankdata",
                                           "stats::mode",
                                           "stats::bernoulli::cdf",
                                           "stats::bernoulli::ppf",
                                           "random::geometric",
                                           "random::poisson",
                                           "random::binomial",
                                           "random::multinomial"});
    add("eigh of a matrix that it makes", {"linalg::eigh_tridiagonal"});
    add("top_k by another name", {"lax::approx_max_k", "lax::approx_min_k"});
    add("scatter_add of what is negated", {"lax::scatter_sub"});
    add("its derivatives are recorded, and that of its derivative costs a loop in a loop",
        {"lax::igamma_grad_a", "lax::random_gamma_grad", "random::gamma", "random::loggamma", "random::beta",
         "random::dirichlet", "random::chisquare", "random::t", "random::f"});
    add("jumps: its slope is that of what it rounds", {"lax::reduce_precision"});
    add("gives elements in places that depend on all of them, as sort does",
        {"unique", "unique_values", "unique_counts", "unique_inverse", "union1d", "intersect1d", "setdiff1d",
         "setxor1d", "trim_zeros"});
    add("makes constants", {"numpy::indices", "numpy::empty", "empty_like", "logspace", "geomspace", "bartlett",
                            "blackman", "hamming", "hanning", "kaiser", "lax::broadcasted_iota", "random::PRNGKey",
                            "random::key_data", "random::wrap_key_data", "random::clone"});
    add("draws numbers that depend on a key alone",
        {"random::key", "random::split", "random::maxwell", "random::generalized_normal", "random::ball",
         "random::orthogonal", "random::fold_in", "random::bits", "random::normal", "random::exponential",
         "random::gumbel", "random::laplace", "random::logistic", "random::cauchy", "random::rademacher",
         "random::bernoulli", "random::randint", "random::categorical"});
    add("its derivative is 0 by definition", {"stop_gradient", "nextafter", "numpy::spacing", "around"});
    for (const char* name : {"variance_scaling", "glorot_uniform", "glorot_normal", "xavier_uniform", "xavier_normal",
                             "lecun_uniform", "lecun_normal", "he_uniform", "he_normal", "kaiming_uniform",
                             "kaiming_normal", "orthogonal", "delta_orthogonal"})
      all.emplace_back(std::string("nn::initializers::") + name, "draws numbers that depend on a key alone");
    return all;
  }();
  return table;
}

}  // namespace anew::test
