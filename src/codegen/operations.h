// What each Op of a kernel means in LLVM IR, on scalars or vectors: exactly what loops/vec.h and
// loops/integer_division.h compute. In values bool is i1, bf16 and f16 are f32 values already rounded; other types are
// as in memory.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "loops/kernel.h"

namespace anew::codegen {

using Builder = llvm::IRBuilder<>;

// The type of one element in memory, and as a value.
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* value_type(llvm::LLVMContext& context, DType dtype);
// `type`, or a vector of it.
llvm::Type* lanes_of(llvm::Type* type, int width);

// Of a node that is neither load nor index; `operand` is the dtype of its first operand, `width` the number of lanes.
llvm::Value* operate(Builder& b, const loops::Node& node, DType operand, llvm::Value* x, llvm::Value* y, llvm::Value* z,
                     int width);
// Between memory and values. `node`: the dtype of the value, which may be f32 where a stored type is written.
llvm::Value* from_memory(Builder& b, DType dtype, llvm::Value* x);
llvm::Value* to_memory(Builder& b, DType dtype, DType node, llvm::Value* x);
// What a stored type keeps; x itself for others.
llvm::Value* rounded(Builder& b, DType dtype, llvm::Value* x);

}  // namespace anew::codegen
