// Neighbouring kernels that do not depend on each other run at once: the boxes of a stencil, or whatever reads the same
// arrays, are shared out among the threads together and, where they go over the same rows, row by row, so that what
// one of them has read is in the cache for the next. The pass looks at memory as it is placed and leaves it as it is.
// Invariant: of kernels that run at once, none writes what another one touches.
#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

constexpr std::size_t most_neighbours = 32;

class Neighbours {
 public:
  explicit Neighbours(const Body& body) : b_(body) {}

  bool can_run_at_once(const Step& s) const {
    const Kernel* kernel = s.as<Kernel>();
    return kernel && !kernel->on_tiles && s.is_elementwise() && !s.effects && kernel->schedule.scratch == 0;
  }
  bool independent(const Step& a, const Step& b) const { return writes_apart(a, b) && writes_apart(b, a); }

 private:
  // Whether nothing that `a` writes is touched by `b`.
  bool writes_apart(const Step& a, const Step& b) const {
    for (const loops::Store& t : a.kernel().stores) {
      const ValueId out = a.operand(t.to.operand);
      auto apart = [&](const loops::Access& x) {
        const ValueId other = b.operand(x.operand);
        if (!extent_of(b_, out).meets(extent_of(b_, other))) return true;
        return same_layout(b_.values[out], b_.values[other]) && keep_apart(a.kernel(), t.to.index, b.kernel(), x.index);
      };
      if (!std::all_of(b.kernel().accesses.begin(), b.kernel().accesses.end(), apart)) return false;
      for (const loops::Store& u : b.kernel().stores)
        if (!apart(u.to)) return false;
    }
    return true;
  }
  static bool same_layout(const Value& a, const Value& b) {
    return a.storage == b.storage && a.type == b.type && a.strides == b.strides && a.offset == b.offset;
  }

  const Body& b_;
};

}  // namespace

void attach_neighbours(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) attach_neighbours(*nested);
  const Neighbours neighbours(body);
  for (std::size_t i = 0, first = 0; i < body.steps.size(); ++i) {
    Step& s = body.steps[i];
    auto independent = [&](const Step& other) { return neighbours.independent(other, s); };
    const auto begin = body.steps.begin() + static_cast<std::ptrdiff_t>(first),
               end = body.steps.begin() + static_cast<std::ptrdiff_t>(i);
    const bool joins = i > first && i - first < most_neighbours && neighbours.can_run_at_once(*begin) &&
                       neighbours.can_run_at_once(s) && std::all_of(begin, end, independent);
    if (joins) s.as<Kernel>()->with_last = true;
    else first = i;
  }
}

}  // namespace anew::passes
