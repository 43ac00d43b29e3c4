// Machine code kept on disk between processes: off unless a folder is given (ANEW_CODE_CACHE, or set_code_cache). An
// entry is named by a hash over build, machine and kernels, and holds a hash over these and all of its contents.
// Invariant: nothing here is a reason to fail. The folder is used only if it is the user's and nobody else may write to
// it; of its files only regular ones of a sensible size are read, links are not followed. Whatever does not fit is
// noted and compiled anew. Entries are written beside and renamed, so that readers see whole ones.
#pragma once
#include "loops/target.h"

namespace anew::compiled {

// The target, by way of the folder, if there is one; never destroyed.
const loops::Target& with_code_cache(const loops::Target& target);

}  // namespace anew::compiled
