// The later half of the list of passes: from a prepared Program to a placed Body. Each is logged as the earlier ones are.
#include "passes/plan_program.h"

#include <cstdlib>

#include "passes/pass_log.h"
#include "passes/pipeline.h"

namespace anew::passes {
namespace {

std::int64_t steps_in(const Body& body) {
  auto n = std::ssize(body.steps);
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) n += steps_in(*nested);
  return n;
}

Subject subject(const Body& body) {
  return {"steps", [&] { return steps_in(body); }, [&] { return str(body); }};
}

struct Pass {
  const char* name;
  void (*run)(Body&);
};
constexpr Pass body_passes[] = {
    {"fuse", fuse},
    {"order", order},
    {"alias", alias},
    {"place", place},
};

}  // namespace

std::shared_ptr<const Body> plan_program(const ir::Program& program, std::span<const Strides> inputs) {
  static const bool asked = std::getenv("ANEW_VERIFY") != nullptr;
  ir::Program prepared = prepare(program);
  PassLog lowering("lower", subject(prepared));
  std::shared_ptr<Body> body = lower(prepared, inputs);
  lowering.done(subject(*body));
  if (asked) verify(*body);
  for (const Pass& pass : body_passes) {
    PassLog log(pass.name, subject(*body));
    pass.run(*body);
    log.done(subject(*body));
    if (asked) verify(*body);
  }
  return body;
}

}  // namespace anew::passes
