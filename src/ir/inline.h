// Equations that are replaced by those of a Program.
#pragma once
#include <functional>
#include <span>

#include "ir/program.h"

namespace anew::ir {

// The Program whose equations stand for e; null: e stays. `in`: types of the operands of e.
using Callee = std::function<ProgramRef(const Eqn& e, std::span<const Type> in)>;
// Whether a nested Program of e stays as it is.
using Stays = std::function<bool(const Eqn& e, const ProgramRef& nested)>;
// p with calls replaced where they stand, in what replaces them and in nested Programs too, but those that stay; a
// nested Program that several equations hold is rewritten once, and one without calls stays the object it was.
Program inline_calls(const Program& p, const Callee& callee, const Stays& stays = nullptr);

// Whether an equation, nested ones included, holds a function of the user's (written <fn ...>): what that does may be
// another thing each time it is called.
bool holds_functions(const Program& p);

}  // namespace anew::ir
