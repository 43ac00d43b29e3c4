// Machine code for kernels: one native function per kernel and layout of its operands, made by LLVM. It computes what
// the block interpreter computes, bit for bit (payloads of nans excepted), over the same units and the same scratch, so
// a caller may take either for every piece of the work. Without LLVM nothing is compiled and the interpreter does it
// all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loops/target.h"

namespace anew::codegen {

using Source = loops::LaidKernel;

// Null where the kernel has to be interpreted. The caller sets the floating point mode. An operand is the address of
// element 0; an output may share the memory of an input that has the same index map and strides.
struct Function {
  // Units [begin, end) of its schedule, into its scratch.
  void (*run)(std::byte* const* operands, std::int64_t begin, std::int64_t end, std::byte* scratch) = nullptr;
  // After all units; null where the schedule has no scratch.
  void (*finish)(std::byte* const* operands, std::byte* scratch) = nullptr;
};

// Owns machine code; the functions are valid while it lives. Immutable, usable from several threads.
class Module {
 public:
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;
  std::span<const Function> functions() const { return functions_; }  // one per source, in order
  std::size_t code_bytes() const { return code_bytes_; }

 protected:
  Module() = default;
  std::vector<Function> functions_;
  std::size_t code_bytes_ = 0;
};

// All of the below as a target; null without LLVM, where there is nothing else of it.
const loops::Target* machine_code();

// One module for all of them; null when the process is ending. Thread-safe.
std::shared_ptr<const Module> compile(std::span<const Source> kernels);
// What is given to LLVM, for inspection; empty where the kernel has to be interpreted.
std::string llvm_ir(const Source& kernel);

// ---- code that is kept, for src/jit/code_cache.h. `key` says all that the code was made from; build, machine and LLVM
// are added here.

// A name for it, in letters that suit a file.
std::string entry_name(std::string_view key);
// The module as bytes.
std::vector<std::byte> object(const Module& module, std::string_view key);
// Null where the bytes are not what `object` gave for this key and `count` kernels, in this build, on this machine.
std::shared_ptr<const Module> load(std::span<const std::byte> bytes, std::string_view key, std::size_t count);

}  // namespace anew::codegen
