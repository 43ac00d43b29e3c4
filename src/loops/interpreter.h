// The block interpreter: runs a kernel serially over a range of its iteration space, 512 elements per instruction.
// Invariant: the bits of a result depend on the kernel and the values only, never on strides, ranges or the block size.
// The caller owns threads: it cuts [0, units) as it likes, gives every piece to `run`, then calls `finish` once.
#pragma once
#include <memory>
#include <span>

#include "loops/schedule.h"

namespace anew::loops {

// Where an operand lies. Strides in elements, one per dimension; none given means dense row-major. An output may share
// the memory of an input only if the kernel has one store and both have the same index map.
struct Operand {
  void* data = nullptr;
  const std::int64_t* strides = nullptr;
};

struct Range {
  std::int64_t begin = 0, end = 0;
};

// A kernel translated to block instructions: made once, immutable, usable from several threads at a time.
class Bytecode {
 public:
  explicit Bytecode(const Kernel& kernel);
  Bytecode(const Kernel& kernel, const Schedule& schedule);
  Bytecode(Bytecode&&) noexcept;
  Bytecode& operator=(Bytecode&&) noexcept;
  ~Bytecode();
  const Schedule& schedule() const;
  struct Body;
  const Body& body() const { return *body_; }

 private:
  std::unique_ptr<const Body> body_;
};

// All of it, serially.
void run(const Bytecode& code, std::span<const Operand> operands);
void run(const Kernel& kernel, std::span<const Operand> operands);

// A piece. `scratch` has schedule().scratch bytes, aligned to 8, the same for all pieces and for `finish`.
void run(const Bytecode& code, std::span<const Operand> operands, Range units, void* scratch = nullptr);
void finish(const Bytecode& code, std::span<const Operand> operands, void* scratch);

}  // namespace anew::loops
