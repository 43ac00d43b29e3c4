// The product of two arrays of any rank, laid out in any way: dimensions are matched to batch, rows, columns and k of a
// matrix product. Invariant: the k of the result's order is the row-major index over the contracting dimensions in the
// order they are listed, however the operands lie in memory.
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <span>

namespace anew {

struct ProductEpilogue;

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

// Bytes that dot_general copies parts of its operands to, whatever their strides; and those for operands that lie like
// these.
std::size_t dot_scratch(DType dtype, const Shape& lhs, const Shape& rhs, const DotDims& dims);
std::size_t dot_scratch_of(DType dtype, const DotOperand& lhs, const DotOperand& rhs, const DotDims& dims);

// Writes the result: batch dimensions, then the rest of lhs, then the rest of rhs, each in order; dense in row-major
// order or, with strides that dot_writes allows, in another order of its dimensions. Bits are the same. `epilogue`:
// what shall be done with its tiles, if it is one product, or that it shall be added to what is there
// (runtime/product.h).
// Integers wrap around; bool is "or" of "and". The dimensions have been checked by the caller.
void dot_general(DType dtype, const DotOperand& lhs, const DotOperand& rhs, const DotDims& dims, void* out,
                 std::byte* scratch, const Shape* out_strides = nullptr, ProductEpilogue* epilogue = nullptr);

// Whether a result with these strides, dense in some order of its dimensions, is as quickly written as a row-major one.
bool dot_writes(const Shape& lhs, const Shape& rhs, const DotDims& dims, const Shape& out_strides);

}  // namespace anew
