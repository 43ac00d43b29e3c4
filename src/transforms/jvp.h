// Forward mode. A JvpTrace carries (primal, tangent) pairs: primals run under the parent, derivative rules under
// `rules` (the parent itself for jvp, a SplitTrace for linearize). A value without tangent is not boxed.
#pragma once
#include "trace/trace.h"

namespace anew {

class JvpTrace final : public Trace {
 public:
  JvpTrace(Trace* parent, Trace* rules, std::string_view what, const Location& at);
  Arrays process(const Request& r) override;
  std::string_view what() const override { return what_; }
  Array box(const Array& primal, const Array& tangent);
  Array primal(const Array& x) const;
  Array tangent(const Array& x) const;  // empty: zero

 private:
  Trace* parent_;
  Trace* rules_;
  std::string what_;
};

// The derivative of a Program: inputs, then the tangents of the inputs marked nonzero -> outputs, then tangents of the
// outputs that have one (or of all marked in `force`, as zero arrays where there is none). Arrays that a user's rule
// captured are its last inputs.
struct JvpProgram {
  ir::Program program;
  Arrays captured;
  std::vector<bool> nonzero;  // per output of the original
};
JvpProgram jvp_program(const ir::Program& p, const std::vector<bool>& nonzero, const std::vector<bool>& force = {});
// The same, remembered by the Program, unless a user's rule captured arrays.
JvpProgram jvp_program(const ir::ProgramRef& p, const std::vector<bool>& nonzero, const std::vector<bool>& force = {});

// What such a Program gave, apart again.
ir::Tangents values_and_tangents(const Arrays& made, const std::vector<bool>& nonzero);

// Zeros that must exist inside a derivative are -0.0: adding them changes nothing.
Array zeros_inside(const Type& type);
Array zeros_for_user(const Type& type);

}  // namespace anew
