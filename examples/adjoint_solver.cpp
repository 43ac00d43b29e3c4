// The adjoint of a solver that knows nothing of arrays: a plain C++ struct with its own step and its own adjoint, as in
// finite-element and finite-volume codes. Inverse problem: a hot spot has spread and drifted; where did the heat come
// from? The gradient of the misfit with respect to all initial temperatures comes from one run forward and one back,
// for which Checkpointing keeps a few states in memory and on disk. Killed and started again, the program goes on from
// disk.
//
//     adjoint_solver [folder]          states of a resumable run go to this folder
#include <anew/checkpointing.h>

#include <cmath>
#include <cstdio>
#include <istream>
#include <ostream>
#include <vector>

// Temperatures on a ring, and the time step that the last error estimate allowed: adaptive, so nobody knows how many
// steps it takes to reach the end.
struct Field {
  std::vector<double> u;
  double t = 0, dt = 0;
};
constexpr double speed = 0.4, conductivity = 0.3, end_time = 60;

double at(const std::vector<double>& u, std::size_t i, int offset) {
  const auto n = static_cast<int>(u.size());
  return u[static_cast<std::size_t>((static_cast<int>(i) + offset + n) % n)];
}
// du/dt, nonlinear: heat flows better where it is hot.
double rate(double left, double here, double right) {
  return -speed * (here - left) + conductivity * (1 + 0.1 * here * here) * (left - 2 * here + right);
}

bool step(Field& f) {
  double fastest = 0;
  std::vector<double> change(f.u.size());
  for (std::size_t i = 0; i < f.u.size(); ++i) {
    change[i] = rate(at(f.u, i, -1), f.u[i], at(f.u, i, 1));
    fastest = std::fmax(fastest, std::abs(change[i]));
  }
  f.dt = std::fmin(0.5, 0.02 / (fastest + 1e-3));
  for (std::size_t i = 0; i < f.u.size(); ++i) f.u[i] += f.dt * change[i];
  f.t += f.dt;
  return f.t < end_time;
}

// Cotangents one step back; time steps are taken as given, as is usual.
void adjoint(const Field& before, std::vector<double>& ct) {
  Field after = before;
  step(after);
  std::vector<double> out = ct;
  for (std::size_t i = 0; i < ct.size(); ++i) {
    const double here = before.u[i], bend = at(before.u, i, -1) - 2 * here + at(before.u, i, 1);
    const double k = conductivity * (1 + 0.1 * here * here), c = after.dt * ct[i];
    const std::size_t n = ct.size(), left = (i + n - 1) % n, right = (i + 1) % n;
    out[left] += c * (speed + k);
    out[i] += c * (-speed - 2 * k + conductivity * 0.2 * here * bend);
    out[right] += c * k;
  }
  ct = out;
}

void write(std::ostream& out, const std::vector<double>& v) {
  out.write(reinterpret_cast<const char*>(v.data()), static_cast<std::streamsize>(v.size() * sizeof(double)));
}
void read(std::istream& in, std::vector<double>& v) {
  in.read(reinterpret_cast<char*>(v.data()), static_cast<std::streamsize>(v.size() * sizeof(double)));
}

int main(int argc, char** argv) {
  Field start{std::vector<double>(256, 0.0)};
  for (std::size_t i = 100; i < 130; ++i) start.u[i] = 1;
  std::vector<double> ct(start.u.size());

  anew::CheckpointingOptions<Field> options{.slots = 4};
  if (argc > 1) {
    options.disk = argv[1];
    options.disk_slots = 12;
    options.resume = true;
    options.write = [](std::ostream& out, const Field& f) {
      write(out, f.u);
      out.write(reinterpret_cast<const char*>(&f.t), sizeof f.t);
    };
    options.read = [](std::istream& in, Field& f) {
      read(in, f.u);
      in.read(reinterpret_cast<char*>(&f.t), sizeof f.t);
    };
    options.write_adjoint = [&](std::ostream& out) { write(out, ct); };
    options.read_adjoint = [&](std::istream& in) { read(in, ct); };
  }
  anew::Checkpointing<Field> run(options);
  const std::int64_t steps = run.forward(start, [](Field& f, std::int64_t) { return step(f); });

  double misfit = 0;
  for (std::size_t i = 0; i < ct.size(); ++i) {
    const double observed = i > 120 && i < 160 ? 0.6 : 0;
    ct[i] = run.state().u[i] - observed;
    misfit += ct[i] * ct[i] / 2;
  }
  run.backward([&](const Field& before, std::int64_t) { adjoint(before, ct); });

  std::size_t best = 0;
  for (std::size_t i = 0; i < ct.size(); ++i) best = ct[i] < ct[best] ? i : best;
  std::printf("%lld steps forward, %lld of them again on the way back\n", static_cast<long long>(steps),
              static_cast<long long>(run.recomputed()));
  std::printf("misfit %.6f, which more heat at %zu lowers most: %.6f\n", misfit, best, ct[best]);
}
