// The memory of Values, which each thread keeps for itself: arrays that are made on one thread and let go on another,
// while threads end and others begin. What is read must be what was made; the thread sanitizer says the rest.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <thread>

#include "support/random.h"
#include "trace/trace.h"

namespace anew {
namespace {

// Arrays on their way from thread to thread.
class Belt {
 public:
  void put(Array x) {
    std::lock_guard lock(mutex_);
    arrays_.push_back(std::move(x));
  }
  Array take() {
    std::lock_guard lock(mutex_);
    if (arrays_.empty()) return {};
    Array x = std::move(arrays_.front());
    arrays_.pop_front();
    return x;
  }

 private:
  std::mutex mutex_;
  std::deque<Array> arrays_;
};

Array made(std::int64_t i) {
  Array x = empty_array({{2}, i64}, Location());
  auto* data = reinterpret_cast<std::int64_t*>(x.value()->buffer->data());
  data[0] = i, data[1] = -i;
  return x;
}
bool is_right(const Array& x) {
  const auto* data = reinterpret_cast<const std::int64_t*>(x.value()->data());
  return x.shape() == Shape{2} && data[0] == -data[1];
}

TEST(ValueMemory, ArraysGoOnOtherThreads) {
  const auto count = static_cast<std::int64_t>(test::repeats(5000));
  Belt belt;
  std::atomic<std::int64_t> right = 0, gone = 0;
  auto make = [&](std::int64_t from) {
    Arrays kept;  // more than a thread keeps memory for
    for (std::int64_t i = from; i < from + count; ++i) {
      belt.put(made(i));
      kept.push_back(fresh_alias(kept.empty() ? made(i) : kept.back()));
      if (kept.size() == 300) kept.clear();
    }
  };
  auto let_go = [&] {
    while (gone < 4 * count) {
      const Array x = belt.take();
      if (!x.value()) {
        std::this_thread::yield();
        continue;
      }
      right += is_right(x);
      ++gone;
    }
  };
  std::thread first(let_go), second(let_go);
  for (std::int64_t round = 0; round < 2; ++round) {  // makers end, and others begin
    std::thread a(make, 2 * round * count), b(make, (2 * round + 1) * count);
    a.join(), b.join();
  }
  first.join(), second.join();
  EXPECT_EQ(right, 4 * count);
}

// One array, copied and let go by several threads: the last one of them gets its memory.
TEST(ValueMemory, TheLastOneTakesIt) {
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::thread> threads;
    {
      const Array shared = made(trial);
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([x = shared] {
          const Array own = fresh_alias(x), again = x;
          EXPECT_TRUE(is_right(own) && is_right(again));
        });
    }
    for (std::thread& t : threads) t.join();
  }
}

}  // namespace
}  // namespace anew
