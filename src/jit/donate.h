// Arguments that give their memory to results: which arrays that are, and handing them over. Nothing is taken from
// somebody else: an array that others hold too is copied, with a warning.
#pragma once
#include <span>
#include <vector>

#include "trace/trace.h"

namespace anew::compiled {

// Arguments of one call that are donated.
class DonatedArguments {
 public:
  // Looks who holds them: before anything makes another handle. `which`: numbers of arrays among x.
  DonatedArguments(std::span<const Array> x, const std::vector<int>& which);
  // Puts memory that may be overwritten into `inputs`, the arguments behind the constants as code takes them. From now
  // on the caller's handles are Errors to use. Where the code has loops, which a StopToken ends, it is asked before.
  void take(std::span<Array> inputs, bool has_loops, const Location& at) const;

 private:
  std::span<const Array> x_;
  const std::vector<int>& which_;
  std::vector<bool> alone_;
};

}  // namespace anew::compiled
