// Names of dtypes and of array types. The short name is the one of printed programs (f32[5,4]), the long one that of
// parameters (new_dtype=float32), so that a program of ours reads like the ones users know.
#include <fmt/format.h>

#include <ostream>

#include "base/base.h"

namespace anew {

std::string_view name_of(DType d) {
  constexpr std::string_view names[] = {"bool", "i32", "i64", "u32", "bf16", "f16", "f32", "f64"};
  return names[static_cast<int>(d)];
}

std::string_view long_name_of(DType d) {
  constexpr std::string_view names[] = {"bool",     "int32",   "int64",   "uint32",
                                        "bfloat16", "float16", "float32", "float64"};
  return names[static_cast<int>(d)];
}

std::ostream& operator<<(std::ostream& out, DType d) { return out << name_of(d); }

std::string ShapeDtype::str() const { return fmt::format("{}{}", name_of(dtype), shape.str()); }

std::ostream& operator<<(std::ostream& out, const ShapeDtype& type) { return out << type.str(); }

}  // namespace anew
