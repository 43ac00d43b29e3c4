// How a pass reaches nested Programs. A Program that several equations hold is rewritten once and stays shared; one
// that the pass leaves alone stays the object it was.
#include <unordered_map>

#include "passes/passes.h"

namespace anew::passes {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const std::function<bool(ir::Program&)>& one) : one_(one) {}

  bool rewrite(ir::Program& p) {
    bool changed = false;
    for (ir::Eqn& e : p.eqns) {
      if (!e.primitive->higher_order()) continue;
      std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
      bool other = false;
      for (ir::ProgramRef& q : programs) {
        const ir::ProgramRef& now = rewritten(q);
        other = other || now != q;
        q = now;
      }
      if (other) e.params = e.params->with_programs(programs);
      changed = changed || other;
    }
    return one_(p) || changed;
  }

 private:
  const ir::ProgramRef& rewritten(const ir::ProgramRef& p) {
    if (auto it = done_.find(p); it != done_.end()) return it->second;
    ir::Program copy = *p;
    bool changed = rewrite(copy);
    return done_.emplace(p, changed ? std::make_shared<const ir::Program>(std::move(copy)) : p).first->second;
  }
  const std::function<bool(ir::Program&)>& one_;
  std::unordered_map<ir::ProgramRef, ir::ProgramRef> done_;
};

}  // namespace

ir::Program rewrite(const ir::Program& p, const std::function<bool(ir::Program&)>& one) {
  ir::Program copy = p;
  Rewriter(one).rewrite(copy);
  return copy;
}

}  // namespace anew::passes
