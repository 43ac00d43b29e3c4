// From LLVM IR to the bytes of an object file: LLVM's code generator without the passes over IR that it runs first. The
// code comes as it should be already, and two thirds of the time are left without their search for better addresses.
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar.h>

#include <cstring>
#include <mutex>

#include "base/environment.h"
#include "codegen/emit.h"

namespace anew::codegen {
namespace {

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

// The step from IR to machine instructions is not offered by itself.
struct PassConfig : llvm::TargetPassConfig {
  static bool add_selection(llvm::TargetPassConfig& config) { return (config.*&PassConfig::addCoreISelPasses)(); }
};

// True if the machine cannot do it.
bool add_passes(llvm::legacy::PassManager& passes, llvm::LLVMTargetMachine& target, llvm::raw_pwrite_stream& out) {
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(info);
  passes.add(llvm::createTargetTransformInfoWrapperPass(target.getTargetIRAnalysis()));
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());  // what has no instruction
  config->addCodeGenPrepare();
  config->addISelPrepare();
  if (PassConfig::add_selection(*config)) return true;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile, info->getMMI().getContext()))
    return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

}  // namespace

void set_target(llvm::Module& module, const Machine& machine) {
  auto target = target_machines().take(machine);
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  target_machines().give(std::move(target));
}

std::vector<std::byte> assemble(llvm::Module& module, const Machine& machine) {
  if (environment::verifies()) {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (llvm::verifyModule(module, &out)) throw InternalError("[codegen] LLVM rejects a kernel: " + text);
  }
  auto target = target_machines().take(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  {
    llvm::legacy::PassManager passes;
    if (add_passes(passes, static_cast<llvm::LLVMTargetMachine&>(*target), out))
      throw InternalError("[codegen] LLVM cannot emit machine code here");
    passes.run(module);
  }
  target_machines().give(std::move(target));
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace anew::codegen
