// Block instructions: one operation of a kernel on up to `block_size` elements, as a plain function over arrays.
// In registers bool is a byte 0 or 1, stored types are values of the type they are computed in, already rounded or
// wrapped around; other types are as in memory.
// Sources may be shorter than a multiple of the vector width: nothing past n is read or written.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "loops/kernel.h"

namespace anew::loops {

inline constexpr std::int64_t block_size = 512;

using Instruction = void (*)(void* r, const void* a, const void* b, const void* c, std::int64_t n);

// What executes a node that is neither load, index nor constant; `operand` is the dtype of its first operand. The
// result of a stored type has still to be rounded by `rounding`.
Instruction instruction(const Node& node, DType operand);
Instruction rounding(DType dtype);  // null unless the type is stored
Instruction math_instruction(Math m, DType dtype);

}  // namespace anew::loops
