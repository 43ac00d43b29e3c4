// Operands that their reader may overwrite. Whoever evaluates an equation, holds the only handle of an operand and will
// not read it again, gives it away for the time of the equation. Only evaluation itself (no trace in between, which
// might keep a handle) can take it.
#pragma once
#include <span>
#include <vector>

#include "trace/trace.h"

namespace anew {

class Donation {
 public:
  explicit Donation(std::span<const Array> operands);  // gives those that nobody else holds; none under a trace
  ~Donation();
  Donation(const Donation&) = delete;

 private:
  friend bool donated(const Array& x);
  std::vector<const Value*> given_;
  Donation* outer_;
};
// Whether x was given away: then it may be written in place, if its buffer is nobody else's.
bool donated(const Array& x);

// Whether nobody but the caller of a function holds an argument, of which `x` is the function's own handle.
bool held_by_caller_alone(const Array& x);
// An array with the memory of x, which is an Error to use from now on. x is dense, and held by nobody else.
Array take_memory(const Array& x, const Location& at);

}  // namespace anew
