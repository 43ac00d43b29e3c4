// Full waveform inversion: sound is sent into the ground at a few places and heard along the surface; how fast does it
// travel below? The velocity of every cell is found by gradient descent through all time steps of the wave equation.
// Plain reverse mode would keep every step; {.memory = ...} keeps what fits, and the gradient has the same bits.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Survey {
  std::int64_t cells, steps, shots;
  std::size_t memory;
};
constexpr double dx = 10, dt = 0.002;  // metres, seconds
constexpr double v_typical = 2000;     // metres per second
constexpr std::int64_t surface = 3;    // the row of sources and receivers

Array laplacian(const Array& u) {
  Array p = pad(u, {{0, 0}, {1, 1}, {1, 1}});
  const auto inner = slice(1, -1), all = slice();
  return p[{all, slice(2, none), inner}] + p[{all, slice(none, -2), inner}] + p[{all, inner, slice(2, none)}] +
         p[{all, inner, slice(none, -2)}] - 4 * u;
}

// 1 inside, less towards the left, right and lower border, so that waves leave the picture.
Array sponge(std::int64_t n) {
  Array i = arange(n).astype(f32);
  Array depth = maximum(maximum(8 - i, i - (n - 9)), 0.0);
  Array side = exp(-0.015 * square(depth)), below = exp(-0.015 * square(maximum(i - (n - 9), 0.0)));
  return outer(below, side);
}

struct Wave {
  Array now, before;  // [shots, cells, cells]
};

// What the receivers hear, [steps, shots, cells], in ground of relative velocity v [cells, cells].
Array record(const Array& v, const Survey& s, std::optional<std::size_t> memory) {
  Array speed = square(v * (v_typical * dt / dx)), damping = sponge(s.cells);
  Array t = arange(s.steps).astype(f32) * dt - 0.1, a = square(t * (M_PI * 12));
  Array wavelet = (1 - 2 * a) * exp(-a);  // Ricker's, 12 Hz
  std::vector<Array> places;
  for (std::int64_t k = 0; k < s.shots; ++k) {
    const std::int64_t column = s.cells * (2 * k + 1) / (2 * s.shots);
    places.push_back(zeros({s.cells, s.cells}).at({surface, column}).set(1.0));
  }
  Array sources = stack(places);
  auto step = [&](Wave w, Array strength) {
    Array next = (2 * w.now - w.before + speed * laplacian(w.now) + sources * strength) * damping;
    return std::pair(Wave{next, w.now * damping}, next[{slice(), surface, slice()}]);
  };
  Array silence = zeros({s.shots, s.cells, s.cells});
  return scan(step, Wave{silence, silence}, wavelet, {.memory = memory}).second;
}

int main(int argc, char** argv) {
  const auto options = show::options(
      argc, argv, "Full waveform inversion: the velocity of sound below the surface from what is heard above.");
  const Survey s = options.small ? Survey{32, 80, 2, 1_MiB} : Survey{80, 500, 6, 24_MiB};
  const int iterations = options.small ? 4 : 80;

  // The ground: faster with depth, with a slow lens and a fast block in it.
  Array row = (arange(s.cells).astype(f32) / double(s.cells))[{slice(), newaxis}], column = row.T();
  Array start = broadcast_to(0.8 + 0.35 * row, {s.cells, s.cells});
  Array lens = exp(-square((row - 0.45) / 0.10) - square((column - 0.35) / 0.16));
  Array block = exp(-square((row - 0.60) / 0.12) - square((column - 0.70) / 0.10));
  Array truth = start - 0.18 * lens + 0.18 * block;
  Array heard = jit([&](Array v) { return record(v, s, {}); })(truth);

  // The unknown is a change of the velocity, none beside the sources and in the damped border; smooth ones are
  // preferred.
  Array inside = where((row < 0.09) | (row > 0.9) | (column < 0.1) | (column > 0.9), 0.0, 1.0);
  auto velocity = [&](const Array& change) { return clip(start + inside * change, 0.5, 1.5); };
  auto misfit = [&](const Array& change, std::optional<std::size_t> memory) {
    Array roughness = mean(square(diff(change, 1, 0))) + mean(square(diff(change, 1, 1)));
    return 1e3 * mean(square(record(velocity(change), s, memory) - heard)) + 2.0 * roughness;
  };
  auto cost = [&](Array change) { return misfit(change, s.memory); };
  auto plain = [&](Array change) { return misfit(change, {}); };
  const Array nothing = zeros_like(start);
  const MemoryPlan plan = jit(grad(cost)).plan(nothing);
  std::cout << "a gradient that keeps every step: " << show::bytes(jit(grad(plain)).plan(nothing).peak_bytes)
            << "; within " << show::bytes(s.memory) << " for the states: " << show::bytes(plan.peak_bytes) << "\n";

  std::vector<double> losses;
  show::Progress progress("inversion", iterations);
  auto tell = [&](const optim::Progress& p) {
    losses.push_back(p.value);
    progress.step("misfit " + show::digits(p.value));
  };
  Array v = velocity(optim::lbfgs(cost, nothing, {.maxiter = iterations, .callback = tell}).x);

  const double before = norm(start - truth).item(), after = norm(v - truth).item();
  std::cout << "error of the velocities: " << show::digits(100 * after / before) << " % of that of the first guess\n"
            << plan;
  show::Figure figure("Full waveform inversion");
  figure.panel("truth").image(truth, show::Colours::heat, 0.7, 1.25);
  figure.panel("first guess").image(start, show::Colours::heat, 0.7, 1.25);
  figure.panel("found").image(v, show::Colours::heat, 0.7, 1.25);
  figure.panel("heard after a shot", "receivers across, time down")
      .image(heard[{slice(none, none, 2), 0}], show::Colours::signs, -0.15, 0.15);
  figure.panel("what was changed").image(v - start, show::Colours::signs);
  figure.panel("misfit", "iteration").line(array(losses)).log_y();
  figure.save(options.picture("waveform_inversion"));
  return after < before ? 0 : 1;
}
