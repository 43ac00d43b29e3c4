// What a library beside this one needs to add rows to the language (src/mpi does).
#pragma once
#include <span>

#include "ir/primitive.h"

namespace anew {

// Text is read with these rows too (find_row); they live as long as the process. all_rows() stays what it is.
void add_rows(std::span<const ir::Primitive* const> rows);

}  // namespace anew
