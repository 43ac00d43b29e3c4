// Scalars that hold for leaves of any dtype: computed in f64, and numbers to what they meet.
#pragma once
#include <anew/array.h>

#include "ops/promote.h"
#include "trace/trace.h"

namespace anew::optim {

Array f64_scalar(const Array& x, const Location& at);
Array number(const Array& f64_scalar);

}  // namespace anew::optim
