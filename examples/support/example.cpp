#include "example.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace show {

Options options(int argc, char** argv, const char* what_it_does) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--small") out.small = true;
    else if (word == "--out" && i + 1 < argc) out.out = argv[++i];
    else {
      std::cerr << what_it_does << "\nusage: " << argv[0] << " [--small] [--out FOLDER]\n";
      std::exit(word == "--help" ? 0 : 2);
    }
  }
  std::filesystem::create_directories(out.out);
  std::cout << what_it_does << "\n";
  return out;
}

Progress::Progress(std::string what, int steps)
    : what_(std::move(what)),
      steps_(steps),
      terminal_(isatty(1)),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

void Progress::step(const std::string& state) {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  const bool last = done_ == steps_, tenth = done_ * 10 / steps_ != (done_ - 1) * 10 / steps_;
  if (terminal_ ? !last && now - shown_ < std::chrono::milliseconds(100) : !tenth) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  char time[64];
  if (last) std::snprintf(time, sizeof time, "%.1f s", seconds);
  else std::snprintf(time, sizeof time, "%.0f s left", seconds / done_ * (steps_ - done_));
  std::cout << (terminal_ ? "\r\x1b[K" : "") << what_ << " " << done_ << "/" << steps_ << "  " << state << "  " << time
            << (terminal_ ? "" : "\n") << std::flush;
}

Progress::~Progress() {
  if (terminal_ && done_) std::cout << "\n";
}

std::string digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::string bytes(std::size_t n) {
  char text[32];
  std::snprintf(text, sizeof text, n < 1000000 ? "%.1f kB" : "%.1f MB",
                static_cast<double>(n) / (n < 1000000 ? 1e3 : 1e6));
  return text;
}

}  // namespace show
