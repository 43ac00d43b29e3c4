// A model that does not fit, made to fit: the training step of a transformer is planned before anything runs, given a
// budget that is a fraction of what it wants, and trained within it, with the same bits as without.
#include <anew/anew.h>

#include <chrono>
#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Block {
  Array qkv, proj, up, down;
};
struct Model {
  std::vector<Block> blocks;
};
Array block(const Block& b, Array x, std::int64_t heads) {
  const std::int64_t n = x.shape()[0], t = x.shape()[1], w = x.shape()[2];
  std::vector<Array> qkv = split(matmul(nn::layer_norm(x), b.qkv).reshape({n, t, 3 * heads, w / heads}), 3, 2);
  x = x + matmul(nn::dot_product_attention(qkv[0], qkv[1], qkv[2], {.is_causal = true}).reshape({n, t, w}), b.proj);
  return x + matmul(nn::gelu(matmul(nn::layer_norm(x), b.up)), b.down);
}
// Learns to say what came three positions before.
Array loss(const Model& m, const Array& x, std::int64_t heads) {
  Array y = x;
  for (const Block& b : m.blocks) y = block(b, y, heads);
  return mean(square(y - roll(x, 3, 1)));
}

// One step of gradient descent.
auto training(std::int64_t heads) {
  return [=](Model m, Array x) {
    auto [value, gradient] = value_and_grad([=](const Model& m, const Array& x) { return loss(m, x, heads); })(m, x);
    return std::pair(tree_map([](Array p, Array g) { return p - 0.3 * g; }, m, gradient), value);
  };
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "A model that does not fit, made to fit by a budget.");
  const std::int64_t layers = options.small ? 2 : 10, width = options.small ? 16 : 192, heads = options.small ? 2 : 6;
  const std::int64_t batch = options.small ? 2 : 4, length = options.small ? 8 : 128;
  const int iterations = options.small ? 3 : 20;

  Array key = random::key(0);
  Model m;
  for (int i = 0; i < layers; ++i) {
    auto [a, b, c, d] = random::split<4>(random::fold_in(key, i));
    const double s = 0.5 / std::sqrt(double(width));
    m.blocks.push_back({s * random::normal(a, {width, 3 * width}), s * random::normal(b, {width, width}),
                        s * random::normal(c, {width, 4 * width}), s / 2 * random::normal(d, {4 * width, width})});
  }
  Array x = random::normal(key, {batch, length, width});

  auto step = training(heads);
  const MemoryPlan plain = jit(step).plan(m, x);
  std::cout << "it wants " << show::bytes(plain.peak_bytes) << "\n";
  auto curve = jit(step).budget_curve(m, x);
  std::cout << "it can run within " << show::bytes(curve.back().peak_bytes) << ":\n" << str(curve);

  // What each point of the curve costs in fact, and whether the bits are the same.
  std::vector<double> megabytes, modelled, measured;
  Array first;
  double plain_time = 0;
  bool same = true;
  show::Progress progress("budgets", 5);
  for (double part : {1.0, 0.8, 0.6, 0.5, 0.4}) {
    const auto budget = std::size_t(part * double(plain.peak_bytes));
    if (budget < curve.back().peak_bytes) break;
    auto run = jit(step, {.memory_budget = budget}).compile(m, x);
    auto [model, value] = std::pair(m, Array());
    double best = 1e9;
    for (int i = 0; i < iterations; ++i) {
      const auto start = std::chrono::steady_clock::now();
      std::tie(model, value) = run(model, x);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    if (megabytes.empty()) first = value, plain_time = best;
    same = same && array_equal(value, first) && run.high_water_bytes() <= budget;
    megabytes.push_back(double(run.plan().peak_bytes) / 1e6);
    modelled.push_back(100 * run.plan().extra_time);
    measured.push_back(100 * (best / plain_time - 1));
    progress.step(show::bytes(run.plan().peak_bytes) + ": loss " + show::digits(value.item()) + ", extra time " +
                  show::digits(modelled.back()) + " % modelled, " + show::digits(measured.back()) + " % measured");
  }
  std::cout << (same ? "the same bits within every budget\n" : "the bits differ: this must not happen\n");

  std::vector<double> peaks, times;
  for (const BudgetPoint& p : curve) peaks.push_back(double(p.peak_bytes) / 1e6), times.push_back(100 * p.extra_time);
  show::Figure figure("A model that does not fit", 2);
  figure.panel("extra time against memory", "MB", "%")
      .line(array(peaks), array(times), "the curve")
      .points(array(megabytes), array(measured), "measured");
  std::vector<double> bytes;
  for (const LiveValue& v : plain.live) bytes.push_back(double(v.bytes) / 1e6);
  figure.panel("what is alive at the peak", "value", "MB").points(arange(std::int64_t(bytes.size())), array(bytes));
  figure.save(options.picture("too_big"));
  return same ? 0 : 1;
}
