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

// As block1 and block2, but the last vector, which may be padded, goes through the same code as the others: these
// functions are long.
template <Math m, class T>
[[gnu::flatten]] void math_block(void* r, const void* a, const void* b, const void*, std::int64_t n) {
  auto* out = static_cast<T*>(r);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(arity(m) == 1 ? a : b);
  constexpr bool wide = sizeof(T) == 8;
  for (std::int64_t i = 0; i < n; i += lanes) {
    const std::int64_t some = std::min<std::int64_t>(lanes, n - i);
    const Vec<T> v = load_some<T>(x + i, some);
    store_some<T>(out + i, math_function<wide>(m, v, arity(m) == 1 ? v : load_some<T>(y + i, some)), some);
  }
}
template <class T, int... ids>
MathTable make_math_table(std::integer_sequence<int, ids...>) {
  return {math_block<static_cast<Math>(ids), T>...};
}

}  // namespace anew::loops
