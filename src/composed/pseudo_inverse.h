// The value of the pseudo-inverse; src/looped/pseudo_inverse.cpp gives it its derivative.
#pragma once
#include <anew/array.h>

#include <optional>

namespace anew {

// Of matrices with elements, over all leading axes; singular values up to rtol times the largest count as zeros.
Array pseudo_inverse_value(const Array& a, std::optional<double> rtol, const Location& at);

}  // namespace anew
