// Work that goes on behind the step that began it, in memory of the call around it. Whoever owns that memory holds an
// InFlight: what an exception leaves under way is waited for before the memory goes.
#pragma once
#include <functional>
#include <utility>
#include <vector>

namespace anew {

class InFlight {
 public:
  InFlight();
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // On this thread: work on this memory is under way; `wait` returns when it has ended, and throws nothing.
  static void began(const void* memory, std::function<void()> wait);
  static void ended(const void* memory);

 private:
  std::size_t before_;  // as many belong to calls around this one
};

}  // namespace anew
