// Stacks of dense layers: their gradient, and the product of their Hessian with a direction.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

struct Size {
  std::int64_t layers, width, batch;
};

struct Layers {
  std::vector<Array> w, b;
};
struct Stacked {
  Array w, b;
};

Layers layers_of(Size s, std::uint32_t w_seed, std::uint32_t b_seed, double w_scale, double b_scale) {
  Layers out;
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    out.w.push_back(fill(w_seed + l, {s.width, s.width}, w_scale));
    out.b.push_back(fill(b_seed + l, {s.width}, b_scale));
  }
  return out;
}
Stacked stacked(const Layers& l) { return {stack(l.w), stack(l.b)}; }

Array layer(Array h, Array w, Array b) { return nn::relu(matmul(h, w) + b); }
Array mean_square(const Array& h) { return sum(h * h) / h.size(); }

auto unrolled_loss(const std::string& variant) {
  return [f = wrapped(variant, layer)](const Layers& p, const Array& x) {
    Array h = x;
    for (std::size_t l = 0; l < p.w.size(); ++l) h = f(h, p.w[l], p.b[l]);
    return mean_square(h);
  };
}
auto scanned_loss(const std::string& variant) {
  return [f = wrapped(variant, layer)](const Stacked& p, const Array& x) {
    auto [h, _] = scan([f](Array h, Stacked l) { return std::pair(f(h, l.w, l.b), none); }, x, p);
    return mean_square(h);
  };
}

// (value, H v) of a loss of parameters P.
template <class P, class F>
auto hessian_product(F loss) {
  return [loss](const P& p, const P& v, const Array& x) {
    auto [y, dy] = jvp([&](P q) { return value_and_grad(loss)(q, x); }, p, v);
    return std::pair(y.first, dy.second);
  };
}

Case build(Size s, const std::string& variant, bool second_order) {
  const Layers p = layers_of(s, 100, 200, std::sqrt(6.0 / static_cast<double>(s.width)), 0.1);
  const Array x = fill(1, {s.batch, s.width});
  const bool loop = variant.starts_with("scan");
  if (second_order) {
    const Layers v = layers_of(s, 300, 400, 0.01, 0.01);
    if (loop) return case_of(hessian_product<Stacked>(scanned_loss(variant)), stacked(p), stacked(v), x);
    return case_of(hessian_product<Layers>(unrolled_loss(variant)), p, v, x);
  }
  if (loop) return case_of(value_and_grad(scanned_loss(variant)), stacked(p), x);
  return case_of(value_and_grad(unrolled_loss(variant)), p, x);
}

}  // namespace

std::vector<Workload> mlp_workloads() {
  const std::vector<std::string> all{"plain", "ckpt", "dots", "scan", "scan_ckpt", "scan_dots"};
  const Sizes deep{{"layers", 8}, {"width", 1024}, {"batch", 128}},
      shallow{{"layers", 32}, {"width", 256}, {"batch", 32}};
  const Sizes small{{"layers", 3}, {"width", 20}, {"batch", 6}};
  auto of = [](bool second_order) {
    return [=](const std::string& variant, const Sizes& s) {
      return build({s["layers"], s["width"], s["batch"]}, variant, second_order);
    };
  };
  return {{"mlp_deep", all, deep, small, of(false), 5e-6, 0.2950535, 1.607823},
          {"mlp_small", all, shallow, small, of(false), 5e-6, 0.1488032, 3.709142},
          {"hvp", {"plain", "scan"}, shallow, small, of(true), 5e-6, 0.1488032, 1.486318}};
}

}  // namespace workloads
