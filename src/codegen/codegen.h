// Machine code for kernels: one native function per kernel and layout of its operands, made by LLVM. It computes what
// the block interpreter computes, bit for bit (payloads of nans excepted), over the same units and the same scratch, so a
// caller may take either for every piece of the work. Without LLVM nothing is compiled and the interpreter does it all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loops/kernel.h"

namespace anew::codegen {

// A kernel and where the elements of its operands lie: per operand one stride per dimension, in elements. Zero and
// negative strides are allowed; they are fixed at compile time, addresses are not.
struct Source {
  const loops::Kernel* kernel = nullptr;
  std::vector<Shape> strides;
};

// Null where the kernel has to be interpreted. The caller sets the floating point mode. An operand is the address of
// element 0; an output may share the memory of an input that has the same index map and strides.
struct Function {
  // Units [begin, end) of loops::Bytecode(kernel).partition(), into its scratch.
  void (*run)(std::byte* const* operands, std::int64_t begin, std::int64_t end, std::byte* scratch) = nullptr;
  // After all units; null where the partition has no scratch.
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

bool available();
// One module for all of them; null without LLVM, and when the process is ending. Thread-safe.
std::shared_ptr<const Module> compile(std::span<const Source> kernels);
// What is given to LLVM, for inspection; empty where the kernel has to be interpreted.
std::string llvm_ir(const Source& kernel);

// ---- code that is kept, for src/jit/code_cache.h. `key` says all that the code was made from; build, machine and LLVM
// are added here.

// A name for it, in letters that suit a file; empty without LLVM.
std::string entry_name(std::string_view key);
// The module as bytes; empty without LLVM.
std::vector<std::byte> object(const Module& module, std::string_view key);
// Null where the bytes are not what `object` gave for this key and `count` kernels, in this build, on this machine.
std::shared_ptr<const Module> load(std::span<const std::byte> bytes, std::string_view key, std::size_t count);

}  // namespace anew::codegen
