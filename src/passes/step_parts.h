// For the kinds of steps (lowered.h): what their scratch and their time by the cost model are made of.
#pragma once
#include <algorithm>
#include <set>

#include "passes/step_graph.h"
#include "plan/offsets.h"

namespace anew::passes {

// Parts of a step's scratch, one behind the other.
class Parts {
 public:
  explicit Parts(Step& s) : scratch_(s.scratch) { scratch_ = 0; }
  Part add(std::size_t bytes) {
    last_ = {plan::rounded(end_), bytes};
    end_ = last_.offset + bytes;
    if (bytes) scratch_ = end_;
    return last_;
  }
  // From the same place on as the last one.
  Part beside_last(std::size_t bytes) {
    end_ = std::max(end_, last_.offset + bytes);
    if (bytes) scratch_ = std::max(scratch_, end_);
    return {last_.offset, bytes};
  }

 private:
  std::size_t& scratch_;
  std::size_t end_ = 0;
  Part last_;
};

// What a tile has seen is near: what it makes for itself, and whatever it read or wrote before. Null: nothing is.
struct Near {
  std::set<StorageId> seen = {};
};

// ---- the cost model (step_time.cpp)
double time_to_begin(const Near* near);  // a step
double time_of(const Body& body, Near* near = nullptr);
double time_of_kernel(const Body& body, const Step& step, Near* near);
double time_of_call(const Body& body, const Step& step, Near* near);
double length_of(std::int64_t length);  // a loop of unknown length (-1) is taken for one of 100 steps

}  // namespace anew::passes
