// Text of array types: the short name of a dtype is the one of printed programs (f32[5,4]), the long one that of params
// (new_dtype=float32), so that a program of ours reads like the ones users know.
#include <fmt/format.h>

#include <ostream>

#include "base/base.h"

namespace anew {

std::ostream& operator<<(std::ostream& out, DType d) { return out << name_of(d); }

std::string ShapeDtype::str() const { return fmt::format("{}{}", name_of(dtype), shape.str()); }

std::ostream& operator<<(std::ostream& out, const ShapeDtype& type) { return out << type.str(); }

}  // namespace anew
