// Workspaces of threads and units of work: one per thread, halves apart, never more pieces than the scratch has.
#include "runtime/workspace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/lent_scratch.h"

namespace anew {
namespace {

TEST(WorkspaceTest, OnePerThreadForGood) {
  const std::size_t live = memory_statistics().live_bytes;
  std::byte *own = product_workspace(), *other = nullptr;
  EXPECT_EQ(product_workspace(), own);
  EXPECT_EQ(unit_workspace(), own + workspace_half);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own) % scratch_alignment, 0u);
  std::memset(own, 1, 2 * workspace_half);
  std::thread([&] {
    other = product_workspace();
    std::memset(other, 2, 2 * workspace_half);
  }).join();
  EXPECT_NE(own, other);
  EXPECT_EQ(own[2 * workspace_half - 1], std::byte{1});
  EXPECT_EQ(memory_statistics().live_bytes, live);  // belongs to no plan
}

TEST(WorkspaceTest, PiecesAreAligned) {
  alignas(64) std::byte memory[256];
  Pieces pieces(memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(pieces.take<float>(3)), memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(pieces.take<double>(0)), memory + 64);
  EXPECT_EQ(reinterpret_cast<std::byte*>(pieces.take<double>(9)), memory + 64);
  EXPECT_EQ(pieces.take<std::byte>(0), memory + 192);
  EXPECT_EQ(scratch_bytes<double>(9), 128u);
}

// Every unit once; whoever has a piece of memory has it alone.
void check(std::int64_t count, std::size_t bytes, std::size_t scratch_size) {
  const Units units{count, bytes};
  EXPECT_EQ(units.scratch(), scratch_size);
  const LentScratch scratch(units.scratch());
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
  units.run(3, scratch.data(), [&](std::int64_t i, std::byte* own) {
    if (bytes == 0) {
      ++done[static_cast<std::size_t>(i)];
      return;
    }
    own[0] = own[bytes - 1] = static_cast<std::byte>(i);
    std::this_thread::yield();
    EXPECT_EQ(own[0], static_cast<std::byte>(i));
    EXPECT_EQ(own[bytes - 1], static_cast<std::byte>(i));
    ++done[static_cast<std::size_t>(i)];
  });
  for (const auto& d : done) EXPECT_EQ(d.load(), 1);
  EXPECT_TRUE(scratch.intact());
}

TEST(UnitsTest, EachOnceWithItsOwnMemory) {
  const int before = threads();
  constexpr std::size_t more = workspace_half + 64;
  for (int t : {1, 2, 4}) {
    set_threads(t);
    for (std::int64_t count : {0, 1, 2, 7, 8, 9, 50}) {
      check(count, 0, 0);
      check(count, workspace_half, 0);
      check(count, more, static_cast<std::size_t>(std::min<std::int64_t>(count, Units::most_pieces)) * more);
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace anew
