// Code on disk: used where it fits, ignored with a note where it does not, and never a reason to fail.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

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
    if (!fs::exists(folder_)) return out;
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
    return warnings_.size() == 1 ? warnings_[0] : std::string();
  };
  const std::string start = "[jit] the cached code in " + file.string() + " is ignored: ",
                    changed = start + "it is not what was written for these kernels";
  EXPECT_EQ(note(""), start + "it is empty");
  EXPECT_EQ(note("not a module"), changed);
  for (std::size_t n : {std::size_t{1}, std::size_t{24}, std::size_t{60}, good.size() - 1})
    EXPECT_EQ(note(good.substr(0, n)), changed) << n;
  EXPECT_EQ(note(good + "x"), changed);
  std::string damaged = good;
  damaged[good.size() - 100] = static_cast<char>(damaged[good.size() - 100] ^ 1);
  EXPECT_EQ(note(damaged), changed);
}

// The code of one kernel under the name of another, whole and undamaged.
TEST_F(CodeCache, CodeOfAnotherKernelIsNotRun) {
  auto twice = [] { return compiled::clear_compiled(), jit([](Array x) { return x * 2.0f; })(arange(10.0f)); };
  auto thrice = [] { return compiled::clear_compiled(), jit([](Array x) { return x * 3.0f; })(arange(10.0f)); };
  const Array want = twice();
  const fs::path first = files().at(0);
  (void)thrice();
  ASSERT_EQ(files().size(), 2u);
  const fs::path second = files()[0] == first ? files()[1] : files()[0];
  fs::copy_file(second, first, fs::copy_options::overwrite_existing);
  EXPECT_TRUE(array_equal(twice(), want));
  EXPECT_EQ(warnings_, std::vector{"[jit] the cached code in " + first.string() +
                                   " is ignored: it is not what was written for these kernels"});
}

TEST_F(CodeCache, OnlyRegularFilesAreRead) {
  const Array want = run();
  const fs::path file = files().at(0), elsewhere = folder_ / "elsewhere";
  const std::string good = contents(file);
  auto note = [&] {
    warnings_.clear();
    EXPECT_TRUE(array_equal(run(), want));
    return warnings_.empty() ? std::string() : warnings_[0];
  };
  const std::string start = "[jit] the cached code in " + file.string() + " is ignored: ";

  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(note(), start + "it is a symbolic link");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));  // replaced, and what it led to is as it was
  EXPECT_EQ(contents(elsewhere), good);

  fs::remove(file);
  fs::create_symlink("/dev/zero", file);
  EXPECT_EQ(note(), start + "it is a symbolic link");

  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // nobody writes to it: opening it must not wait
  EXPECT_EQ(note(), start + "it is not a regular file");
  EXPECT_EQ(contents(file), good);

  fs::resize_file(file, std::uintmax_t{5} << 30);  // with a hole, so that it takes no place
  EXPECT_EQ(note(), start + "it has 5368709120 bytes");
  EXPECT_EQ(contents(file), good);

  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(note(), start + "others may write to it; hint: chmod go-w");
  EXPECT_EQ(note(), "");  // written anew, for nobody else

  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(note(), start + "it is not a regular file");
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[1], "[jit] cannot write to the code cache " + folder_.string() + ": Is a directory");
  EXPECT_EQ(note(), start + "it is not a regular file");
  EXPECT_EQ(warnings_.size(), 1u);  // that it cannot write it says once
}

TEST_F(CodeCache, ASocketOfThatName) {
  const Array want = run();
  const fs::path file = files().at(0), short_folder = fs::path("/tmp") / ("anew_" + std::to_string(::getpid()));
  fs::create_directory(short_folder);  // names of sockets are short
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  (short_folder / "s").string().copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(s, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  fs::remove(file);
  fs::rename(short_folder / "s", file);
  EXPECT_TRUE(array_equal(run(), want));
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(fs::is_regular_file(file));
  ::close(s);
  fs::remove_all(short_folder);
}

TEST_F(CodeCache, WhatMayNotBeReadIsANote) {
  const Array want = run();
  const fs::path file = files().at(0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(file.c_str(), 1, 1), 0);
  } else {
    fs::permissions(file, fs::perms::none);
  }
  EXPECT_TRUE(array_equal(run(), want));
  EXPECT_EQ(warnings_, std::vector{"[jit] the cached code in " + file.string() + " is ignored: " +
                                   (::geteuid() == 0 ? "it belongs to another user" : "Permission denied")});
  warnings_.clear();
  EXPECT_TRUE(array_equal(run(), want));
  EXPECT_TRUE(warnings_.empty());  // it has been replaced
}

TEST_F(CodeCache, IsForTheUserAlone) {
  ::umask(0);
  (void)run();
  ::umask(022);
  struct stat s{};
  ASSERT_EQ(::stat(folder_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(files().at(0).c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(CodeCache, AFolderThatIsNotOursIsNotUsedAndSaysSoOnce) {
  const Array want = run();
  const std::string start = "[jit] the code cache " + folder_.string() + " is not used: ";
  auto notes = [&] {  // of two compilations
    warnings_.clear();
    set_code_cache(folder_.string());
    EXPECT_TRUE(array_equal(run(), want));
    EXPECT_TRUE(array_equal(run(), want));
    return warnings_;
  };
  for (fs::perms p : {fs::perms::group_write, fs::perms::others_write}) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::owner_all | p);
    EXPECT_EQ(notes(), std::vector{start + "others may write to it; hint: chmod go-w"});
    EXPECT_TRUE(files().empty());
  }
  if (::geteuid() == 0) {
    fs::permissions(folder_, fs::perms::owner_all);
    ASSERT_EQ(::chown(folder_.c_str(), 1, 1), 0);
    EXPECT_EQ(notes(), std::vector{start + "it belongs to another user"});
    EXPECT_TRUE(files().empty());
  }
  fs::remove_all(folder_);
  overwrite(folder_, "a file, not a folder");
  EXPECT_EQ(notes(), std::vector{start + "it is not a folder"});
  fs::remove_all(folder_);
  fs::create_symlink(folder_ / "nowhere" / "at" / "all", folder_);
  EXPECT_EQ(notes().size(), 1u);
  fs::remove_all(folder_);
  EXPECT_TRUE(notes().empty());  // made again
}

// Entries damaged in many ways: the right result every time, a note where something was wrong, and the entry as it was.
TEST_F(CodeCache, ACampaignOfDamage) {
  const std::vector<std::function<Array(Array)>> functions{
      [](Array x) { return x * 2.0f; }, [](Array x) { return sum(exp(x)); }, [](Array x) { return tanh(x) + flip(x); },
      [](Array x) { return nn::softmax(x * 0.5f); },
      [](Array x) { return fori_loop(0, 3, [](Array, Array c) { return sin(c); }, x); }};
  auto call = [&](std::size_t f) {
    compiled::clear_compiled();
    return jit(functions[f])(arange(10.0f));
  };
  struct Entry {
    Array want;
    fs::path file;
    std::string good;
  };
  std::vector<Entry> entries;
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const auto before = files();
    const Array want = call(f);
    for (const fs::path& file : files())
      if (std::find(before.begin(), before.end(), file) == before.end())
        entries.push_back({want, file, contents(file)});
    ASSERT_EQ(entries.size(), f + 1);
  }
  std::mt19937 random(11);
  auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  auto damaged = [&](std::string text) {
    const std::string& other = entries[below(entries.size())].good;
    switch (below(7)) {
      case 0: return text.substr(0, below(text.size()));
      case 1: return text + other.substr(below(other.size()));
      case 2: return text.replace(below(text.size()), 1, 1, static_cast<char>(below(256)));
      case 3: return text.replace(below(60), 1, 1, static_cast<char>(below(256)));
      case 4: return text.substr(0, 60) + other.substr(60);  // the header of one, the code of another
      case 5: return other;
      default: return text.replace(below(text.size()), below(1000), below(1000), static_cast<char>(below(256)));
    }
  };
  const int count = std::getenv("ANEW_LONG") ? 10'000 : 300;
  for (int i = 0; i < count; ++i) {
    const std::size_t f = below(entries.size());
    const Entry& e = entries[f];
    const std::string text = damaged(e.good);
    overwrite(e.file, text);
    warnings_.clear();
    ASSERT_TRUE(array_equal(call(f), e.want)) << i;
    ASSERT_EQ(warnings_.size(), text == e.good ? 0u : 1u) << i;
    ASSERT_EQ(contents(e.file), e.good) << i;
  }
  EXPECT_EQ(files().size(), entries.size());  // nothing left beside them
}

TEST_F(CodeCache, IsOffUnlessAskedFor) {
  set_code_cache("");
  (void)run();
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace anew
