// argmax and argmin: like reduce.h, but the value carries its index, and the order of joining does not matter, because
// an equal value wins only with the smaller index.
#pragma once
#include <span>

#include "loops/bytecode.h"

namespace anew::loops {

void search(const Bytecode::Body& body, std::span<const Operand> operands, Range results);
void search_blocks(const Bytecode::Body& body, std::span<const Operand> operands, Range blocks, void* scratch);
void search_partials(const Bytecode::Body& body, std::span<const Operand> operands, const void* scratch);

}  // namespace anew::loops
