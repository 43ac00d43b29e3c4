// Buffers: alignment, sharing, reuse, exact statistics, borrowed memory, limits, threads.
#include "runtime/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace anew::buffer_test {
namespace {

std::string text_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(BufferTest, AlignedAndWritable) {
  for (std::size_t bytes : {0, 1, 63, 64, 65, 256, 257, 1000, 4096, 65536, 65537, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    const BufferRef b = allocate(bytes);
    EXPECT_EQ(b->bytes(), bytes);
    ASSERT_NE(b->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b->data()) % 64, 0u);
    std::memset(b->data(), 0xab, bytes);
  }
  const BufferRef large = allocate(3 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large->data()) % (2 << 20), 0u);
}

TEST(BufferTest, EmptyOnesAreDistinct) {
  const BufferRef a = allocate(0), b = allocate(0);
  EXPECT_NE(a->data(), b->data());
}

TEST(BufferTest, Counts) {
  BufferRef a = allocate(100);
  EXPECT_TRUE(a->unique());
  BufferRef b = a;
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a->unique());
  a = BufferRef();
  EXPECT_FALSE(a);
  EXPECT_TRUE(b->unique());
  BufferRef& same = b;
  b = same;
  EXPECT_TRUE(b->unique());
  BufferRef c = std::move(b);
  EXPECT_FALSE(b);
  EXPECT_TRUE(c->unique());
}

TEST(BufferTest, ReusesBlocksOfItsClass) {
  for (std::size_t bytes : {100ul, 5000ul, 300000ul, 9000000ul}) {
    const std::byte* address = allocate(bytes)->data();
    const std::size_t before = memory_statistics().system_allocations;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(allocate(bytes - static_cast<std::size_t>(i % 2))->data(), address);
    EXPECT_EQ(memory_statistics().system_allocations, before);
  }
}

TEST(BufferTest, LiveAndPeakAreExact) {
  const std::size_t start = memory_statistics().live_bytes;
  reset_peak();
  {
    const BufferRef a = allocate(1000), b = allocate(3000000);
    EXPECT_EQ(memory_statistics().live_bytes, start + 3001000);
    BufferRef copy = a;
    EXPECT_EQ(memory_statistics().live_bytes, start + 3001000);
  }
  {
    const BufferRef c = allocate(7);
    EXPECT_EQ(memory_statistics().live_bytes, start + 7);
  }
  EXPECT_EQ(memory_statistics().live_bytes, start);
  EXPECT_EQ(memory_statistics().peak_bytes, start + 3001000);
  reset_peak();
  EXPECT_EQ(memory_statistics().peak_bytes, start);
}

TEST(BufferTest, CacheIsReleasedAndBounded) {
  release_cached();
  const std::size_t start = memory_statistics().cached_bytes;
  EXPECT_EQ(start, 0u);
  {
    const BufferRef a = allocate(10 << 20);
  }
  EXPECT_GE(memory_statistics().cached_bytes, 10u << 20);
  release_cached();
  EXPECT_EQ(memory_statistics().cached_bytes, 0u);
  set_cache_limit(1 << 20);
  {
    const BufferRef a = allocate(10 << 20);
  }
  EXPECT_EQ(memory_statistics().cached_bytes, 0u);
  {
    const BufferRef a = allocate(100 << 10);
  }
  EXPECT_GT(memory_statistics().cached_bytes, 0u);
  set_cache_limit(0);
  EXPECT_EQ(memory_statistics().cached_bytes, 0u);
  set_cache_limit(std::size_t{4} << 30);
}

TEST(BufferTest, Borrows) {
  int value = 5, deleted = 0;
  const std::size_t live = memory_statistics().live_bytes;
  {
    const BufferRef b = borrow(&value, sizeof(value), std::shared_ptr<void>(&value, [&](void*) { ++deleted; }));
    EXPECT_EQ(static_cast<void*>(b->data()), &value);
    EXPECT_EQ(b->bytes(), sizeof(value));
    EXPECT_EQ(memory_statistics().live_bytes, live);
    const BufferRef other = b;
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(BufferTest, ImpossibleSizes) {
  EXPECT_EQ(text_of([] { allocate(~std::size_t{0}); }), "[allocate] no machine has 18446744073709551615 bytes");
  EXPECT_EQ(text_of([] {
              allocate(~std::size_t{0}, Location::current());
            }).find("[allocate] no machine has 18446744073709551615 bytes; at buffer_test.cpp:"),
            0u);
  const std::string text = text_of([] { allocate(std::size_t{1} << 47); });
  EXPECT_EQ(text.find("[allocate] the system has no 140737488355328 bytes left ("), 0u) << text;
}

// Blocks made in one thread and freed in another, threads that end with blocks at hand, buffers that outlive them.
TEST(BufferTest, Threads) {
  const std::size_t live = memory_statistics().live_bytes;
  std::vector<BufferRef> handed(200);
  std::vector<std::thread> makers;
  for (std::size_t t = 0; t < 4; ++t)
    makers.emplace_back([&, t] {
      std::mt19937 bits(static_cast<unsigned>(t));
      std::vector<BufferRef> mine(50);
      for (int i = 0; i < 5000; ++i) {
        const std::size_t bytes = bits() % 100 == 0 ? bits() % 3000000 : bits() % 3000;
        BufferRef& slot = mine[bits() % mine.size()];
        slot = allocate(bytes);
        if (bytes) std::memset(slot->data(), static_cast<int>(t), std::min<std::size_t>(bytes, 64));
      }
      for (std::size_t i = 0; i < 50; ++i) handed[t * 50 + i] = mine[i];
    });
  for (std::thread& t : makers) t.join();
  handed.clear();
  EXPECT_EQ(memory_statistics().live_bytes, live);
}

// A buffer that a thread_local of the user holds is freed after the allocator's own list of that thread has closed.
TEST(BufferTest, FreedWhileAThreadEnds) {
  const std::size_t live = memory_statistics().live_bytes;
  std::thread([] {
    static thread_local BufferRef late;
    late = allocate(100);
    const BufferRef early = allocate(100);
  }).join();
  EXPECT_EQ(memory_statistics().live_bytes, live);
}

}  // namespace
}  // namespace anew::buffer_test
