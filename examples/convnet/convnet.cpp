// A convolutional network that reads digits: small pictures, drawn here with random places, strokes and noise.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

// Digits of 3 x 5 dots.
Array font() {
  const char* rows[] = {"111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001",
                        "111100111001111", "111100111101111", "111001010010010", "111101111101111", "111101111001111"};
  std::vector<float> dots;
  for (const char* digit : rows)
    for (const char* c = digit; *c; ++c) dots.push_back(float(*c - '0'));
  return array(dots, {10, 5, 3});
}

struct Batch {
  Array images, digits;  // f32[n, 16, 16, 1], i32[n]
};
Batch draw(Array key, std::int64_t n) {
  auto [k1, k2, k3, k4] = random::split<4>(key);
  Array digits = random::randint(k1, {n}, 0, 10);
  Array large = repeat(repeat(take(font(), digits, 0), 2, 1), 2, 2);  // 10 x 6
  Array places = random::randint(k2, {n, 2}, 0, 7), contrast = random::uniform(k3, {n, 1, 1}, f32, 0.5, 1.5);
  auto put = [](Array image, Array place) {
    return dynamic_update_slice(zeros({16, 16}), image, {place[0], place[1] + 2});
  };
  Array images = vmap(put)(large, places) * contrast + 0.25 * random::normal(k4, {n, 16, 16});
  return {images.reshape({n, 16, 16, 1}), digits};
}

struct Model {
  Array w1, b1, w2, b2, w3, b3;
};
Model random_model(Array key) {
  auto [k1, k2, k3] = random::split<3>(key);
  return {0.3 * random::normal(k1, {3, 3, 1, 16}), zeros(16), 0.1 * random::normal(k2, {3, 3, 16, 32}), zeros(32),
          0.05 * random::normal(k3, {512, 10}),    zeros(10)};
}

Array conv(const Array& x, const Array& w, const Array& b) {
  return conv_general_dilated(x, w, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}) + b;
}
Array logits(const Model& m, Array x) {
  x = nn::max_pool(nn::relu(conv(x, m.w1, m.b1)), {2, 2}, {2, 2});
  x = nn::max_pool(nn::relu(conv(x, m.w2, m.b2)), {2, 2}, {2, 2});
  return matmul(x.reshape({x.shape()[0], -1}), m.w3) + m.b3;
}
Array loss(const Model& m, const Batch& b) { return mean(nn::softmax_cross_entropy(logits(m, b.images), b.digits)); }

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "A convolutional network learns to read digits.");
  const int iterations = options.small ? 5 : 600;
  const std::int64_t n = options.small ? 16 : 128;

  auto [k1, k2, k3] = random::split<3>(random::key(0));
  Model m = random_model(k1);
  auto opt =
      optim::adamw(optim::warmup_cosine_decay_schedule(0.0, 3e-3, iterations / 10, iterations), {.weight_decay = 1e-3});
  auto state = opt.init(m);
  auto step = jit(
                  [&](Model m, decltype(state) state, Array key) {
                    Batch b = draw(key, n);
                    auto [value, gradient] = value_and_grad(loss)(m, b);
                    auto [updates, next] = opt.update(gradient, state, m);
                    return std::tuple(optim::apply_updates(m, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(m, state, k2);
  std::vector<double> losses;
  Array value;
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(m, state, value) = step(m, state, random::fold_in(k2, i));
    losses.push_back(value.item());
    progress.step("loss " + show::digits(losses.back()));
  }

  Batch test = draw(k3, options.small ? 50 : 1000);
  Array answers = argmax(jit(logits)(m, test.images), 1);
  const double right = mean((answers == test.digits).astype(f32)).item();
  Array confusion = zeros({10, 10}).at({test.digits, answers}).add(1.0);
  std::cout << show::digits(100 * right) << " % of new digits are read right\n" << step.plan();

  show::Figure figure("Reading digits", 4);
  for (int i = 0; i < 4; ++i)
    figure
        .panel("read as " + std::to_string(int(answers[i].item())) + ", is " +
               std::to_string(int(test.digits[i].item())))
        .image(test.images[{i, slice(), slice(), 0}]);
  Array filters = transpose(m.w1[{slice(), slice(), 0}], {2, 0, 1}).reshape({2, 8, 3, 3});
  filters = pad(filters, {{0, 0}, {0, 0}, {0, 1}, {0, 1}});
  figure.panel("filters of the first layer")
      .image(transpose(filters, {0, 2, 1, 3}).reshape({8, 32}), show::Colours::signs);
  figure.panel("read (across) as against what it is (down)").image(log1p(confusion));
  figure.panel("loss", "iteration").line(array(losses)).log_y();
  figure.save(options.picture("convnet"));
  return options.small || right > 0.95 ? 0 : 1;
}
