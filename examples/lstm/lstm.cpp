// An LSTM that learns a chaotic rhythm (the equation of Mackey and Glass) and goes on by itself. Its backward pass
// through time keeps only what {.memory = ...} allows.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Cell {
  Array w, b;        // [inputs + units, 4 units], [4 units]
  Array out, out_b;  // [units, 1], [1]
};
struct Memory {
  Array h, c;  // [batch, units]
};

// x [batch, 1] in; the next value, [batch, 1], out.
std::pair<Memory, Array> step(const Cell& cell, const Memory& m, const Array& x) {
  std::vector<Array> gates = split(matmul(concatenate({x, m.h}, 1), cell.w) + cell.b, 4, 1);
  Array c = nn::sigmoid(gates[0] + 1) * m.c + nn::sigmoid(gates[1]) * tanh(gates[2]);
  Array h = nn::sigmoid(gates[3]) * tanh(c);
  return {Memory{h, c}, x + matmul(h, cell.out) + cell.out_b};
}
Memory nothing(std::int64_t batch, std::int64_t units) { return {zeros({batch, units}), zeros({batch, units})}; }

// Predictions of every next value of xs [time, batch, 1].
Array predict(const Cell& cell, const Array& xs, std::optional<std::size_t> memory) {
  auto body = [&](Memory m, Array x) { return step(cell, m, x); };
  return scan(body, nothing(xs.shape()[1], cell.out.shape()[0]), xs, {.memory = memory}).second;
}

// x' = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x, one value every three units of time.
Array rhythm(std::int64_t n) {
  auto body = [](Array past, none_t) {  // the last 170 values, oldest first
    Array x = past[-1], old = past[0];
    Array next = x + 0.1 * (0.2 * old / (1 + power(old, 10)) - 0.1 * x);
    return std::pair(concatenate({past[slice(1, none)], next.reshape({1})}), next);
  };
  Array x = scan(body, full(170, 1.2), none, {.length = 30 * n + 3000}).second;
  return x[slice(3000, none, 30)] - 0.95;
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "An LSTM learns a chaotic rhythm and goes on by itself.");
  const std::int64_t units = options.small ? 8 : 64, length = options.small ? 20 : 120, batch = options.small ? 4 : 32;
  const int iterations = options.small ? 5 : 800;
  const std::size_t memory = 2_MiB;

  Array series = jit([] { return rhythm(2400); })();
  Array past = series[slice(0, 2000)], future = series[slice(2000, 2400)];
  auto [k1, k2, k3] = random::split<3>(random::key(0));
  Cell cell{random::normal(k1, {1 + units, 4 * units}) / std::sqrt(double(units)), zeros(4 * units),
            0.1 * random::normal(k2, {units, 1}), zeros(1)};

  auto loss = [&](Cell cell, Array starts) {
    Array at = starts + arange(length + 1)[{slice(), newaxis}];  // [length + 1, batch]
    Array xs = take(past, at)[{ellipsis, newaxis}];
    Array errors = predict(cell, xs[slice(none, -1)], memory) - xs[slice(1, none)];
    return mean(square(errors[slice(10, none)]));
  };
  auto opt = optim::chain(optim::clip_by_global_norm(1.0), optim::adam(optim::cosine_decay_schedule(5e-3, iterations)));
  auto state = opt.init(cell);
  auto train = jit([&](Cell cell, decltype(state) state, Array key) {
                 Array starts = random::randint(key, {batch}, 0, 2000 - length - 1);
                 auto [value, gradient] = value_and_grad(loss)(cell, starts);
                 auto [updates, next] = opt.update(gradient, state, cell);
                 return std::tuple(optim::apply_updates(cell, updates), next, value);
               }).compile(cell, state, k3);
  std::vector<double> losses;
  Array value;
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(cell, state, value) = train(cell, state, random::fold_in(k3, i));
    losses.push_back(value.item());
    progress.step("loss " + show::digits(losses.back()));
  }

  // It hears the past, then only itself.
  const std::int64_t ahead = options.small ? 20 : 150;
  auto continued = jit([&](Cell cell, Array heard) {
    auto listen = [&](Memory m, Array x) { return step(cell, m, x); };
    auto [m, told] = scan(listen, nothing(1, units), heard);
    auto speak = [&](std::pair<Memory, Array> s, none_t) {
      auto [next, x] = step(cell, s.first, s.second);
      return std::pair(std::pair(next, x), s.second);
    };
    return ravel(scan(speak, std::pair(m, told[-1]), none, {.length = ahead}).second);
  });
  Array heard = past[slice(-400, none)].reshape({-1, 1, 1}), guessed = continued(cell, heard),
        real = future[slice(0, ahead)];
  std::cout << "mean error over the first " << ahead / 3
            << " values: " << show::digits(mean(abs(guessed - real)[slice(0, ahead / 3)]).item())
            << " (the rhythm spans " << show::digits((max(series) - min(series)).item()) << ")\n"
            << train.plan();

  show::Figure figure("An LSTM goes on by itself", 2);
  figure.panel("the rhythm", "values").line(past[slice(0, 400)]);
  figure.panel("what comes, and what it says", "values ahead").line(real, "real").line(guessed, "LSTM");
  figure.panel("x(t) against x(t - 17)")
      .line(series[slice(6, 600)], series[slice(0, 594)], "real")
      .line(guessed[slice(6, none)], guessed[slice(0, -6)], "LSTM");
  figure.panel("loss", "iteration").line(array(losses)).log_y();
  figure.save(options.picture("lstm"));
  return options.small || losses.back() < losses.front() ? 0 : 1;
}
