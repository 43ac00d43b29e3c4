// The inner loops of reductions for one Combine and dtype, over dense values: lanes of a row, chains of columns, and
// the search for a largest element. interpret_reduction.cpp drives them through these tables, so it knows no types.
#pragma once
#include <cstdint>

#include "loops/kernel.h"

namespace anew::loops {

struct Accumulator {
  // lanes[i mod 32] joins x[i]; with `first` the first 32 elements are the lanes' first values.
  void (*accumulate)(void* lanes, const void* x, std::int64_t n, bool first) = nullptr;
  // Joins the present lanes by halves into lanes[0].
  void (*join)(void* lanes, std::int64_t present) = nullptr;
  // out[k] = the block of n <= 4096 elements from x + k * stride.
  void (*rows)(void* out, const void* x, std::int64_t n, std::int64_t count, std::int64_t stride) = nullptr;
  // acc[c] joins x[r * stride + c] for each r in order; with `first` row 0 is the first value.
  void (*chain)(void* acc, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                bool first) = nullptr;
};
const Accumulator& accumulator(Combine combine, DType dtype);

// Search: the best value so far and its index, along a row (`along`), element i of which has index r + i, or per column
// (`across`), whose rows, `stride` elements apart, have the indices from r on. An equal value later does not win.
// Without values yet, `first` is set. At most 2^31 elements or rows at a time.
struct Searcher {
  void (*along)(void* best, std::int64_t* index, const void* x, std::int64_t n, std::int64_t r, bool first) = nullptr;
  void (*across)(void* best, std::int64_t* index, const void* x, std::int64_t stride, std::int64_t rows,
                 std::int64_t columns, std::int64_t r, bool first) = nullptr;
  // The same with indices given: joins results of blocks.
  void (*merge)(void* best, std::int64_t* index, const void* x, const std::int64_t* from, std::int64_t n,
                bool first) = nullptr;
};
const Searcher& searcher(Combine combine, DType dtype);

}  // namespace anew::loops
