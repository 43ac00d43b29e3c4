// Math functions as block instructions: a table from Math id to the template of math_function.h with eight lanes. f32
// and f64 are compiled apart, each in a file of its own, because every function is inlined whole.
#pragma once
#include <array>
#include <utility>

#include "loops/block.h"
#include "loops/math_function.h"

namespace anew::loops {

using MathTable = std::array<Instruction, math_count>;
const MathTable& math_table_f32();
const MathTable& math_table_f64();

template <Math m, class T>
Instruction native_math() {
  constexpr bool wide = sizeof(T) == 8;
  if constexpr (arity(m) == 1) {
    auto f = [](Vec<T> x) { return math_function<wide>(m, x, x); };
    return block1<decltype(f), T, T>;
  } else {
    auto f = [](Vec<T> x, Vec<T> y) { return math_function<wide>(m, x, y); };
    return block2<decltype(f), T, T>;
  }
}
template <class T, int... ids>
MathTable make_math_table(std::integer_sequence<int, ids...>) {
  return {native_math<static_cast<Math>(ids), T>()...};
}

}  // namespace anew::loops
