// The schedules of all kernels. They follow from the kernels alone, so they are made when no pass changes these any
// more.
#include "passes/lowered.h"

namespace anew::passes {

void schedule(Body& body) {
  for (Step& s : body.steps) {
    for (const auto& nested : s.bodies) schedule(*nested);
    if (auto* k = s.as<Kernel>()) k->schedule = loops::schedule_of(k->kernel);
  }
}

}  // namespace anew::passes
