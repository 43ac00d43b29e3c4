// Time and memory of this process, measured as the other libraries are measured.
#pragma once
#include <functional>
#include <optional>
#include <vector>

namespace workloads {

double wall_seconds();
double cpu_seconds();      // of this process, all threads
double foreign_seconds();  // CPU time of the whole machine so far, without ours

// Gives freed pages back, restarts the kernel's high-water mark, and returns the resident bytes now, where possible.
std::optional<long> reset_peak();
long peak_bytes();  // the high-water mark

// Calls that make a sample long enough for the clock; the step has run a few times then.
int calls_per_sample(const std::function<void()>& step);

struct Samples {
  std::vector<double> wall, cpu;             // seconds per call, in the order of time
  std::optional<double> foreign_cores = {};  // used by others meanwhile; unknown where it took too short
};
// At most `repeat`, and from number `least` on no longer than `max_seconds`.
Samples sample(const std::function<void()>& step, int calls, int least, int repeat, double max_seconds);

double median(std::vector<double> x);

}  // namespace workloads
