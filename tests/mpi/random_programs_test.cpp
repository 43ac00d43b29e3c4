// Random programs of collectives, elementwise functions, loops and checkpoints, which end in a sum over all ranks: the
// gradients of all ranks together are the derivative of that number, and every way to compute them gives the same bits.
#include <cstdlib>
#include <random>

#include "mpi/ranks.h"

namespace anew::test {
namespace {

// What is one value on all ranks becomes each rank's own before it meets such.
struct Mixed {
  Array value;
  bool same = false;
  Array own() const { return same ? pvary(value, world()) : value; }
};

Mixed collective(int which, const Mixed& x) {
  const mpi::Comm w = world();
  switch (which) {
    case 0: return {psum(x.own(), w), true};
    case 1: return {pmean(x.own(), w), true};
    case 2: return {pmax(x.own(), w), true};
    case 3: return {ppermute(x.own(), w, ring())};
    case 4: return {all_to_all(x.own(), w)};
    case 5: return {broadcast(x.own(), w, ranks() / 2)};
    case 6: return {all_gather(x.own(), w)[slice(rank(), rank() + x.value.shape()[0])]};
    case 7: return {all_gather(reduce_scatter(x.own(), w), w)};
    default: return {mpi::halo_exchange(x.own(), w, {.periodic = true})[slice(1, -1)]};
  }
}

// A program of so many operations; the same on all ranks, since it follows from the seed.
Array random_program(unsigned seed, bool checkpoints, const Array& x) {
  std::minstd_rand random(seed);
  auto pick = [&](int n) { return static_cast<int>(random() / 7 % static_cast<unsigned>(n)); };
  std::vector<Mixed> values{{x}};
  for (int i = 0; i < 6; ++i) {
    const Mixed a = values[values.size() - 1 -
                           static_cast<std::size_t>(pick(static_cast<int>(std::min<std::size_t>(values.size(), 2))))];
    const int which = pick(9), kind = pick(4);
    Mixed made;
    if (kind == 0) {
      made = collective(which, {sin(a.own())});
    } else if (kind == 1) {
      auto body = [&](Array y) { return tanh(collective(which, {y}).own()) * 0.9 + 0.1 * y; };
      made = {checkpoints ? checkpoint(body)(a.own()) : body(a.own())};
    } else if (kind == 2) {
      auto step = [&](Array c, Array s) { return std::pair(sin(collective(which, {c * s}).own()), none); };
      const auto options = checkpoints ? ScanOptions{.checkpoints = 2} : ScanOptions{};
      made = {scan(step, a.own(), array({0.5, 0.7, 0.9}, f64), options).first};
    } else {
      made = {cos(a.own()) * values[0].own() + collective(which, a).own()};
    }
    values.push_back(made);
  }
  return psum(sum(square(values.back().own())), world());
}

class RandomPrograms : public testing::TestWithParam<unsigned> {};
TEST_P(RandomPrograms, HaveOneDerivative) {
  const Warnings quiet;
  auto plain = [](Array x) { return random_program(GetParam(), false, x); };
  auto kept = [](Array x) { return random_program(GetParam(), true, x); };
  const Array x = mine({2 * ranks(), 3}, 1), t = mine({2 * ranks(), 3}, 3);
  const Array g = grad(plain)(x);
  const double h = 1e-6;
  const double want = ((plain(x + h * t) - plain(x - h * t)) / (2 * h)).item();
  EXPECT_NEAR(product_of_all(g, t), want, 1e-6 * std::max(1.0, std::abs(want)));
  EXPECT_NEAR(jvp(plain, x, t).second.item(), want, 1e-6 * std::max(1.0, std::abs(want)));
  EXPECT_TRUE(same_bits(jit(plain)(x), plain(x)));
  EXPECT_TRUE(same_bits(jit(grad(plain))(x), g));
  EXPECT_TRUE(allclose(grad(kept)(x), g, 1e-12, 1e-13));
  EXPECT_TRUE(same_bits(jit(grad(kept))(x), grad(kept)(x)));
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(1u, std::getenv("ANEW_LONG") ? 201u : 9u));

}  // namespace
}  // namespace anew::test
