// Programs of a few equations: latency of a call, elementwise chains, softmax, a small convolutional network, gradients
// per example.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

Array logreg_loss(Array w, Array x, Array t) { return mean(logaddexp(0.0, -t * matmul(x, w))); }

Case logreg(const std::string&, bool) {
  const Array t = 2.0 * astype(ints(61, {100}, 2), f64) - 1.0;
  return case_of(value_and_grad(logreg_loss), fill(62, {10}, 1, 0, f64), fill(60, {100, 10}, 1, 0, f64), t);
}

Array sinsin(Array x) { return sin(sin(x)); }
Case scalar(const std::string&, bool) { return case_of(value_and_grad(sinsin), array(0.7, f64)); }

Array pointwise_loss(Array x) { return sum(tanh(x) * exp(-x * x) + log1p(x * x)); }
auto pointwise(DType dtype) {
  return [dtype](const std::string&, bool small) {
    return case_of(value_and_grad(pointwise_loss), fill(70, {small ? 5000 : 4194304}, 3, 0, dtype));
  };
}

Array cross_entropy(Array logits, Array labels) { return mean(nn::softmax_cross_entropy(logits, labels)); }
Case softmax_ce(const std::string&, bool small) {
  const std::int64_t rows = small ? 37 : 4096, classes = small ? 50 : 1000;
  return case_of(value_and_grad(cross_entropy), fill(80, {rows, classes}, 4),
                 ints(81, {rows}, static_cast<std::uint32_t>(classes)));
}

struct ConvNet {
  Array k0, b0, k1, b1, k2, b2, w, b;
};
Array conv(Array x, Array k, Array b, bool pool) {
  Array y = nn::relu(conv_general_dilated(x, k, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}) + b);
  if (!pool) return y;
  const Shape& s = y.shape();
  return mean(reshape(y, {s[0], s[1] / 2, 2, s[2] / 2, 2, s[3]}), {2, 4});
}
Case convnet(const std::string& variant, bool small) {
  const std::int64_t n = small ? 3 : 32, side = small ? 8 : 32, first = small ? 5 : 32, second = small ? 6 : 64;
  const std::int64_t features = side / 4 * (side / 4) * second;
  auto layer = wrapped(variant, conv);
  auto loss = [layer, n](const ConvNet& p, const Array& x, const Array& labels) {
    Array h = layer(x, p.k0, p.b0, false);
    h = layer(h, p.k1, p.b1, true);
    h = layer(h, p.k2, p.b2, true);
    return cross_entropy(matmul(reshape(h, {n, -1}), p.w) + p.b, labels);
  };
  auto kernel = [](std::uint32_t seed, std::int64_t in, std::int64_t out) {
    return fill(seed, {3, 3, in, out}, std::sqrt(6.0 / static_cast<double>(9 * in)));
  };
  const ConvNet p{kernel(91, 3, first),
                  fill(92, {first}, 0.1),
                  kernel(93, first, second),
                  fill(94, {second}, 0.1),
                  kernel(95, second, second),
                  fill(96, {second}, 0.1),
                  fill(97, {features, 10}, std::sqrt(3.0 / static_cast<double>(features))),
                  fill(98, {10}, 0.1)};
  return case_of(value_and_grad(loss), p, fill(90, {n, side, side, 3}), ints(99, {n}, 10));
}

Array chain_loss(Array x) {
  for (int i = 0; i < 50; ++i) x = sin(x) * 1.25;
  return sum(x);
}
Case chain(const std::string&, bool) { return case_of(value_and_grad(chain_loss), fill(110, {1000})); }

struct TwoLayers {
  Array w1, b1, w2, b2;
};
Array example_loss(TwoLayers p, Array x, Array t) {
  Array logits = matmul(tanh(matmul(x, p.w1) + p.b1), p.w2) + p.b2;
  return logsumexp(logits) - logits[t];
}
std::pair<Array, TwoLayers> each_example(TwoLayers p, Array x, Array labels) {
  auto [values, gradients] = vmap(value_and_grad(example_loss), {.in_axes = {no_axis, 0, 0}})(p, x, labels);
  return {sum(values), gradients};
}
Case per_example(const std::string&, bool small) {
  const std::int64_t n = small ? 7 : 256, in = small ? 12 : 128, width = small ? 10 : 256;
  const TwoLayers p{fill(132, {in, width}, std::sqrt(3.0 / static_cast<double>(in))), fill(133, {width}, 0.1),
                    fill(134, {width, 10}, std::sqrt(3.0 / static_cast<double>(width))), fill(135, {10}, 0.1)};
  return case_of(each_example, p, fill(130, {n, in}), ints(131, {n}, 10));
}

}  // namespace

std::vector<Workload> small_workloads() {
  return {{"logreg_small", {"jit"}, logreg, 0.8254417846427, 0.1328746322830, 1e-12, 2000},
          {"scalar_sinsin", {"jit", "eager"}, scalar, 0.6005731086611, 0.6115447511070, 1e-12, 2000},
          {"elementwise_f32", {"jit"}, pointwise(f32), 4761788, 1793.087, 5e-6},
          {"elementwise_f64", {"jit"}, pointwise(f64), 4761788.177568, 1793.087030856, 1e-12},
          {"softmax_ce", {"jit"}, softmax_ce, 8.882213, 0.01564149, 5e-6},
          {"convnet", {"jit", "ckpt"}, convnet, 2.297440, 2.390158, 5e-6},
          {"eager_chain", {"eager", "jit"}, chain, -20.35985, 6.38931e-05, 5e-6, 100},
          {"per_example", {"vmap"}, per_example, 601.8728, 139.2830, 5e-6}};
}

}  // namespace workloads
