// Folders that last as long as a test, and faults of the system's calls on files.
#pragma once
#include <anew/base.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "runtime/state_files.h"

namespace anew::test {

// A new folder, which goes with all that is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "anew-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  std::int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

// While it lives the call that comes after so many others fails with `error`.
inline std::atomic<int> calls_left{-1}, error_of_fault{0};
inline int fail_once(const char*) { return calls_left.fetch_sub(1) == 0 ? error_of_fault.load() : 0; }
class Faults {
 public:
  explicit Faults(int calls, int error, FileFault fault = fail_once) {
    calls_left = calls;
    error_of_fault = error;
    set_file_fault(fault);
  }
  // Every call that `fault` says.
  explicit Faults(FileFault fault) { set_file_fault(fault); }
  ~Faults() { set_file_fault(nullptr); }
  Faults(const Faults&) = delete;
};
inline int disk_is_full(const char* call) { return std::string_view(call) == "write" ? ENOSPC : 0; }

// `usual` runs of a campaign, with ANEW_LONG ten thousand.
inline int runs(int usual) { return std::getenv("ANEW_LONG") ? 10000 : usual; }

// Runs `holds(i)` with a fault at one of its first `calls` calls, again and again. A run ends well or in an Error that
// begins like this and says what the system said. How many ended in one?
template <class F>
int errors_of_faults(int number_of_runs, unsigned calls, const std::string& begin, F holds) {
  std::mt19937 random(1);
  int failed = 0;
  for (int i = 0; i < number_of_runs; ++i) {
    const int call = static_cast<int>(random() % calls), error = random() % 2 ? ENOSPC : EIO;
    const Faults faults(call, error);
    try {
      holds(i);
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.find(begin), 0U) << text;
      EXPECT_NE(text.find(error == EIO ? "Input/output error" : "No space left"), std::string::npos) << text;
      ++failed;
    }
  }
  return failed;
}

}  // namespace anew::test
