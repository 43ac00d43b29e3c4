// Reductions make way. A kernel, a reduction of what it makes, and another kernel over the same elements that reads
// what the first one makes but not what the reduction gives: the reduction moves behind the second kernel, so that the
// two can be fused and need not hand each other whole arrays. The value of a loss stands like this between its forward
// and its backward pass.
#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

bool reads(const Body& b, const Step& s, const Step& from) {
  return std::any_of(s.in.begin(), s.in.end(), [&](ValueId v) {
    return std::any_of(from.out.begin(), from.out.end(),
                       [&](ValueId w) { return b.values[v].storage == b.values[w].storage; });
  });
}

}  // namespace

void sink(Body& body) {
  constexpr std::size_t far = 64;  // steps to look ahead: the cost stays linear
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) sink(*nested);
  std::vector<Step>& steps = body.steps;
  for (std::size_t g = 0; g + 2 < steps.size(); ++g) {
    if (!steps[g].is_elementwise()) continue;
    // The next kernel that could take this one in; on the way there the reductions of what this one makes, and what
    // follows from them, are moved.
    std::vector<std::size_t> moved;
    auto follows = [&](std::size_t k) {
      return std::any_of(moved.begin(), moved.end(), [&](std::size_t m) { return reads(body, steps[k], steps[m]); });
    };
    const std::size_t end = std::min(steps.size(), g + far);
    std::size_t c = g + 1;
    for (; c < end; ++c) {
      const bool reader = reads(body, steps[c], steps[g]), after = follows(c);
      if (steps[c].effects && (reader || after)) c = end;
      else if (after || (reader && steps[c].is_reduction())) moved.push_back(c);
      else if (reader && steps[c].is_elementwise() && steps[c].kernel().extents == steps[g].kernel().extents) break;
      else if (reader) c = end;
    }
    if (c >= end || moved.empty()) continue;
    // In front of the kernel stays what it was; behind it come the reductions, in order.
    for (std::size_t n = 0; n < moved.size(); ++n) {
      const auto from = steps.begin() + static_cast<std::ptrdiff_t>(moved[n] - n);
      std::rotate(from, from + 1, steps.begin() + static_cast<std::ptrdiff_t>(c) + 1);
    }
  }
}

}  // namespace anew::passes
