// Typical programs on which passes are tried: networks, loops, branches, custom rules and attention, with their
// gradients, checkpointed and not; and how a pass's result is compared with what it was given.
#pragma once
#include <string>
#include <vector>

#include "passes/passes.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {

struct Subject {
  std::string name;
  Program program;
  Arrays inputs;
};
// As functions of one array each, so that gradients are alike to take.
std::vector<Subject> subjects();

inline Arrays operands(const Subject& s) {
  Arrays in = s.program.constants();
  in.insert(in.end(), s.inputs.begin(), s.inputs.end());
  return in;
}
inline const ir::Program& code(const Subject& s) { return *s.program.code(); }

// Text in, text out.
inline std::string after(ir::Program (*pass)(const ir::Program&), const std::string& text) {
  ir::Program p = pass(*parse_program(text).code());
  ir::verify(p);
  return ir::print(p);
}

// Valid, of the same type and the same bits; the result.
ir::Program expect_sound(const Subject& s, ir::Program (*pass)(const ir::Program&));

}  // namespace anew::test
