// The table of f64 math functions as block instructions.
#include "loops/math_table.h"

namespace anew::loops {

const MathTable& math_table_f64() {
  static const MathTable table = make_math_table<double>(std::make_integer_sequence<int, math_count>());
  return table;
}

}  // namespace anew::loops
