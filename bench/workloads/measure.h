// Time and memory of this process, measured as the other libraries are measured.
#pragma once
#include <functional>
#include <optional>

namespace workloads {

double wall_seconds();
double cpu_seconds();      // of this process, all threads
double foreign_seconds();  // CPU time of the whole machine so far, without ours

// Gives freed pages back, restarts the kernel's high-water mark, and returns the resident bytes now, where possible.
std::optional<long> reset_peak();
long peak_bytes();  // the high-water mark

struct Timing {
  double best = 0, median = 0, cpu_best = 0, cpu_median = 0;  // seconds per call
  int samples = 0;
  std::optional<double> foreign_cores = {};  // used by others meanwhile; unknown where it took too short
};
// Samples of `inner` calls each: at most `repeat`, and from the third on no longer than `max_seconds`.
Timing measure(const std::function<void()>& step, int repeat, double max_seconds, int inner);

}  // namespace workloads
