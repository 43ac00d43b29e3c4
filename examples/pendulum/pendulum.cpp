// Swing-up of a pendulum whose motor is too weak to lift it: it must be swung to and fro first. The torque at every
// time step is found by gradient descent through the simulation; nobody tells it to swing.
#include <anew/anew.h>

#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

constexpr double gravity = 9.81, friction = 0.1, strongest = 4.0, dt = 0.025;

struct State {
  Array angle, speed;  // angle 0 hangs down, pi stands up
};

State derivative(const State& s, const Array& torque) {
  return {s.speed, torque - gravity * sin(s.angle) - friction * s.speed};
}
State moved(const State& s, double h, const State& d) { return {s.angle + h * d.angle, s.speed + h * d.speed}; }

// One step of the fourth-order method of Runge and Kutta.
State advance(const State& s, const Array& torque) {
  State a = derivative(s, torque), b = derivative(moved(s, dt / 2, a), torque);
  State c = derivative(moved(s, dt / 2, b), torque), d = derivative(moved(s, dt, c), torque);
  return {s.angle + dt / 6 * (a.angle + 2 * b.angle + 2 * c.angle + d.angle),
          s.speed + dt / 6 * (a.speed + 2 * b.speed + 2 * c.speed + d.speed)};
}

// Angles and speeds after each step, of a pendulum at rest.
State simulate(const Array& torques) {
  auto step = [](State s, Array torque) {
    State next = advance(s, torque);
    return std::pair(next, next);
  };
  return scan(step, State{0.0, 0.0}, torques).second;
}

Array torque_of(const Array& knobs) { return strongest * tanh(knobs); }

// Height that is missing over the last quarter of the time, the speed there, and a little for the effort.
Array cost(const Array& knobs) {
  Array torques = torque_of(knobs);
  State path = simulate(torques);
  const auto end = slice(-path.angle.shape()[0] / 4, none);
  return mean(1 + cos(path.angle[end])) + 0.05 * mean(square(path.speed[end])) + 1e-3 * mean(square(torques)) +
         0.05 * mean(1 + cos(path.angle));
}

int main(int argc, char** argv) {
  const auto options = show::options(
      argc, argv, "Swing-up: torques that bring a pendulum up, found by gradients through the simulation.");
  const std::int64_t steps = 240;
  const int iterations = options.small ? 20 : 1500;

  Array knobs = 0.1 * random::normal(random::key(1), {steps});
  auto opt = optim::adam(optim::cosine_decay_schedule(0.05, iterations));
  auto state = opt.init(knobs);
  auto step = jit([&](Array knobs, decltype(state) state) {
                auto [value, gradient] = value_and_grad(cost)(knobs);
                auto [updates, next] = opt.update(gradient, state, knobs);
                return std::tuple(optim::apply_updates(knobs, updates), next, value);
              }).compile(knobs, state);
  std::vector<double> costs;
  Array value;
  show::Progress progress("swing-up", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(knobs, state, value) = step(knobs, state);
    costs.push_back(value.item());
    progress.step("cost " + show::digits(costs.back()));
  }

  Array torques = torque_of(knobs);
  State path = simulate(torques);
  const double up = mean(-cos(path.angle[slice(-20, none)])).item();
  std::cout << "height at the end: " << show::digits(up) << " (1 is upright)\n" << step.plan();

  Array time = arange(steps).astype(f32) * dt;
  show::Figure figure("Pendulum swing-up");
  figure.panel("height", "seconds").line(time, -cos(path.angle));
  figure.panel("torque", "seconds").line(time, torques);
  figure.panel("angle and speed", "angle", "speed").line(path.angle, path.speed);
  figure.panel("cost", "iteration").line(array(costs)).log_y();
  figure.save(options.picture("pendulum"));
  return options.small || up > 0.95 ? 0 : 1;
}
