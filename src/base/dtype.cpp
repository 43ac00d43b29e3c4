// Text of array types: the short name of a dtype is the one of printed programs (f32[5,4]), the long one that of params
// (new_dtype=float32), so that a program of ours reads like the ones users know.
#include <fmt/format.h>

#include <ostream>

#include "base/base.h"
#include "base/dtype.h"

namespace anew {

bfloat16::operator float() const { return float_of_bf16(bits); }
bfloat16 bfloat16::of(float x) { return {bf16_of_float(x)}; }
float16::operator float() const { return float_of_f16(bits); }
float16 float16::of(float x) { return {f16_of_float(x)}; }

std::ostream& operator<<(std::ostream& out, DType d) { return out << name_of(d); }

std::string ShapeDtype::str() const { return fmt::format("{}{}", name_of(dtype), shape.str()); }

std::ostream& operator<<(std::ostream& out, const ShapeDtype& type) { return out << type.str(); }

}  // namespace anew
