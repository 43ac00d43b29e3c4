// The floating-point mode every computation runs in, whatever the user's thread had set: round to nearest, no traps,
// subnormals kept, or all flushed (`flush_subnormals`). FTZ or DAZ in the caller's mode would change results (and cost
// a gradient its bit equality).
#pragma once

namespace anew {

class FloatMode {  // for its lifetime
 public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
  // The same for as long as the thread lives, or until it asks again.
  static void adopt();

 private:
  unsigned saved_ = 0;
  bool changed_ = false;
};

}  // namespace anew
