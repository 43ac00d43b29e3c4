// Densities estimated from samples: sums of normal densities, one around each.
#include <anew/indexing.h>
#include <anew/linalg.h>
#include <anew/nn.h>
#include <anew/numpy.h>
#include <anew/random.h>
#include <anew/special.h>
#include <anew/stats.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "looped/distributions.h"

namespace anew::stats {
namespace {

const double log_two_pi = std::log(2 * std::numbers::pi);

std::int64_t dimensions(const GaussianKde& k) { return type_of(k.dataset).shape[0]; }

// Points as columns; of one number each also as a vector, and one point alone.
Array columns(std::string_view op, const GaussianKde& k, const ArrayLike& points) {
  Array p = coerce(asarray(points), type_of(k.dataset).dtype, points.at);
  const std::int64_t d = dimensions(k);
  if (type_of(p).shape.ndim() < 2) p = atleast_2d(p);
  if (type_of(p).shape == Shape{1, d} && d != 1) p = transpose(p);
  if (type_of(p).shape.ndim() != 2 || type_of(p).shape[0] != d)
    fail(op, points.at, fmt::format("points {} of samples of {} numbers", type_of(p).str(), d), "one point per column");
  return p;
}

// log of the normal density of covariance l l^T at a[:, i] - b[:, j], for all i and j.
Array log_kernels(const Array& l, const Array& a, const Array& b) {
  const auto d = static_cast<double>(type_of(a).shape[0]);
  linalg::SolveTriangularOptions lower{.lower = true};
  Array u = linalg::solve_triangular(l, a, lower), v = linalg::solve_triangular(l, b, lower);
  Array squares = sum(square(expand_dims(u, 2) - expand_dims(v, 1)), 0);
  return -0.5 * squares - sum(log(diagonal(l))) - 0.5 * d * log_two_pi;
}

}  // namespace

GaussianKde gaussian_kde(const ArrayLike& dataset, const KdeOptions& options) {
  Array x = float_array(dataset);
  PinLine pin(dataset.at);
  x = atleast_2d(x);
  const Type type = type_of(x);
  if (type.shape.ndim() != 2 || type.shape.size() < 2)
    fail("gaussian_kde", dataset.at, fmt::format("needs samples [n] or [d,n], got {}", type_of(dataset.value).str()));
  const std::int64_t d = type.shape[0], n = type.shape[1];
  GaussianKde k{.dataset = x};
  if (options.weights.value()) {
    Array w = coerce(options.weights, type.dtype, dataset.at);
    if (type_of(w).shape != Shape{n})
      fail("gaussian_kde", dataset.at, fmt::format("weights {} for {} samples", type_of(w).str(), n));
    k.weights = w / sum(w);
  } else {
    k.weights = full({n}, 1.0 / static_cast<double>(n), type.dtype);
  }
  k.neff = 1 / sum(square(k.weights));
  Array factor = options.factor;
  const double slope = -1.0 / static_cast<double>(d + 4);
  if (factor.value()) factor = coerce(factor, type.dtype, dataset.at);
  else if (options.bw_method == "scott") factor = power(k.neff, slope);
  else if (options.bw_method == "silverman") factor = power(k.neff * (static_cast<double>(d + 2) / 4), slope);
  else
    fail("gaussian_kde", dataset.at, fmt::format("no bw_method \"{}\"", options.bw_method),
         "methods are scott, silverman; or give a .factor");
  k.covariance = reshape(cov(x, {.aweights = k.weights}), {d, d}) * square(factor);
  k.inv_cov = linalg::inv(k.covariance);
  return k;
}

Array GaussianKde::logpdf(const ArrayLike& points) const {
  PinLine pin(points.at);
  Array p = columns("gaussian_kde.logpdf", *this, points);
  return logsumexp(log(weights) + log_kernels(linalg::cholesky(covariance), p, dataset), 1);
}
Array GaussianKde::evaluate(const ArrayLike& points) const {
  PinLine pin(points.at);
  Array p = columns("gaussian_kde.evaluate", *this, points);
  return sum(weights * exp(log_kernels(linalg::cholesky(covariance), p, dataset)), 1);
}
Array GaussianKde::pdf(const ArrayLike& points) const { return evaluate(points); }
Array GaussianKde::integrate_gaussian(const ArrayLike& mean, const ArrayLike& cov) const {
  PinLine pin(mean.at);
  const std::int64_t d = dimensions(*this);
  Array m = coerce(asarray(mean), type_of(dataset).dtype, mean.at), c = coerce(asarray(cov), type_of(m).dtype, mean.at);
  if (type_of(m).shape.size() != d || type_of(c).shape.size() != d * d)
    fail("gaussian_kde.integrate_gaussian", mean.at,
         fmt::format("a mean {} and a covariance {} of samples of {} numbers", type_of(m).str(), type_of(c).str(), d));
  Array l = linalg::cholesky(covariance + reshape(c, {d, d}));
  return sum(weights * exp(log_kernels(l, reshape(m, {d, 1}), dataset)));
}
Array GaussianKde::integrate_box_1d(const ArrayLike& low, const ArrayLike& high) const {
  PinLine pin(low.at);
  if (dimensions(*this) != 1)
    fail("gaussian_kde.integrate_box_1d", low.at, fmt::format("of samples of {} numbers", dimensions(*this)));
  Array sigma = sqrt(covariance[{0, 0}]), x = dataset[0];
  return sum(weights * (special::ndtr((high.value - x) / sigma) - special::ndtr((low.value - x) / sigma)));
}
Array GaussianKde::integrate_kde(const GaussianKde& other, const Location& at) const {
  PinLine pin(at);
  if (dimensions(*this) != dimensions(other))
    fail("gaussian_kde.integrate_kde", at,
         fmt::format("samples of {} numbers and of {}", dimensions(*this), dimensions(other)));
  Array l = linalg::cholesky(covariance + other.covariance);
  return vdot(weights, dot(exp(log_kernels(l, dataset, other.dataset)), other.weights));
}
Array GaussianKde::resample(const ArrayLike& key, const Shape& shape) const {
  PinLine pin(key.at);
  const Type type = type_of(dataset);
  auto [for_places, for_noise] = random::split(key);
  Array places = random::choice(for_places, type.shape[1], shape, {.p = weights});
  Array noise =
      random::multivariate_normal(for_noise, zeros({type.shape[0]}, type.dtype), covariance, shape, type.dtype);
  return take(dataset, places, 1) + moveaxis(noise, -1, 0);
}

}  // namespace anew::stats
