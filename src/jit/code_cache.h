// Machine code kept on disk between processes: off unless a folder is given (ANEW_CODE_CACHE, or set_code_cache). An entry
// is named by a hash over build, machine and kernels, and holds a hash over these and all of its contents.
// Invariant: nothing here is a reason to fail. The folder is used only if it is the user's and nobody else may write to it;
// of its files only regular ones of a sensible size are read, links are not followed. Whatever does not fit is noted and
// compiled anew. Entries are written beside and renamed, so that readers see whole ones.
#pragma once
#include <memory>
#include <span>

#include "codegen/codegen.h"

namespace anew::compiled {

// As codegen::compile, by way of the folder, if there is one.
std::shared_ptr<const codegen::Module> compile_cached(std::span<const codegen::Source> kernels);

}  // namespace anew::compiled
