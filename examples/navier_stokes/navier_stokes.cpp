// Control of a flow: which wind must blow at the start, so that smoke drifts into a given shape? The gradient goes
// through all steps of an incompressible flow: advection along the streamlines, projection by Fourier transforms.
#include <anew/anew.h>

#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Flow {
  Array across, down;  // velocities in cells per step, periodic [n, n]
};

// f where it was one step before: read along the velocity, with linear interpolation between cells.
Array advect(const Array& f, const Flow& flow) {
  const std::int64_t n = f.shape()[0];
  Array cells = arange(n).astype(f32);
  Array row = cells[{slice(), newaxis}] - flow.down, column = cells - flow.across;
  Array top = floor(row), left = floor(column);
  Array y = row - top, x = column - left;
  Array r = top.astype(i32), c = left.astype(i32), flat = ravel(f);
  auto at = [&](const Array& r, const Array& c) { return take(flat, remainder(r, n) * n + remainder(c, n)); };
  return (1 - y) * ((1 - x) * at(r, c) + x * at(r, c + 1)) + y * ((1 - x) * at(r + 1, c) + x * at(r + 1, c + 1));
}

// The part of a flow that neither gathers nor leaves a hole: its Fourier coefficients at right angles to the wave.
Flow incompressible(const Flow& flow) {
  const std::int64_t n = flow.across.shape()[0];
  Array ky = fft::fftfreq(n)[{slice(), newaxis}], kx = fft::rfftfreq(n);
  Array square_of = square(kx) + square(ky),
        scale = where(square_of > 0, 1 / where(square_of > 0, square_of, 1.0), 0.0);
  auto [u, ui] = fft::rfftn(flow.across);
  auto [v, vi] = fft::rfftn(flow.down);
  Array p = (kx * u + ky * v) * scale, pi = (kx * ui + ky * vi) * scale;
  return {fft::irfftn(u - kx * p, ui - kx * pi, Shape{n, n}), fft::irfftn(v - ky * p, vi - ky * pi, Shape{n, n})};
}

struct Weather {
  Flow flow;
  Array smoke;
};
Weather blow(const Flow& first, const Array& smoke, std::int64_t steps) {
  auto step = [](Weather w, none_t) {
    Flow moved = incompressible({advect(w.flow.across, w.flow), advect(w.flow.down, w.flow)});
    return std::pair(Weather{moved, advect(w.smoke, moved)}, none);
  };
  return scan(checkpoint(step), Weather{incompressible(first), smoke}, none, {.length = steps}).first;
}

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "Control of a flow: the wind that makes smoke drift into a ring.");
  const std::int64_t n = options.small ? 24 : 64, steps = options.small ? 8 : 40;
  const int iterations = options.small ? 4 : 150;

  Array i = (arange(n).astype(f32) + 0.5) / double(n) - 0.5, radius = sqrt(square(i)[{slice(), newaxis}] + square(i));
  Array smoke = nn::sigmoid(40 * (0.22 - radius));                                       // a disc
  Array target = nn::sigmoid(40 * (0.30 - radius)) * nn::sigmoid(40 * (radius - 0.18));  // a ring
  target = target * (sum(smoke) / sum(target));

  auto loss = [&](Flow first) { return mean(square(blow(first, smoke, steps).smoke - target)); };
  auto [k1, k2] = random::split(random::key(0));
  Flow wind{0.05 * random::normal(k1, {n, n}), 0.05 * random::normal(k2, {n, n})};
  auto opt = optim::adam(0.02);
  auto state = opt.init(wind);
  auto step = jit([&](Flow wind, decltype(state) state) {
                auto [value, gradient] = value_and_grad(loss)(wind);
                auto [updates, next] = opt.update(gradient, state, wind);
                return std::tuple(optim::apply_updates(wind, updates), next, value);
              }).compile(wind, state);
  std::vector<double> losses;
  Array value;
  show::Progress progress("wind", iterations);
  for (int k = 0; k < iterations; ++k) {
    std::tie(wind, state, value) = step(wind, state);
    losses.push_back(value.item());
    progress.step("distance " + show::digits(losses.back()));
  }
  std::cout << "distance to the ring: " << show::digits(losses.front()) << " at first, " << show::digits(losses.back())
            << " now\n"
            << step.plan();

  Flow first = incompressible(wind);
  Array curl = roll(first.down, -1, 1) - roll(first.down, 1, 1) - roll(first.across, -1, 0) + roll(first.across, 1, 0);
  show::Figure figure("Control of a flow");
  figure.panel("smoke at the start").image(smoke, show::Colours::heat, 0.0, 1.0);
  figure.panel("half way").image(blow(wind, smoke, steps / 2).smoke, show::Colours::heat, 0.0, 1.0);
  figure.panel("smoke at the end").image(blow(wind, smoke, steps).smoke, show::Colours::heat, 0.0, 1.0);
  figure.panel("where it should be").image(target, show::Colours::heat, 0.0, 1.0);
  figure.panel("curl of the wind found").image(curl, show::Colours::signs);
  figure.panel("distance", "iteration").line(array(losses)).log_y();
  figure.save(options.picture("navier_stokes"));
  return losses.back() < losses.front() ? 0 : 1;
}
