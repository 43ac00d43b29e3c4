// A StepWatch sees the steps of its own thread while it is installed, nested Codes only where it asks for them.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "runtime/executable.h"

namespace anew {
namespace {

class Does final : public ExecutableStep {
 public:
  explicit Does(std::function<void(std::byte**)> work) : work_(std::move(work)) {}
  void run(std::byte* const*, std::byte** more) const override { work_(more); }

 private:
  std::function<void(std::byte**)> work_;
};

struct Seen final : StepWatch {
  std::vector<std::pair<const Code*, std::size_t>> steps;
  void ran(const Code& code, std::size_t step, double nanoseconds) override {
    EXPECT_GE(nanoseconds, 0);
    steps.emplace_back(&code, step);
  }
};

class Watching : public testing::Test {
 protected:
  Watching() {
    inner.steps.push_back(std::make_unique<Does>([](std::byte**) {}));
    outer.steps.push_back(std::make_unique<Does>([](std::byte**) {}));
    outer.steps.push_back(std::make_unique<Does>([this](std::byte** more) {
      inner.run(more);
      inner.run(more);
    }));
  }
  void run(StepWatch* watch) {
    StepWatch::Installed installed(watch);
    outer.run(table);
  }
  using Steps = std::vector<std::pair<const Code*, std::size_t>>;
  Code inner, outer;
  std::byte* table[1] = {};
};

TEST_F(Watching, SeesNestedCodes) {
  Seen seen;
  run(&seen);
  EXPECT_EQ(seen.steps, (Steps{{&outer, 0}, {&inner, 0}, {&inner, 0}, {&outer, 1}}));
}

TEST_F(Watching, OrDoesNot) {
  Seen seen;
  seen.nested = false;
  run(&seen);
  EXPECT_EQ(seen.steps, (Steps{{&outer, 0}, {&outer, 1}}));
}

TEST_F(Watching, EndsWithItsScope) {
  Seen seen;
  run(&seen);
  const std::size_t before = seen.steps.size();
  run(nullptr);
  outer.run(table);
  EXPECT_EQ(seen.steps.size(), before);
  EXPECT_EQ(StepWatch::current, nullptr);
}

TEST_F(Watching, EndsWhereAStepThrows) {
  outer.steps.push_back(std::make_unique<Does>([](std::byte**) { throw Error("no"); }));
  Seen seen;
  EXPECT_THROW(run(&seen), Error);
  EXPECT_EQ(seen.steps.size(), 4u);
  EXPECT_EQ(StepWatch::current, nullptr);
}

TEST_F(Watching, IsOfOneThread) {
  Seen seen;
  StepWatch::Installed installed(&seen);
  std::thread([&] { outer.run(table); }).join();
  EXPECT_TRUE(seen.steps.empty());
}

}  // namespace
}  // namespace anew
