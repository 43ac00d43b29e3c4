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
Array glu(const ArrayLike& x, int axis = -1);  // first half times sigmoid of the second

Array softmax(const ArrayLike& x, const Axes& axis = -1);
Array log_softmax(const ArrayLike& x, const Axes& axis = -1);
Array logsumexp(const ArrayLike& x, const Axes& axis = {}, bool keepdims = false);
Array standardize(const ArrayLike& x, const Axes& axis = -1, double epsilon = 1e-5);
// one_hot(array({0, 2}), 3) is [[1, 0, 0], [0, 0, 1]]; an index outside gives a row of zeros.
Array one_hot(const ArrayLike& x, std::int64_t classes, DType dtype = f32);

}  // namespace anew::nn
