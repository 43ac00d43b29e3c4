// Which argument a value was made with: the leaf that its equation reads (of several the first: parameters come before
// data), or else that of the operand made last. A leaf that was converted, transposed or sliced on the way is still that
// leaf. What a backward pass makes has the label of the forward equation that it is the derivative of; equations say by
// their marks which that is (ir/mark.h).
#pragma once
#include <unordered_map>

#include "passes/lowered.h"

namespace anew::compiled {

struct Label {
  int leaf = -1;          // among the Program's inputs that are no constants; -1: none is known
  bool backward = false;  // made by a backward pass, or of what that made
};

class Labels {
 public:
  explicit Labels(const ir::Program& program);
  Label of(const ir::Mark& mark) const;

 private:
  std::unordered_map<std::uint64_t, Label> forward_;  // by operation
};

// Of a value; one that a loop or branch gives has that of the value in it.
const ir::Mark& mark_of(const passes::Body& body, passes::ValueId value);
// Of what a step computes: of its first result.
const ir::Mark& mark_of(const passes::Body& body, const passes::Step& step);

}  // namespace anew::compiled
