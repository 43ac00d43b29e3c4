// Who sees a warning, how often, and that neither threads nor a throwing handler do harm.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/base.h"

namespace anew {
namespace {

TEST(Warning, DefaultPrintsOncePerPlace) {
  testing::internal::CaptureStderr();
  Location at;
  for (int i = 0; i < 3; ++i) warn("the checkpoint changes nothing", at = Location::current());
  warn("another text", at);
  warn("no place", Location());
  warn("too slow; hint: wait", at);
  const std::string line = std::to_string(at.line());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "anew: warning: the checkpoint changes nothing; at warning_test.cpp:" + line + "\n" +
                "anew: warning: another text; at warning_test.cpp:" + line + "\n" + "anew: warning: no place\n" +
                "anew: warning: too slow; at warning_test.cpp:" + line + "; hint: wait\n");
}

TEST(Warning, HandlerSeesEveryOne) {
  std::vector<Warning> seen;
  const WarningHandler before = set_warning_handler([&](const Warning& w) { seen.push_back(w); });
  EXPECT_FALSE(before);
  const Location at = Location::current();
  warn("text", at);
  warn("text", at);
  const WarningHandler ours = set_warning_handler({});
  EXPECT_TRUE(ours);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].text, "text");
  EXPECT_EQ(seen[1].file, __FILE__);
  EXPECT_EQ(seen[1].line, static_cast<int>(at.line()));
}

TEST(Warning, HandlerMayThrowAndMayWarn) {
  set_warning_handler([](const Warning& w) { throw Error(w.text, Location()); });
  EXPECT_THROW(warn("made an error", Location()), Error);
  int depth = 0;
  set_warning_handler([&](const Warning&) {
    if (++depth < 3) warn("again", Location());
  });
  warn("first", Location());
  EXPECT_EQ(depth, 3);
  set_warning_handler({});
}

TEST(Warning, FromSeveralThreads) {
  std::atomic<int> count = 0;
  set_warning_handler([&](const Warning&) { ++count; });
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) warn("text", Location());
    });
  }
  threads.clear();
  set_warning_handler({});
  EXPECT_EQ(count, 400);

  testing::internal::CaptureStderr();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) warn("only once", Location());
    });
  }
  threads.clear();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "anew: warning: only once\n");
}

}  // namespace
}  // namespace anew
