// Orbit design: from the Earth's orbit to that of Mars, past the pull of Jupiter, with the least change of speed. The
// departure velocity and the time of flight are found by gradients through an integrator that chooses its own steps.
#include <anew/anew.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

// Units: the Earth's distance to the Sun, years; then the Sun's gravity is 4 pi^2.
constexpr double sun = 4 * M_PI * M_PI, jupiter = sun / 1047, mars_radius = 1.524, jupiter_radius = 5.203;

struct Planet {
  double radius, angle;
};
Array place(const Planet& p, const Array& t) {
  Array angle = p.angle + std::sqrt(sun / std::pow(p.radius, 3)) * t;
  return p.radius * stack({cos(angle), sin(angle)}, -1);
}
Array velocity(const Planet& p, const Array& t) {
  const double turn = std::sqrt(sun / std::pow(p.radius, 3));
  Array angle = p.angle + turn * t;
  return p.radius * turn * stack({-sin(angle), cos(angle)}, -1);
}
const Planet earth_now{1, 0}, mars_now{mars_radius, 0.9}, jupiter_now{jupiter_radius, 2.0};

Array pull(const Array& from, const Array& to, double strength) {
  Array d = to - from, r2 = sum(square(d));
  return strength * d / (r2 * sqrt(r2));
}

struct Craft {
  Array x, v;
};
// What is chosen: velocity at departure (beyond the Earth's), and years on the way.
struct Plan {
  Array kick, years;
};

// Places and velocities at n times from departure to arrival. Time runs from 0 to 1, so that its length can be learned.
Craft fly(const Plan& p, std::int64_t n) {
  auto rate = [&](Craft c, Array s) {
    Array t = s * p.years;
    Array a = pull(c.x, zeros(2), sun) + pull(c.x, place(jupiter_now, t), jupiter);
    return Craft{p.years * c.v, p.years * a};
  };
  Craft start{place(earth_now, 0.0), velocity(earth_now, 0.0) + p.kick};
  return odeint(rate, start, linspace(0, 1, n), {.rtol = 1e-9, .atol = 1e-9});
}

// Kilometres a second: to leave and to arrive.
constexpr double km_per_second = 4.74;
Array effort(const Plan& p, const Craft& path) {
  Array arrival = path.v[-1] - velocity(mars_now, p.years);
  return km_per_second * (norm(p.kick) + norm(arrival));
}
Array miss(const Plan& p, const Craft& path) { return path.x[-1] - place(mars_now, p.years); }

int main(int argc, char** argv) {
  const auto options = show::options(argc, argv, "Orbit design: to Mars with the least change of speed.");
  X64 precise;
  Plan p{array({0.0, 0.6}), array(0.7)};
  const Craft guess = fly(p, 60);

  // First hit the planet, then save fuel, with a price on missing that rises.
  std::vector<double> prices = options.small ? std::vector<double>{10} : std::vector<double>{1, 10, 100, 1e3, 1e4, 1e5},
                      efforts, misses;
  show::Progress progress("design", int(prices.size()));
  for (double price : prices) {
    auto cost = [&](Plan p) {
      Craft path = fly(p, 2);
      return effort(p, path) + price * sum(square(miss(p, path)));
    };
    p = optim::lbfgs(cost, p, {.maxiter = options.small ? 3 : 60}).x;
    Craft path = fly(p, 2);
    efforts.push_back(effort(p, path).item());
    misses.push_back(norm(miss(p, path)).item());
    progress.step(show::digits(efforts.back()) + " km/s, misses by " + show::digits(misses.back() * 149.6e6) + " km");
  }
  std::cout << "departure " << km_per_second * p.kick << " km/s, " << show::digits(p.years.item() * 365.25)
            << " days on the way\n"
            << "the transfer of Hohmann, without Jupiter and with a free choice of the day: 5.59 km/s\n"
            << jit(grad([](Plan p) { return effort(p, fly(p, 2)); })).plan(p);

  const Craft path = fly(p, 100);
  Array t = linspace(0, 1, 100) * p.years, circle = linspace(0, 2 * M_PI, 100);
  auto across = [](const Array& x) { return x[{slice(), 0}]; };
  auto up = [](const Array& x) { return x[{slice(), 1}]; };
  show::Figure figure("From the Earth to Mars", 2);
  figure.panel("paths")
      .line(cos(circle), sin(circle), "Earth")
      .line(mars_radius * cos(circle), mars_radius * sin(circle), "Mars")
      .dashed(across(guess.x), up(guess.x), "first guess")
      .line(across(path.x), up(path.x), "found")
      .points(across(place(mars_now, t))[slice(-1, none)], up(place(mars_now, t))[slice(-1, none)], "arrival")
      .equal_axes();
  figure.panel("change of speed, km/s", "rising price on missing").line(array(efforts));
  figure.panel("distance to Mars", "years").line(t, norm(path.x - place(mars_now, t), 1));
  figure.panel("misses by, km", "rising price on missing").line(array(misses) * 149.6e6).log_y();
  figure.save(options.picture("orbit"));
  return options.small || misses.back() < 1e-3 ? 0 : 1;
}
