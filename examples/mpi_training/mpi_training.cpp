// A small transformer trained by several processes: each takes its part of every batch, the means of their gradients
// are those of the whole batch, and all of them make the same step. It learns to continue rows of numbers.
//
//     mpirun -n 4 example_mpi_training [--small] [--out FOLDER]
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cmath>
#include <cstring>
#include <iostream>

#include "support/example.h"
#include "support/figure.h"
using namespace anew;

struct Block {
  Array norm1, qkv, proj, norm2, up, down;
};
struct Model {
  Array numbers, places;
  std::vector<Block> blocks;
  Array norm;
};
constexpr std::int64_t modulus = 11, context = 12, heads = 2;

Model random_model(Array key, std::int64_t w, int layers) {
  int n = 0;
  auto weights = [&](std::int64_t from, std::int64_t to, double scale) {
    return random::normal(random::fold_in(key, n++), {from, to}) * (scale / std::sqrt(double(from)));
  };
  Model m{weights(modulus, w, 0.5), weights(context, w, 0.5), {}, ones(w)};
  for (int i = 0; i < layers; ++i)
    m.blocks.push_back(
        {ones(w), weights(w, 3 * w, 1), weights(w, w, 0.3), ones(w), weights(w, 4 * w, 1), weights(4 * w, w, 0.3)});
  return m;
}

Array block(const Block& b, Array x) {
  const std::int64_t n = x.shape()[0], t = x.shape()[1], w = x.shape()[2];
  std::vector<Array> qkv = split(matmul(nn::rms_norm(x, b.norm1), b.qkv).reshape({n, t, 3 * heads, w / heads}), 3, 2);
  Array seen = nn::dot_product_attention(qkv[0], qkv[1], qkv[2], {.is_causal = true});
  x = x + matmul(seen.reshape({n, t, w}), b.proj);
  return x + matmul(nn::gelu(matmul(nn::rms_norm(x, b.norm2), b.up)), b.down);
}

// Rows in which each number is a sum of the two before it: the model is asked for the next one everywhere.
Array rows_of(Array key, std::int64_t count) {
  Array first = random::randint(key, {count, 2}, 0, modulus);
  std::vector<Array> columns{first[{slice(), 0}], first[{slice(), 1}]};
  while (std::ssize(columns) <= context)
    columns.push_back((columns.back() + 2 * columns[columns.size() - 2]) % modulus);
  return stack(columns, 1);
}
Array loss(Model m, Array rows) {
  Array ids = rows[{slice(), slice(none, -1)}], next = rows[{slice(), slice(2, none)}];
  Array x = nn::embedding(m.numbers, ids) + m.places;
  for (const Block& b : m.blocks) x = checkpoint(block)(b, x);
  Array said = matmul(nn::rms_norm(x, m.norm), m.numbers.T())[{slice(), slice(1, none)}];
  return mean(nn::softmax_cross_entropy(said, next));
}

// Of all bits of the weights: equal after every run on as many ranks.
std::uint64_t fingerprint(const Model& m) {
  std::uint64_t h = 14695981039346656037ull;
  for (const Array& leaf : tree_leaves(m))
    for (float v : leaf.data<float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &v, sizeof bits);
      h = (h ^ bits) * 1099511628211ull;
    }
  return h;
}

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const mpi::Comm world = mpi::world();
  if (world.rank() != 0) std::cout.setstate(std::ios::failbit);  // one rank tells how it goes
  const auto options = show::options(argc, argv, "A small transformer, trained by several processes (mpirun).");
  const int iterations = options.small ? 6 : 400;
  const std::int64_t width = options.small ? 16 : 32, batch = options.small ? 16 : 64;

  auto [k1, k2] = random::split<2>(random::key(0));
  Model m = random_model(k1, width, options.small ? 1 : 2);  // the same on all ranks: the same key
  auto opt = optim::adamw(optim::warmup_cosine_decay_schedule(0.0, 1e-2, iterations / 20, iterations));
  auto state = opt.init(m);
  auto gradient = mpi::data_parallel(value_and_grad(loss), world);
  auto step = jit(
                  [&](Model m, decltype(state) state, Array mine) {
                    auto [value, g] = gradient(m, mine);
                    auto [updates, next] = opt.update(g, state, m);
                    return std::tuple(optim::apply_updates(m, updates), next, value);
                  },
                  {.donate = {0, 1}})
                  .compile(m, state, mpi::shard(rows_of(k2, batch), world));
  std::vector<double> losses;
  Array value;
  const mpi::Traffic before = mpi::traffic();
  show::Progress progress("training", iterations);
  for (int i = 0; i < iterations; ++i) {
    const Array mine = mpi::shard(rows_of(random::fold_in(k2, i), batch), world);
    std::tie(m, state, value) = step(m, state, mine);
    losses.push_back(value.item());
    progress.step("loss " + show::digits(losses.back()));
  }
  const mpi::Traffic after = mpi::traffic();
  std::cout << step.plan() << world.size() << " ranks; a step sends "
            << double(after.messages - before.messages) / iterations << " messages, "
            << show::bytes(std::size_t(after.bytes - before.bytes) / std::size_t(iterations)) << "; weights "
            << std::hex << fingerprint(m) << std::dec << "\n";
  const bool same = pmax(array(losses.back()), world).item() == pmin(array(losses.back()), world).item();

  if (world.rank() == 0) {
    show::Figure figure("A transformer on " + std::to_string(world.size()) + " ranks", 2);
    figure.panel("loss", "iteration").line(array(losses)).log_y();
    figure.panel("what it knows of the numbers", "width across, number down").image(m.numbers, show::Colours::signs);
    figure.save(options.picture("mpi_training"));
  }
  return same && (options.small || losses.back() < 0.1 * losses.front()) ? 0 : 1;
}
