// Block forms of the bodies of loops and branches, put in their places.
#include <algorithm>
#include <map>

#include "control/higher_order.h"
#include "control/loop.h"
#include "passes/block_forms.h"

namespace anew::passes {
namespace {

constexpr double unknown_turns = 100;  // of a while, as in the model of its time

class Bodies {
 public:
  explicit Bodies(const std::set<std::string>& kept) : kept_(kept) {}

  // Those nested in p, which runs so often; `surely`: no less often.
  void find(const ir::Program& p, double times, bool surely) {
    for (const ir::Eqn& e : p.eqns) {
      const auto* loop = e.params->if_a<LoopParams>();
      if (!loop && !e.params->if_a<CondParams>()) continue;
      const double turns = !loop ? 1 : loop->length < 0 ? unknown_turns : static_cast<double>(loop->length);
      for (const ir::ProgramRef& q : ir::nested_programs(e)) {
        if (of_.count(q)) continue;
        Body& body = of_[q];
        body = {block_forms(*q, kept_, true), turns * times, surely && loop && loop->length >= 0};
        most_ = std::max(most_, body.forms.size());
        find(*q, turns * times, body.surely);
      }
    }
  }

  // One for each number of forms that a body has.
  std::vector<BlockForm> forms(const ir::Program& p) {
    std::vector<BlockForm> out(most_);
    for (std::size_t k = 0; k < most_; ++k) {
      form_ = &out[k];
      number_ = k;
      form_->program = p;
      put_forms(form_->program);
    }
    return out;
  }

 private:
  struct Body {
    std::vector<BlockForm> forms;
    double times;
    bool surely;
  };

  bool put_forms(ir::Program& p) {
    bool changed = false;
    for (ir::Eqn& e : p.eqns) {
      if (!e.primitive->higher_order()) continue;  // a checkpoint that a form has made holds Programs of loops too
      std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
      bool other = false;
      for (ir::ProgramRef& q : programs) other |= put_form(q);
      if (other) e.params = e.params->with_programs(programs);
      changed |= other;
    }
    return changed;
  }
  bool put_form(ir::ProgramRef& q) {
    const auto known = of_.find(q);
    const bool has_forms = known != of_.end() && !known->second.forms.empty();
    const std::size_t k = has_forms ? number_ * known->second.forms.size() / most_ : 0;
    ir::Program now = has_forms ? known->second.forms[k].program : *q;
    const bool inside = put_forms(now);
    if (!has_forms && !inside) return false;
    if (has_forms) {
      const Body& body = known->second;
      for (BlockForm::Again a : body.forms[k].again) {
        a.times *= body.times;
        form_->again.push_back(a);
      }
      if (body.surely) form_->flops += body.forms[k].flops * body.times;
    }
    q = std::make_shared<const ir::Program>(std::move(now));
    return true;
  }

  const std::set<std::string>& kept_;
  std::map<ir::ProgramRef, Body> of_;
  std::size_t most_ = 0, number_ = 0;
  BlockForm* form_ = nullptr;
};

}  // namespace

std::vector<BlockForm> body_forms(const ir::Program& p, const std::set<std::string>& kept) {
  Bodies bodies(kept);
  bodies.find(p, 1, true);
  return bodies.forms(p);
}

}  // namespace anew::passes
