// Programs of scientists that nobody tuned for: bodies that attract each other, a flow in two dimensions, Hamiltonian
// Monte Carlo, a fit by the method of Gauss and Newton.
#include <cmath>
#include <numbers>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

// ---- n bodies, leapfrog; the gradient by the velocities at the start
Array forces(const Array& x) {
  Array d = x[{newaxis, slice(), slice()}] - x[{slice(), newaxis, slice()}];
  Array r = sum(square(d), 2) + 0.01;
  return sum(d * (1.0 / (r * sqrt(r)))[{slice(), slice(), newaxis}], 1);
}
struct Motion {
  Array x, v;
};
Case nbody(const std::string&, const Sizes& s) {
  const std::int64_t n = s["bodies"], steps = s["steps"];
  auto loss = [=](const Array& v, const Array& x) {
    const double dt = 1e-3 / static_cast<double>(n);
    auto step = [dt](Motion m, none_t) {
      Array v = m.v + (0.5 * dt) * forces(m.x);
      Array x = m.x + dt * v;
      return std::pair(Motion{x, v + (0.5 * dt) * forces(x)}, none);
    };
    const Motion last = scan(step, Motion{x, v}, none, {.length = steps}).first;
    return mean(square(last.x)) + mean(square(last.v));
  };
  return case_of(value_and_grad(loss), fill(1200, {n, 3}), fill(1201, {n, 3}));
}

// ---- vorticity on a torus: Poisson's equation by Fourier transforms, differences for the rest
Array shifted(const Array& x, std::int64_t by, int axis) { return roll(x, by, axis); }
Array slope(const Array& x, int axis) { return 0.5 * (shifted(x, -1, axis) - shifted(x, 1, axis)); }
Array curvature(const Array& x) {
  return shifted(x, -1, 0) + shifted(x, 1, 0) + shifted(x, -1, 1) + shifted(x, 1, 1) - 4 * x;
}
// 1 / (the eigenvalues of minus the Laplacian), 0 for the constant.
Array inverse_laplacian(std::int64_t n) {
  std::vector<double> out;
  auto eigenvalue = [&](std::int64_t k) {
    return 2 - 2 * std::cos(2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= n / 2; ++j) out.push_back(i == 0 && j == 0 ? 0 : 1 / (eigenvalue(i) + eigenvalue(j)));
  return array(out, Shape{n, n / 2 + 1}, f64);
}
Case navier_stokes(const std::string&, const Sizes& s) {
  const std::int64_t n = s["side"], steps = s["steps"];
  auto loss = [=](const Array& w0, const Array& inverse) {
    auto step = [=](Array w, none_t) {
      auto [re, im] = fft::rfftn(w);
      Array psi = fft::irfftn(re * inverse, im * inverse, Shape{n, n});
      Array advected = slope(psi, 1) * slope(w, 0) - slope(psi, 0) * slope(w, 1);
      return std::pair(w + 0.05 * (0.1 * curvature(w) - advected), none);
    };
    return mean(square(scan(step, w0, none, {.length = steps}).first));
  };
  return case_of(value_and_grad(loss), fill(1210, {n, n}, 1, 0, f64), inverse_laplacian(n));
}

// ---- Hamiltonian Monte Carlo for a logistic regression, several chains; momenta and thresholds are given
Case hmc(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"], d = s["features"], chains = s["chains"];
  const int leaps = static_cast<int>(s["leaps"]);
  auto run = [=](const Array& x, const Array& t, const Array& start, const Array& momenta, const Array& thresholds) {
    auto energy = [&](const Array& q) {  // of all chains
      return sum(logaddexp(0.0, -t[{newaxis, slice()}] * matmul(q, x.T())), 1) + 0.5 * sum(square(q), 1);
    };
    auto force = grad([&](Array q) { return sum(energy(q)); });
    auto step = [&](Array q, std::pair<Array, Array> in) {
      auto [p, threshold] = in;
      Array q1 = q, p1 = p - 0.01 * force(q);
      for (int i = 0; i < leaps; ++i) {
        q1 = q1 + 0.02 * p1;
        p1 = p1 - (i + 1 < leaps ? 0.02 : 0.01) * force(q1);
      }
      Array before = energy(q) + 0.5 * sum(square(p), 1), after = energy(q1) + 0.5 * sum(square(p1), 1);
      Array kept = where((threshold < exp(before - after))[{slice(), newaxis}], q1, q);
      return std::pair(kept, mean(energy(kept)));
    };
    auto [last, energies] = scan(step, start, std::pair(momenta, thresholds));
    return std::pair(mean(energies), last);
  };
  const std::int64_t draws = s["draws"];
  return case_of(run, fill(1220, {rows, d}, 1, 0, f64), 2.0 * astype(ints(1221, {rows}, 2), f64) - 1.0,
                 fill(1222, {chains, d}, 0.1, 0, f64), fill(1223, {draws, chains, d}, 1.7, 0, f64),
                 fill(1224, {draws, chains}, 0.5, 0.5, f64));
}

// ---- peaks fitted to a curve: heights, places, widths
Array peaks(const Array& p, const Array& t) {
  const std::int64_t n = p.shape()[0] / 3;
  Array q = reshape(p, {3, n});
  Array away = (t[{slice(), newaxis}] - q[1]) / q[2];
  return matmul(exp(-square(away)), q[0]);
}
Case gauss_newton(const std::string&, const Sizes& s) {
  const std::int64_t m = s["points"], n = s["peaks"];
  const int steps = static_cast<int>(s["steps"]);
  auto fit = [=](const Array& start, const Array& t, const Array& y) {
    auto residuals = [&](Array p) { return peaks(p, t) - y; };
    Array p = start;
    for (int i = 0; i < steps; ++i) {
      Array j = jacfwd(residuals)(p);
      p = p - linalg::solve(matmul(j.T(), j) + 0.1 * eye(3 * n, 3 * n, 0, f64), matmul(j.T(), residuals(p)));
    }
    return std::pair(mean(square(residuals(p))), p);
  };
  std::vector<double> places, times;
  for (std::int64_t i = 0; i < n; ++i) places.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  for (std::int64_t i = 0; i < m; ++i) times.push_back(static_cast<double>(i) / static_cast<double>(m));
  const double width = 0.5 / static_cast<double>(n);
  const Array centres = array(places, Shape{n}, f64), t = array(times, Shape{m}, f64);
  const Array truth = concatenate({fill(1230, {n}, 0.3, 1, f64), centres + fill(1231, {n}, 0.1 * width, 0, f64),
                                   fill(1232, {n}, 0.1 * width, width, f64)});
  const Array start = concatenate({ones({n}, f64), centres, width * ones({n}, f64)});
  return case_of(fit, start, t, peaks(truth, t) + fill(1233, {m}, 0.05, 0, f64));
}

}  // namespace

std::vector<Workload> untuned_science() {
  return {
      {"nbody", {"scan"}, {{"bodies", 300}, {"steps", 20}}, {{"bodies", 9}, {"steps", 4}}, nbody, 1e-5},
      {"navier_stokes_f64", {"scan"}, {{"side", 96}, {"steps", 40}}, {{"side", 8}, {"steps", 3}}, navier_stokes, 1e-9},
      {"hmc_f64",
       {"jit"},
       {{"rows", 600}, {"features", 24}, {"chains", 8}, {"leaps", 10}, {"draws", 20}},
       {{"rows", 12}, {"features", 3}, {"chains", 2}, {"leaps", 3}, {"draws", 4}},
       hmc,
       1e-8},
      {"gauss_newton_f64",
       {"jit"},
       {{"points", 3000}, {"peaks", 12}, {"steps", 6}},
       {{"points", 30}, {"peaks", 2}, {"steps", 2}},
       gauss_newton,
       1e-8}};
}

}  // namespace workloads
