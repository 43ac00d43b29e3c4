// A diffusion model in the plane: a network learns to take noise out of points of a spiral; started from nothing but
// noise and asked again and again, it draws new points of the spiral.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Layer {
  Array w, b;
};
struct Network {
  std::vector<Layer> layers;
};
Network random_network(Array key, const std::vector<std::int64_t>& sizes) {
  Network out;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    Array w = random::normal(random::fold_in(key, int(i)), {sizes[i], sizes[i + 1]});
    out.layers.push_back({w * std::sqrt(2.0 / double(sizes[i])), zeros(sizes[i + 1])});
  }
  return out;
}

// How much of the signal is left at time t in [0, 1].
Array signal(const Array& t) { return square(cos(0.5 * M_PI * 0.98 * t)); }

// The noise in the points x [n, 2] at times t [n, 1], as the network sees it.
Array noise_in(const Network& net, const Array& x, const Array& t) {
  Array waves = t * exp2(arange(6).astype(f32));
  Array h = concatenate({x, sin(M_PI * waves), cos(M_PI * waves)}, 1);
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    h = matmul(h, net.layers[i].w) + net.layers[i].b;
    if (i + 1 < net.layers.size()) h = nn::silu(h);
  }
  return h;
}

Array spiral(Array key, std::int64_t n) {
  auto [k1, k2] = random::split(key);
  Array u = sqrt(random::uniform(k1, {n})), angle = 3.5 * M_PI * u;
  return stack({u * cos(angle), u * sin(angle)}, 1) * 1.6 + 0.02 * random::normal(k2, {n, 2});
}

Array loss(const Network& net, Array key, std::int64_t n) {
  auto [k1, k2, k3] = random::split<3>(key);
  Array x = spiral(k1, n), t = random::uniform(k2, {n, 1}), noise = random::normal(k3, {n, 2});
  Array a = signal(t);
  return mean(square(noise_in(net, sqrt(a) * x + sqrt(1 - a) * noise, t) - noise));
}

// Points after each of `steps` steps from noise back to the spiral: [steps, n, 2].
Array draw(const Network& net, Array key, std::int64_t n, std::int64_t steps) {
  auto step = [&](Array x, std::pair<Array, Array> now) {
    auto [t, k] = now;
    Array a = signal(t), next = signal(t - 1.0 / double(steps)), ratio = a / next;
    Array noise = noise_in(net, x, broadcast_to(t, {n, 1}));
    Array back = (x - (1 - ratio) / sqrt(1 - a) * noise) / sqrt(ratio);
    x = back + sqrt((1 - next) / (1 - a) * (1 - ratio)) * random::normal(k, {n, 2});
    return std::pair(x, x);
  };
  Array t = 1 - arange(steps).astype(f32) / double(steps);
  return scan(step, random::normal(key, {n, 2}), std::pair(t, random::split(key, steps))).second;
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "A diffusion model that learns to draw a spiral.");
  const int iterations = options.small ? 20 : 6000;
  const std::int64_t batch = options.small ? 64 : 512, points = options.small ? 100 : 400,
                     steps = options.small ? 10 : 100;

  auto [k1, k2, k3] = random::split<3>(random::key(0));
  Network net = random_network(k1, {14, 96, 96, 96, 2});
  auto opt = optim::adam(optim::cosine_decay_schedule(2e-3, iterations));
  auto state = opt.init(net);
  auto step = jit(
                  [&](Network net, decltype(state) state, Array key) {
                    auto [value, gradient] = value_and_grad(loss)(net, key, batch);
                    auto [updates, next] = opt.update(gradient, state, net);
                    return std::tuple(optim::apply_updates(net, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(net, state, k2);
  std::vector<double> losses;
  double average = 1;
  Array value;
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(net, state, value) = step(net, state, random::fold_in(k2, i));
    average += 0.02 * (value.item() - average);
    losses.push_back(average);
    progress.step("loss " + show::digits(average));
  }
  std::cout << step.plan();

  Array drawn = jit([&](Network net, Array key) { return draw(net, key, points, steps); })(net, k3);
  show::Figure figure("A diffusion model");
  for (double part : {0.3, 0.6, 0.8, 1.0}) {
    Array x = drawn[static_cast<std::int64_t>(part * double(steps)) - 1];
    figure.panel("after " + std::to_string(int(part * 100)) + " % of the steps")
        .points(x[{slice(), 0}], x[{slice(), 1}])
        .equal_axes();
  }
  Array real = spiral(k2, points);
  figure.panel("points it learned from").points(real[{slice(), 0}], real[{slice(), 1}]).equal_axes();
  figure.panel("loss", "iteration").line(array(losses)).log_y();
  figure.save(options.picture("diffusion"));
  return losses.back() < 1 ? 0 : 1;
}
