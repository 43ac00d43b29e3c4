// Functions of neural networks, made of rows; each pins its caller's line. relu and sigmoid are rows of unary.cpp.
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/known_rows.h"
#include "ops/promote.h"

namespace anew::nn {
Array relu6(const ArrayLike& x) {
  PinLine pin(x.at);
  return lax::clamp(0, x, 6);
}
Array log_sigmoid(const ArrayLike& x) {
  PinLine pin(x.at);
  return -softplus(-as_float(x));
}
Array softplus(const ArrayLike& x) {
  PinLine pin(x.at);
  return logaddexp(x, 0.0);
}
Array silu(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return a * sigmoid(a);
}
Array swish(const ArrayLike& x) { return silu(x); }
Array mish(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return a * tanh(softplus(a));
}

Array gelu(const ArrayLike& x, bool approximate) {
  PinLine pin(x.at);
  Array a = as_float(x);
  if (!approximate) return 0.5 * a * erfc(-a * (1 / std::numbers::sqrt2));
  const double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  return a * (0.5 * (1 + tanh(k * (a + 0.044715 * power(a, 3)))));
}

Array elu(const ArrayLike& x, double alpha) {
  PinLine pin(x.at);
  Array a = as_float(x), positive = a > 0;
  return where(positive, a, alpha * expm1(where(positive, 0, a)));
}
Array selu(const ArrayLike& x) {
  PinLine pin(x.at);
  return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717);
}
Array celu(const ArrayLike& x, double alpha) {
  PinLine pin(x.at);
  Array a = as_float(x), positive = a > 0;
  return where(positive, a, alpha * expm1(where(positive, 0, a) / alpha));
}
Array leaky_relu(const ArrayLike& x, double negative_slope) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return where(a >= 0, a, negative_slope * a);
}
Array soft_sign(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return a / (abs(a) + 1);
}
Array hard_tanh(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return where(a > 1, 1, where(a < -1, -1, a));
}
Array hard_sigmoid(const ArrayLike& x) {
  PinLine pin(x.at);
  return relu6(as_float(x) + 3) / 6;
}
Array hard_silu(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return a * hard_sigmoid(a);
}
Array hard_swish(const ArrayLike& x) { return hard_silu(x); }
Array sparse_plus(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return where(a <= -1, 0, where(a >= 1, a, square(a + 1) / 4));
}
Array sparse_sigmoid(const ArrayLike& x) {
  PinLine pin(x.at);
  return 0.5 * clip(as_float(x) + 1, 0, 2);
}
Array glu(const ArrayLike& x, int axis) {
  PinLine pin(x.at);
  auto halves = split(as_float(x), 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Array logmeanexp(const ArrayLike& x, const Axes& axis, bool keepdims) {
  Array a = float_array(x);
  PinLine pin(x.at);
  double n = 1;
  for (int i : checked_axes("logmeanexp", axis, type_of(a), x.at)) n *= static_cast<double>(type_of(a).shape[i]);
  return anew::logsumexp(a, axis, keepdims) - std::log(n);
}

Array log_softmax(const ArrayLike& x, const Axes& axis) {
  PinLine pin(x.at);
  Array a = as_float(x);
  checked_axes("log_softmax", axis, type_of(a), x.at);
  if (type_of(a).shape.size() == 0) return a;
  Array shifted = a - stop_gradient(max(a, axis, true));
  return shifted - log(sum(exp(shifted), axis, true));
}
Array standardize(const ArrayLike& x, const Axes& axis, double epsilon) {
  PinLine pin(x.at);
  Array a = as_float(x);
  return normalized(a, checked_axes("standardize", axis, type_of(a), x.at), epsilon, "moments", x.at);
}

Array one_hot(const ArrayLike& x, std::int64_t classes, DType dtype) {
  Array index = asarray(x);
  if (classes < 0) fail("one_hot", x.at, fmt::format("{} classes", classes));
  PinLine pin(x.at);
  const Type type = type_of(index);
  const DType d =
      is_integer(type.dtype) ? computed_type(type.dtype) : type.dtype;  // a narrow one may not hold `classes`
  Shape shape = type.shape;
  shape.push_back(classes);
  return astype(broadcast_to(expand_dims(astype(index, d), -1), shape) == lax::iota(shape, shape.ndim() - 1, d), dtype);
}

}  // namespace anew::nn
