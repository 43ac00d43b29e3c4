// What the examples share: their options, and lines that tell how far they are.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>

namespace show {

// Command line of an example: [--small] [--out FOLDER].
struct Options {
  bool small = false;               // a size that takes a second, as the tests run it
  std::filesystem::path out = ".";  // where pictures go
  std::filesystem::path picture(const std::string& name) const { return out / (name + ".svg"); }
};
// Says how it is used and ends the program where the command line is something else.
Options options(int argc, char** argv, const char* what_it_does);

// One line that is written over itself on a terminal, with the time that is left; elsewhere a line for every tenth.
class Progress {
 public:
  Progress(std::string what, int steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step(const std::string& state);  // one more is done

 private:
  std::string what_;
  int steps_, done_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
};

// 0.01234 with four digits, 12.3 MB.
std::string digits(double v);
std::string bytes(std::size_t n);

}  // namespace show
