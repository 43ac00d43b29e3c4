// Linked to a program, this takes every Program that it compiled through budgets when it ends, on numbers of its own.
#include <iostream>

#include "support/budget_sweep.h"
#include "support/random.h"

namespace {

using namespace anew;

struct AtExit {
  AtExit() { (void)compiled::all_compiled(); }  // made before, gone after
  ~AtExit() {
    int programs = 0;
    std::size_t plans = 0;
    for (const auto& code : compiled::all_compiled()) {
      const ir::ProgramRef program = std::make_shared<const ir::Program>(code->program());
      if (ir::has_effects(*program)) continue;
      test::Random random(7);
      Arrays in;
      for (const Type& t : program->input_types()) in.push_back(random.array(t, is_float(t.dtype) ? -1 : 0, 1));
      std::string wrong;
      try {
        test::BudgetSweep sweep(program, in);
        wrong = sweep.run(test::BudgetSweep::number_of_budgets(3));
        plans += sweep.plans();
      } catch (const std::exception& e) {
        wrong = e.what();
      }
      ++programs;
      if (wrong.empty()) continue;
      std::cerr << "budgets: " << wrong << "\n" << Program(program, {}).str() << std::endl;
      std::_Exit(1);
    }
    std::cout << "budgets: " << programs << " programs, " << plans << " plans" << std::endl;
  }
} at_exit;

}  // namespace
