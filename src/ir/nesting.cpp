#include "ir/nesting.h"

#include <algorithm>

namespace anew::ir {
namespace {

struct AskNesting {
  friend bool operator==(AskNesting, AskNesting) = default;
};

int nesting(const Program& p) {
  int deepest = 0;
  for (const Eqn& e : p.eqns) deepest = std::max(deepest, nesting(*e.params));
  return deepest;
}

}  // namespace

int nesting(const Params& p) {
  int deepest = 0;
  for (const ProgramRef& q : p.programs())
    deepest = std::max(deepest, *q->memo.get(AskNesting{}, [&] { return nesting(*q); }) + 1);
  return deepest;
}

}  // namespace anew::ir
