// Between passes and code. A target is given kernels, with their schedules and the layout of their operands, and makes
// code that runs. The block interpreter is one, machine code by LLVM (codegen/) another. All compute the same bits over
// the same units and the same scratch, so any of them may be taken for every kernel.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "loops/schedule.h"

namespace anew::loops {

// A kernel over operands that lie as the strides say: per operand one stride per dimension, in elements. Zero and
// negative strides are allowed; they are fixed when it is compiled, addresses are not.
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

using Codes = std::vector<std::shared_ptr<const KernelCode>>;

// Immutable, usable from several threads, never destroyed.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  virtual bool can(const LaidKernel& kernel) const = 0;
  // One code for each, in order, of kernels that it can compile; none at all where it cannot do it now.
  virtual Codes compile(std::span<const LaidKernel> kernels) const = 0;

  // ---- code that is kept between processes, by targets that can. `key` says all that it was made from; what else it
  // depends on (the build, the machine) is the target's to add.
  // A name for it, in letters that suit a file; empty: nothing is kept.
  virtual std::string entry_name(std::string_view) const { return ""; }
  // What `compile` gave, as bytes.
  virtual std::vector<std::byte> to_bytes(const Codes&, std::string_view) const { return {}; }
  // None where the bytes are not what `to_bytes` gave for this key and so many kernels, in this build, on this machine.
  virtual Codes from_bytes(std::span<const std::byte>, std::string_view, std::span<const LaidKernel>) const {
    return {};
  }
};

// Can do every kernel.
const Target& interpreter();
// Codes of all: by the target where it can and does, else by the interpreter.
Codes compile(const Target& target, std::span<const LaidKernel> kernels);

}  // namespace anew::loops
