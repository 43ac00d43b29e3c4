// Of equations with effects: which may go where nothing reads their results. A collective (src/mpi) only keeps its
// order; it is there for what it gives. A printed line, and a call that reaches beyond the program (io), are there for
// themselves.
#pragma once
#include "ir/primitive.h"

namespace anew::ir {

// Whether an equation, or one in a program it holds, has an effect that happens even where nothing reads its results.
bool must_run(const Eqn& e);
bool must_run(const Program& p);

}  // namespace anew::ir
