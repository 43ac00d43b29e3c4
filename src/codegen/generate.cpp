// See generate.h.
#include "codegen/generate.h"

#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "codegen/emitter.h"

namespace anew::codegen {
namespace {

using loops::Combine;
using loops::Form;

// Making one costs a fraction of a millisecond, so they are kept; each is used by one thread at a time.
class TargetMachines {
 public:
  std::unique_ptr<llvm::TargetMachine> take(const Machine& machine) {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < kept_.size(); ++i)
        if (kept_[i]->getTargetCPU() == machine.cpu && kept_[i]->getTargetFeatureString() == machine.features) {
          auto found = std::move(kept_[i]);
          kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
          return found;
        }
    }
    static const bool ready = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const llvm::Target* target = ready ? llvm::TargetRegistry::lookupTarget(triple, error) : nullptr;
    if (!target) throw InternalError("[codegen] LLVM cannot compile for this machine: " + error);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    options.TrapUnreachable = false;
    return std::unique_ptr<llvm::TargetMachine>(
        target->createTargetMachine(triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                    llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
  }
  void give(std::unique_ptr<llvm::TargetMachine> m) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(m));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> kept_;
};

TargetMachines& target_machines() {
  static auto* machines = new TargetMachines;  // outlives whatever still compiles when the process ends
  return *machines;
}

llvm::Function* declare(llvm::Module& module, const std::string& name, bool finish, const Machine& machine) {
  auto& context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *integer = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Type*> types{pointer, pointer};
  if (!finish) types = {pointer, integer, integer, pointer};
  auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                   llvm::Function::ExternalLinkage, name, module);
  f->setDoesNotThrow();
  const std::string bits = std::to_string(machine.vector_bytes * 8);
  f->addFnAttr("prefer-vector-width", bits);
  f->addFnAttr("min-legal-vector-width", bits);
  return f;
}

}  // namespace

// A search keeps values with their indices; very long rows would need levels of blocks that never occur elsewhere.
bool can_compile(const loops::Kernel& kernel) {
  if (kernel.combine >= Combine::argmax) return false;
  std::int64_t joined = 1;
  for (std::size_t v = 0; v < kernel.extents.size(); ++v)
    if (kernel.reduced[v]) joined *= kernel.extents[v];
  return joined <= loops::row_block * loops::row_block || loops::Bytecode(kernel).body().by_blocks;
}

std::string run_name(std::size_t n) { return fmt::format("kernel{}_run", n); }
std::string finish_name(std::size_t n) { return fmt::format("kernel{}_finish", n); }

bool generate(llvm::Module& module, const Source& source, std::size_t n, const Machine& machine) {
  const Layout layout(source);
  const loops::Partition& partition = layout.code.partition();
  Emitter run(declare(module, run_name(n), false, machine), layout, machine);
  if (partition.units > 0)
    run.when(run.b.CreateICmpSLT(run.argument(1), run.argument(2)), [&] {
      switch (layout.body().form) {
        case Form::elementwise: return emit_elementwise(run);
        case Form::rows: return emit_rows(run, false);
        case Form::columns: return emit_columns(run, false);
      }
    });
  run.b.CreateRetVoid();
  if (!partition.scratch) return false;
  Emitter finish(declare(module, finish_name(n), true, machine), layout, machine);
  layout.body().form == Form::rows ? emit_rows(finish, true) : emit_columns(finish, true);
  finish.b.CreateRetVoid();
  return true;
}

void set_target(llvm::Module& module, const Machine& machine) {
  auto target = target_machines().take(machine);
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  target_machines().give(std::move(target));
}

std::vector<std::byte> assemble(llvm::Module& module, const Machine& machine) {
  static const bool verifies = std::getenv("ANEW_VERIFY") != nullptr;
  if (verifies) {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (llvm::verifyModule(module, &out)) throw InternalError("[codegen] LLVM rejects a kernel: " + text);
  }
  auto target = target_machines().take(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (target->addPassesToEmitMC(passes, context, out, true))
    throw InternalError("[codegen] LLVM cannot emit machine code here");
  passes.run(module);
  target_machines().give(std::move(target));
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace anew::codegen
