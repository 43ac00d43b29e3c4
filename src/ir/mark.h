// Where an equation comes from, beyond its line: for plans and reports only, nothing that is computed depends on it. Of
// all equations that one operation of the user's became (its derivative, its transpose, its recomputation) the number
// is the same, so that what a backward pass makes is known to belong to a forward one; and a region is the chain of
// calls that the user's function was traced in. Equations derived from another inherit its mark, as they do its line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base.h"

namespace anew::ir {

// A call that traces a function of the user's: a checkpoint, a jit, a loop, a custom rule. Regions are made once and
// never go: there are as many as calls in the programs of a process.
struct Region {
  const Region* outer;  // null: none
  std::string_view what;
  Location at;
  int instance;  // which one it is of the calls from this line, inside `outer`; `named`: a scope that the user named
  static constexpr int named = -1;
};
const Region* region(const Region* outer, std::string_view what, const Location& at, int instance);
// "checkpoint 3 of model.cpp:88 (loss)", from the innermost outwards, comma between them; of scopes that the user
// named, one in the other, "encoder/layer 3".
std::string str(const Region* region);
// The scopes alone: "encoder/layer 3".
std::string scopes(const Region* region);

struct Mark {
  const Region* region = nullptr;
  std::uint64_t operation = 0;  // of the user's; 0: unknown
  bool backward = false;        // made by a backward pass
};

}  // namespace anew::ir
