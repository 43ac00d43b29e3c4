// Code on disk: used where it fits, ignored with a note where it does not, and never a reason to fail.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codegen/codegen.h"
#include "jit/compiled_program.h"
#include "support/support.h"

namespace anew {
namespace {

namespace fs = std::filesystem;

class CodeCache : public testing::Test {
 protected:
  void SetUp() override {
    if (compiled::backend() != compiled::Backend::machine_code) GTEST_SKIP() << "no machine code in this build";
    folder_ = fs::path(testing::TempDir()) / ("anew_code_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    before_ = set_code_cache(folder_.string());
    handler_ = set_warning_handler([this](const Warning& w) { warnings_.push_back(w.text); });
  }
  void TearDown() override {
    if (folder_.empty()) return;
    set_code_cache(before_);
    set_warning_handler(handler_);
    fs::remove_all(folder_);
  }
  // Compiles again, as a new process would.
  Array run() const {
    compiled::clear_compiled();
    return jit([](Array x) { return sum(exp(x) * 3.0f); })(arange(10.0f));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::directory_iterator(folder_)) out.push_back(e.path());
    return out;
  }
  void overwrite(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }
  static std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
  std::string before_;
  WarningHandler handler_;
  std::vector<std::string> warnings_;
};

TEST_F(CodeCache, IsReadBack) {
  Array first = run();
  ASSERT_EQ(files().size(), 1u);
  const auto written = fs::last_write_time(files()[0]);
  Array second = run();
  EXPECT_TRUE(array_equal(first, second));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(fs::last_write_time(files()[0]), written);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CodeCache, WhatDoesNotFitIsIgnoredWithANote) {
  const Array want = run();
  const fs::path file = files().at(0);
  const std::string good = contents(file);
  auto note = [&](const std::string& text) {
    warnings_.clear();
    overwrite(file, text);
    EXPECT_TRUE(array_equal(run(), want));
    EXPECT_EQ(contents(file), good);  // made again
    return warnings_.empty() ? std::string() : warnings_[0];
  };
  const std::string start = "[jit] the cached code in " + file.string() + " is ignored: ";
  EXPECT_EQ(note("not a module"), start + "it is not a file of this version of anew");
  EXPECT_EQ(note(good.substr(0, 24)), start + "it is truncated");
  EXPECT_EQ(note(good.substr(0, 60)), start + "it is truncated");
  EXPECT_EQ(note(good.substr(0, good.size() - 7)), start + "it is truncated, or made for another machine or LLVM");
  std::string foreign = good;
  foreign[40] = static_cast<char>(foreign[40] + 1);
  EXPECT_EQ(note(foreign), start + "it holds other kernels");
  std::string damaged = good;
  damaged[good.size() - 100] = static_cast<char>(damaged[good.size() - 100] ^ 1);
  EXPECT_EQ(note(damaged), start + "it is truncated, or made for another machine or LLVM");
}

TEST_F(CodeCache, AFolderThatCannotBeWrittenIsANote) {
  overwrite(folder_, "a file, not a folder");
  EXPECT_EQ(run().item<float>(), jit([](Array x) { return sum(exp(x) * 3.0f); })(arange(10.0f)).item<float>());
  ASSERT_FALSE(warnings_.empty());
  EXPECT_EQ(warnings_[0].substr(0, 39), "[jit] cannot write to the code cache " + folder_.string().substr(0, 2));
}

TEST_F(CodeCache, IsOffUnlessAskedFor) {
  set_code_cache("");
  (void)run();
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace anew
