// The order of tasks that make and read values, so that little memory is live at once. A value lives from the first
// task that touches it to the last. Deterministic, O(n log n) in tasks and accesses; the best of several list
// schedules, and never worse than the order given: that is what comes back unless another one has a lower peak, or as
// low a peak and free values that live less long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anew::plan {

struct Task {
  std::vector<int> reads, writes;  // values; tasks that touch one value keep their order unless both only read it
  std::size_t scratch = 0;         // bytes while it runs
  bool fixed = false;              // keeps its order among the fixed ones: it has effects
  bool in_place = false;           // what it makes may take the memory of what it reads last
};
struct TaskValue {
  std::size_t bytes = 0;
  bool kept = false;  // read after the last task
  bool free = false;  // lies in memory that is there anyway: no part of the peak, but better gone early
};

// The most bytes that are live while one task runs. A value that no task writes lives from the start.
std::size_t evaluate_peak(std::span<const Task> tasks, std::span<const TaskValue> values, std::span<const int> order);
// Every task once, after those it depends on in the order given.
std::vector<int> list_schedule(std::span<const Task> tasks, std::span<const TaskValue> values);

}  // namespace anew::plan
