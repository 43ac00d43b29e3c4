// Machine code as a target (loops/target.h). A code owns its module together with the others that were made with it.
#include "codegen/emit.h"

namespace anew::codegen {
namespace {

using loops::Codes;
using loops::KernelCode;

class MachineKernel final : public KernelCode {
 public:
  MachineKernel(const loops::Schedule& schedule, const Function& f, std::shared_ptr<const Module> module)
      : KernelCode(schedule), module(std::move(module)), f_(f) {}
  const std::shared_ptr<const Module> module;
  void run(std::byte* const* operands, std::int64_t begin, std::int64_t end, std::byte* scratch) const override {
    f_.run(operands, begin, end, scratch);
  }
  void finish(std::byte* const* operands, std::byte* scratch) const override { f_.finish(operands, scratch); }

 private:
  const Function f_;
};

class MachineCode final : public loops::Target {
 public:
  std::string_view name() const override { return "machine_code"; }
  bool can(const Source& kernel) const override { return can_compile(kernel); }
  Codes compile(std::span<const Source> kernels) const override { return codes(codegen::compile(kernels), kernels); }

  std::string entry_name(std::string_view key) const override { return codegen::entry_name(key); }
  std::vector<std::byte> to_bytes(const Codes& codes, std::string_view key) const override {
    return object(*static_cast<const MachineKernel&>(*codes[0]).module, key);
  }
  Codes from_bytes(std::span<const std::byte> bytes, std::string_view key,
                   std::span<const Source> kernels) const override {
    return codes(load(bytes, key, kernels.size()), kernels);
  }

 private:
  static Codes codes(const std::shared_ptr<const Module>& module, std::span<const Source> kernels) {
    Codes out;
    for (std::size_t i = 0; module && i < kernels.size(); ++i) {
      const Function& f = module->functions()[i];
      if (!f.run || (kernels[i].schedule.scratch && !f.finish)) return {};
      out.push_back(std::make_shared<MachineKernel>(kernels[i].schedule, f, module));
    }
    return out;
  }
};

}  // namespace

const loops::Target* machine_code() {
  static const loops::Target* const one = new MachineCode;
  return one;
}

}  // namespace anew::codegen
