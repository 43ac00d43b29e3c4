// Programs of several ranks against the same on one: parts of a batch, parts of a grid, parts of the ranks.
#include "mpi/ranks.h"

namespace anew::test {
namespace {

Array local_loss(Array w, Array x) { return mean(square(tanh(matmul(x, w)))); }

TEST(Programs, DataParallelIsTheWholeBatch) {
  const Array w = fill({6, 3}, 1, f64), x = fill({8 * ranks(), 6}, 2, f64);
  auto [value, gradient] = mpi::data_parallel(value_and_grad(local_loss), world())(w, mpi::shard(x, world()));
  auto [whole, want] = value_and_grad(local_loss)(w, x);
  EXPECT_NEAR(value.item(), whole.item(), 1e-14);
  EXPECT_TRUE(allclose(gradient, want, 1e-13, 1e-15));
  auto compiled = jit(mpi::data_parallel(value_and_grad(local_loss), world()));
  EXPECT_TRUE(same_bits(compiled(w, mpi::shard(x, world())).second, gradient));
  // The same by pvary and psum.
  auto loss = [](Array w, Array x) { return pmean(local_loss(pvary(w, world()), x), world()); };
  EXPECT_TRUE(allclose(grad(loss)(w, mpi::shard(x, world())), want, 1e-13, 1e-15));
  EXPECT_TRUE(allclose(grad([&](Array x) { return loss(w, mpi::shard(x, world())); })(x),
                       grad([&](Array x) { return local_loss(w, x); })(x), 1e-13, 1e-15));
}

// One step of a wave on a ring of rows, by rolling; by the rows of a rank, with halos.
Array rolled(const Array& u) { return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u; }
Array with_halos(const Array& u) {
  const Array h = mpi::halo_exchange(u, world(), {.periodic = true});
  const std::int64_t n = u.shape()[0];
  return h[slice(0, n)] + h[slice(2, n + 2)] + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u;
}

TEST(Programs, HalosMakeTheGridWhole) {
  const Array u = fill({3 * ranks(), 5}, 1, f64);
  auto steps = [](auto laplacian) {
    return [laplacian](Array u) {
      auto step = [&](std::pair<Array, Array> s, Array) {
        auto [now, before] = s;
        const Array next = 2 * now - before + 0.1 * laplacian(now);
        return std::pair(std::pair(next, now), none);
      };
      return scan(step, std::pair(u, u), zeros({7})).first.first;
    };
  };
  auto one = [&](Array u) { return sum(square(steps(rolled)(u))); };
  auto many = [&](Array u) { return psum(sum(square(steps(with_halos)(u))), world()); };
  const Array part = mpi::shard(u, world());
  EXPECT_TRUE(allclose(all_gather(steps(with_halos)(part), world()), steps(rolled)(u), 1e-13, 1e-15));
  const Array g = grad(many)(part);
  EXPECT_TRUE(allclose(all_gather(g, world()), grad(one)(u), 1e-12, 1e-14));
  EXPECT_TRUE(same_bits(jit(grad(many))(part), g));
  auto compiled = jit(grad(many)).compile(part);
  EXPECT_TRUE(same_bits(compiled(part), g));
  EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
  const Array edge = mpi::halo_exchange(part, world(), {.width = 2});
  const Array before = rank() == 0 ? zeros({2, 5}, f64) : u[slice(3 * rank() - 2, 3 * rank())];
  EXPECT_TRUE(array_equal(edge[slice(0, 2)], before));
}

TEST(Programs, PartsOfTheRanks) {
  const mpi::Comm half = world().split(rank() % 2);
  EXPECT_EQ(half.rank(), rank() / 2);
  EXPECT_EQ(half.size(), (ranks() + 1 - rank() % 2) / 2);
  double want = 0;
  for (int r = rank() % 2; r < ranks(); r += 2) want += r;
  auto f = [&](Array x) { return psum(x, half); };
  EXPECT_EQ(f(array(1.0 * rank())).item(), want);
  EXPECT_EQ(jit(f)(array(1.0 * rank())).item(), want);
  EXPECT_FALSE(half == world());
  EXPECT_TRUE(half == mpi::Comm(half));
  const Program p = make_program(f)(array(1.0));
  EXPECT_EQ(parse_program(p.str()).str(), p.str());
  const Array all = psum(psum(array(1.0 + rank()), half), world());  // each of a half counted as often as it has ranks
  double both = 0;
  for (int r = 0; r < ranks(); ++r) both += (1.0 + r) * ((ranks() + 1 - r % 2) / 2);
  EXPECT_EQ(all.item(), both);
}

TEST(Programs, RanksHaveNumbers) {
  EXPECT_EQ(axis_index(world()).item<int>(), rank());
  auto f = [](Array x) { return where(axis_index(world()) == 0, x, 2 * x); };
  EXPECT_EQ(jit(f)(array(3.0)).item(), rank() == 0 ? 3 : 6);
  EXPECT_EQ(jit(grad(f))(array(3.0)).item(), rank() == 0 ? 1 : 2);
  EXPECT_EQ(make_program(f)(array(3.0)).str(), make_program(f)(array(3.0)).str());
}

TEST(Programs, LoopsThatEndTogether) {
  auto f = [](Array x) {
    auto go_on = [](Array s) { return psum(s, world()) < 100; };
    return while_loop(go_on, [](Array s) { return 2 * s; }, x);
  };
  const Array x = array(1.0 + rank());
  EXPECT_EQ(f(x).item(), jit(f)(x).item());
  EXPECT_GE(psum(f(x), world()).item(), 100);
}

TEST(Programs, BudgetsKeepCollectivesInOrder) {
  const Array w = fill({4, 16, 16}, 1, f32), x = mine({32, 16}, 2, f32);
  auto loss = [&](Array w, Array x) {
    for (int i = 0; i < 4; ++i) x = tanh(matmul(x, pvary(w, world())[i]) + pmean(x, world()));
    return psum(sum(square(x)), world());
  };
  const Array g = grad(loss)(w, x);
  auto plain = jit(grad(loss));
  EXPECT_TRUE(same_bits(plain(w, x), g));
  const std::size_t least = plain.budget_curve(w, x).back().peak_bytes;
  auto tight = jit(grad(loss), {.memory_budget = least}).compile(w, x);
  EXPECT_TRUE(same_bits(tight(w, x), g));
  EXPECT_EQ(tight.high_water_bytes(), tight.plan().peak_bytes);
}

// Each rank has a layer; micro-batches go from rank to rank.
TEST(Programs, PipelinesOfLayers) {
  const int n = ranks(), batches = 3;
  const Array w = fill({n, 4, 4}, 1, f64), x = fill({batches, 2, 4}, 2, f64);
  auto one = [&](Array w) {
    Array y = x;
    for (int i = 0; i < n; ++i) y = tanh(matmul(y, w[i]));
    return sum(square(y));
  };
  std::vector<std::pair<int, int>> onward;
  for (int i = 0; i + 1 < n; ++i) onward.emplace_back(i, i + 1);
  auto many = [&](Array own) {
    Array total = zeros({}, f64), held = zeros({2, 4}, f64);
    for (int t = 0; t < batches + n - 1; ++t) {
      const Array next = t < batches ? x[t] : zeros({2, 4}, f64);
      const Array y = tanh(matmul(where(axis_index(world()) == 0, next, held), own));
      if (t >= n - 1) total = total + where(axis_index(world()) == n - 1, sum(square(y)), 0.0);
      held = ppermute(y, world(), onward);
    }
    return psum(total, world());
  };
  const Array own = w[rank()];
  EXPECT_NEAR(many(own).item(), one(w).item(), 1e-13);
  EXPECT_TRUE(allclose(jit(grad(many))(own), grad(one)(w)[rank()], 1e-12, 1e-14));
}

}  // namespace
}  // namespace anew::test
