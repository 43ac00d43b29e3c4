// The block instruction of a math function, and the table of the f32 ones.
#include "loops/instruction.h"
#include "loops/math_table.h"

namespace anew::loops {

const MathTable& math_table_f32() {
  static const MathTable table = make_math_table<float>(std::make_integer_sequence<int, math_count>());
  return table;
}

Instruction math_instruction(Math m, DType dtype) {
  return (dtype == f64 ? math_table_f64() : math_table_f32())[static_cast<std::size_t>(m)];
}

}  // namespace anew::loops
