// Trains a small network on two spirals: parameters are a plain struct, layers are checkpointed, Adam is tree_map.
#include <anew/anew.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>
#include <random>

#include "chapters.h"
#include "show.h"

using namespace anew;

namespace {

// code: the network
struct Dense {
  Array w, b;
};
struct Net {
  Dense first, hidden, last;  // hidden: four layers, stacked
};
std::pair<Array, none_t> hidden_layer(Array h, Dense d) { return {h + tanh(matmul(h, d.w) + d.b), none}; }

template <class Body>
Array logits(const Net& net, Array x, Body body) {
  Array h = tanh(matmul(x, net.first.w) + net.first.b);
  h = scan(body, h, net.hidden).first;
  return (matmul(h, net.last.w) + net.last.b)[{slice(), 0}];
}
Array loss(const Net& net, Array x, Array y) {  // y is 1 or -1
  return mean(nn::softplus(-y * logits(net, x, checkpoint(hidden_layer))));
}
// end
Array plain_loss(const Net& net, Array x, Array y) { return mean(nn::softplus(-y * logits(net, x, hidden_layer))); }

// code: a step of Adam
struct Adam {
  Net mean, square;
};
Net adam_step(const Net& net, Adam& state, const Net& g, int step, double rate) {
  auto mean = [](const Array& m, const Array& g) { return 0.9 * m + 0.1 * g; };
  auto square = [](const Array& s, const Array& g) { return 0.99 * s + 0.01 * g * g; };
  state.mean = tree_map(mean, state.mean, g);
  state.square = tree_map(square, state.square, g);
  const double m_scale = 1 / (1 - std::pow(0.9, step)), s_scale = 1 / (1 - std::pow(0.99, step));
  auto update = [=](const Array& p, const Array& m, const Array& s) {
    return p - rate * (m * m_scale) / (sqrt(s * s_scale) + 1e-8);
  };
  return tree_map(update, net, state.mean, state.square);
}
// end

std::pair<Array, Array> spirals(int points) {
  std::mt19937 noise(1);
  std::vector<float> x, y;
  for (int i = 0; i < points; ++i) {
    const double side = i % 2 ? 1 : -1, t = static_cast<double>(i) / points;
    const double radius = 0.1 + 0.9 * t, angle = 5 * std::numbers::pi * t + (side > 0 ? std::numbers::pi : 0);
    auto jitter = [&] { return 0.03 * (static_cast<double>(noise()) / 2147483648.0 - 1); };
    x.push_back(static_cast<float>(radius * std::cos(angle) + jitter()));
    x.push_back(static_cast<float>(radius * std::sin(angle) + jitter()));
    y.push_back(static_cast<float>(side));
  }
  return {array(x, {points, 2}), array(y)};
}

Array random_weights(Shape shape, double size, unsigned seed) {
  std::mt19937 numbers(seed);
  std::vector<float> v;
  for (std::int64_t i = 0; i < shape.size(); ++i)
    v.push_back(static_cast<float>(size * (static_cast<double>(numbers()) / 2147483648.0 - 1)));
  return array(v, shape);
}

// What the network says of the square around the spirals.
void draw(const Net& net) {
  constexpr int rows = 21, columns = 64;
  std::vector<float> grid;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      grid.push_back(static_cast<float>(1.15 * (2.0 * c / (columns - 1) - 1)));
      grid.push_back(static_cast<float>(1.15 * (1 - 2.0 * r / (rows - 1))));
    }
  const auto says = logits(net, array(grid, {rows * columns, 2}), hidden_layer).to_vector<float>();
  std::string picture;
  for (int r = 0; r < rows; ++r) {
    picture += "    ";
    for (int c = 0; c < columns; ++c) picture += says[static_cast<std::size_t>(r * columns + c)] > 0 ? '#' : '.';
    picture += '\n';
  }
  show::block(picture);
}

}  // namespace

void two_spirals() {
  show::chapter("Training a network");
  show::say(R"(
      Two spirals, to be told apart by a network whose parameters are a plain struct. Its hidden layers are
      checkpointed:)");
  show::code("the network");
  show::say("An optimizer is a tree_map over parameters and gradients:");
  show::code("a step of Adam");

  constexpr int width = 32, depth = 4, points = 400, steps = 400;
  const auto [x, y] = spirals(points);
  Net net{{random_weights({2, width}, 2, 1), random_weights(width, 1, 2)},
          {random_weights({depth, width, width}, 0.25, 3), zeros({depth, width})},
          {random_weights({width, 1}, 0.2, 4), zeros(1)}};
  const Net zero = tree_map([](const Array& p) { return zeros_like(p); }, net);
  Adam state{zero, zero};

  const auto step = jit(value_and_grad(loss));
  const auto plain_step = jit(value_and_grad(plain_loss));
  auto accuracy = [&] { return mean(astype(y * logits(net, x, hidden_layer) > 0, f32)).item(); };
  auto report = [&](double value) {
    char text[64];
    std::snprintf(text, sizeof text, "loss %.4f   accuracy %5.1f %%", value, 100 * accuracy());
    return std::string(text);
  };

  bool same = true;
  std::cout << '\n';
  for (int i = 1; i <= steps; ++i) {
    auto [value, gradient] = step(net, x, y);
    if (i % 100 == 1) {  // now and then, against the plain network
      const Arrays ours = tree_leaves(gradient), plain = tree_leaves(plain_step(net, x, y).second);
      for (std::size_t k = 0; k < ours.size(); ++k) same = same && show::same_bits(ours[k], plain[k]);
    }
    net = adam_step(net, state, gradient, i, 0.01);
    if (i % 10 == 0) show::progress(i, steps, report(value.item()));
  }
  draw(net);
  const std::size_t with = show::bytes_of(saved_residuals(loss, net, x, y));
  const std::size_t without = show::bytes_of(saved_residuals(plain_loss, net, x, y));
  show::tick(accuracy() > 0.95, "the network tells the spirals apart");
  show::tick(same && with < without, "its gradients equal those of the plain network bit for bit, with " +
                                         show::in_bytes(with) + " bytes of residuals in place of " +
                                         show::in_bytes(without));
}
