// What the rows of the conformance table share: counts in the programs of linear functions, executions of primitives.
#pragma once
#include <map>

#include "support/check_grads.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {

using namespace checkpoint_policies;

struct Conformance : testing::Test {
  Warnings quiet;  // what a checkpoint does not save is not the subject here
};

// The policies under which the default behaviour is expected: D and N.
inline std::vector<Policy> default_policies() {
  return {nothing_saveable, Policy("never", [](const PolicyQuery&) { return false; })};
}
inline Policy save_primitive(std::string name) {
  return Policy("save_" + name, [name](const PolicyQuery& q) { return q.primitive == name; });
}

// (#sin, #cos) of a program, nested ones included.
inline std::pair<int, int> sines(const Program& p) { return {p.count("sin"), p.count("cos")}; }
// J_lin and J_bwd.
template <class F, class... X>
Program linear_program(F f, const X&... x) {
  return linearize(f, x...).second.program();
}
template <class F, class... X>
Program backward_program(F f, const X&... x) {
  return vjp(f, x...).second.program();
}

// Counts what the eager evaluator runs for the length of a scope.
class Executions {
 public:
  Executions() {
    saved_ = set_observer([this](const ir::Primitive& p) { ++counts_[p.name]; });
  }
  ~Executions() { set_observer(saved_); }
  Executions(const Executions&) = delete;
  int operator[](const std::string& name) const {
    auto it = counts_.find(name);
    return it == counts_.end() ? 0 : it->second;
  }

 private:
  std::map<std::string, int> counts_;
  Observer saved_;
};

inline constexpr double near = 2e-6;
#define EXPECT_VALUE(x, want) EXPECT_NEAR((x).item(), want, ::anew::test::near)

}  // namespace anew::test
