// The way from a traced Program to code, in the order in which it is gone. Passes decide; the last one writes down.
#include "passes/pipeline.h"

#include <algorithm>

#include "base/environment.h"
#include "passes/pass_log.h"
#include "passes/passes.h"

namespace anew::passes {
namespace {

template <class Subject>
struct Pass {
  const char* name;
  Subject run;
};

// From Program to Program: inputs, outputs and every bit stay.
constexpr Pass<ir::Program (*)(const ir::Program&)> program_passes[] = {
    {"eliminate_dead_code", eliminate_dead_code},  // what no result needs is not worth a look
    {"simplify", simplify},                        // equal things get one form, so that the next pass finds them
    {"eliminate_common", eliminate_common},        // before calls are inlined: what a checkpoint repeats stays repeated
    {"inline_calls", inline_calls},          // from here on one list, in which recomputation stands where it is used
    {"unroll_loops", unroll_loops},          // before slices move up: rows are slices of blocks
    {"narrow", narrow},                      // slices move up, past where a call ended too
    {"concatenate_pads", concatenate_pads},  // what slices cut apart is put together; after narrow, which drops pads
    {"simplify", simplify},                  // what met where a call ended, slices of slices
    {"eliminate_dead_code", eliminate_dead_code},  // what the others left behind
};

// lower is between the two lists: equations become steps over values in storages, views disappear.

// From Body to Body: what is computed stays; steps, their order and their memory change.
using BodyPass = Pass<void (*)(Body&)>;
constexpr BodyPass fusion[] = {
    {"offload", offload},  // what is only moved lies on disk: before anybody counts memory
    {"fuse", fuse},        // kernels that can share a loop nest become one
};
constexpr BodyPass moves[] = {
    {"sink", sink},    // a reduction between two kernels makes way
    {"fuse", fuse},    // for them to become one
    {"hoist", hoist},  // its arithmetic goes to the kernel that feeds it, and less is handed over
};
constexpr BodyPass ordering[] = {
    {"overlap", overlap},  // what others do meanwhile is begun early and waited for late; both keep their order
    {"order", order},      // a schedule of a lower peak, if there is one: of whole steps, before they are cut
    {"hasten", hasten},    // what it put off is begun early again
};
constexpr BodyPass tiling[] = {
    {"join", join},  // what is small in a loop becomes one kernel; after order, since it holds together what it joins
    {"tile", tile},  // neighbours over the same rows run tile by tile; after order, which decides who is a neighbour
};
constexpr BodyPass tiling_kernels[] = {
    {"join", join}, {"tile_kernels", tile_kernels},  // where products among them would cost memory
};
constexpr BodyPass cutting[] = {
    {"accumulate", accumulate},  // sums of products are made where they lie: one kernel and one array less
    {"schedule", schedule},      // kernels are final: units, scratch and grain of each
};
// rematerialize is here, where there is a budget: which steps run again.
constexpr BodyPass memory[] = {
    {"alias", alias},                          // in place; before memory is counted
    {"spill", spill},                          // states on disk, where nobody but their way back reads them
    {"plan_memory", plan_memory},              // offsets of everything
    {"attach_epilogues", attach_epilogues},    // kernels that run on a product's tiles, where the placement lets them
    {"attach_neighbours", attach_neighbours},  // kernels that run at once, as far as they are left
};

// generate comes when code is first asked for: a target's code for each distinct kernel, pointers instead of values.

std::int64_t steps_in(const Body& body) {
  auto n = std::ssize(body.steps);
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) n += steps_in(*nested);
  return n;
}

bool same_steps(const Body& a, const Body& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), [](const Step& s, const Step& t) {
    return s.work.index() == t.work.index() && s.in == t.in && s.out == t.out &&
           (!s.is<Kernel>() || s.kernel() == t.kernel()) &&
           std::equal(s.bodies.begin(), s.bodies.end(), t.bodies.begin(), t.bodies.end(),
                      [](const auto& x, const auto& y) { return same_steps(*x, *y); });
  });
}

Subject subject(const Body& body) {
  return {"steps", [&] { return steps_in(body); }, [&] { return str(body); }};
}

using BodyRef = std::shared_ptr<Body>;

BodyRef run(std::span<const BodyPass> passes, BodyRef body) {
  for (const BodyPass& pass : passes) {
    PassLog log(pass.name, subject(*body));
    pass.run(*body);
    log.done(subject(*body));
    if (environment::verifies()) verify(*body);
  }
  return body;
}

std::size_t bytes_of(const Planned& p) { return p.placed->bytes + output_bytes(*p.placed); }

// Passes that serve speed, in several ways and then without any: the one that needs the least memory is kept, of equal
// ones the first.
template <class Finish>
Planned keep_smallest(std::initializer_list<std::span<const BodyPass>> ways, const BodyRef& body, Finish finish) {
  std::vector<BodyRef> bodies;
  auto add = [&](BodyRef b) {
    auto same = [&](const BodyRef& other) { return same_steps(*other, *b); };
    if (std::none_of(bodies.begin(), bodies.end(), same)) bodies.push_back(std::move(b));
  };
  for (std::span<const BodyPass> passes : ways) add(run(passes, std::make_shared<Body>(clone(*body))));
  add(body);
  Planned best;
  for (const BodyRef& b : bodies)
    if (Planned p = finish(b); !best.placed || bytes_of(p) < bytes_of(best)) best = std::move(p);
  return best;
}

}  // namespace

static ir::Program prepare(const ir::Program& p, bool names_stay) {
  ir::Program now = p;
  for (const auto& pass : program_passes) {
    PassLog log(pass.name, subject(now));
    ir::Program next = (names_stay && pass.run == simplify ? simplify_around_names : pass.run)(now);
    log.done(subject(next));
    ir::verify_if_asked(next);
    now = std::move(next);
  }
  return now;
}

ir::Program prepare(const ir::Program& p) { return prepare(p, false); }

static Planned planned(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated,
                       bool keep_steps, bool names_stay) {
  ir::Program prepared = prepare(program, names_stay);
  PassLog lowering("lower", subject(prepared));
  BodyRef body = lower(prepared, inputs);
  lowering.done(subject(*body));
  body = run(fusion, std::move(body));
  auto finish = [&](const BodyRef& b) {
    BodyRef cut = run(cutting, b);
    BodyRef steps = keep_steps ? std::make_shared<Body>(clone(*cut)) : nullptr;
    return Planned{run(memory, std::move(cut)), std::move(steps)};
  };
  auto plan = [&](const BodyRef& fused) {
    return keep_smallest({moves}, fused, [&](const BodyRef& b) {
      return keep_smallest({tiling, tiling_kernels}, run(ordering, b), finish);
    });
  };
  if (donated.empty()) return plan(body);
  // Memory of arguments is there to be used, and is not where that would cost more than it saves (few bytes, rounded).
  const auto given = std::make_shared<Body>(clone(*body));
  for (int i : donated) given->storage_of(given->inputs[static_cast<std::size_t>(i)]).donated = true;
  Planned with = plan(given), without = plan(body);
  return bytes_of(without) < bytes_of(with) ? without : with;
}

// What a pass got wrong shall be an error, not a wrong number: the end of them is verified always, each of them where
// that is asked for.
Planned plan_program(const ir::Program& program, std::span<const Strides> inputs, std::span<const int> donated,
                     bool keep_steps, bool names_stay) {
  Planned p = planned(program, inputs, donated, keep_steps, names_stay);
  verify(*p.placed);
  return p;
}

std::shared_ptr<const Body> plan_tightly(std::shared_ptr<Body> body) {
  alias(*body);
  spill(*body);
  plan_memory(*body, 0);
  attach_epilogues(*body);
  attach_neighbours(*body);
  verify(*body);
  return body;
}

void plan_memory(Body& body) { plan_memory(body, small_arena); }

// Inside out: to the plan outside, a nested plan is scratch of its size.
void plan_memory(Body& body, std::size_t small) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) plan_memory(*nested, small);
  count_scratch(body);         // of every step
  lend(body);                  // what is dead before an output is written lies in that output's memory
  spare_scratch(body, small);  // what a product can do without is not given where it would be the peak of a large arena
  place(body);                 // the rest in one arena
}

}  // namespace anew::passes
