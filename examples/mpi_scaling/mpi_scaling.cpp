// What travels between ranks, counted and on paper: bytes and messages of a step of three programs (a data-parallel
// gradient, a grid with halos, a pipeline of layers) are counted on the ranks that there are, held to formulas, and the
// formulas drawn for 2 to 4096 ranks, with the time that a usual network would take.
//
//     mpirun -n 4 example_mpi_scaling [--small] [--out FOLDER]
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Count {
  double messages = 0, bytes = 0;  // that the rank which sends most sends in a step
};
using Model = Count (*)(double ranks);

constexpr double parameters = 1 << 20, side = 1024, width = 64, microbatches = 16;
// A network of 100 Gbit/s, two microseconds away; a message that waits for no other still takes time to send.
constexpr double per_message = 2e-6, per_byte = 1 / 12.5e9, per_send = 2e-7;

// ---- the usual models of a sum over ranks, and ours: parts to those who sum them, and back
double bytes_of_sum(double n) { return 2 * (n - 1) / n * 4 * parameters; }
Count ring(double n) { return {2 * (n - 1), bytes_of_sum(n)}; }
Count ours(double n) { return {2 * (n - 1), bytes_of_sum(n)}; }  // all at once: two waits instead of 2 (n - 1)
Count tree(double n) { return {2 * std::log2(n), 2 * std::log2(n) * 4 * parameters}; }
Count halo(double n) { return {n > 2 ? 2. : 1., (n > 2 ? 2 : 1) * 4 * side}; }
Count pipeline(double n) { return {microbatches + n - 1, (microbatches + n - 1) * 4 * width}; }
double seconds(Count c) { return c.messages * per_message + c.bytes * per_byte; }

// ---- the programs, each one step
Array data_parallel_step(const mpi::Comm& world) {
  auto loss = [](Array w, Array x) { return mean(square(w * x)); };
  return mpi::data_parallel(grad(loss), world)(ones(std::int64_t(parameters)), array(1.0 + world.rank()));
}
Array halo_step(const mpi::Comm& world) { return mpi::halo_exchange(ones({4, std::int64_t(side)}), world); }
// Each rank has a layer; small batches go from rank to rank, one behind the other.
Array pipeline_step(const mpi::Comm& world) {
  std::vector<std::pair<int, int>> onward;
  for (int r = 0; r + 1 < world.size(); ++r) onward.emplace_back(r, r + 1);
  Array held = zeros(std::int64_t(width));
  for (int t = 0; t < int(microbatches) + world.size() - 1; ++t) held = ppermute(tanh(held + 1), world, onward);
  return held;
}

Count counted(Array (*step)(const mpi::Comm&), const mpi::Comm& world) {
  const mpi::Traffic before = mpi::traffic();
  (void)step(world);
  const mpi::Traffic after = mpi::traffic();
  return {pmax(array(double(after.messages - before.messages)), world).item(),
          pmax(array(double(after.bytes - before.bytes)), world).item()};
}

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const mpi::Comm world = mpi::world();
  if (world.rank() != 0) std::cout.setstate(std::ios::failbit);
  const auto options =
      show::options(argc, argv, "What travels between ranks (mpirun): counted here, drawn for up to 4096.");

  struct Program {
    std::string name;
    Array (*step)(const mpi::Comm&);
    Model model;
  };
  const std::vector<Program> programs{
      {"data parallel", data_parallel_step, ours}, {"halo", halo_step, halo}, {"pipeline", pipeline_step, pipeline}};
  bool right = true;
  for (const Program& p : programs) {
    const Count real = counted(p.step, world);
    const Count want = world.size() == 1 ? Count{} : p.model(world.size());
    right = right && real.messages == want.messages && std::abs(real.bytes - want.bytes) <= 8.0 * world.size();
    std::cout << p.name << " on " << world.size() << " ranks: " << real.messages << " messages, " << real.bytes
              << " bytes a step; on paper " << want.messages << " and " << want.bytes << "\n";
  }
  if (world.rank() != 0) return right ? 0 : 1;

  std::vector<double> doublings;
  for (int d = 1; d <= 12; ++d) doublings.push_back(d);
  const Array x = array(doublings);
  auto curve = [&](auto f) {
    std::vector<double> y;
    for (double d : doublings) y.push_back(f(std::exp2(d)));
    return array(y);
  };
  show::Figure figure("What a rank sends in a step: sum of 4 MiB, halo of 1024 cells, pipeline of layers", 3);
  auto& bytes = figure.panel("bytes", "log2 of ranks").log_y();
  auto& messages = figure.panel("messages", "log2 of ranks").log_y();
  auto& time = figure.panel("seconds on a network of 100 Gbit/s", "log2 of ranks").log_y();
  auto draw = [&](Model m, const std::string& name) {
    bytes.line(x, curve([m](double n) { return m(n).bytes; }));
    messages.line(x, curve([m](double n) { return m(n).messages; }), name);
    time.line(x, curve([m](double n) { return seconds(m(n)); }));
  };
  draw(ring, "sum, ring");
  draw(tree, "sum, tree");
  draw(halo, "halo");
  draw(pipeline, "pipeline");
  auto at_once = [](double n) { return 2 * per_message + ours(n).messages * per_send + ours(n).bytes * per_byte; };
  time.dashed(x, curve(at_once), "sum, all at once");
  figure.save(options.picture("mpi_scaling"));
  return right ? 0 : 1;
}
