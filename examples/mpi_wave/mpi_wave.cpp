// Waves in a basin that several processes share: each has some rows of the grid and asks its neighbours for the rows
// beside them at every time step. Which surface at the start becomes a ring at the end? Its gradient goes back through
// all steps and all ranks.
//
//     mpirun -n 4 example_mpi_wave [--small] [--out FOLDER]
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Surface {
  Array now, before;  // this rank's rows of the grid
};

// Neighbours of all cells of these rows: what lies beside the basin is 0.
Array laplacian(const Array& u, const mpi::Comm& comm) {
  Array p = pad(mpi::halo_exchange(u, comm), {{0, 0}, {1, 1}});
  const auto inner = slice(1, -1);
  return p[{slice(2, none), inner}] + p[{slice(none, -2), inner}] + p[{inner, slice(2, none)}] +
         p[{inner, slice(none, -2)}] - 4 * u;
}

// The surface after so many steps, from one at rest.
Array after(const Array& start, const mpi::Comm& comm, std::int64_t steps) {
  auto step = [&](Surface s, Array) {
    Array next = s.now + 0.998 * (s.now - s.before) + 0.2 * laplacian(s.now, comm);
    return std::pair(Surface{next, s.now}, none);
  };
  return scan(step, Surface{start, start}, zeros({steps}), {.checkpoints = 12}).first.now;
}

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const mpi::Comm world = mpi::world();
  if (world.rank() != 0) std::cout.setstate(std::ios::failbit);  // one rank tells how it goes
  const auto options =
      show::options(argc, argv, "Waves on a grid that several processes share (mpirun): which start makes a ring?");
  const std::int64_t cells = options.small ? 32 : 96, steps = options.small ? 12 : 90;
  const int iterations = options.small ? 5 : 120;

  // The ring, of which each rank keeps its rows.
  Array row = (arange(cells).astype(f32) / double(cells - 1) - 0.5)[{slice(), newaxis}], column = row.T();
  Array radius = sqrt(square(row) + square(column));
  Array ring = mpi::shard(exp(-square((radius - 0.25) / 0.04)), world);
  auto misfit = [&](Array start) {
    Array differs = psum(sum(square(after(start, world, steps) - ring)), world);
    Array rough = psum(sum(square(start)), world);
    return differs / double(cells * cells) + 1e-5 * rough / double(cells * cells);
  };

  auto opt = optim::adam(0.05);
  Array start = zeros_like(ring);
  auto state = opt.init(start);
  auto step = jit(
                  [&](Array start, decltype(state) state) {
                    auto [value, g] = value_and_grad(misfit)(start);
                    auto [updates, next] = opt.update(g, state, start);
                    return std::tuple(optim::apply_updates(start, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(start, state);
  std::vector<double> losses;
  Array value;
  const mpi::Traffic before = mpi::traffic();
  show::Progress progress("descent", iterations);
  for (int i = 0; i < iterations; ++i) {
    std::tie(start, state, value) = step(start, state);
    losses.push_back(value.item());
    progress.step("misfit " + show::digits(losses.back()));
  }
  const mpi::Traffic done = mpi::traffic();
  Array first = all_gather(start, world), last = all_gather(after(start, world, steps), world);
  std::cout << step.plan() << world.size() << " ranks; a gradient sends "
            << (done.messages - before.messages) / iterations << " messages, "
            << show::bytes(std::size_t(done.bytes - before.bytes) / std::size_t(iterations)) << "; surface "
            << sum(first).item() << ", misfit " << losses.back() << "\n";

  if (world.rank() == 0) {
    show::Figure figure("Waves on " + std::to_string(world.size()) + " ranks");
    figure.panel("the start that was found").image(first, show::Colours::signs);
    figure.panel("what becomes of it").image(last, show::Colours::signs, -1, 1);
    figure.panel("misfit", "iteration").line(array(losses)).log_y();
    figure.save(options.picture("mpi_wave"));
  }
  return losses.back() < (options.small ? 1.0 : 0.2) * losses.front() ? 0 : 1;
}
