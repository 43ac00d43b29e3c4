// Block instructions: one operation of a kernel on up to `block_size` elements, as a plain function over arrays.
// In registers bool is a byte 0 or 1, bf16 and f16 are f32 values already rounded; other types are as in memory.
// Sources may be shorter than a multiple of the vector width: nothing past n is read or written.
#pragma once
#include <cstdint>

#include "loops/kernel.h"

namespace anew::loops {

inline constexpr std::int64_t block_size = 512;

using Instruction = void (*)(void* r, const void* a, const void* b, const void* c, std::int64_t n);

// The dtype that holds values of `dtype` in registers.
constexpr DType register_type(DType dtype) { return dtype == bf16 || dtype == f16 ? f32 : dtype; }

// What executes a node that is neither load, index nor constant; `operand` is the dtype of its first operand. The result
// of a stored type has still to be rounded by `rounding`.
Instruction instruction(const Node& node, DType operand);
Instruction rounding(DType dtype);  // null unless bf16 or f16
Instruction math_instruction(Math m, DType dtype);

}  // namespace anew::loops
