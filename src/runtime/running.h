// Running sums, products and extrema along an axis, and linear recurrences. Invariant: an element is made from the one
// before it, one after the other; threads share out lines, so neither they nor other axes can change a bit.
#pragma once
#include "runtime/strided.h"

namespace anew {

enum class Running { sum, product, max, min };

void run_along(Running kind, const Strided& x, int axis, bool reverse, const Strided& out);
// out[i] = a[i] * out[i-1] + b[i], each operation rounded; the first element is that of b. f32 and f64.
void recur_along(const Strided& a, const Strided& b, int axis, bool reverse, const Strided& out);

}  // namespace anew
