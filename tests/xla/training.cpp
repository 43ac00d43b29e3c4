// xla_training <folder>: a step of training as a module for one device and as one with the batch split over four, its
// first arguments, and the losses of its first steps here: what tests/xla/run.py holds XLA to, in one process and in
// two.
#include <anew/anew.h>
#include <anew/stablehlo.h>

#include <filesystem>
#include <fstream>
#include <iomanip>

using namespace anew;

struct Params {
  Array w1, b1, w2;
};
struct State {
  Params params;
  Array key;
};

Array loss(const Params& p, Array x, Array y, Array key) {
  auto layer = checkpoint([](Array h, Array w, Array b) { return nn::gelu(nn::layer_norm(matmul(h, w) + b)); });
  auto body = [&](Array h, Array) { return std::pair(h + layer(h, p.w1, p.b1), none); };
  Array h = scan(body, x + 0.1 * random::normal(key, x.shape(), f64), arange(3)).first;
  return mean(square(matmul(h, p.w2) - y));
}
std::pair<State, Array> train(const State& s, Array x, Array y) {
  auto [l, g] = value_and_grad([&](const Params& p) { return loss(p, x, y, s.key); })(s.params);
  return {State{tree_axpy(-0.05, g, s.params), random::split(s.key)[0]}, l};
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  State s{{0.3 * sin(arange(64, f64)).reshape({8, 8}), zeros(8, f64), 0.3 * cos(arange(16, f64)).reshape({8, 2})},
          random::key(3)};
  const Array x = sin(0.1 * arange(128, f64)).reshape({16, 8}), y = x[{slice(), slice(0, 2)}] + 1;
  const PartitionSpec split{"data"};
  std::ofstream(folder / "train.mlir") << to_stablehlo(train, s, x, y);
  std::ofstream(folder / "sharded.mlir") << to_stablehlo(
      train, {.mesh = Mesh({{"data", 4}}), .in_specs = {replicated, split, split}, .out_specs = {replicated}}, s, x, y);
  savez(folder / "start.npz", NamedArrays{{"s.params.w1", s.params.w1},
                                          {"s.params.b1", s.params.b1},
                                          {"s.params.w2", s.params.w2},
                                          {"s.key", s.key},
                                          {"x", x},
                                          {"y", y}});
  savez(folder / "state.npz", s);  // by paths: params.w1, ...
  save(folder / "x.npy", x);
  save(folder / "y.npy", y);
  std::ofstream losses(folder / "losses.txt");
  auto step = jit(train);
  for (int i = 0; i < 10; ++i) {
    auto [next, l] = step(s, x, y);
    losses << std::setprecision(17) << l.item<double>() << "\n";
    s = next;
  }
}
