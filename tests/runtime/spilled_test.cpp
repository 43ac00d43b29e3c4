// Memory that lies in a file: pieces, rows, moves from file to file, many threads.
#include "runtime/spilled.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/buffer.h"

namespace anew::test {
namespace {

using Bytes = std::vector<unsigned char>;
std::byte* of(Bytes& b) { return reinterpret_cast<std::byte*>(b.data()); }
Bytes pattern(std::size_t n, int seed) {
  Bytes b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<unsigned char>(seed + 7 * static_cast<int>(i));
  return b;
}
std::shared_ptr<SpillFile> file() { return open_spill_file({"test", "", Location(), "bytes"}); }

TEST(Spilled, AddressesAreNotMemory) {
  const SpilledRegion r(10000, file(), Location());
  EXPECT_TRUE(is_spilled(r.data()) && is_spilled(r.data() + 9999));
  Bytes b(1);
  EXPECT_FALSE(is_spilled(of(b)));
  EXPECT_EQ(in_memory(of(b), Location()), of(b));
}

TEST(Spilled, RowsThereAndBack) {
  SpilledRegion r(20 * 100, file(), Location());
  for (int i = 0; i < 20; ++i) {
    Bytes row = pattern(100, i);
    move_bytes(r.data() + 100 * i, of(row), 100);
  }
  for (int i = 20; i-- > 0;) {
    Bytes row(100);
    move_bytes(of(row), r.data() + 100 * i, 100);
    EXPECT_EQ(row, pattern(100, i));
  }
  // Across pieces, and parts of them.
  Bytes some(150), want = pattern(100, 3);
  move_bytes(of(some), r.data() + 350, 150);
  want.erase(want.begin(), want.begin() + 50);
  const Bytes next = pattern(100, 4);
  want.insert(want.end(), next.begin(), next.end());
  EXPECT_EQ(some, want);
  SpilledRegion other(150, file(), Location());
  move_bytes(other.data(), r.data() + 350, 150);
  move_bytes(of(some), other.data(), 150);
  EXPECT_EQ(some, want);
  // As a whole, in memory.
  EXPECT_EQ(std::memcmp(r.loaded(Location()) + 700, pattern(100, 7).data(), 100), 0);
}

TEST(Spilled, WrittenAgain) {
  SpilledRegion r(64, file(), Location());
  for (int i = 0; i < 50; ++i) {
    Bytes in = pattern(64, i), out(64);
    move_bytes(r.data(), of(in), 64);
    move_bytes(of(out), r.data(), 64);
    EXPECT_EQ(in, out);
  }
}

TEST(Spilled, FromFileToFile) {
  auto other = std::make_unique<SpilledRegion>(100, file(), Location());
  SpilledRegion r(300, file(), Location());
  Bytes in = pattern(100, 5), out(100);
  move_bytes(other->data(), of(in), 100);
  move_bytes(r.data() + 200, other->data(), 100);
  other.reset();
  move_bytes(of(out), r.data() + 200, 100);
  EXPECT_EQ(in, out);
}

TEST(Spilled, WhatWasNotWrittenIsAnError) {
  SpilledRegion r(100, file(), Location());
  Bytes b(100);
  EXPECT_THROW(move_bytes(of(b), r.data(), 100), InternalError);
  move_bytes(r.data(), of(b), 50);
  EXPECT_THROW(move_bytes(of(b), r.data(), 100), InternalError);
  EXPECT_THROW(move_bytes(r.data() + 20, of(b), 50), InternalError);
}

TEST(Spilled, BuffersAreNotCounted) {
  const MemoryMeter meter;
  const BufferRef b = allocate_spilled(1 << 20, Location());
  EXPECT_EQ(b->bytes(), std::size_t{1} << 20);
  EXPECT_EQ(meter.peak(), 0u);
}

// More than the window of the system's cache: some of it is on disk when it is read.
TEST(Spilled, ManyBytes) {
  constexpr std::size_t row = std::size_t{1} << 20;
  SpilledRegion r(40 * row, file(), Location());
  for (int i = 0; i < 40; ++i) {
    Bytes b = pattern(row, i);
    move_bytes(r.data() + i * row, of(b), row);
  }
  Bytes out(row);
  for (int i = 40; i-- > 0;) {
    move_bytes(of(out), r.data() + i * row, row);
    EXPECT_EQ(out, pattern(row, i));
  }
}

// What the system could not bring to disk is an Error before it is read as something else.
TEST(Spilled, WhatDoesNotReachTheDisk) {
  constexpr std::size_t row = std::size_t{1} << 20;
  set_file_fault([](const char* call) { return std::strcmp(call, "sync") == 0 ? EIO : 0; });
  SpilledRegion r(20 * row, file(), Location());
  std::string text;
  try {
    Bytes b = pattern(row, 1);
    for (int i = 0; i < 20; ++i) move_bytes(r.data() + i * row, of(b), row);
    move_bytes(of(b), r.data(), row);
  } catch (const Error& e) {
    text = e.what();
  }
  set_file_fault(nullptr);
  EXPECT_EQ(text.find("[test] cannot write bytes in "), 0u) << text;
  EXPECT_NE(text.find(": Input/output error; hint: free space there, or set ANEW_SPILL to a folder on another disk"),
            std::string::npos)
      << text;
}

TEST(Spilled, ThreadsShareAFile) {
  const auto shared = file();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        SpilledRegion r(8 * 500, shared, Location());
        for (int i = 0; i < 8; ++i) {
          Bytes b = pattern(500, t + i + round);
          move_bytes(r.data() + 500 * i, of(b), 500);
        }
        for (int i = 8; i-- > 0;) {
          Bytes b(500);
          move_bytes(of(b), r.data() + 500 * i, 500);
          EXPECT_EQ(b, pattern(500, t + i + round));
        }
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace anew::test
