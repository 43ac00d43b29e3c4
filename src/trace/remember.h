// Tracing for code that is compiled at once. Such a trace remembers: what a transformation makes of a function is
// looked up by the bare Program of that function (transforms/remembered.h), and so are the transformations in loops,
// branches and calls inside. Programs that users see are traced without.
#pragma once
#include "trace/trace.h"

namespace anew {

// Whether the current trace does.
bool remembering();
// The current trace does not, for a scope.
class TraceDirectly {
 public:
  TraceDirectly();
  ~TraceDirectly();
  TraceDirectly(const TraceDirectly&) = delete;

 private:
  const Trace* saved_;
};
// stage, under a trace that does.
Staged stage_remembering(const FlatFunction& f, std::span<const Form> forms, std::string_view what, const Location& at);

// Whether a value was made by this thread after `start`, a former next_sequence().
bool made_since(std::uint64_t start, const Array& x);

// While one is open, whether this thread computed with a known scalar that was made before it: one of the surroundings,
// such as a global, that may be another one at the next call. It becomes a literal, so that no captured array tells.
class NumbersRead {
 public:
  NumbersRead();
  ~NumbersRead();
  NumbersRead(const NumbersRead&) = delete;
  bool from_outside() const { return from_outside_; }
  static void note(const Array& number);

 private:
  std::uint64_t start_;
  NumbersRead* outer_;
  bool from_outside_ = false;
};

}  // namespace anew
