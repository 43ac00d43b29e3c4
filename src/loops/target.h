// Between passes and code: kernels with their schedules and the layout of their operands go in, code that runs comes out.
#pragma once
#include <cstddef>

#include "loops/schedule.h"

namespace anew::loops {

// A kernel over operands that lie as the strides say: per operand one stride per dimension, in elements. Zero and negative
// strides are allowed; they are fixed when it is compiled, addresses are not.
struct LaidKernel {
  const Kernel* kernel = nullptr;
  Schedule schedule = {};
  std::vector<Shape> strides = {};
  friend bool operator==(const LaidKernel& a, const LaidKernel& b) {
    return *a.kernel == *b.kernel && a.strides == b.strides;
  }
};

// A kernel, compiled or interpreted: its schedule's units, in any order, into its scratch. An operand is the address of
// element 0; an output may share the memory of an input that has the same index map and strides.
class KernelCode {
 public:
  explicit KernelCode(const Schedule& s) : units(s.units), grain(s.grain), scratch(s.scratch) {}
  virtual ~KernelCode() = default;
  const std::int64_t units, grain;
  const std::size_t scratch;
  virtual void run(std::byte* const* operands, std::int64_t begin, std::int64_t end, std::byte* scratch) const = 0;
  // After all units, where there is scratch.
  virtual void finish(std::byte* const* operands, std::byte* scratch) const = 0;
};

}  // namespace anew::loops
