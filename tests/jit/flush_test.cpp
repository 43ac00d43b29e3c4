// flush_subnormals: subnormal numbers are zeros, for every way to compute, on every thread; what has none of them keeps
// its bits, and recomputing still changes none.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "runtime/pool.h"

namespace anew {
namespace {

class Flush : public testing::Test {
 protected:
  void TearDown() override {
    flush_subnormals(false);
    set_threads(threads_);
  }

 private:
  const int threads_ = threads();
};

bool same(const Array& a, const Array& b) { return array_equal(a, b) && array_equal(signbit(a), signbit(b)); }

TEST_F(Flush, IsSaidAndTakenBack) {
  EXPECT_FALSE(flush_subnormals());
  EXPECT_TRUE(flush_subnormals());
  EXPECT_TRUE(flush_subnormals(false));
  EXPECT_FALSE(flush_subnormals(false));
}

TEST_F(Flush, ResultsAndOperandsOfEveryWayToCompute) {
  const Array small = full({100000}, 1e-30), smaller = full({100000}, 1e-10), subnormal = small * smaller;
  const Array large = full({100000}, 1e30);
  ASSERT_GT(max(subnormal).item(), 0);
  auto product = [](Array a, Array b) { return a * b; };
  for (int threads : {1, 2, 4}) {
    set_threads(threads);
    for (bool flushed : {true, false, true}) {
      flush_subnormals(flushed);
      for (const Array& y :
           std::vector<Array>{small * smaller, jit(product)(small, smaller), subnormal * large,
                              jit(product)(subnormal, large), sum(reshape(subnormal * large, {1000, 100}), 1),
                              matmul(reshape(subnormal, {100, 1000}), reshape(large, {1000, 100})),
                              astype(full({100000}, 1e-40, f64), f32) * large})
        EXPECT_EQ(all(y == 0).item<bool>(), flushed) << threads;
    }
    flush_subnormals(false);
  }
}

TEST_F(Flush, OneScaleOfDoubles) {
  const Array small = full({1000}, 1e-200, f64);
  auto f = [](Array x) { return x * x * 1e100; };
  EXPECT_EQ(max(jit(f)(small * 1e-110)).item(), 0);
  EXPECT_GT(max(jit([](Array x) { return x * 1e-110; })(small)).item(), 0);
  flush_subnormals();
  EXPECT_EQ(max(jit([](Array x) { return x * 1e-110; })(small)).item(), 0);
  EXPECT_EQ(max(small * 1e-110).item(), 0);
}

// A wave that runs into a quiet field: most of it underflows.
Array energy(const Array& c) {
  const Array x = arange(400) * 0.1;
  auto step = [c](std::pair<Array, Array> u, none_t) {
    const Array p = pad(u.first, {{1, 1}});
    const Array bend = p[slice(2, none)] + p[slice(none, -2)] - 2 * u.first;
    return std::pair(std::pair(2 * u.first - u.second + c * c * bend, u.first), none);
  };
  const Array start = exp(-square(x - 5));
  return sum(square(scan(checkpoint(step), std::pair(start, start), none, {.length = 60}).first.first));
}

TEST_F(Flush, EveryWayHasTheSameBits) {
  const Array c = full({400}, 0.4);
  const Array kept = grad(energy)(c);
  flush_subnormals();
  const Array eager = grad(energy)(c);
  EXPECT_TRUE(same(eager, jit(grad(energy))(c)));
  EXPECT_TRUE(same(eager, jit(grad(energy), {.memory_budget = 60'000})(c)));
  EXPECT_TRUE(same(jit(jit(energy))(c), energy(c)));
  EXPECT_FALSE(array_equal(eager, kept));  // the mode had something to do
  EXPECT_TRUE(allclose(eager, kept, 1e-6, 1e-30));
}

TEST_F(Flush, WithoutSubnormalNumbersNothingChanges) {
  auto f = [](Array x) { return sum(tanh(x) * exp(-x * x) + log1p(x * x) + sin(x) / sqrt(1 + x * x)); };
  const Array x = random::normal(random::key(1), {300, 70});
  const Array plain = grad(f)(x), compiled = jit(grad(f))(x);
  flush_subnormals();
  EXPECT_TRUE(same(grad(f)(x), plain));
  EXPECT_TRUE(same(jit(grad(f))(x), compiled));
}

}  // namespace
}  // namespace anew
