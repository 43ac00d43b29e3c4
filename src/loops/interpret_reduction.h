// Reductions in the fixed order: r is the row-major index over the reduced variables. Rows (last variable reduced):
// blocks of 4096, lane r mod 32 accumulates from its first element, lanes join by halves, absent ones skipped. Columns:
// one chain down each column in blocks of 128. Block results are reduced by the same rule; nothing at all is the
// identity.
#pragma once
#include <span>

#include "loops/bytecode.h"

namespace anew::loops {

// Results [range) complete.
void reduce(const Bytecode::Body& body, std::span<const Operand> operands, Range results);
// Blocks [range) into their place in scratch; then all results from it. Together the same bits as `reduce`.
void reduce_blocks(const Bytecode::Body& body, std::span<const Operand> operands, Range blocks, void* scratch);
void reduce_partials(const Bytecode::Body& body, std::span<const Operand> operands, const void* scratch);

}  // namespace anew::loops
