// Random numbers without state: a key (u32[2]) decides every draw, and new keys come from split and fold_in. The bits
// are those of JAX's threefry2x32, and so are integers and uniform numbers; what functions make of these (normal,
// exponential, ...) may differ from JAX's in the last digits. Keys are ordinary arrays: they can be mapped, scanned,
// checkpointed and jitted, and a recomputed draw is the same draw.
#pragma once
#include <anew/array.h>

#include <limits>

namespace anew::random {

// Of a number without x64 the lower 32 bits count, as in JAX; array(seed, i64) has them all.
Array key(const ArrayLike& seed);

// split(key, 5) is u32[5,2]; auto [a, b] = split(key); auto [a, b, c] = split<3>(key).
Array split(const ArrayLike& key, const Shape& shape);
namespace detail {
std::vector<Array> split_list(const ArrayLike& key, int n);
}  // namespace detail
template <int N = 2>
std::array<Array, static_cast<std::size_t>(N)> split(const ArrayLike& key) {
  std::array<Array, static_cast<std::size_t>(N)> out;
  std::vector<Array> keys = detail::split_list(key, N);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::move(keys[i]);
  return out;
}
// A key made of a key and a number, such as the index of a step or layer.
Array fold_in(const ArrayLike& key, const ArrayLike& data);

// Uniform bits of an integer type. By width: 8, 16 and 32 bits in u32, 64 in u64.
Array bits(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_uint());
Array bits(const ArrayLike& key, const Shape& shape, int width);

Array uniform(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float(), const ArrayLike& lo = 0.0,
              const ArrayLike& hi = 1.0);  // lo <= x < hi
Array normal(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
// Between the bounds, never at them; the shape is that of the bounds unless given.
Array truncated_normal(const ArrayLike& key, const ArrayLike& lower, const ArrayLike& upper,
                       const OptionalShape& shape = {}, DType dtype = default_float());
Array exponential(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array gumbel(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array laplace(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array logistic(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array cauchy(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array rademacher(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_int());  // -1 or 1
Array bernoulli(const ArrayLike& key, const ArrayLike& p = 0.5, const OptionalShape& shape = {});
Array randint(const ArrayLike& key, const Shape& shape, const ArrayLike& lo, const ArrayLike& hi,
              DType dtype = default_int());  // lo <= x < hi
// Indices drawn with probabilities softmax(logits) along an axis; `shape` ends with the other axes of logits.
Array categorical(const ArrayLike& key, const ArrayLike& logits, int axis = -1, const OptionalShape& shape = {});

// The numbers below x in random order, or x with the slices along an axis in random order (`independent`: every line
// along the axis in an order of its own).
Array permutation(const ArrayLike& key, const ArrayLike& x, int axis = 0, bool independent = false);
Array shuffle(const ArrayLike& key, const ArrayLike& x, int axis = 0);
struct ChoiceOptions {
  bool replace = true;
  std::optional<Array> p = {};  // probabilities; equal ones if absent
  int axis = 0;
};
// Elements of a along an axis, or numbers below a.
Array choice(const ArrayLike& key, const ArrayLike& a, const Shape& shape = {}, const ChoiceOptions& options = {});

// ---- distributions with parameters; the shape is that of the parameters unless given
Array gamma(const ArrayLike& key, const ArrayLike& a, const OptionalShape& shape = {},
            DType dtype = default_float());  // differentiable by a: along what keeps the distribution function
Array loggamma(const ArrayLike& key, const ArrayLike& a, const OptionalShape& shape = {},
               DType dtype = default_float());
Array beta(const ArrayLike& key, const ArrayLike& a, const ArrayLike& b, const OptionalShape& shape = {},
           DType dtype = default_float());
// A vector of numbers that add up to 1, along a last axis of its own.
Array dirichlet(const ArrayLike& key, const ArrayLike& alpha, const OptionalShape& shape = {},
                DType dtype = default_float());
Array chisquare(const ArrayLike& key, const ArrayLike& df, const OptionalShape& shape = {},
                DType dtype = default_float());
Array t(const ArrayLike& key, const ArrayLike& df, const OptionalShape& shape = {}, DType dtype = default_float());
Array f(const ArrayLike& key, const ArrayLike& dfnum, const ArrayLike& dfden, const OptionalShape& shape = {},
        DType dtype = default_float());
Array pareto(const ArrayLike& key, const ArrayLike& b, const OptionalShape& shape = {}, DType dtype = default_float());
Array lognormal(const ArrayLike& key, const ArrayLike& sigma = 1.0, const OptionalShape& shape = {},
                DType dtype = default_float());
Array rayleigh(const ArrayLike& key, const ArrayLike& scale, const OptionalShape& shape = {},
               DType dtype = default_float());
Array wald(const ArrayLike& key, const ArrayLike& mean, const OptionalShape& shape = {}, DType dtype = default_float());
Array weibull_min(const ArrayLike& key, const ArrayLike& scale, const ArrayLike& concentration,
                  const OptionalShape& shape = {}, DType dtype = default_float());
Array triangular(const ArrayLike& key, const ArrayLike& left, const ArrayLike& mode, const ArrayLike& right,
                 const OptionalShape& shape = {}, DType dtype = default_float());
Array maxwell(const ArrayLike& key, const Shape& shape = {}, DType dtype = default_float());
Array double_sided_maxwell(const ArrayLike& key, const ArrayLike& loc, const ArrayLike& scale, const Shape& shape = {},
                           DType dtype = default_float());
Array generalized_normal(const ArrayLike& key, double p, const Shape& shape = {}, DType dtype = default_float());
Array ball(const ArrayLike& key, std::int64_t d, double p = 2, const Shape& shape = {},
           DType dtype = default_float());  // points of d coordinates inside the ball of the p-norm
// n rows and m columns (absent: n), whichever are fewer orthonormal.
Array orthogonal(const ArrayLike& key, std::int64_t n, const Shape& shape = {}, DType dtype = default_float(),
                 std::optional<std::int64_t> m = {});
Array multivariate_normal(const ArrayLike& key, const ArrayLike& mean, const ArrayLike& cov,
                          const OptionalShape& shape = {}, DType dtype = default_float());
Array geometric(const ArrayLike& key, const ArrayLike& p, const OptionalShape& shape = {}, DType dtype = default_int());
Array poisson(const ArrayLike& key, const ArrayLike& lam, const OptionalShape& shape = {}, DType dtype = default_int());
// Of n trials, how many succeed; of n trials, how many have each outcome, along the last axis of p (`shape`: without
// it).
Array binomial(const ArrayLike& key, const ArrayLike& n, const ArrayLike& p, const OptionalShape& shape = {},
               DType dtype = default_float());
Array multinomial(const ArrayLike& key, const ArrayLike& n, const ArrayLike& p, const OptionalShape& shape = {},
                  DType dtype = default_float());

// ---- keys as JAX names them: here a key is the array of its words
Array PRNGKey(const ArrayLike& seed);
Array key_data(const ArrayLike& key);
Array wrap_key_data(const ArrayLike& words);
Array clone(const ArrayLike& key);

// Which of the two counters of threefry this thread uses for split and bits: by position (the default), which makes
// every element independent of the size of the array, or JAX's original one. Returns the former setting. It is read
// when an operation is called or traced.
bool set_partitionable(bool on);

}  // namespace anew::random
