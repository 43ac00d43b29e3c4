// The steps of a Body as the kernels of a graph for rematerialization, and back: a sequence of kernels as steps. Where
// there is a folder, temporaries may lie in a file there between their uses: they have a fetch in the graph, and where
// a sequence has that, a step behind the maker moves them out, and one in place of the fetch back in.
#pragma once
#include <optional>

#include "passes/lowered.h"
#include "plan/remat_cut.h"

namespace anew::passes {

// What a step takes on one core, in seconds, by a roofline (step_time.cpp). A model, the same everywhere, so that plans
// are; of a loop whose length nobody knows it is that of 100 steps.
double modelled_time(const Body& body, const Step& step);
double modelled_time(const Body& body);  // of all its steps
// Of moving bytes to a file, or back.
double modelled_time_to_write(std::size_t bytes);
double modelled_time_to_read(std::size_t bytes);

class StepGraph {
 public:
  // Kernels of the Body are final; `placed` is a copy of it with the scratch of every step counted. What `kept` holds
  // is not made twice. `folder`: empty where nothing goes to files.
  StepGraph(const Body& body, const Body& placed, const std::vector<StorageId>& kept, std::string folder = {});

  // For planning: outputs count from when they are written, and lend their memory until then.
  const plan::RematGraph& graph() const { return graph_; }
  // The same where outputs lend nothing and count nothing. A large temporary fits into no output of smaller ones, which
  // the graph above does not know: it sees nothing to gain below the bytes of all outputs. Absent where outputs are
  // few bytes.
  const plan::RematGraph* without_lending() const { return alone_ ? &*alone_ : nullptr; }
  // The fewest bytes that any placement of a sequence could need: pieces not rounded up, every result that could take
  // the place of an operand does, tiles need nothing for themselves, and outputs lend all the memory that anything
  // could use until they are written.
  std::size_t least_bytes(const plan::Sequence& sequence) const;
  // What every plan within so many bytes takes, besides running every step once, and the price of a byte.
  plan::RematBound bound(std::size_t bytes);
  const Body& body() const { return body_; }
  const std::vector<int>& steps_of(int kernel) const { return steps_[static_cast<std::size_t>(kernel)]; }
  // The Body with these steps: a step that runs again or moves something back writes storages of its own, read from
  // then on.
  std::shared_ptr<Body> with_sequence(const plan::Sequence& sequence) const;

 private:
  StorageId fetched_of(int kernel) const { return fetched_[static_cast<std::size_t>(kernel - graph_.size())]; }
  const Body& body_;
  std::string folder_;
  std::vector<std::vector<int>> steps_;  // of each kernel: several where they write parts of one storage
  std::vector<StorageId> fetched_;       // of each fetch
  plan::RematGraph graph_;
  std::optional<plan::RematGraph> alone_;
  // Two ways to count outputs, neither more than there is: from when they are written; or all the time, but for what
  // could be lent.
  plan::RematGraph written_, always_;
  std::int64_t unlent_ = 0;  // bytes of outputs that nobody can lie in
  std::optional<plan::RematBounds> written_bounds_, always_bounds_;
};

}  // namespace anew::passes
