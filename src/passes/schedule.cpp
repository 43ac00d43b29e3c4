// The schedules of all kernels. They follow from the kernels alone, so they are made when no pass changes these any more.
#include "passes/lowered.h"

namespace anew::passes {

void schedule(Body& body) {
  for (Step& s : body.steps) {
    for (const auto& nested : s.bodies) schedule(*nested);
    if (s.kind == Step::Kind::kernel) s.schedule = loops::schedule_of(s.kernel);
  }
}

}  // namespace anew::passes
