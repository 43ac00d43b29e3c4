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
constexpr Pass first_passes[] = {
    {"fuse", fuse},
    {"sink", sink},
    {"fuse", fuse},
    {"hoist", hoist},
    {"order", order},
};
constexpr Pass tile_passes[] = {
    {"tile", tile},
};
constexpr Pass last_passes[] = {
    {"alias", alias},
    {"place", place},
};

void run(std::span<const Pass> passes, Body& body) {
  static const bool asked = std::getenv("ANEW_VERIFY") != nullptr;
  for (const Pass& pass : passes) {
    PassLog log(pass.name, subject(body));
    pass.run(body);
    log.done(subject(body));
    if (asked) verify(body);
  }
}

}  // namespace

std::shared_ptr<const Body> plan_program(const ir::Program& program, std::span<const Strides> inputs) {
  ir::Program prepared = prepare(program);
  PassLog lowering("lower", subject(prepared));
  std::shared_ptr<Body> body = lower(prepared, inputs);
  lowering.done(subject(*body));
  run(first_passes, *body);
  // Tiles are faster; they are taken where they need no more memory than the kernels one after the other.
  auto tiled = std::make_shared<Body>(clone(*body));
  run(tile_passes, *tiled);
  const bool any = steps_in(*tiled) != steps_in(*body);
  run(last_passes, *body);
  if (!any) return body;
  run(last_passes, *tiled);
  return tiled->bytes <= body->bytes ? tiled : body;
}

}  // namespace anew::passes
