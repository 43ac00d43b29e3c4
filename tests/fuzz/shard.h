// What tests over random programs share: failures as text, the way through the seeds, and what a failing one prints.
//   ANEW_FUZZ_SEED=123 test_fuzz --gtest_filter='*Donation*/0'    one program, printed
//   ANEW_FUZZ_SECONDS, ANEW_FUZZ_FIRST                            how long a shard runs, where seeds begin
//   ANEW_LONG                                                     as many programs as it says, however long they take
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "fuzz/program.h"
#include "loops/schedule.h"
#include "passes/lowered.h"
#include "support/interpreted.h"

namespace anew::fuzz {

using test::Interpreted;

struct Failure {
  std::string text;
};
inline void require(bool ok, const std::string& text) {
  if (!ok) throw Failure{text};
}
// What a check throws, as text.
template <class F>
std::string failure_of(F check) {
  try {
    check();
  } catch (const Failure& f) {
    return f.text;
  } catch (const std::exception& e) {
    return std::string("thrown: ") + e.what();
  }
  return "";
}

// While it lives small arrays too are cut into tiles and for threads, and lie in the memory of outputs.
class SmallPieces {
 public:
  SmallPieces() = default;
  ~SmallPieces() {
    passes::set_least_lent(least_);
    passes::set_tile_limits(limits_);
    loops::set_thread_threshold(threshold_);
  }
  SmallPieces(const SmallPieces&) = delete;

 private:
  double threshold_ = loops::set_thread_threshold(0);
  passes::TileLimits limits_ = passes::set_tile_limits({4, 2, 8, 1, 1});
  std::size_t least_ = passes::set_least_lent(1);
};

// One of several tests that take turns at the seeds. The first failure ends it.
struct Shard {
  std::uint64_t number, of;
  double seconds;  // that it takes, or
  int programs;    // with ANEW_LONG
  Block (*program)(std::uint64_t seed);
  Check check;
  std::uint64_t first = 0;  // seed

  void run() const {
    if (std::getenv("ANEW_FUZZ_SEED")) {
      const auto seed = static_cast<std::uint64_t>(number_of("ANEW_FUZZ_SEED", 0));
      std::cout << print(program(seed));
      return expect_holds(seed);
    }
    const bool whole = std::getenv("ANEW_LONG") != nullptr;
    const double most = number_of("ANEW_FUZZ_SECONDS", seconds);
    const auto start = std::chrono::steady_clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    int done = 0;
    auto seed = static_cast<std::uint64_t>(number_of("ANEW_FUZZ_FIRST", static_cast<double>(first))) + number;
    for (; !testing::Test::HasFailure() && (whole ? done < programs : elapsed() < most); seed += of, ++done)
      expect_holds(seed);
    std::cout << "[ programs ] " << done << ", " << done / elapsed() << " per second\n";
  }

 private:
  static double number_of(const char* variable, double otherwise) {
    const char* text = std::getenv(variable);
    return text && *text ? std::atof(text) : otherwise;
  }
  void expect_holds(std::uint64_t seed) const {
    const Block b = program(seed);
    const std::string failure = check(b, seed);
    if (failure.empty()) return;
    std::cout << "seed " << seed << ": " << failure << std::endl;  // before it is shrunk, which may take long
    const Block small = shrink(b, seed, failure, check);
    ADD_FAILURE() << "seed " << seed << ": " << failure << "\n"
                  << print(b) << "smallest:\n"
                  << print(small) << "\n"
                  << check(small, seed);
  }
};

}  // namespace anew::fuzz
