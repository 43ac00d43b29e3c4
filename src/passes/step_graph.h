// The steps of a Body as the kernels of a graph for rematerialization, and back: a sequence of kernels as steps.
#pragma once
#include "passes/lowered.h"
#include "plan/remat_graph.h"

namespace anew::passes {

// What a step takes, in seconds, by a roofline (step_time.cpp). A model, the same everywhere, so that plans are; of a loop
// whose length nobody knows it is that of 100 steps.
double modelled_time(const Body& body, const Step& step);

class StepGraph {
 public:
  // Kernels of the Body are final; `placed` is a copy of it with the scratch of every step counted. What `kept` holds is
  // not made twice.
  StepGraph(const Body& body, const Body& placed, const std::vector<StorageId>& kept);

  const plan::RematGraph& graph() const { return graph_; }
  // The same with the fewest bytes that any placement could need: pieces not rounded up, and every result that could take
  // the place of an operand does. No plan of these steps has a lower peak than it has here.
  const plan::RematGraph& least() const { return least_; }
  const Body& body() const { return body_; }
  const std::vector<int>& steps_of(int kernel) const { return steps_[static_cast<std::size_t>(kernel)]; }
  // The Body with these steps: a step that runs again writes storages of its own, read from then on.
  std::shared_ptr<Body> with_sequence(const plan::Sequence& sequence) const;

 private:
  const Body& body_;
  std::vector<std::vector<int>> steps_;  // of each kernel: several where they write parts of one storage
  plan::RematGraph graph_, least_;
};

}  // namespace anew::passes
