// Machine code kept on disk between processes: off unless a folder is given (ANEW_CODE_CACHE, or set_code_cache). A file
// holds the text of the kernels it was made from and the module, which itself says for which machine and LLVM it is.
// Invariant: what is read is used only if all of it fits; anything else is ignored with a note and made again. Files are
// written beside and renamed, so that readers see whole ones.
#pragma once
#include <memory>
#include <span>

#include "codegen/codegen.h"

namespace anew::compiled {

// As codegen::compile, by way of the folder, if there is one.
std::shared_ptr<const codegen::Module> compile_cached(std::span<const codegen::Source> kernels);

}  // namespace anew::compiled
