// A sequence with what lives when, which runs can be taken out of one by one: each trial looks only at what changes.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/remat_graph.h"

namespace anew::plan {

class Timeline {
 public:
  Timeline(const RematGraph& graph, const Sequence& sequence);

  using Instance = std::pair<int, int>;  // a run, and which of its `makes`
  struct Made {
    int value;
    std::vector<int> readers = {};  // positions, ascending
    Instance before = {-1, 0};      // which was read until this was made
  };
  struct Run {
    int kernel;
    int previous = -1;  // the run of the same kernel before
    bool gone = false;
    std::vector<Made> makes;      // as the kernel's
    std::vector<Instance> reads;  // as the kernel's
    std::int64_t reused = 0;      // bytes it writes in place
  };
  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<std::int64_t>& live() const { return live_; }
  // The position up to which what run `at` makes lives.
  int last(int at, const Made& made) const;
  bool lives_on(int at, const Made& made) const;  // a result
  Sequence sequence() const;

  // Takes the run, a repeat or a fetch, out if the peak stays within the budget: what read it reads what was there
  // before; runs nobody reads then go too.
  bool remove(int position, std::int64_t budget);

 private:
  struct Change;
  const Made& made(const Instance& i) const { return runs_[i.first].makes[i.second]; }
  const RematGraph& g_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> live_;
};

}  // namespace anew::plan
