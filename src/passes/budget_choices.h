// All that a budget chooses from: the forms of a Program's loops, or where it has none of its blocks and of those in
// its loops and branches, and of each the
// plan without repeats; of some forms also those in which steps run again, or values lie in a file meanwhile. The set
// depends on the Program alone, and the choice is the one of least time that fits; so a smaller budget never has a
// larger peak, and a larger one never takes more time. The time is that of the steps that will run, by the model.
#pragma once

#include "passes/block_forms.h"
#include "passes/loop_forms.h"
#include "passes/rematerialize.h"

namespace anew::passes {

class BudgetChoices {
 public:
  // The arguments outlive it.
  BudgetChoices(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated,
                std::string disk = {});

  struct Choice {
    std::size_t form = 0, plan = 0;
    bool plain() const { return form == 0 && plan == 0; }
  };
  std::shared_ptr<const Body> body(Choice c) { return plans(c.form).body(c.plan); }
  std::size_t bytes(Choice c) { return plans(c.form).bytes(c.plan); }  // of its arena and the outputs
  std::shared_ptr<const Body> unplaced(Choice c) { return plans(c.form).unplaced(c.plan); }
  // The one of least time within so many bytes of arena and outputs; nothing where there is none.
  std::optional<Choice> first_within(std::size_t bytes);
  Choice smallest();
  // By rising time and falling bytes, from the plain one to the smallest: what budgets give that are so far apart that
  // there are not too many.
  std::vector<Choice> curve();

  // As fractions of the time of the plain plan, by the model.
  double extra_time(Choice c) { return seconds(c) / plans(0).time(); }
  // What any plan within so many bytes adds, of the steps of any form; where loops could keep less, what these add.
  double extra_time_bound(std::size_t bytes);
  double price(Choice c, std::size_t bytes);  // seconds for a byte
  // What runs again.
  struct Again {
    const Step* step;              // or else
    const LoopForms::Again* loop;  // steps of a loop, or else
    const ir::Eqn* equation;       // of a block
    double times, time;            // how often more; of one, as a fraction
  };
  std::vector<Again> again(Choice c);

 private:
  BudgetPlans& plans(std::size_t form);
  const LoopForms& forms();
  std::size_t loop_forms() { return forms().forms().size(); }
  std::size_t form_count() { return loop_forms() + blocks().size(); }
  const std::vector<BlockForm>& blocks();
  double form_time(std::size_t form);
  double seconds(Choice c);                // more than the plain plan
  double least_seconds(std::size_t form);  // of all plans of a form
  double beside_plain(double time);
  void add_loops(std::size_t form, std::vector<Again>& again),
      add_equations(std::size_t form, std::vector<Again>& again);
  bool repeats_steps(std::size_t form);  // whether steps of this form may run again

  const ir::Program& program_;
  std::span<const Strides> inputs_;
  std::span<const int> donated_;
  std::string disk_;
  std::unique_ptr<LoopForms> forms_;  // found when the plain plan does not do
  std::optional<std::vector<BlockForm>> blocks_;
  std::size_t of_bodies_ = 0;  // the last so many of these are
  struct Lowered {
    ir::Program program;
    std::unique_ptr<BudgetPlans> plans;
  };
  std::map<std::size_t, Lowered> lowered_;
};

}  // namespace anew::passes
