// Hamiltonian Monte Carlo: samples of a posterior, by letting a particle roll through the landscape of -log p. Many
// chains run side by side by vmap; the gradient is that of the log density alone. The data: measurements with a few
// gross errors, fitted by a line with Student's t errors.
#include <anew/anew.h>

#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Data {
  Array x, y;
};

// log density of (intercept, slope, log scale), up to a constant.
Array log_density(const Array& q, const Data& data) {
  Array scale = exp(q[2]), r = (data.y - q[0] - q[1] * data.x) / scale;
  const double freedom = 3;
  Array likelihood = sum(-(freedom + 1) / 2 * log1p(square(r) / freedom) - q[2]);
  return likelihood - 0.5 * (square(q[0] / 10) + square(q[1] / 10) + square(q[2] / 2));
}

struct Chain {
  Array q;         // [3]
  Array accepted;  // how often
};

// One proposal by `steps` leapfrog steps, accepted with the probability that keeps the density.
Chain move(const Chain& c, const Array& key, const Data& data, double size, int steps) {
  auto density = [&](Array q) { return log_density(q, data); };
  auto slope = grad(density);
  auto [k1, k2] = random::split(key);
  Array p0 = random::normal(k1, {3});
  auto leap = [&](Array, std::pair<Array, Array> s) {
    auto [q, p] = s;
    p = p + size / 2 * slope(q);
    q = q + size * p;
    return std::pair(q, p + size / 2 * slope(q));
  };
  auto [q, p] = fori_loop(0, steps, leap, std::pair(c.q, p0));
  Array change = density(q) - density(c.q) - 0.5 * (sum(square(p)) - sum(square(p0)));
  Array take_it = log(random::uniform(k2)) < change;
  return {where(take_it, q, c.q), c.accepted + take_it.astype(f32)};
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "Hamiltonian Monte Carlo: the posterior of a robust line fit.");
  const std::int64_t chains = options.small ? 4 : 64, warmup = options.small ? 20 : 200,
                     draws = options.small ? 30 : 500;
  X64 precise;  // default types are f64 here

  auto [k1, k2, k3, k4] = random::split<4>(random::key(3));
  Data data{linspace(-2, 2, 40), Array()};
  data.y = 1.0 + 0.5 * data.x + 0.3 * random::normal(k1, {40});
  data.y = data.y + where(random::uniform(k2, {40}) < 0.1, 4.0, 0.0);  // gross errors

  // A whole chain is one scan over keys, and all chains are one vmap of it.
  auto run = [&](Array start, Array key) {
    auto step = [&](Chain c, Array k) {
      Chain next = move(c, k, data, 0.06, 12);
      return std::pair(next, next.q);
    };
    return scan(step, Chain{start, 0.0}, random::split(key, warmup + draws));
  };
  auto sample = jit(vmap(run)).compile(random::normal(k3, {chains, 3}), random::split(k4, chains));
  auto [last, all] = sample(random::normal(k3, {chains, 3}), random::split(k4, chains));
  Array kept = all[{slice(), slice(warmup, none)}];  // [chains, draws, 3]

  // The ratio of the variance of all draws to that within chains: near 1 where the chains have mixed.
  Array within = mean(var(kept, 1, false, 1), 0), between = var(mean(kept, 1), 0, false, 1);
  Array mixing = sqrt((within * (draws - 1.0) / double(draws) + between) / within);
  const double accepted = mean(last.accepted).item() / double(warmup + draws);
  std::cout << chains << " chains, " << show::digits(100 * accepted) << " % accepted; R-hat " << mixing
            << "\nintercept, slope, log scale: " << mean(kept, {0, 1}) << " +- " << anew::std(kept, {0, 1}) << "\n"
            << sample.plan();

  Array flat = kept.reshape({-1, 3})[slice(none, none, options.small ? 1 : 48)], a = flat[{slice(), 0}],
        b = flat[{slice(), 1}];
  show::Figure figure("Hamiltonian Monte Carlo");
  figure.panel("data and mean line", "x", "y").points(data.x, data.y).line(data.x, mean(a) + mean(b) * data.x);
  figure.panel("posterior", "intercept", "slope").points(a, b);
  auto& traces = figure.panel("first chains", "draw", "slope");
  for (int c = 0; c < 3; ++c) traces.line(all[{c, slice(none, 200), 1}]);
  figure.save(options.picture("hmc"));
  return options.small || bool(max(mixing) < 1.1) ? 0 : 1;
}
