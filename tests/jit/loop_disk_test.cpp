// Loops whose states lie on disk: less memory, the same bits; every fault of a file is an Error, and nothing is left.
#include <anew/control.h>
#include <anew/jit.h>
#include <anew/ops.h>
#include <anew/transforms.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/files.h"
#include "support/support.h"

namespace anew::test::loop_disk_test {
namespace {

auto loss(ScanOptions o) {
  return [o](Array c, Array u) {
    auto body = [&](Array s, none_t) { return std::pair(s + 0.1 * c * sin(s), none); };
    return sum(square(scan(body, u, none, o).first));
  };
}
const Array c = 1 + 0.1 * sin(arange(1024.0)), u = 0.5 * cos(arange(1024.0));

TEST(LoopDisk, LessMemoryTheSameBits) {
  const std::string folder = std::filesystem::temp_directory_path();
  auto plain = jit(grad<0, 1>(loss({.length = 200})));
  const auto want = plain(c, u);
  for (std::size_t memory : {64_KiB, 32_KiB, 12_KiB}) {
    auto kept = jit(grad<0, 1>(loss({.length = 200, .memory = memory})));
    auto spilled = jit(grad<0, 1>(loss({.length = 200, .memory = memory, .disk = folder})));
    const auto got = spilled(c, u);
    EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)));
    const MemoryPlan plan = spilled.plan(c, u);
    EXPECT_GT(plan.disk_bytes, 4096U);
    EXPECT_EQ(plan.disk_bytes % 4096, 0U);
    EXPECT_LE(plan.peak_bytes, kept.plan(c, u).peak_bytes + 16_KiB);
    EXPECT_NE(plan.str().find("on disk"), std::string::npos);
  }
  EXPECT_EQ(plain.plan(c, u).disk_bytes, 0U);
}

// Where somebody else reads the states, or in another loop, they stay in memory.
TEST(LoopDisk, StatesThatStay) {
  const std::string folder = std::filesystem::temp_directory_path();
  auto slope = [&](ScanOptions o) { return grad<1>(loss(o)); };
  auto nested = [&](ScanOptions o) {
    return [=](Array u) {
      auto outer = [=](Array s, none_t) { return std::pair(s - 0.01 * grad<1>(loss(o))(c, s), none); };
      return scan(outer, u, none, {.length = 3}).first;
    };
  };
  const ScanOptions spilled{.length = 50, .memory = 20_KiB, .disk = folder};
  EXPECT_TRUE(same_bits(slope(spilled)(c, u), slope({.length = 50})(c, u)));
  EXPECT_TRUE(same_bits(jit(nested(spilled))(u), jit(nested({.length = 50}))(u)));
  EXPECT_EQ(jit(nested(spilled)).plan(u).disk_bytes, 0U);
  auto pulled = [&](ScanOptions o) { return vmap([=](Array u) { return grad<1>(loss(o))(c, u); }); };
  const Array batch = stack({u, u * 2, u * 3});
  EXPECT_TRUE(same_bits(jit(pulled(spilled))(batch), jit(pulled({.length = 50}))(batch)));
}

// Whatever fits in memory: else a small run passes, and the large one fails after an hour.
TEST(LoopDisk, FoldersAreLookedAtBeforeAnythingGoesThere) {
  const auto few = loss({.length = 2, .memory = 16_KiB, .disk = "/nowhere"});
  for (const std::string& text :
       {ERROR_OF(few(c, u)), ERROR_OF(jit(few)(c, u)), ERROR_OF(jit(grad<1>(few)).plan(c, u))})
    EXPECT_EQ(
        text,
        "[scan] cannot open a file in /nowhere: No such file or directory; hint: give a folder that exists and may "
        "be written to");
  EXPECT_EQ(ERROR_OF(loss({.length = 2, .memory = 16_KiB, .disk = "/etc/passwd"})(c, u)),
            "[scan] cannot open a file in /etc/passwd: Not a directory; hint: give a folder that exists and may be "
            "written to");
  EXPECT_EQ(ERROR_OF(loss({.length = 2, .checkpoints = 1, .disk = "/nowhere"})(c, u)),
            "[scan] .disk without .memory; hint: give the bytes that may be kept in memory in place of .checkpoints: "
            "{.memory = 64_MiB, .disk = \"...\"}");
}

TEST(LoopDisk, FaultsAreErrors) {
  const Folder folder;
  auto spilled = jit(grad<1>(loss({.length = 100, .memory = 16_KiB, .disk = folder.path})));
  const Array want = grad<1>(loss({.length = 100}))(c, u);
  const int failed =
      errors_of_faults(runs(200), 100, "[scan] cannot ", [&](int) { EXPECT_TRUE(same_bits(spilled(c, u), want)); });
  EXPECT_GT(failed, runs(200) / 4);
  EXPECT_TRUE(same_bits(spilled(c, u), want));
  EXPECT_EQ(folder.files(), 0);
  EXPECT_EQ(
      ERROR_OF(jit(grad<1>(loss({.length = 100, .memory = 16_KiB, .disk = "/nowhere"})))(c, u)),
      "[scan] cannot open a file in /nowhere: No such file or directory; hint: give a folder that exists and may be "
      "written to");
}

}  // namespace
}  // namespace anew::test::loop_disk_test
