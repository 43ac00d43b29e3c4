// Programs of a few equations: latency of a call, elementwise chains, softmax, a small convolutional network, gradients
// per example.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

Array logreg_loss(Array w, Array x, Array t) { return mean(logaddexp(0.0, -t * matmul(x, w))); }

Case logreg(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"], features = s["features"];
  const Array t = 2.0 * astype(ints(61, {rows}, 2), f64) - 1.0;
  return case_of(value_and_grad(logreg_loss), fill(62, {features}, 1, 0, f64), fill(60, {rows, features}, 1, 0, f64),
                 t);
}

Array sinsin(Array x) { return sin(sin(x)); }
Case scalar(const std::string&, const Sizes&) { return case_of(value_and_grad(sinsin), array(0.7, f64)); }

Array pointwise_loss(Array x) { return sum(tanh(x) * exp(-x * x) + log1p(x * x)); }
auto pointwise(DType dtype) {
  return [dtype](const std::string&, const Sizes& s) {
    return case_of(value_and_grad(pointwise_loss), fill(70, {s["n"]}, 3, 0, dtype));
  };
}

Array cross_entropy(Array logits, Array labels) { return mean(nn::softmax_cross_entropy(logits, labels)); }
Case softmax_ce(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"], classes = s["classes"];
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
Case convnet(const std::string& variant, const Sizes& s) {
  const std::int64_t n = s["batch"], side = s["side"], first = s["first"], second = s["second"];
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
Case chain(const std::string&, const Sizes& s) { return case_of(value_and_grad(chain_loss), fill(110, {s["n"]})); }

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
Case per_example(const std::string&, const Sizes& s) {
  const std::int64_t n = s["batch"], in = s["features"], width = s["width"];
  const TwoLayers p{fill(132, {in, width}, std::sqrt(3.0 / static_cast<double>(in))), fill(133, {width}, 0.1),
                    fill(134, {width, 10}, std::sqrt(3.0 / static_cast<double>(width))), fill(135, {10}, 0.1)};
  return case_of(each_example, p, fill(130, {n, in}), ints(131, {n}, 10));
}

}  // namespace

std::vector<Workload> small_workloads() {
  const Sizes logreg_sizes{{"rows", 100}, {"features", 10}}, chain_sizes{{"n", 1000}};
  const Sizes many{{"n", 4194304}}, few{{"n", 5000}};
  return {{"logreg_small",
           {"jit", "through_jit"},
           logreg_sizes,
           logreg_sizes,
           logreg,
           1e-12,
           0.8254417846427,
           0.1328746322830},
          {"scalar_sinsin", {"jit", "through_jit", "eager"}, {}, {}, scalar, 1e-12, 0.6005731086611, 0.6115447511070},
          {"elementwise_f32", {"jit"}, many, few, pointwise(f32), 5e-6, 4761788, 1793.087},
          {"elementwise_f64", {"jit"}, many, few, pointwise(f64), 1e-12, 4761788.177568, 1793.087030856},
          {"softmax_ce",
           {"jit"},
           {{"rows", 4096}, {"classes", 1000}},
           {{"rows", 37}, {"classes", 50}},
           softmax_ce,
           5e-6,
           8.882213,
           0.01564149},
          {"convnet",
           {"jit", "ckpt"},
           {{"batch", 32}, {"side", 32}, {"first", 32}, {"second", 64}},
           {{"batch", 3}, {"side", 8}, {"first", 5}, {"second", 6}},
           convnet,
           5e-6,
           2.297440,
           2.390158},
          {"eager_chain", {"eager", "jit"}, chain_sizes, chain_sizes, chain, 5e-6, -20.35985, 6.38931e-05},
          {"per_example",
           {"vmap"},
           {{"batch", 256}, {"features", 128}, {"width", 256}},
           {{"batch", 7}, {"features", 12}, {"width", 10}},
           per_example,
           5e-6,
           601.8728,
           139.2830}};
}

}  // namespace workloads
