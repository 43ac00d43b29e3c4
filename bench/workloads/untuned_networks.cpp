// Networks that nobody tuned for: a training step of a small GPT with Adam, a GRU, blocks of a ResNet with batch
// normalisation, a U-Net.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

// ---- a training step of a GPT: new weights and moments
struct GptBlock {
  Array ln1, qkv, out, ln2, up, down;
};
struct Gpt {
  Array tokens, positions, ln, head;
  std::vector<GptBlock> blocks;
};
struct Adam {
  Gpt p, m, v;
};

// Every weight is of a seed of its own; fill_with(seed, shape, scale of a weight, 1 where it starts at 1).
template <class F>
Gpt gpt_of(const Sizes& s, std::uint32_t seed, F fill_with) {
  const std::int64_t d = s["width"], words = s["vocabulary"];
  const double r = std::sqrt(3.0 / static_cast<double>(d));
  auto next = [&](const Shape& shape, double scale, double shift) { return fill_with(seed++, shape, scale, shift); };
  Gpt g{next({words, d}, 1, 0), next({s["length"], d}, 0.1, 0), next({d}, 0.1, 1), next({d, words}, r, 0), {}};
  for (std::int64_t i = 0; i < s["blocks"]; ++i) {
    GptBlock b;
    b.ln1 = next({d}, 0.1, 1);
    b.qkv = next({d, 3 * d}, r, 0);
    b.out = next({d, d}, 0.3 * r, 0);
    b.ln2 = next({d}, 0.1, 1);
    b.up = next({d, 4 * d}, r, 0);
    b.down = next({4 * d, d}, 0.2 * r, 0);
    g.blocks.push_back(b);
  }
  return g;
}

auto gpt_loss(std::int64_t heads) {
  return [heads](const Gpt& g, const Array& text, const Array& next) {
    Array x = take(g.tokens, text, 0, "clip") + g.positions;
    for (const GptBlock& b : g.blocks) {
      const std::int64_t n = x.shape()[0], s = x.shape()[1], d = x.shape()[2];
      auto parts = split(matmul(nn::layer_norm(x, b.ln1), b.qkv), 3, -1);
      for (Array& p : parts) p = reshape(p, {n, s, heads, d / heads});
      Array y = nn::dot_product_attention(parts[0], parts[1], parts[2], {.is_causal = true});
      x = x + matmul(reshape(y, {n, s, d}), b.out);
      x = x + matmul(nn::gelu(matmul(nn::layer_norm(x, b.ln2), b.up)), b.down);
    }
    return mean(nn::softmax_cross_entropy(matmul(nn::layer_norm(x, g.ln), g.head), next));
  };
}

Case gpt_step(const std::string&, const Sizes& s) {
  const auto words = static_cast<std::uint32_t>(s["vocabulary"]);
  auto step = [loss = gpt_loss(s["heads"])](const Adam& a, const Array& text, const Array& next) {
    auto [value, g] = value_and_grad(loss)(a.p, text, next);
    Adam out;
    out.m = tree_map([](const Array& m, const Array& g) { return 0.9 * m + 0.1 * g; }, a.m, g);
    out.v = tree_map([](const Array& v, const Array& g) { return 0.999 * v + 0.001 * square(g); }, a.v, g);
    out.p = tree_map([](const Array& p, const Array& m, const Array& v) { return p - 1e-3 * m / (sqrt(v) + 1e-8); },
                     a.p, out.m, out.v);
    return std::pair(value, out);
  };
  auto weights = [](std::uint32_t seed, const Shape& shape, double scale, double shift) {
    return fill(seed, shape, scale, shift);
  };
  auto first = [](std::uint32_t seed, const Shape& shape, double, double) { return fill(seed, shape, 1e-3); };
  auto second = [](std::uint32_t seed, const Shape& shape, double, double) { return fill(seed, shape, 5e-7, 1e-6); };
  const Adam a{gpt_of(s, 500, weights), gpt_of(s, 700, first), gpt_of(s, 900, second)};
  return case_of(step, a, ints(1100, {s["batch"], s["length"]}, words), ints(1101, {s["batch"], s["length"]}, words));
}

// ---- a gated recurrent unit, with the gates of cuDNN
struct Gru {
  Array wx, wh, bx, bh;
};
Case gru(const std::string&, const Sizes& s) {
  const std::int64_t d = s["width"], batch = s["batch"];
  auto loss = [=](const Gru& p, const Array& xs) {
    auto cell = [p](Array h, Array x) {
      auto a = split(matmul(x, p.wx) + p.bx, 3, -1), b = split(matmul(h, p.wh) + p.bh, 3, -1);
      Array r = nn::sigmoid(a[0] + b[0]), z = nn::sigmoid(a[1] + b[1]);
      Array next = (1 - z) * tanh(a[2] + r * b[2]) + z * h;
      return std::pair(next, next);
    };
    return mean(square(scan(cell, zeros({batch, d}), xs).second));
  };
  const double r = std::sqrt(3.0 / static_cast<double>(d));
  return case_of(
      value_and_grad(loss),
      Gru{fill(1110, {d, 3 * d}, r), fill(1111, {d, 3 * d}, r), fill(1112, {3 * d}, 0.1), fill(1113, {3 * d}, 0.1)},
      fill(1114, {s["length"], batch, d}));
}

// ---- convolutions, NHWC
Array conv(const Array& x, const Array& k) {
  return conv_general_dilated(x, k, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
}
Array kernel(std::uint32_t seed, std::int64_t side, std::int64_t in, std::int64_t out) {
  return fill(seed, {side, side, in, out}, std::sqrt(6.0 / static_cast<double>(side * side * in)));
}

struct Normed {
  Array k, g, b;
};
Array normed(const Array& x, const Normed& p) {
  Array y = conv(x, p.k);
  Array m = mean(y, {0, 1, 2}), v = mean(square(y - m), {0, 1, 2});
  return (y - m) * rsqrt(v + 1e-5) * p.g + p.b;
}
Case resnet(const std::string&, const Sizes& s) {
  const std::int64_t c = s["channels"];
  auto loss = [](const std::vector<Normed>& p, const Array& x) {
    Array h = x;
    for (std::size_t i = 0; i < p.size(); i += 2) h = nn::relu(h + normed(nn::relu(normed(h, p[i])), p[i + 1]));
    return mean(square(h));
  };
  std::vector<Normed> p;
  for (std::uint32_t i = 0; i < 2 * s["blocks"]; ++i)
    p.push_back({kernel(1120 + 3 * i, 3, c, c), fill(1121 + 3 * i, {c}, 0.1, 1), fill(1122 + 3 * i, {c}, 0.1)});
  return case_of(value_and_grad(loss), p, fill(1119, {s["batch"], s["side"], s["side"], c}));
}

Array halved(const Array& x) {
  const Shape& s = x.shape();
  return mean(reshape(x, {s[0], s[1] / 2, 2, s[2] / 2, 2, s[3]}), {2, 4});
}
Array doubled(const Array& x) { return repeat(repeat(x, 2, 1), 2, 2); }
Case unet(const std::string&, const Sizes& s) {
  const std::int64_t c = s["channels"];
  auto loss = [](const std::vector<Array>& k, const Array& x, const Array& target) {
    Array a = nn::relu(conv(x, k[0]));
    Array b = nn::relu(conv(halved(a), k[1]));
    Array h = nn::relu(conv(halved(b), k[2]));
    h = nn::relu(conv(concatenate({doubled(h), b}, 3), k[3]));
    h = nn::relu(conv(concatenate({doubled(h), a}, 3), k[4]));
    return mean(square(conv(h, k[5]) - target));
  };
  const std::vector<Array> k{kernel(1150, 3, 3, c),         kernel(1151, 3, c, 2 * c), kernel(1152, 3, 2 * c, 4 * c),
                             kernel(1153, 3, 6 * c, 2 * c), kernel(1154, 3, 3 * c, c), kernel(1155, 1, c, 1)};
  const Shape image{s["batch"], s["side"], s["side"], 3}, mask{s["batch"], s["side"], s["side"], 1};
  return case_of(value_and_grad(loss), k, fill(1156, image), fill(1157, mask));
}

}  // namespace

std::vector<Workload> untuned_networks() {
  return {{"gpt_step",
           {"jit"},
           {{"blocks", 4}, {"width", 192}, {"heads", 6}, {"length", 96}, {"batch", 6}, {"vocabulary", 384}},
           {{"blocks", 2}, {"width", 12}, {"heads", 3}, {"length", 7}, {"batch", 2}, {"vocabulary", 11}},
           gpt_step,
           1e-5},
          {"gru",
           {"scan"},
           {{"length", 150}, {"width", 192}, {"batch", 24}},
           {{"length", 6}, {"width", 10}, {"batch", 3}},
           gru,
           1e-5},
          {"resnet",
           {"jit"},
           {{"blocks", 2}, {"batch", 12}, {"side", 28}, {"channels", 48}},
           {{"blocks", 1}, {"batch", 2}, {"side", 6}, {"channels", 5}},
           resnet,
           1e-5},
          {"unet",
           {"jit"},
           {{"batch", 4}, {"side", 64}, {"channels", 16}},
           {{"batch", 2}, {"side", 8}, {"channels", 3}},
           unet,
           1e-5}};
}

}  // namespace workloads
