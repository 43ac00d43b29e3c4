// See generate.h.
#include "codegen/emit.h"

#include <fmt/format.h>

#include "codegen/emitter.h"

namespace anew::codegen {
namespace {

using loops::Combine;
using loops::KernelForm;

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
bool can_compile(const Source& source) {
  if (finds_position(source.kernel->combine)) return false;
  return source.schedule.reduced <= loops::row_block * loops::row_block || source.schedule.by_blocks;
}

std::string run_name(std::size_t n) { return fmt::format("kernel{}_run", n); }
std::string finish_name(std::size_t n) { return fmt::format("kernel{}_finish", n); }

bool generate(llvm::Module& module, const Source& source, std::size_t n, const Machine& machine) {
  const Layout layout(source, machine.masks);
  Emitter run(declare(module, run_name(n), false, machine), layout, machine);
  if (layout.schedule.units > 0)
    run.when(run.b.CreateICmpSLT(run.argument(1), run.argument(2)), [&] {
      switch (layout.schedule.form) {
        case KernelForm::elementwise: return emit_elementwise(run);
        case KernelForm::rows: return emit_rows(run, false);
        case KernelForm::columns: return emit_columns(run, false);
      }
    });
  run.b.CreateRetVoid();
  if (!layout.schedule.scratch) return false;
  Emitter finish(declare(module, finish_name(n), true, machine), layout, machine);
  layout.schedule.form == KernelForm::rows ? emit_rows(finish, true) : emit_columns(finish, true);
  finish.b.CreateRetVoid();
  return true;
}

}  // namespace anew::codegen
