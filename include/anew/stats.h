// Probability distributions with the names of SciPy and JAX: a namespace each, with logpdf, pdf, cdf, logcdf, sf (1 -
// cdf), logsf and ppf (the inverse of cdf) as far as JAX has them; of whole numbers logpmf and pmf. All are elementwise
// unless said otherwise: operands broadcast and promote, integers become floats. Outside of its support a density is 0.
#pragma once
#include <anew/array.h>

namespace anew::stats {

namespace norm {  // the normal distribution
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array isf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace norm
namespace cauchy {
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array isf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace cauchy
namespace laplace {
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace laplace
namespace logistic {
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array isf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace logistic
namespace expon {  // from loc on
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace expon
namespace uniform {  // from loc to loc + scale
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace uniform
namespace gumbel_l {  // of least values
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace gumbel_l
namespace gumbel_r {  // of largest values
Array logpdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace gumbel_r
namespace t {  // Student's
Array logpdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace t
namespace gamma {
Array logpdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace gamma
namespace chi2 {
Array logpdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& df, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace chi2
namespace beta {
Array logpdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
             const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
          const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
          const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
             const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
         const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
            const ArrayLike& scale = 1);
}  // namespace beta
namespace pareto {
Array logpdf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
Array ppf(const ArrayLike& q, const ArrayLike& b, const ArrayLike& loc = 0, const ArrayLike& scale = 1);
}  // namespace pareto
namespace truncnorm {  // the normal distribution between a and b
Array logpdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
             const ArrayLike& scale = 1);
Array pdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
          const ArrayLike& scale = 1);
Array cdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
          const ArrayLike& scale = 1);
Array logcdf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
             const ArrayLike& scale = 1);
Array sf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
         const ArrayLike& scale = 1);
Array logsf(const ArrayLike& x, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0,
            const ArrayLike& scale = 1);
}  // namespace truncnorm
namespace gennorm {  // exp(-|x|^p)
Array logpdf(const ArrayLike& x, const ArrayLike& p);
Array pdf(const ArrayLike& x, const ArrayLike& p);
Array cdf(const ArrayLike& x, const ArrayLike& p);
}  // namespace gennorm
namespace wrapcauchy {  // on a circle, 0 to 2 pi
Array logpdf(const ArrayLike& x, const ArrayLike& c);
Array pdf(const ArrayLike& x, const ArrayLike& c);
}  // namespace wrapcauchy
namespace vonmises {  // on a circle
Array logpdf(const ArrayLike& x, const ArrayLike& kappa);
Array pdf(const ArrayLike& x, const ArrayLike& kappa);
}  // namespace vonmises
namespace multivariate_normal {  // vectors along the last axis of x
Array logpdf(const ArrayLike& x, const ArrayLike& mean, const ArrayLike& cov);
Array pdf(const ArrayLike& x, const ArrayLike& mean, const ArrayLike& cov);
}  // namespace multivariate_normal
namespace dirichlet {  // one vector, or columns of a matrix
Array logpdf(const ArrayLike& x, const ArrayLike& alpha);
Array pdf(const ArrayLike& x, const ArrayLike& alpha);
}  // namespace dirichlet

// ---- of whole numbers
namespace bernoulli {
Array logpmf(const ArrayLike& k, const ArrayLike& p, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& p, const ArrayLike& loc = 0);
Array cdf(const ArrayLike& k, const ArrayLike& p);
Array ppf(const ArrayLike& q, const ArrayLike& p);
}  // namespace bernoulli
namespace binom {
Array logpmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& p, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& p, const ArrayLike& loc = 0);
}  // namespace binom
namespace betabinom {
Array logpmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& a, const ArrayLike& b, const ArrayLike& loc = 0);
}  // namespace betabinom
namespace geom {
Array logpmf(const ArrayLike& k, const ArrayLike& p, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& p, const ArrayLike& loc = 0);
}  // namespace geom
namespace nbinom {
Array logpmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& p, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& n, const ArrayLike& p, const ArrayLike& loc = 0);
}  // namespace nbinom
namespace poisson {
Array logpmf(const ArrayLike& k, const ArrayLike& mu, const ArrayLike& loc = 0);
Array pmf(const ArrayLike& k, const ArrayLike& mu, const ArrayLike& loc = 0);
Array cdf(const ArrayLike& k, const ArrayLike& mu, const ArrayLike& loc = 0);
Array entropy(const ArrayLike& mu, const ArrayLike& loc = 0);  // in nats
}  // namespace poisson
namespace multinomial {  // counts along the last axis
Array logpmf(const ArrayLike& x, const ArrayLike& n, const ArrayLike& p);
Array pmf(const ArrayLike& x, const ArrayLike& n, const ArrayLike& p);
}  // namespace multinomial

// ---- of samples; without an axis, of the flat array
// The standard error of the mean.
Array sem(const ArrayLike& x, std::optional<int> axis = 0, double ddof = 1, bool keepdims = false);
// Ranks from 1; method of ties: "average", "min", "max", "dense", "ordinal".
Array rankdata(const ArrayLike& x, std::string_view method = "average", std::optional<int> axis = {});
// The most frequent element, the least of several, and how often it is there.
std::pair<Array, Array> mode(const ArrayLike& x, std::optional<int> axis = 0, bool keepdims = false);

// The density of which samples were drawn, estimated: a normal density around each sample. A tree of arrays.
struct GaussianKde {
  Array dataset = {};     // [d, n]: one sample per column
  Array weights = {};     // [n], of sum 1
  Array covariance = {};  // [d, d], of each kernel
  Array inv_cov = {}, neff = {};

  Array evaluate(const ArrayLike& points) const;  // at each column of points; where d is 1, of a vector
  Array pdf(const ArrayLike& points) const;       // the same
  Array logpdf(const ArrayLike& points) const;
  Array integrate_gaussian(const ArrayLike& mean, const ArrayLike& cov) const;  // of the product with a normal density
  Array integrate_box_1d(const ArrayLike& low, const ArrayLike& high) const;
  Array integrate_kde(const GaussianKde& other, const Location& at = Location::current()) const;
  Array resample(const ArrayLike& key, const Shape& shape = {}) const;  // [d, shape...]
};
struct KdeOptions {
  std::string bw_method = "scott";  // or "silverman": how wide kernels are
  Array factor = {};                // or the factor itself
  Array weights = {};
};
GaussianKde gaussian_kde(const ArrayLike& dataset, const KdeOptions& options = {});

}  // namespace anew::stats
