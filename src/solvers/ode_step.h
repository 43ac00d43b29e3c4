// One step of an integrator, over vectors.
#pragma once
#include <anew/ode.h>

#include "solvers/vectors.h"

namespace anew::solvers {

using Rhs = std::function<Array(const Array& y, const Array& t)>;

// A step from (y, t) of size h. Inside, with s from 0 to 1, the solution is
// r0 + s (r1 + (1 - s) (r2 + s (r3 + (1 - s) r4))), for the rows r of `inside`.
struct OdeStep {
  Array y, f;    // at the end
  Array error;   // about that of y
  Array inside;  // [5, n]
};
struct OdeMethod {
  OdeStep (*step)(const Rhs& f, const Array& y, const Array& fy, const Array& t, const Array& h, const Location& at);
  double order;  // of the error: it shrinks like h^order
};
OdeMethod ode_method(const std::string& name, const Location& at);  // throws where there is none
Array inside_at(const Array& inside, const Array& s);

}  // namespace anew::solvers
