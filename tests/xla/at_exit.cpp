// Linked to a program, this writes every Program that it compiled, with numbers of its own, as cases for `anew-xla
// check` when it ends: into the folder that the environment variable ANEW_XLA_CASES names.
#include <cstdlib>

#include "ir/primitive.h"
#include "jit/compiled_program.h"
#include "support/random.h"
#include "trace/trace.h"
#include "xla/cases.h"

namespace {

using namespace anew;

struct AtExit {
  AtExit() { (void)compiled::all_compiled(); }  // made before, gone after
  ~AtExit() {
    const char* folder = std::getenv("ANEW_XLA_CASES");
    if (!folder) return;
    test::Cases cases(folder);
    int number = 0;
    for (const auto& code : compiled::all_compiled()) {
      const ir::Program& program = code->program();
      test::Random random(7);
      Arrays in;
      for (const Type& t : program.input_types()) in.push_back(random.array(t, is_float(t.dtype) ? -1 : 0, 1));
      cases.add(
          "compiled programs", fmt::format("{}", number++),
          [&](std::span<const Array> x) { return evaluate(program, x); }, in);
    }
    std::cout << cases.count() << " modules" << std::endl;
    if (cases.failed()) std::_Exit(1);
  }
} at_exit;

}  // namespace
