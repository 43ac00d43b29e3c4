// What rows that read or write at computed places share: modes as words, index operands, and dimension numbers of
// gather and scatter, which are each other's transpose.
#pragma once
#include <anew/indexing.h>

#include <string>

#include "ops/family.h"
#include "runtime/gather_scatter.h"

namespace anew {

std::string_view name_of(lax::IndexMode mode);
// Throws where the word is none of the modes.
bool is_mode(std::string_view word);

// Checked: integers, not weak.
Array index_operand(std::string_view op, const Array& x, const Location& at);
// i as an index along an axis of n elements: negative counts from the end, or anything modulo n.
Array counted_from_end(const Array& i, std::int64_t n);
Array wrapped_around(const Array& i, std::int64_t n);
void require_integers(std::string_view op, std::string_view what, const Type& type, const Location& at);

inline Strided strided(const ir::Memory& m) { return {m.data, m.type.dtype, m.type.shape, m.strides}; }

inline lax::GatherDimensions gathering(const lax::ScatterDimensions& d) {
  return {d.update_window_dims, d.inserted_window_dims, d.scatter_dims_to_operand_dims, d.operand_batching_dims,
          d.scatter_indices_batching_dims};
}
inline lax::ScatterDimensions scattering(const lax::GatherDimensions& d) {
  return {d.offset_dims, d.collapsed_slice_dims, d.start_index_map, d.operand_batching_dims,
          d.start_indices_batching_dims};
}
// What one update covers of an operand of this rank.
Shape slice_sizes_of(const lax::ScatterDimensions& d, int operand_ndim, const Shape& updates);
// Whether the numbers name axes of the operand and of the array that runs over places and slices, each once and
// ascending where order counts, and slices fit; the text says what is wrong.
std::string wrong_dimensions(const lax::GatherDimensions& d, const Shape& slice_sizes, const Shape& operand,
                             const Shape& indices);

// A scalar of 0 repeated.
Array zeros_of(const Type& type);

}  // namespace anew
