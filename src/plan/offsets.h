// Offsets for pieces of memory whose lifetimes are known: pieces that live at the same step never overlap, and the
// whole is as small as several orders and a bounded search make it (the problem is NP-hard; on chains, on nets and
// their gradients and on nested lifetimes the lower bound is met). The same intervals always give the same offsets: no
// clock, no chance.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anew::plan {

constexpr std::size_t alignment = 64;
constexpr std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct Interval {
  std::int64_t begin, end;  // live at steps begin..end, both included
  std::size_t bytes;
};
struct Placement {
  std::vector<std::size_t> offsets;  // multiples of `alignment`; 0 for an interval without bytes
  std::size_t bytes = 0;             // the largest end; the last piece is not rounded up
};
Placement place(std::span<const Interval> intervals);

// The most bytes that live at one step, each piece rounded up to `alignment`.
std::size_t lower_bound(std::span<const Interval> intervals);

}  // namespace anew::plan
