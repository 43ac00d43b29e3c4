// The product of two arrays of any rank, laid out in any way: dimensions are matched to batch, rows, columns and k of a
// matrix product. Invariant: the k of the result's order is the row-major index over the contracting dimensions in the
// order they are listed, however the operands lie in memory.
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <span>

namespace anew {

// An array that is only looked at: strides count elements and may be 0 or negative.
struct DotOperand {
  const void* data;
  const Shape& shape;
  const Shape& strides;
};

// Pairs of dimensions of lhs and rhs: those that go through and those that are summed over.
struct DotDims {
  std::span<const int> lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

// Bytes that dot_general needs beside its operands, whatever their strides.
std::size_t dot_scratch(DType dtype, const Shape& lhs, const Shape& rhs, const DotDims& dims);

// Writes the result, dense in row-major order: batch dimensions, then the rest of lhs, then the rest of rhs, each in order.
// Integers wrap around; bool is "or" of "and". The dimensions have been checked by the caller.
void dot_general(DType dtype, const DotOperand& lhs, const DotOperand& rhs, const DotDims& dims, void* out,
                 std::byte* scratch);

}  // namespace anew
