// A deep network whose layers are shared out among several processes. Small parts of each batch go through the ranks
// one behind the other, so that all ranks have something to do; gradients come back the same way. It learns a picture:
// the brightness of a point from where it is.
//
//     mpirun -n 4 example_mpi_pipeline [--small] [--out FOLDER]
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cmath>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Stage {
  Array w, b;  // of some layers: [layers, width, width], [layers, width]
};

// Waves of several lengths across the picture: what a network tells places apart by.
Array features(const Array& points, std::int64_t width) {
  Array lengths = random::normal(random::key(7), {2, width}) * 4;
  return sin(matmul(points, lengths) + arange(width).astype(f32));
}
Array brightness(const Array& points) {
  Array u = points[{slice(), 0}], v = points[{slice(), 1}];
  Array radius = sqrt(square(u) + square(v) + 1e-6), turn = arctan2(v, u);
  return nn::sigmoid(12 * sin(3 * turn + 9 * radius)) * (radius < 0.9).astype(f32);
}

Array run(const Stage& s, Array x) {
  auto layer = [](Array x, Stage one) { return std::pair(x + 0.5 * tanh(matmul(x, one.w) + one.b), none); };
  return scan(layer, x, s).first;
}
Array misfit(const Array& y, const Array& wanted) { return sum(square(y[{slice(), 0}] - wanted)); }

// At tick t rank r has small batch t - r: it takes a new one (the first rank) or what the rank before it gave, runs its
// layers, and hands the result on. The last rank sees the first results at tick size - 1.
struct Pipeline {
  mpi::Comm comm;
  std::int64_t parts;  // small batches

  std::int64_t ticks() const { return parts + comm.size() - 1; }
  // x, one small batch after the other, through f of every rank; what each rank gives at each tick.
  template <class F>
  Array run(F f, const Array& x) const {
    std::vector<std::pair<int, int>> onward;
    for (int r = 0; r + 1 < comm.size(); ++r) onward.emplace_back(r, r + 1);
    auto tick = [&](Array held, Array next) {
      Array y = f(where(axis_index(comm) == 0, next, held));
      return std::pair(ppermute(y, comm, onward), y);
    };
    Array drained = concatenate({x, zeros_like(x[slice(0, comm.size() - 1)])}, 0);
    return scan(tick, zeros_like(x[0]), drained).second;
  }
  // The loss of all small batches: x has [parts, points, width], the wanted values [parts, points].
  Array loss(const Stage& own, const Array& x, const Array& wanted) const {
    Array out = run([&](Array part) { return checkpoint(::run)(own, part); }, x)[slice(comm.size() - 1, none)];
    Array sums = vmap(misfit)(out, wanted);
    Array last = axis_index(comm) == comm.size() - 1;
    return psum(where(last, sum(sums), 0.0), comm) / double(wanted.size());
  }
};

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const mpi::Comm world = mpi::world();
  const int n = world.size();
  if (world.rank() != 0) std::cout.setstate(std::ios::failbit);  // one rank tells how it goes
  const auto options = show::options(argc, argv, "A deep network in a pipeline of several processes (mpirun).");
  const std::int64_t layers = 8, width = options.small ? 16 : 64, points = options.small ? 16 : 64;
  const int iterations = options.small ? 8 : 1500;
  const Pipeline pipeline{world, options.small ? 4 : 8};

  // All layers, the same on all ranks, of which each keeps its own.
  const auto keys = random::split(random::key(0));
  const Stage all{random::normal(keys[0], {layers, width, width}) / std::sqrt(double(width)), zeros({layers, width})};
  Stage own = tree_map([](Array x) { return copy(x); }, mpi::shard(all, world));
  auto batch = [&](int i) {
    Array at = random::uniform(random::fold_in(keys[1], i), {pipeline.parts * points, 2}, f32, -1, 1);
    return std::pair(reshape(features(at, width), {pipeline.parts, points, width}),
                     reshape(brightness(at), {pipeline.parts, points}));
  };

  // The gradient is that of the whole network on one rank.
  auto loss = [&](Stage own, Array x, Array wanted) { return pipeline.loss(own, x, wanted); };
  auto [x, wanted] = batch(0);
  auto whole = [&](Stage s) {
    return sum(vmap(misfit)(vmap([&](Array p) { return run(s, p); })(x), wanted)) / double(wanted.size());
  };
  const Stage g = all_gather(jit(grad(loss))(own, x, wanted), world), want = jit(grad(whole))(all);
  const bool equal = allclose(g.w, want.w, 1e-4, 1e-6) && allclose(g.b, want.b, 1e-4, 1e-6);
  std::cout << "gradient through " << n << " ranks: " << (equal ? "that of one" : "NOT that of one") << ", to "
            << max(abs(g.w - want.w)).item() << "\n";

  auto opt = optim::adam(optim::cosine_decay_schedule(4e-3, iterations));
  auto state = opt.init(own);
  auto step = jit(
                  [&](Stage own, decltype(state) state, Array x, Array wanted) {
                    auto [value, g] = value_and_grad(loss)(own, x, wanted);
                    auto [updates, next] = opt.update(g, state, own);
                    return std::tuple(optim::apply_updates(own, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(own, state, x, wanted);
  std::vector<double> losses;
  Array value;
  const mpi::Traffic before = mpi::traffic();
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    auto [x, wanted] = batch(i);
    std::tie(own, state, value) = step(own, state, x, wanted);
    losses.push_back(value.item());
    progress.step("loss " + show::digits(losses.back()));
  }
  const mpi::Traffic after = mpi::traffic();
  std::cout << step.plan() << n << " ranks of " << layers / n << " layers; a step sends "
            << double(after.messages - before.messages) / iterations << " messages, "
            << show::bytes(std::size_t(after.bytes - before.bytes) / std::size_t(iterations)) << "; busy for "
            << 100 * pipeline.parts / pipeline.ticks() << " % of " << pipeline.ticks() << " ticks\n";

  // What each rank has at each tick: numbers of small batches, sent the same way.
  Array numbers = pipeline.run([](Array i) { return i; }, 1.0 + arange(pipeline.parts).astype(f32));
  numbers = all_gather(numbers[newaxis], world);
  const Stage found = all_gather(own, world);
  if (world.rank() == 0) {
    const std::int64_t side = options.small ? 24 : 96;
    Array line = 2 * arange(side).astype(f32) / double(side - 1) - 1;
    Array grid = stack({broadcast_to(line, {side, side}), broadcast_to(-line[{slice(), newaxis}], {side, side})}, 2);
    Array at = reshape(grid, {side * side, 2});
    show::Figure figure("A network of " + std::to_string(layers) + " layers on " + std::to_string(n) + " ranks", 2);
    Array ticks = concatenate({numbers, flip(numbers, 1)}, 1);  // forward, then back
    figure.panel("small batch of each rank (down) at each tick").image(repeat(repeat(ticks, 48, 0), 12, 1));
    figure.panel("loss", "iteration").line(array(losses)).log_y();
    figure.panel("wanted").image(reshape(brightness(at), {side, side}), show::Colours::heat, 0, 1);
    figure.panel("learned").image(reshape(run(found, features(at, width))[{slice(), 0}], {side, side}),
                                  show::Colours::heat, 0, 1);
    figure.save(options.picture("mpi_pipeline"));
  }
  return equal && losses.back() < (options.small ? 1.0 : 0.2) * losses.front() ? 0 : 1;
}
