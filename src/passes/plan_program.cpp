// The later half of the list of passes: from a prepared Program to a placed Body. Each is logged as the earlier ones are.
#include "passes/plan_program.h"

#include <algorithm>

#include "base/environment.h"
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

bool same_steps(const Body& a, const Body& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), [](const Step& s, const Step& t) {
    return s.kind == t.kind && s.in == t.in && s.out == t.out && s.kernel == t.kernel &&
           std::equal(s.bodies.begin(), s.bodies.end(), t.bodies.begin(), t.bodies.end(),
                      [](const auto& x, const auto& y) { return same_steps(*x, *y); });
  });
}

Subject subject(const Body& body) {
  return {"steps", [&] { return steps_in(body); }, [&] { return str(body); }};
}

struct Pass {
  const char* name;
  void (*run)(Body&);
};
constexpr Pass fusion[] = {
    {"fuse", fuse},
};
constexpr Pass moves[] = {
    {"sink", sink},
    {"fuse", fuse},
    {"hoist", hoist},
};
constexpr Pass ordering[] = {
    {"order", order},
};
constexpr Pass tiling[] = {
    {"tile", tile},
};
constexpr Pass memory[] = {
    {"alias", alias},
    {"place", place},
};

void run(std::span<const Pass> passes, Body& body) {
  for (const Pass& pass : passes) {
    PassLog log(pass.name, subject(body));
    pass.run(body);
    log.done(subject(body));
    if (environment::verifies()) verify(body);
  }
}

}  // namespace

std::shared_ptr<const Body> plan_program(const ir::Program& program, std::span<const Strides> inputs) {
  ir::Program prepared = prepare(program);
  PassLog lowering("lower", subject(prepared));
  std::shared_ptr<Body> body = lower(prepared, inputs);
  lowering.done(subject(*body));
  run(fusion, *body);
  // Moved reductions and tiles make it faster; each is taken where it needs no more memory than going without.
  std::vector<std::shared_ptr<Body>> candidates;
  auto moved = std::make_shared<Body>(clone(*body));
  run(moves, *moved);
  const bool same = same_steps(*moved, *body);
  for (const auto& b : {moved, body}) {
    run(ordering, *b);
    auto tiled = std::make_shared<Body>(clone(*b));
    run(tiling, *tiled);
    if (steps_in(*tiled) != steps_in(*b)) candidates.push_back(std::move(tiled));
    candidates.push_back(b);
    if (same) break;
  }
  for (const auto& c : candidates) run(memory, *c);
  return *std::min_element(candidates.begin(), candidates.end(),
                           [](const auto& a, const auto& b) { return a->bytes < b->bytes; });
}

}  // namespace anew::passes
