// Sorting along an axis, by keys of any type. Every number has a key of 64 bits that orders as the number does: -0 and
// 0 have one key, every nan has the last one. Invariant: stable; lines are independent, so threads cannot change
// anything.
#pragma once
#include <span>

#include "runtime/strided.h"

namespace anew {

std::uint64_t sort_key(const std::byte* data, DType dtype, std::int64_t offset);

// All operands, of one shape, in the order that sorts the first `keys` of them along `axis`.
void sort_lines(std::span<const Strided> in, std::span<const Strided> out, int axis, int keys, std::byte* scratch);
// The k largest, largest first, and their positions (i32); of equal ones the first.
void top_k_lines(const Strided& in, const Strided& values, const Strided& positions, int axis, std::byte* scratch);
// Bytes of scratch for either, where the lines of an array of this shape are too long for the workspaces of threads.
std::size_t sort_scratch(const Shape& shape, int axis, DType first, std::size_t operands, int keys);
std::size_t top_k_scratch(const Shape& shape, int axis);
// For every v the number of elements of a that are less (or with `right` not greater). Leading axes of a, all but its
// last, are leading axes of v too. Writes i32.
void search_sorted(const Strided& a, const Strided& v, bool right, const Strided& out);

}  // namespace anew
