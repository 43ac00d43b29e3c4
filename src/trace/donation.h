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

}  // namespace anew
