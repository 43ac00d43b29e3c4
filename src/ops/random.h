// The rows of random numbers, as equations.
#pragma once
#include "trace/trace.h"

namespace anew {

// One block of the cipher for every pair of counters.
std::pair<Array, Array> threefry(const Array& key, const Array& hi, const Array& lo);
// x * y + z, rounded once.
Array scaled(const Array& x, const Array& y, const Array& z, const Location& at);

}  // namespace anew
