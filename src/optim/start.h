// What all minimizers ask of x0, and how they measure.
#pragma once
#include <anew/array.h>

#include "trace/trace.h"

namespace anew::optim {

double rounding_of(DType dtype);
// Throws unless a loop of C++ can start there.
Array checked_start(std::string_view op, const Array& x0, const Location& at);
double largest_entry(const Array& g);

}  // namespace anew::optim
