// Branches: one of several Bodies runs, so their plans share one place.
#include <algorithm>
#include <cstring>

#include "passes/assembler.h"
#include "passes/step_parts.h"

namespace anew::passes {
namespace {

// Runs the Code that an i32 chooses (clamped).
class BranchStep final : public ExecutableStep {
 public:
  Place index, scratch;
  std::vector<Place> inputs, outputs;
  std::vector<std::unique_ptr<const Code>> branches;
  void run(std::byte* const* table, std::byte** more) const override;
  const Code* nested(std::size_t k) const override { return branches[k].get(); }
};

void BranchStep::run(std::byte* const* table, std::byte** more) const {
  std::int32_t i = 0;
  std::memcpy(&i, index.in(table), sizeof i);
  const Code& code = *branches[std::clamp<std::int64_t>(i, 0, std::ssize(branches) - 1)];
  code.enter(more, scratch.in(table));
  for (std::size_t k = 0; k < inputs.size(); ++k) more[code.inputs[k]] = inputs[k].in(table);
  for (std::size_t k = 0; k < outputs.size(); ++k) more[code.outputs[k]] = outputs[k].in(table);
  code.run(more);
}

}  // namespace

void Branch::count(const Body&, Step& s) {
  std::size_t most = 0;
  for (const auto& nested : s.bodies) most = std::max(most, nested->bytes);
  plan = Parts(s).add(most);
}

double Branch::time(const Body&, const Step& s, Near* near) const {
  double most = 0;
  for (const auto& b : s.bodies) most = std::max(most, time_of(*b));
  return time_to_begin(near) + most;
}

Part Branch::plan_of(std::size_t) const { return plan; }
std::string Branch::name_of(std::size_t body) const { return "branch " + std::to_string(body); }

MadeStep Branch::make(Assembler& to, std::size_t i, const Step& s) const {
  auto made = std::make_unique<BranchStep>();
  made->index = to.place(s.in[0]);
  made->scratch = to.scratch(i, plan);
  for (std::size_t k = 1; k < s.in.size(); ++k) made->inputs.push_back(to.place(s.in[k]));
  for (ValueId v : s.out) made->outputs.push_back(to.place(v));
  for (const auto& body : s.bodies) {
    made->branches.push_back(to.nested(*body));
    to.needs(made->branches.back()->table);
  }
  return made;
}

}  // namespace anew::passes
