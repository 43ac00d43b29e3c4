// The interpreter as a target, and who does what a target cannot.
#include "loops/target.h"

#include <new>

#include "loops/interpreter.h"

namespace anew::loops {
namespace {

class InterpretedKernel final : public KernelCode {
 public:
  explicit InterpretedKernel(const LaidKernel& k)
      : KernelCode(k.schedule), code_(*k.kernel, k.schedule), strides_(k.strides) {
    if (strides_.size() > max_operands) throw InternalError("[loops] a kernel of too many operands");
  }
  void run(std::byte* const* operands, std::int64_t begin, std::int64_t end, std::byte* scratch) const override {
    with(operands, [&](std::span<const Operand> o) { loops::run(code_, o, {begin, end}, scratch); });
  }
  void finish(std::byte* const* operands, std::byte* scratch) const override {
    with(operands, [&](std::span<const Operand> o) { loops::finish(code_, o, scratch); });
  }

 private:
  template <class F>
  void with(std::byte* const* operands, F f) const {
    Operand o[max_operands];
    for (std::size_t i = 0; i < strides_.size(); ++i) o[i] = {operands[i], strides_[i].begin()};
    f(std::span<const Operand>(o, strides_.size()));
  }
  static constexpr std::size_t max_operands = 256;
  Bytecode code_;
  std::vector<Shape> strides_;
};

class Interpreter final : public Target {
 public:
  std::string_view name() const override { return "interpreter"; }
  bool can(const LaidKernel&) const override { return true; }
  Codes compile(std::span<const LaidKernel> kernels) const override {
    Codes codes;
    for (const LaidKernel& k : kernels) codes.push_back(std::make_shared<InterpretedKernel>(k));
    return codes;
  }
};

}  // namespace

const Target& interpreter() {
  static const Target& one = *new Interpreter;
  return one;
}

Codes compile(const Target& target, std::span<const LaidKernel> kernels) {
  std::vector<LaidKernel> possible;
  for (const LaidKernel& k : kernels)
    if (target.can(k)) possible.push_back(k);
  Codes made;
  try {
    made = target.compile(possible);
  } catch (const std::bad_alloc&) {
    made.clear();  // the interpreter needs less
  }
  Codes codes;
  std::size_t next = 0;
  for (const LaidKernel& k : kernels) {
    const bool compiled = !made.empty() && target.can(k);
    codes.push_back(compiled ? made[next++] : std::make_shared<InterpretedKernel>(k));
  }
  return codes;
}

}  // namespace anew::loops
