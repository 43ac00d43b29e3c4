// Misuse: what ranks do not agree on is the same error on all of them, and they go on together afterwards.
#include "mpi/ranks.h"

namespace anew::test {
namespace {

class Errors : public testing::Test {
 protected:
  // Afterwards all ranks are where they were.
  ~Errors() override { EXPECT_EQ(psum(array(1), world()).item<int>(), ranks()); }
  bool alone() const { return ranks() == 1; }
  std::string disagree(const std::string& op, const std::string& first, const std::string& second) const {
    const std::string others = ranks() == 2   ? "rank 1"
                               : ranks() == 3 ? "ranks 1 and 2"
                                              : "rank 1 and " + std::to_string(ranks() - 2) + " others";
    return "[" + op + "] ranks do not agree: rank 0: " + first + "; " + others + ": " + second +
           "; hint: all ranks run the same collectives on arrays of the same types, in the same order";
  }
};

TEST_F(Errors, Shapes) {
  if (alone()) GTEST_SKIP() << "needs another rank";
  const Array x = ones(rank() == 0 ? 2 : 3);
  EXPECT_EQ(ERROR_OF((void)psum(x, world())), disagree("psum", "psum of f32[2]", "psum of f32[3]"));
  EXPECT_EQ(ERROR_OF((void)all_gather(x, world())),
            disagree("all_gather", "all_gather of f32[2]", "all_gather of f32[3]"));
}
TEST_F(Errors, Dtypes) {
  if (alone()) GTEST_SKIP() << "needs another rank";
  const Array x = ones({2}, rank() == 0 ? f32 : i32);
  EXPECT_EQ(ERROR_OF((void)psum(x, world())), disagree("psum", "psum of f32[2]", "psum of i32[2]"));
}
TEST_F(Errors, Collectives) {
  if (alone()) GTEST_SKIP() << "needs another rank";
  const Array x = ones({2});
  EXPECT_EQ(ERROR_OF((void)(rank() == 0 ? pmax(x, world()) : pmin(x, world()))),
            disagree(rank() == 0 ? "pmax" : "pmin", "pmax of f32[2]", "pmin of f32[2]"));
  EXPECT_EQ(ERROR_OF((void)broadcast(x, world(), rank() == 0 ? 0 : 1)),
            disagree("broadcast", "broadcast of f32[2] from rank 0", "broadcast of f32[2] from rank 1"));
  const std::vector<std::pair<int, int>> none, one{{0, 1}};
  EXPECT_EQ(ERROR_OF((void)ppermute(x, world(), rank() == 0 ? none : one)),
            disagree("ppermute", "ppermute of f32[2] by ", "ppermute of f32[2] by {0, 1}"));
}
TEST_F(Errors, InCompiledPrograms) {
  if (alone()) GTEST_SKIP() << "needs another rank";
  auto f = jit([](Array x) {
    return psum(x * 2, world());  // the line of the error
  });
  int line = 0;
  const std::string text = error_of([&] { (void)f(ones(rank() == 0 ? 2 : 3)); }, __FILE__, &line);
  EXPECT_EQ(text, disagree("psum", "psum of f32[2]", "psum of f32[3]"));
  EXPECT_EQ(line, __LINE__ - 5);
  auto g = jit(
      [](Array x) { return scan([](Array c, Array) { return std::pair(psum(c, world()), none); }, x, ones(2)).first; });
  EXPECT_EQ(ERROR_OF((void)g(ones(rank() == 0 ? 2 : 3))), disagree("psum", "psum of f32[2]", "psum of f32[3]"));
}
TEST_F(Errors, Arguments) {
  const std::string n = std::to_string(ranks());
  EXPECT_EQ(ERROR_OF((void)broadcast(ones(2), world(), ranks())), "[broadcast] root " + n + " is no rank of " + n);
  EXPECT_EQ(ERROR_OF((void)broadcast(ones(2), world(), -1)), "[broadcast] root -1 is no rank of " + n);
  EXPECT_EQ(ERROR_OF((void)ppermute(ones(2), world(), {{0, ranks()}})),
            "[ppermute] the pair {0, " + n + "} names rank " + n + ", of " + n + " ranks");
  EXPECT_EQ(
      ERROR_OF((void)ppermute(ones(2), world(), {{0, 0}, {0, 0}})),
      "[ppermute] the pairs {0, 0}, {0, 0} are no part of a permutation of ranks; hint: a rank sends at most once "
      "and gets at most once");
  EXPECT_EQ(ERROR_OF((void)all_gather(array(1.0), world())), "[all_gather] f32[] has no axis; hint: reshape(x, {1})");
  EXPECT_EQ(ERROR_OF((void)all_gather(ones(2), world(), 1)), "[all_gather] axis 1 is out of range for f32[2]");
  EXPECT_EQ(ERROR_OF((void)mpi::halo_exchange(ones(2), world(), {.width = 3})),
            "[mpi::halo_exchange] width 3 of f32[2] along axis 0; hint: from 1 to the rows of a rank");
  EXPECT_EQ(ERROR_OF((void)world().split(-1)), "[mpi::Comm::split] color -1 is negative");
  EXPECT_EQ(ERROR_OF((void)jit([](Array x) { return psum(x, world().split(0)); })(ones(2))),
            "[mpi::Comm::split] inside of a function that is traced; hint: split before, and capture the result");
  if (alone()) return;
  const std::string odd = std::to_string(ranks() + 1);
  const std::string parts = " cannot be cut into " + n +
                            " equal parts, one for each rank; hint: pad it to a multiple of "
                            "the number of ranks";
  EXPECT_EQ(ERROR_OF((void)mpi::shard(ones({2, ranks() + 1}), world(), 1)),
            "[mpi::shard] axis 1 of f32[2," + odd + "]" + parts);
  EXPECT_EQ(ERROR_OF((void)reduce_scatter(ones(ranks() + 1), world())),
            "[reduce_scatter] axis 0 of f32[" + odd + "]" + parts);
  EXPECT_EQ(ERROR_OF((void)all_to_all(ones(ranks() + 1), world())), "[all_to_all] axis 0 of f32[" + odd + "]" + parts);
}
TEST_F(Errors, WhatIsTakenToBeTheSameOnAllRanks) {
  struct Model {
    Array w, b;
  };
  const Model same{ones({2, 3}), ones({4})}, differs{same.w, mine({4}, 1, f32)};
  auto loss = [](Model m) {
    const Model own = pvary(m, world());
    return psum(sum(own.w) + sum(own.b), world());
  };
  const Array want = grad(loss)(same).w;
  (void)pvary(differs, world());  // nobody looks
  const bool former = mpi::debug_ranks();
  EXPECT_TRUE(mpi::debug_ranks_enabled());
  EXPECT_TRUE(same_bits(grad(loss)(same).w, want));
  EXPECT_TRUE(same_bits(jit(grad(loss))(same).w, want));
  EXPECT_EQ(mpi::shard(ones({ranks(), 2}), world()).shape(), Shape({1, 2}));
  if (!alone()) {
    std::string others = "rank 1 has";
    if (ranks() == 3) others = "ranks 1, 2 have";
    if (ranks() == 4) others = "ranks 1, 2, 3 have";
    const std::string rest =
        " is not the same on all ranks: " + others +
        " other values than rank 0; hint: broadcast(x, comm) makes it the same; what each rank has for itself "
        "needs no pvary or shard";
    EXPECT_EQ(ERROR_OF((void)pvary(differs.b, world())), "[pvary] f32[4]" + rest);
    EXPECT_EQ(ERROR_OF((void)pvary(differs, world())), "[pvary] b, f32[4]" + rest);
    EXPECT_EQ(ERROR_OF((void)jit(value_and_grad(loss))(differs)), "[pvary] b, f32[4]" + rest);
    const std::vector<Array> list{ones({2 * ranks(), 3}), mine({ranks(), 2}, 1, f32)};
    EXPECT_EQ(ERROR_OF((void)mpi::shard(list, world())),
              "[mpi::shard] [1], f32[" + std::to_string(ranks()) + ",2]" + rest);
  }
  mpi::debug_ranks(former);
}
TEST_F(Errors, OneSessionAProcess) {
  EXPECT_EQ(ERROR_OF(mpi::Session second),
            "[mpi::Session] there is a session already; hint: a process has one, in main");
}
TEST_F(Errors, TextOfAnotherSession) {
  std::string text = make_program([](Array x) { return psum(x, world()); })(ones(2)).str();
  text.replace(text.find("world"), 5, "mars");
  EXPECT_THROW((void)parse_program(text), Error);
}
template <class T>
T taken(T& x) {
  return std::move(x);
}
TEST_F(Errors, WhatWasMovedFrom) {
  mpi::Comm a = world(), b = taken(a);
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): that is what is asked
  EXPECT_EQ(ERROR_OF((void)a.rank()), "[mpi::Comm::rank] a communicator that was moved from");
  EXPECT_EQ(ERROR_OF((void)psum(ones(2), a)), "[psum] a communicator that was moved from");
  auto f = mpi::data_parallel([](Array x) { return x; }, b);
  auto g = taken(f);
  EXPECT_EQ(g(array(2.0)).item(), 2);
  EXPECT_THROW((void)f(array(2.0)), Error);  // NOLINT(clang-analyzer-cplusplus.Move): likewise
}

}  // namespace
}  // namespace anew::test
