// Block forms of the bodies of loops and branches, put in their places.
#include <algorithm>
#include <map>

#include "control/higher_order.h"
#include "control/loop.h"
#include "passes/block_forms.h"

namespace anew::passes {
namespace {

constexpr double unknown_turns = 100;                            // of a while, as in the model of its time
constexpr std::size_t most_forms = 24, most_equations = 24'000;  // of the whole in all forms: each is lowered

std::size_t equations_in(const ir::Program& p) {
  std::size_t n = p.eqns.size();
  for (const ir::Eqn& e : p.eqns)
    for (const ir::ProgramRef& q : ir::nested_programs(e)) n += equations_in(*q);
  return n;
}
std::size_t bytes_made(const ir::Program& p) {
  std::size_t bytes = 0;
  for (const ir::Eqn& e : p.eqns)
    for (ir::Var v : e.outputs) bytes += p.type(v).bytes();
  return bytes;
}
// How often the Programs of an equation run each time it does; 0: they are no bodies of loops or branches.
double turns_of(const ir::Eqn& e) {
  if (const auto* loop = e.params->if_a<LoopParams>())
    return loop->length < 0 ? unknown_turns : static_cast<double>(loop->length);
  return e.params->if_a<CondParams>() ? 1 : 0;
}

class Bodies {
 public:
  Bodies(const ir::Program& p, const std::set<std::string>& kept, std::size_t few)
      : kept_(kept), few_(few), most_(std::min(most_forms, most_equations / (equations_in(p) + 1))) {
    find(p);
  }

  // One for each number of forms that a body has.
  std::vector<BlockForm> forms(const ir::Program& p) {
    std::size_t count = 0;
    for (const auto& [q, forms] : of_) count = std::max(count, forms.size());
    std::vector<BlockForm> out(count);
    for (std::size_t k = 0; k < count; ++k) {
      share_ = {k, count};
      made_.clear();
      out[k].program = p;
      put_forms(out[k].program);
      weigh(p, 1, out[k]);
    }
    return out;
  }

 private:
  using Forms = std::vector<BlockForm>;

  void find(const ir::Program& p) {
    for (const ir::Eqn& e : p.eqns) {
      if (turns_of(e) == 0) continue;
      for (const ir::ProgramRef& q : ir::nested_programs(e)) {
        if (of_.count(q)) continue;
        of_[q] = bytes_made(*q) > few_ ? block_forms(*q, kept_, most_, true) : Forms();
        find(*q);
      }
    }
  }
  // Of this body, in the form at hand; null: it has none.
  const BlockForm* form_of(const ir::ProgramRef& q) const {
    const auto known = of_.find(q);
    if (known == of_.end() || known->second.empty()) return nullptr;
    return &known->second[share_.first * known->second.size() / share_.second];
  }

  bool put_forms(ir::Program& p) {
    bool changed = false;
    for (ir::Eqn& e : p.eqns) {
      if (!e.primitive->higher_order()) continue;  // a checkpoint that a form has made holds Programs of loops too
      std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
      bool other = false;
      for (ir::ProgramRef& q : programs) {
        const ir::ProgramRef now = with_form(q);
        other = other || now != q;
        q = now;
      }
      if (other) e.params = e.params->with_programs(programs);
      changed = changed || other;
    }
    return changed;
  }
  ir::ProgramRef with_form(const ir::ProgramRef& q) {
    if (const auto known = made_.find(q); known != made_.end()) return known->second;
    const BlockForm* form = form_of(q);
    ir::Program now = form ? form->program : *q;
    const bool changed = put_forms(now);
    return made_[q] = form || changed ? std::make_shared<const ir::Program>(std::move(now)) : q;
  }

  // What runs again in p, which runs so often.
  void weigh(const ir::Program& p, double times, BlockForm& out) const {
    for (const ir::Eqn& e : p.eqns) {
      const double turns = times * turns_of(e);
      if (turns == 0) continue;
      for (const ir::ProgramRef& q : ir::nested_programs(e)) {
        if (const BlockForm* form = form_of(q))
          for (const BlockForm::Again& a : form->again) out.again.push_back({a.equation, a.flops, a.times * turns});
        weigh(*q, turns, out);
      }
    }
  }

  const std::set<std::string>& kept_;
  std::size_t few_, most_;
  std::map<ir::ProgramRef, Forms> of_;
  std::pair<std::size_t, std::size_t> share_;      // the form at hand, of so many
  std::map<ir::ProgramRef, ir::ProgramRef> made_;  // in it
};

}  // namespace

std::vector<BlockForm> body_forms(const ir::Program& p, const std::set<std::string>& kept, std::size_t few) {
  return Bodies(p, kept, few).forms(p);
}

}  // namespace anew::passes
