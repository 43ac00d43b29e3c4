// Math functions as block instructions: the templates of math.h with eight lanes for f32, libm for f64.
#include <array>
#include <utility>

#include "loops/block.h"
#include "loops/instruction.h"
#include "loops/math_function.h"

namespace anew::loops {
namespace {

template <Math m>
Instruction native() {
  if constexpr (arity(m) == 1) {
    auto f = [](Vec<float> x) { return math_function(m, x, x); };
    return block1<decltype(f), float, float>;
  } else {
    auto f = [](Vec<float> x, Vec<float> y) { return math_function(m, x, y); };
    return block2<decltype(f), float, float>;
  }
}

template <Math m>
void libm(void* r, const void* a, const void* b, const void*, std::int64_t n) {
  auto* out = static_cast<double*>(r);
  auto* x = static_cast<const double*>(a);
  auto* y = static_cast<const double*>(arity(m) == 2 ? b : a);
  for (std::int64_t i = 0; i < n; ++i) out[i] = libm_function(m, x[i], y[i]);
}

template <int... ids>
auto table(std::integer_sequence<int, ids...>) {
  return std::array<std::array<Instruction, 2>, sizeof...(ids)>{
      std::array<Instruction, 2>{native<static_cast<Math>(ids)>(), libm<static_cast<Math>(ids)>}...};
}

}  // namespace

Instruction math_instruction(Math m, DType dtype) {
  static const auto instructions = table(std::make_integer_sequence<int, math_count>());
  return instructions[static_cast<std::size_t>(m)][dtype == f64];
}

}  // namespace anew::loops
