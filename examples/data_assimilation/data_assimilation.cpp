// 4D-Var, as weather centres do it: the state of a chaotic model some time ago that explains best what was measured
// since at a few places. The cost is minimized by L-BFGS; each gradient is one run of the model forward and one back.
#include <anew/anew.h>

#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

constexpr double dt = 0.05, forcing = 8;

// The model of Lorenz (1996): 40 sites on a circle of latitude.
Array rate(const Array& x) { return (roll(x, -1) - roll(x, 2)) * roll(x, 1) - x + forcing; }
Array advance(const Array& x) {
  Array a = rate(x), b = rate(x + dt / 2 * a), c = rate(x + dt / 2 * b), d = rate(x + dt * c);
  return x + dt / 6 * (a + 2 * b + 2 * c + d);
}
Array forecast(const Array& start, std::int64_t steps) {
  auto step = [](Array x, none_t) {
    Array next = advance(x);
    return std::pair(next, next);
  };
  return scan(step, start, none, {.length = steps}).second;
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "4D-Var: the state of a chaotic model from sparse measurements.");
  X64 precise;
  const std::int64_t sites = 40, window = options.small ? 8 : 30, after = options.small ? 8 : 60;
  auto [k1, k2, k3] = random::split<3>(random::key(5));

  Array truth = forecast(forcing + random::normal(k1, {sites}), 400)[-1];  // on the attractor
  Array background = truth + 1.5 * random::normal(k2, {sites});            // what we believed
  Array path = forecast(truth, window);
  const auto where_measured = slice(none, none, 2), when_measured = slice(none, none, 3);
  Array seen = path[{when_measured, where_measured}];
  Array measured = seen + 0.3 * random::normal(k3, seen.shape());

  auto cost = [&](Array start) {
    Array misfit = forecast(start, window)[{when_measured, where_measured}] - measured;
    return 0.5 * sum(square(misfit / 0.3)) + 0.5 * sum(square((start - background) / 1.5));
  };
  std::cout << "cost of the background: " << show::digits(cost(background).item()) << "\n";
  auto found = optim::lbfgs(cost, background, {.maxiter = options.small ? 10 : 100});
  Array analysis = found.x;
  std::cout << "cost of the analysis:   " << show::digits(found.value) << " after " << found.iterations
            << " iterations\n"
            << jit(grad(cost)).plan(background);

  const std::int64_t all = window + after;
  Array real = forecast(truth, all), believed = forecast(background, all), analysed = forecast(analysis, all);
  auto error = [&](const Array& x) { return sqrt(mean(square(x - real), 1)); };
  Array time = arange(all).astype(f64) * (dt * 5);  // a unit of this model is about five days
  std::cout << "error now: " << show::digits(error(believed)[window - 1].item()) << " without, "
            << show::digits(error(analysed)[window - 1].item()) << " with the measurements\n";

  show::Figure figure("4D-Var: Lorenz's model of 1996");
  figure.panel("truth", "site across, time down").image(real, show::Colours::signs, -12.0, 12.0);
  figure.panel("from the background", "site across, time down").image(believed, show::Colours::signs, -12.0, 12.0);
  figure.panel("from the analysis", "site across, time down").image(analysed, show::Colours::signs, -12.0, 12.0);
  figure.panel("start", "site").line(truth, "truth").line(background, "background").line(analysis, "analysis");
  figure.panel("error of the forecast", "days")
      .line(time, error(believed), "background")
      .line(time, error(analysed), "analysis");
  figure.panel("site 7", "days")
      .line(time, real[{slice(), 7}], "truth")
      .line(time, believed[{slice(), 7}], "background")
      .line(time, analysed[{slice(), 7}], "analysis");
  figure.save(options.picture("data_assimilation"));
  return bool(norm(analysis - truth) < norm(background - truth)) ? 0 : 1;
}
