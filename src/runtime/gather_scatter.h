// Slices of an array at places that are read from another one: gather, and scatter, which joins slices to an array.
// Invariant: updates of one element are joined in row-major order of the indices, then of the slice; threads share out
// elements, never the updates of one element.
#pragma once
#include <span>
#include <vector>

#include "runtime/strided.h"

namespace anew {

// How slices of `operand` are found. `window` is the array whose elements run over places and slices: the result of
// gather, the updates of scatter.
struct Places {
  std::span<const int> window_dims;                 // of `window`: along slices; the others run over the indices
  std::span<const int> collapsed;                   // axes of the operand that slices have and `window` has not
  std::span<const int> mapped;                      // axes of the operand that the index vector speaks of
  std::span<const int> operand_batch, index_batch;  // pairs that run together
  Shape slice_sizes;
  bool clip = true;  // else a slice that is not inside is left out
};

enum class Scatter { set, add, mul, min, max };

// `fill`: one element, for slices that are left out.
void gather(const Strided& operand, const Strided& indices, const Places& places, const std::byte* fill,
            const Strided& out);
// `out` has the elements that updates are joined to.
void scatter(const Strided& out, const Strided& indices, const Strided& updates, const Places& places, Scatter join);

}  // namespace anew
