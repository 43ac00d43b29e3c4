// The list of passes, in the order they run.
#include "passes/pipeline.h"

#include "passes/pass_log.h"
#include "passes/passes.h"

namespace anew::passes {
namespace {

struct Pass {
  const char* name;
  ir::Program (*run)(const ir::Program&);
};
constexpr Pass program_passes[] = {
    {"eliminate_dead_code", eliminate_dead_code},
    {"simplify", simplify},
    {"eliminate_common", eliminate_common},  // before calls are inlined: what a checkpoint repeats stays repeated
    {"inline_calls", inline_calls},
    {"unroll_loops", unroll_loops},  // before slices move up: rows are slices of blocks
    {"narrow", narrow},
    {"simplify", simplify},                        // what met where a call ended, slices of slices
    {"eliminate_dead_code", eliminate_dead_code},  // what the others left behind
};

}  // namespace

ir::Program prepare(const ir::Program& p) {
  ir::Program now = p;
  for (const Pass& pass : program_passes) {
    PassLog log(pass.name, subject(now));
    ir::Program next = pass.run(now);
    log.done(subject(next));
    ir::verify_if_asked(next);
    now = std::move(next);
  }
  return now;
}

}  // namespace anew::passes
