// The forms of a Program in which loops keep less for their way back, for plans within a budget: from all that is kept
// without one down to the least that is possible, by rising time. Every scan that stacks residuals, and every while,
// has a menu of bytes and times (plan/mixed.h); that of a loop around others is made of theirs. Menus are walked down
// one step at a time, what costs least for a byte first. Neither depends on the budget. Where there is a folder, states
// of scans that are in no other loop may lie in a file there.
#pragma once
#include "passes/loop_bound.h"
#include "passes/loop_pairs.h"

namespace anew::passes {

class LoopForms {
 public:
  explicit LoopForms(const ir::Program& program, std::string disk = {});

  // Steps of a loop that run again.
  struct Again {
    std::string what;  // "scan[100]"
    Location at;
    double steps;
    double time;  // of all of them, in seconds by the model
  };
  struct Form {
    double bytes = 0;                                    // that loops keep, about
    double time = 0;                                     // of what runs again, in seconds by the model
    double price = 0;                                    // seconds for the last byte that is not kept
    std::vector<std::pair<int, LoopLevel>> levels = {};  // of loops that keep less
    std::vector<Again> again = {};
  };
  // The first keeps all.
  const std::vector<Form>& forms() const { return forms_; }
  // The Program in a form. Not of the first, which is the Program as it was.
  ir::Program program(std::size_t form) const;
  const ir::Program& flat() const { return program_; }  // without calls
  // Of what loops run again within so many bytes, in any form, listed or not.
  double least_time(std::int64_t bytes) const { return bound_.within(bytes); }

 private:
  ir::Program program_;  // without calls
  LoopsIn loops_;
  int count_ = 0;
  std::vector<Form> forms_;
  LoopBound bound_;
};

}  // namespace anew::passes
