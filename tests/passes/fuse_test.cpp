// Fusion of typical programs: what becomes one kernel is recorded in kernels/*.txt. ANEW_REWRITE_KERNELS=1 writes those
// files anew; read the difference before it is kept.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "passes/fuse_programs.h"
#include "passes/fuse_support.h"

namespace anew::test {
namespace {

TEST(Fuse, TypicalProgramsKeepTheirBits) {
  for (const TypicalProgram& p : typical_programs()) expect_same(p.program, p.inputs, p.name);
}

TEST(Fuse, TypicalProgramsAreFusedAsRecorded) {
  const bool rewrite = std::getenv("ANEW_REWRITE_KERNELS") != nullptr;
  for (const TypicalProgram& p : typical_programs()) {
    auto body = lowered(p.program);
    const Traffic before = traffic(*body);
    std::string text = "---- before\n" + passes::str(*body);
    passes::fuse(*body);
    const Traffic after = traffic(*body);
    text += "---- after\n" + passes::str(*body);
    std::string head = fmt::format("{}: kernels {} -> {}, bytes {:.0f} -> {:.0f}\n", p.name, before.kernels,
                                   after.kernels, before.bytes, after.bytes);
    fmt::print("{}", head);
    const std::string path = fmt::format("{}/passes/kernels/{}.txt", ANEW_TESTS_DIR, p.name);
    if (rewrite) {
      std::ofstream(path) << head << text;
      continue;
    }
    std::ostringstream recorded;
    recorded << std::ifstream(path).rdbuf();
    EXPECT_EQ(recorded.str(), head + text) << path;
  }
}

}  // namespace
}  // namespace anew::test
