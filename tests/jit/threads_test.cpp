// One compiled function called by several threads at once, jit from several threads, and numbers of threads: same bits.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "jit/compiled_program.h"
#include "runtime/pool.h"
#include "support/support.h"

namespace anew::threads_test {
namespace {

Array loss(Array w, Array x) {
  auto [c, ys] = scan(
      [&](Array h, Array row) {
        Array n = tanh(matmul(h, w) + row);
        return std::pair{n, sum(n)};
      },
      zeros({2, 8}), x);
  return sum(square(c)) + sum(ys);
}

// 8 threads, 10^5 calls each where the tests are long, fewer otherwise: the calls of one thread cannot disturb
// another's.
TEST(Threads, CallOneCompiledFunctionAtOnce) {
  const int calls = std::getenv("ANEW_LONG") ? 100'000 : 2'000;
  Array w = random::normal(random::key(0), {8, 8}), x = random::normal(random::key(1), {3, 2, 8});
  auto c = jit(value_and_grad(loss)).compile(w, x);
  std::vector<Array> ws;
  std::vector<std::pair<Array, Array>> want;
  for (int t = 0; t < 8; ++t) {
    ws.push_back(w * (1 + 0.125f * static_cast<float>(t)));
    want.push_back(c(ws.back(), x));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        auto [y, g] = c(ws[t], x);
        if (!test::same_bits({y, g}, {want[t].first, want[t].second})) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(c.high_water_bytes(), c.plan().peak_bytes);
}

TEST(Threads, CompileAtOnce) {
  Array x = random::normal(random::key(1), {50});
  auto f = jit([](Array x) { return cumsum(sin(x)) * x; });
  Array want = cumsum(sin(x)) * x;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  compiled::clear_compiled();
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        if (!array_equal(f(x), want)) ++wrong;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.cache_size(), 1u);
}

TEST(Threads, AnyNumberGivesTheSameBits) {
  auto f = [](Array a, Array b) { return std::tuple{sum(exp(a) * b), sum(matmul(a, b), 0), nn::softmax(a * b)}; };
  Array a = random::normal(random::key(0), {300, 300}), b = random::normal(random::key(1), {300, 300});
  auto [x, y, z] = f(a, b);
  const int before = anew::threads();
  for (int pool : {1, 3, 4}) {
    set_threads(pool);
    for (int n : {0, 1, 2, 4}) {
      auto [p, q, r] = jit(f, {.threads = n})(a, b);
      EXPECT_TRUE(test::same_bits({p, q, r}, {x, y, z})) << pool << " in the pool, .threads = " << n;
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace anew::threads_test
