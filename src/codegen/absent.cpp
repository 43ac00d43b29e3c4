// The build without LLVM: nothing is compiled, so every kernel is interpreted, with the same bits.
#include "codegen/machine.h"

namespace anew::codegen {

const Machine& host() {
  static const auto& none = *new Machine;
  return none;
}
bool available() { return false; }
std::shared_ptr<const Module> compile(std::span<const Source>) { return nullptr; }
std::shared_ptr<const Module> compile(std::span<const Source>, const Machine&) { return nullptr; }
std::string llvm_ir(const Source&) { return ""; }
std::string llvm_ir(const Source&, const Machine&) { return ""; }
std::string entry_name(std::string_view) { return ""; }
std::vector<std::byte> object(const Module&, std::string_view) { return {}; }
std::shared_ptr<const Module> load(std::span<const std::byte>, std::string_view, std::size_t) { return nullptr; }

}  // namespace anew::codegen
