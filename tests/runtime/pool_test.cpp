// The thread pool: every chunk once, the same chunks whatever the threads, nesting, exceptions, several callers at
// once.
#include "runtime/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/base.h"

namespace anew {
namespace {

class PoolTest : public ::testing::Test {
 protected:
  void TearDown() override { set_threads(initial_); }
  int initial_ = threads();
};

using Chunk = std::pair<std::int64_t, std::int64_t>;

std::set<Chunk> chunks_of(std::int64_t n, std::int64_t grain) {
  std::mutex mutex;
  std::set<Chunk> seen;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(seen.emplace(begin, end).second);
  });
  return seen;
}

TEST_F(PoolTest, ChunksDependOnTheShapeOnly) {
  const std::set<Chunk> expected = {{0, 3}, {3, 6}, {6, 9}, {9, 10}};
  for (int t : {1, 2, 4, 7}) {
    set_threads(t);
    EXPECT_EQ(threads(), t);
    EXPECT_EQ(chunks_of(10, 3), expected);
    EXPECT_EQ(chunks_of(2, 3), (std::set<Chunk>{{0, 2}}));
    EXPECT_TRUE(chunks_of(0, 3).empty());
    EXPECT_TRUE(chunks_of(-1, 3).empty());
  }
}

// So that it finds in its cache what it worked on before.
TEST_F(PoolTest, AThreadTakesItsOwnShareFirst) {
  set_threads(2);
  for (int round = 0; round < 10; ++round) {
    std::mutex mutex;
    std::vector<std::pair<std::thread::id, std::int64_t>> first;  // chunk of each thread
    std::atomic<int> arrived{0};
    parallel_for(9, 1, [&](std::int64_t begin, std::int64_t) {
      {
        std::lock_guard lock(mutex);
        for (const auto& [thread, chunk] : first)
          if (thread == std::this_thread::get_id()) return;
        first.emplace_back(std::this_thread::get_id(), begin);
      }
      ++arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (arrived < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    for (const auto& [thread, chunk] : first) EXPECT_EQ(chunk, thread == std::this_thread::get_id() ? 0 : 5);
  }
}

TEST_F(PoolTest, EveryChunkOnceManyTimes) {
  for (int t : {2, 4}) {
    set_threads(t);
    std::vector<int> hits(97, 0);
    for (int round = 0; round < 2000; ++round)
      parallel_for(97, 5, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
      });
    for (int h : hits) EXPECT_EQ(h, 2000);
  }
}

TEST_F(PoolTest, WorkersTakePart) {
  set_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  // The second chunk is only left when both have been entered.
  std::atomic<int> inside{0};
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    {
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    ++inside;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(PoolTest, WakesWorkersThatSleep) {
  set_threads(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> sum{0};
    parallel_for(6, 1, [&](std::int64_t begin, std::int64_t) { sum += static_cast<int>(begin); });
    EXPECT_EQ(sum, 15);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_F(PoolTest, NestedCallsRunInTheCallersThread) {
  set_threads(4);
  std::atomic<std::int64_t> sum{0};
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t) {
    const auto id = std::this_thread::get_id();
    parallel_for(10, 2, [&](std::int64_t b, std::int64_t e) {
      EXPECT_EQ(std::this_thread::get_id(), id);
      for (std::int64_t i = b; i < e; ++i) sum += begin * 10 + i;
    });
  });
  EXPECT_EQ(sum, 79 * 80 / 2);
}

TEST_F(PoolTest, TheExceptionIsTheFirstInOrder) {
  for (int t : {1, 2, 4}) {
    set_threads(t);
    for (int round = 0; round < 200; ++round) {
      std::string text;
      try {
        parallel_for(40, 1, [&](std::int64_t begin, std::int64_t) {
          if (begin % 7 == 5) throw std::runtime_error(std::to_string(begin));
        });
      } catch (const std::runtime_error& e) {
        text = e.what();
      }
      EXPECT_EQ(text, "5");
    }
    std::atomic<int> ran{0};
    parallel_for(40, 1, [&](std::int64_t, std::int64_t) { ++ran; });
    EXPECT_EQ(ran, 40);
  }
}

TEST_F(PoolTest, SeveralCallers) {
  set_threads(2);
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::vector<int> hits(64, 0);
        parallel_for(64, 4, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
        });
        for (int h : hits) wrong += h != 1;
      }
    });
  for (int n : {1, 3, 2, 4, 2}) {
    set_threads(n);
    std::this_thread::yield();
  }
  for (std::thread& u : users) u.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(PoolTest, ThreadNumbersAreChecked) {
  const auto text = [](auto f) -> std::string {
    try {
      f();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(text([] { set_threads(0); }).find("[set_threads] the number of threads must be from 1 to 256, not 0"), 0u);
  EXPECT_EQ(text([] { set_threads(257); }).find("[set_threads] the number of threads must be from 1 to 256, not 257"),
            0u);
  EXPECT_EQ(parse_threads("12"), 12);
  for (const char* bad : {"", "0", "-1", "two", "3x", "999", "99999999999999"})
    EXPECT_EQ(text([&] {
                parse_threads(bad);
              }).find(std::string("[threads] ANEW_THREADS must be a number from 1 to 256, not '") + bad + "'"),
              0u);
  EXPECT_THROW(parallel_for(1, 0, [](std::int64_t, std::int64_t) {}), InternalError);
  set_threads(2);
  EXPECT_THROW(parallel_for(4, 1, [](std::int64_t, std::int64_t) { set_threads(1); }), InternalError);
}

#if defined(__x86_64__)
TEST_F(PoolTest, FloatModeIsSetAndRestored) {
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0xffc0);  // toward zero, flush to zero, denormals are zero
  volatile float tiny = 1e-30f, ten = 1e-10f;
  float kept = 0;
  {
    const FloatMode mode;
    EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3fu, 0x1f80u);
    kept = tiny * ten;
  }
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(after & ~0x3fu, 0xffc0u & ~0x3fu);
  EXPECT_NE(kept, 0);
}

// A thread inherits the mode of the one that starts it; workers must not.
TEST_F(PoolTest, WorkersHaveTheStandardMode) {
  const unsigned before = __builtin_ia32_stmxcsr();
  const auto caller = std::this_thread::get_id();
  __builtin_ia32_ldmxcsr(0x9fc0);
  set_threads(4);
  std::atomic<int> wrong{0};
  for (int round = 0; round < 50; ++round)
    parallel_for(16, 1, [&](std::int64_t, std::int64_t) {
      wrong += std::this_thread::get_id() != caller && (__builtin_ia32_stmxcsr() & ~0x3fu) != 0x1f80u;
    });
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(wrong, 0);
}
#endif

// How many threads work at once: chunks wait for each other as long as more may come.
int threads_at_once() {
  std::atomic<int> now{0}, most{0};
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
    const int n = ++now;
    for (int m = most.load(); n > m && !most.compare_exchange_weak(m, n);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    --now;
  });
  return most.load();
}

TEST_F(PoolTest, ALimitHoldsInItsScope) {
  set_threads(4);
  {
    const ThreadLimit two(2);
    EXPECT_EQ(threads(), 2);
    for (int i = 0; i < 20; ++i) EXPECT_LE(threads_at_once(), 2);
    {
      const ThreadLimit more(3), none(0);  // the smallest holds
      EXPECT_EQ(threads(), 2);
      const ThreadLimit one(1);
      EXPECT_EQ(threads(), 1);
      EXPECT_EQ(threads_at_once(), 1);
      EXPECT_EQ(chunks_of(10, 3), (std::set<Chunk>{{0, 3}, {3, 6}, {6, 9}, {9, 10}}));
    }
    EXPECT_EQ(threads(), 2);
    std::thread([] { EXPECT_EQ(threads(), 4); }).join();  // of this thread only
  }
  EXPECT_EQ(threads(), 4);
  const ThreadLimit none(0);
  EXPECT_EQ(threads(), 4);
  EXPECT_GT(threads_at_once(), 2);
}

TEST_F(PoolTest, ALimitIsNotNegative) {
  std::string text;
  try {
    ThreadLimit limit(-1);
  } catch (const Error& e) {
    text = e.what();
  }
  EXPECT_TRUE(text.starts_with("[threads] a limit of threads is 0 or more, not -1")) << text;
  EXPECT_EQ(threads(), initial_);
}

}  // namespace
}  // namespace anew
