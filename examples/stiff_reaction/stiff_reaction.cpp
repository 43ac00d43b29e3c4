// Rates of a stiff reaction from measurements: Robertson's three species react on time scales from microseconds to
// days. An implicit integrator with steps of its own choice solves it; Levenberg and Marquardt's method finds the three
// rates from noisy measurements, with derivatives through the integrator.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

// A -> B (slow), B + B -> B + C (very fast), B + C -> A + C (fast).
Array reaction(const Array& y, const Array& k) {
  Array slow = k[0] * y[0], fastest = k[1] * square(y[1]), fast = k[2] * y[1] * y[2];
  return stack({fast - slow, slow - fast - fastest, fastest});
}
Array solution(const Array& log_rates, const Array& ts) {
  Array k = exp(log_rates);
  auto rate = [&](Array y, Array) { return reaction(y, k); };
  return odeint(rate, array({1.0, 0.0, 0.0}), ts, {.rtol = 1e-6, .atol = 1e-10, .method = "rodas4"});
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "Rates of a stiff reaction, found from noisy measurements.");
  X64 precise;
  const std::int64_t times = options.small ? 8 : 40;
  Array ts = concatenate({zeros(1), exp(linspace(std::log(1e-3), std::log(options.small ? 1e2 : 1e4), times))});
  Array truth = log(array({0.04, 3e7, 1e4}));

  // All species are seen, B as twenty thousand times what it is, with an error of half a percent of the largest.
  const Array scale = array({1.0, 2e4, 1.0});
  auto seen = [&](const Array& y) { return transpose(y[slice(1, none)] * scale); };
  Array clean = seen(solution(truth, ts));
  Array measured = clean + 0.005 * random::normal(random::key(2), clean.shape());
  auto residuals = [&](Array log_rates) { return ravel(seen(solution(log_rates, ts)) - measured) / 0.005; };

  Array start = truth + array({0.8, -1.5, 1.0});
  auto [guess, how] = odeint_info([&](Array y, Array) { return reaction(y, exp(start)); }, array({1.0, 0.0, 0.0}), ts,
                                  {.rtol = 1e-6, .atol = 1e-10, .method = "rodas4"});
  std::cout << "one solution from 0 to " << ts[-1] << " s: " << how.steps << " steps\n";
  auto found = optim::levenberg_marquardt(residuals, start, {.maxiter = options.small ? 3 : 40});
  Array rates = exp(found.x);
  std::cout << "rates " << rates << ", real ones " << exp(truth) << "; " << found.iterations
            << " iterations, sum of squares " << show::digits(2 * found.value) << " for " << measured.size()
            << " measurements\n"
            << jit([&](Array p) { return vjp(residuals, p).second(ones(measured.size())); }).plan(start);

  // How well they are known: the inverse of J^T J.
  Array j = jacfwd(residuals)(found.x), error = sqrt(diag(linalg::inv(matmul(j.T(), j))));
  std::cout << "relative errors of the rates: " << error << "\n";

  Array fitted = solution(found.x, ts), at = log(ts[slice(1, none)]) / std::log(10.0);
  show::Figure figure("A stiff reaction");
  const char* species[] = {"A", "B, a few millionths", "C"};
  for (int i = 0; i < 3; ++i) {
    auto& panel = figure.panel(species[i], "log10 of seconds");
    panel.line(at, fitted[{slice(1, none), i}], "fit").dashed(at, guess[{slice(1, none), i}], "first guess");
    panel.points(at, measured[i] / scale[i], "measured");
  }
  figure.save(options.picture("stiff_reaction"));
  return options.small || bool(max(abs(found.x - truth)) < 0.2) ? 0 : 1;
}
