// Sums: the order of ranks, every dtype, sizes that do and do not divide, arrays that do not lie dense; what travels.
#include <unistd.h>

#include <random>

#include "mpi/ranks.h"

namespace anew::test {
namespace {

// The elements of all ranks, joined in the tree that collectives.h promises.
Array tree_of(const std::vector<Array>& xs, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return xs[begin];
  std::size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree_of(xs, begin, begin + half) + tree_of(xs, begin + half, end);
}

TEST(Sums, JoinRanksInOneTree) {
  for (DType d : {f32, f64})
    for (std::int64_t n : {1, 7, 1000, 8192, 8193, 100003}) {  // of little and of much
      std::vector<Array> all;
      for (int r = 0; r < ranks(); ++r) all.push_back(fill({n}, 1 + 10 * r, d));
      const Array want = tree_of(all, 0, all.size());
      const Array got = psum(all[static_cast<std::size_t>(rank())], world());
      EXPECT_TRUE(same_bits(got, want)) << n;
      for (int repeat = 0; repeat < 3; ++repeat) {  // whoever comes first
        ::usleep(static_cast<useconds_t>(std::minstd_rand(static_cast<unsigned>(rank() + repeat))() % 2000));
        EXPECT_TRUE(same_bits(psum(all[static_cast<std::size_t>(rank())], world()), want)) << n;
      }
    }
}

TEST(Sums, OfEveryDtype) {
  for (DType d : {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64})
    for (std::int64_t n : {5, 40000}) {
      const Array x = astype(arange(n) % 7 + rank(), d);
      Array sum = zeros({n}, d);
      for (int r = 0; r < ranks(); ++r) sum = sum + astype(arange(n) % 7 + r, d);
      EXPECT_TRUE(array_equal(psum(x, world()), sum)) << name_of(d) << n;
      EXPECT_EQ(psum(x, world()).dtype(), d);
      EXPECT_TRUE(array_equal(pmax(x, world()), astype(arange(n) % 7 + (ranks() - 1), d)));
      EXPECT_TRUE(array_equal(pmin(x, world()), astype(arange(n) % 7, d)));
    }
  EXPECT_EQ(psum(array({true, rank() == 0}), world()).to_vector<int>(), (std::vector<int>{ranks(), 1}));
  EXPECT_EQ(pmax(array({false, rank() == 0}), world()).to_vector<bool>(), (std::vector<bool>{false, true}));
}

// 16-bit floats are joined in f32 and rounded once: 2048 + 1 + 1 + 1 is not 2048.
TEST(Sums, RoundOnce) {
  if (ranks() != 4) GTEST_SKIP() << "of 4 ranks";
  for (std::int64_t n : {3, 40000}) {
    const Array x = full({n}, rank() == 0 ? 2048 : 1, f16);
    EXPECT_TRUE(array_equal(psum(x, world()), full({n}, 2052, f16)));  // 2051, of which 2052 is the nearest
  }
}

TEST(Sums, ExtremesOfNan) {
  const Array x = array({rank() == 0 ? NAN : 1.0, 2.0 + rank()}, f32);
  EXPECT_TRUE(std::isnan(pmax(x, world())[0].item()));
  EXPECT_TRUE(std::isnan(pmin(x, world())[0].item()));
  EXPECT_EQ(pmax(x, world())[1].item(), 1.0 + ranks());
}

TEST(Sums, TiesShareTheTangent) {
  const Array x = array(rank() < 2 ? 3.0 : 1.0, f64);
  auto [y, dy] = jvp([](Array a) { return pmax(a, world()); }, x, array(1.0 + rank(), f64));
  EXPECT_EQ(y.item(), 3);
  EXPECT_EQ(dy.item(), ranks() == 1 ? 1 : 1.5);
}

TEST(Sums, OfArraysThatDoNotLieDense) {
  const Array x = mine({6, 8}, 1), wide = mine({8 * ranks(), 6}, 2);
  const Array turned = transpose(x), strided = wide[{slice(none, none, -1), slice(0, 6, 2)}];
  auto dense = [](const Array& a) { return array(a.to_vector<double>(), a.shape()); };
  EXPECT_TRUE(same_bits(psum(turned, world()), psum(dense(turned), world())));
  EXPECT_TRUE(same_bits(all_gather(turned, world()), all_gather(dense(turned), world())));
  EXPECT_TRUE(same_bits(reduce_scatter(strided, world()), reduce_scatter(dense(strided), world())));
  EXPECT_TRUE(same_bits(all_to_all(strided, world()), all_to_all(dense(strided), world())));
  EXPECT_TRUE(same_bits(ppermute(strided, world(), ring()), ppermute(dense(strided), world(), ring())));
  EXPECT_TRUE(same_bits(broadcast(turned, world()), broadcast(dense(turned), world())));
  EXPECT_TRUE(same_bits(reduce_scatter(strided, world()), mpi::shard(psum(strided, world()), world())));
}

TEST(Sums, OfNothing) {
  EXPECT_EQ(psum(zeros({0, 3}), world()).shape(), Shape({0, 3}));
  EXPECT_EQ(all_gather(zeros({2, 0}), world()).shape(), Shape({2 * ranks(), 0}));
  EXPECT_EQ(ppermute(zeros({0}), world(), ring()).shape(), Shape({0}));
  EXPECT_EQ(reduce_scatter(zeros({0}), world()).shape(), Shape({0}));
}

TEST(Sums, LeavesOfOneDtypeTravelTogether) {
  struct Parameters {
    Array w, b;
    std::vector<Array> more;
    int layers = 2;
  };
  const Parameters p{mine({3, 4}, 1, f32), mine({4}, 2, f32), {mine({2}, 3, f64), mine({5}, 4, f32)}};
  const mpi::Traffic before = mpi::traffic();
  const Parameters s = psum(p, world());
  const mpi::Traffic after = mpi::traffic();
  EXPECT_EQ(after.agreements - before.agreements, ranks() == 1 ? 0 : 2);  // of f32 and f64
  EXPECT_EQ(s.layers, 2);
  EXPECT_TRUE(same_bits(s.w, psum(p.w, world())));
  EXPECT_TRUE(same_bits(s.b, psum(p.b, world())));
  EXPECT_TRUE(same_bits(s.more, {psum(p.more[0], world()), psum(p.more[1], world())}));
  EXPECT_TRUE(same_bits(pmean(p, world()).w, pmean(p.w, world())));
  EXPECT_TRUE(same_bits(pmax(p, world()).w, pmax(p.w, world())));
  EXPECT_TRUE(same_bits(pmin(p, world()).b, pmin(p.b, world())));
  EXPECT_TRUE(same_bits(broadcast(p, world(), 0).b, broadcast(p.b, world(), 0)));
  EXPECT_TRUE(same_bits(pvary(p, world()).b, p.b));
  EXPECT_TRUE(same_bits(ppermute(p, world(), ring()).w, ppermute(p.w, world(), ring())));
  const std::pair<Array, Array> two{mine({4 * ranks(), 2}, 1), mine({ranks(), 3}, 2)};
  EXPECT_TRUE(same_bits(all_gather(two, world()).second, all_gather(two.second, world())));
  EXPECT_TRUE(same_bits(reduce_scatter(two, world()).first, reduce_scatter(two.first, world())));
  EXPECT_TRUE(same_bits(mpi::shard(two, world()).second, mpi::shard(two.second, world())));
  auto loss = [](Parameters q) { return sum(psum(q, world()).w * 2) + sum(q.b); };
  EXPECT_TRUE(same_bits(jit(grad(loss))(p).w, full({3, 4}, 2, f32)));
}

TEST(Sums, BucketsKeepTheScratchSmall) {
  const std::int64_t n = 3 << 17;  // 1.5 MiB each: two to a bucket
  const Arrays p{full({n}, 1 + rank(), f32), full({n}, 2, f32), full({n}, 3, f32), full({20}, rank(), f32)};
  const mpi::Traffic before = mpi::traffic();
  const Arrays s = psum(p, world());
  EXPECT_EQ(mpi::traffic().agreements - before.agreements, ranks() == 1 ? 0 : 2);
  EXPECT_EQ(s[0][n - 1].item(), ranks() * (ranks() + 1) / 2);
  EXPECT_EQ(s[2][0].item(), 3 * ranks());
  EXPECT_EQ(s[3][19].item(), ranks() * (ranks() - 1) / 2);
}

// What a sum of much sends: (size - 1) / size of it twice.
TEST(Sums, SendAsLittleAsCanBe) {
  const std::int64_t n = 120000;
  const mpi::Traffic before = mpi::traffic();
  (void)psum(mine({n}, 1, f32), world());
  const mpi::Traffic after = mpi::traffic();
  EXPECT_EQ(after.bytes - before.bytes, 2 * 4 * n * (ranks() - 1) / ranks());
  EXPECT_EQ(after.messages - before.messages, 2 * (ranks() - 1));
}

}  // namespace
}  // namespace anew::test
