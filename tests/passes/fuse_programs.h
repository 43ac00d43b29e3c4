// Typical programs for the tests of the lowered form: what fusion does to each is recorded in kernels/<name>.txt.
#pragma once
#include <anew/anew.h>

#include <string>
#include <vector>

namespace anew::test {

struct TypicalProgram {
  std::string name;
  Program program;
  Arrays inputs;
};
std::vector<TypicalProgram> typical_programs();

}  // namespace anew::test
