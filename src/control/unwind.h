// The groups of an unwind's operands, for its two files.
#pragma once
#include "control/loop.h"

namespace anew {

struct UnwindGroups {
  std::size_t constants, xs, counters, carries, linear_constants, linear_carries, linear_xs, linear_ys;
  explicit UnwindGroups(const UnwindParams& p)
      : constants(static_cast<std::size_t>(p.constants)),
        xs(static_cast<std::size_t>(p.xs)),
        counters(p.condition ? 2 : 0),
        carries(static_cast<std::size_t>(p.carries)),
        linear_constants(static_cast<std::size_t>(p.linear_constants)),
        linear_carries(static_cast<std::size_t>(p.linear_carries)),
        linear_xs(p.step->inputs.size() - constants - xs - carries - linear_constants - linear_carries),
        linear_ys(p.step->outputs.size() - linear_carries) {}
  // Where groups of the operands begin.
  std::size_t steps() const { return constants + xs; }
  std::size_t states() const { return constants + xs + counters; }
  std::size_t linear() const { return states() + carries; }
  std::size_t inputs() const { return linear() + linear_constants + linear_carries + linear_xs; }
  std::size_t outputs() const { return linear_carries + linear_ys; }

  // Flags (or values) of the operands in the order of the inputs of `advance`, and of `step`.
  template <class V>
  V of_advance(const V& x) const {
    V out = slice(x, 0, constants);
    append(out, slice(x, states(), carries));
    append(out, slice(x, constants, xs));
    return out;
  }
  template <class V>
  V of_step(const V& x) const {
    V out = of_advance(x);
    append(out, slice(x, linear(), inputs() - linear()));
    return out;
  }
  template <class V>
  V of_condition(const V& x) const {
    V out = slice(x, 0, constants);
    append(out, slice(x, states(), carries));
    return out;
  }

 private:
  template <class V>
  static V slice(const V& x, std::size_t begin, std::size_t size) {
    return V(x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(begin + size));
  }
  template <class V>
  static void append(V& to, const V& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
};

}  // namespace anew
