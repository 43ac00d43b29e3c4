// Programs of many kinds, to hold plans and compiled results to: flat functions with their arguments.
#pragma once
#include <anew/anew.h>

#include <string>
#include <vector>

namespace anew::test {

struct PlanProgram {
  std::string name;
  FlatFunction f;
  Arrays x;
};
const std::vector<PlanProgram>& plan_programs();
// By all floating-point arguments.
FlatFunction gradient(const FlatFunction& f);

}  // namespace anew::test
