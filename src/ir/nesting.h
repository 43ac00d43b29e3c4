// How deep things are nested in each other. Everything that walks Programs is recursive, and so is their destruction; so
// whoever makes an equation refuses one that would nest Programs deeper than max_nesting.
#pragma once
#include "ir/program.h"

namespace anew::ir {

// Of Programs in each other, and of lists in params.
inline constexpr int max_nesting = 200;

// How deep Programs are nested in one with an equation of these params.
int nesting(const Params& p);

}  // namespace anew::ir
