// Functions of neural networks, with JAX's names and defaults.
#pragma once
#include <anew/array.h>

namespace anew::nn {

Array relu(const ArrayLike& x);  // keeps one bool mask; derivative 0 at 0
Array relu6(const ArrayLike& x);
Array sigmoid(const ArrayLike& x);
Array log_sigmoid(const ArrayLike& x);
Array softplus(const ArrayLike& x);
Array silu(const ArrayLike& x);  // x * sigmoid(x)
Array swish(const ArrayLike& x);
Array mish(const ArrayLike& x);
Array gelu(const ArrayLike& x, bool approximate = true);
Array elu(const ArrayLike& x, double alpha = 1.0);
Array selu(const ArrayLike& x);
Array celu(const ArrayLike& x, double alpha = 1.0);
Array leaky_relu(const ArrayLike& x, double negative_slope = 0.01);
Array soft_sign(const ArrayLike& x);
Array hard_tanh(const ArrayLike& x);
Array hard_sigmoid(const ArrayLike& x);
Array hard_silu(const ArrayLike& x);
Array hard_swish(const ArrayLike& x);                            // the same
Array log1mexp(const ArrayLike& x);                              // log(1 - exp(-x)), for x > 0
Array squareplus(const ArrayLike& x, const ArrayLike& b = 4.0);  // (x + sqrt(x^2 + b)) / 2
Array sparse_plus(const ArrayLike& x);                           // 0 up to -1, (x + 1)^2 / 4 in between, x from 1 on
Array sparse_sigmoid(const ArrayLike& x);                        // its derivative
Array glu(const ArrayLike& x, int axis = -1);                    // first half times sigmoid of the second

Array softmax(const ArrayLike& x, const Axes& axis = -1);
Array log_softmax(const ArrayLike& x, const Axes& axis = -1);
Array logsumexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array logmeanexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array standardize(const ArrayLike& x, const Axes& axis = -1, double epsilon = 1e-5);
// one_hot(array({0, 2}), 3) is [[1, 0, 0], [0, 0, 1]]; an index outside gives a row of zeros.
Array one_hot(const ArrayLike& x, std::int64_t classes, DType dtype = default_float());

// (x - mean) / sqrt(var + epsilon), times scale, plus bias, where those are given; they have the shape of the axes.
Array layer_norm(const ArrayLike& x, const ArrayLike& scale = Array(), const ArrayLike& bias = Array(),
                 const Axes& axis = -1, double epsilon = 1e-5);
Array rms_norm(const ArrayLike& x, const ArrayLike& scale = Array(), const Axes& axis = -1, double epsilon = 1e-6);
// Each element is 0 with probability `rate`, else divided by 1 - rate. A recomputed dropout is the same dropout.
Array dropout(const ArrayLike& key, double rate, const ArrayLike& x);
// Of each example: logits [..., classes], labels either classes (integers, [...]; nan for one outside) or probabilities
// ([..., classes]).
Array softmax_cross_entropy(const ArrayLike& logits, const ArrayLike& labels);
// Rows of a table [n, ...] by integers of any shape; an index outside, negative ones too, gives a row of nan.
Array embedding(const ArrayLike& table, const ArrayLike& ids);

struct AttentionOptions {
  Array bias = {}, mask = {};        // broadcast to [batch, heads, queries, keys]; mask is true where a key is seen
  std::optional<double> scale = {};  // 1 / sqrt(size of a head)
  bool is_causal = false;            // a query sees no key after its own position
};
// softmax(q k^T scale + bias) v of q [batch, queries, heads, size], k and v [batch, keys, heads, size]; fewer heads of
// k and v are shared by groups of heads of q; without the batch axis: one example.
Array dot_product_attention(const ArrayLike& q, const ArrayLike& k, const ArrayLike& v,
                            const AttentionOptions& options = {});

// Weights to begin with, as jax.nn.initializers draws them, called at once: he_normal(key, {3, 3, 16, 32}). A unit's
// fan_in is the size of in_axis times all axes that are neither in, out nor batch, fan_out that of out_axis.
namespace initializers {

struct FanOptions {
  Axes in_axis = -2, out_axis = -1;
  Axes batch_axis = std::vector<int>{};  // none
};
// Of variance scale / fan, where `mode` is "fan_in", "fan_out", "fan_avg" or "fan_geo_avg" and `distribution`
// "truncated_normal" (at two deviations), "normal" or "uniform".
Array variance_scaling(const ArrayLike& key, const Shape& shape, double scale, std::string_view mode,
                       std::string_view distribution, DType dtype = default_float(), const FanOptions& options = {});
// Variance 2 / (fan_in + fan_out).
Array glorot_uniform(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                     const FanOptions& options = {});
Array glorot_normal(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                    const FanOptions& options = {});
Array xavier_uniform(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                     const FanOptions& options = {});
Array xavier_normal(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                    const FanOptions& options = {});
// Variance 1 / fan_in.
Array lecun_uniform(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                    const FanOptions& options = {});
Array lecun_normal(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                   const FanOptions& options = {});
// Variance 2 / fan_in: before relu.
Array he_uniform(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                 const FanOptions& options = {});
Array he_normal(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                const FanOptions& options = {});
Array kaiming_uniform(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                      const FanOptions& options = {});
Array kaiming_normal(const ArrayLike& key, const Shape& shape, DType dtype = default_float(),
                     const FanOptions& options = {});
// Orthonormal rows or columns, whichever are fewer, of the axes as one matrix; of kernels [..., in, out] in the middle.
Array orthogonal(const ArrayLike& key, const Shape& shape, double scale = 1.0, int column_axis = -1,
                 DType dtype = default_float());
Array delta_orthogonal(const ArrayLike& key, const Shape& shape, double scale = 1.0, int column_axis = -1,
                       DType dtype = default_float());

}  // namespace initializers

}  // namespace anew::nn
