// Lines of keys sorted with vectors of 64 bytes, where the processor has them. Invariant: what comes out is the
// sorted line, which the keys alone decide, whoever sorts it; the time is O(n log n) for any line.
#pragma once
#include <cstdint>

namespace anew {

// What the words of a line are, in the order of which they are sorted. Of floats every nan is the last, and comes out
// as any nan, and -0 is before 0: who wants them as they were puts them back.
enum class Words { with_sign, without_sign, floats };

// Sorts n words from `from`, which is `to` or apart from it, into `to`; `spare` has room for as many. Gives back
// whether there was a nan or -0. After `depth` partitions of one word it does without vectors, which a test asks for.
template <class K>
using SortLine = bool (*)(std::int64_t n, const K* from, K* to, K* spare, Words words, int depth);

// Exist on x86-64 only; whether this machine can run them is asked by sort_lines.cpp.
bool sort_line_avx512(std::int64_t n, const std::int32_t* from, std::int32_t* to, std::int32_t* spare, Words words,
                      int depth);
bool sort_line_avx512(std::int64_t n, const std::int64_t* from, std::int64_t* to, std::int64_t* spare, Words words,
                      int depth);

}  // namespace anew
