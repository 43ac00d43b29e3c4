// What integer division gives: the meaning that block instructions, constants and the reference evaluator share.
#pragma once
#include <cmath>
#include <concepts>

#include "base/dtype.h"

namespace anew::loops {

template <std::integral T>
T divide(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  return static_cast<T>(x / y);
}
template <std::integral T>
T remainder(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return static_cast<T>(x % y);
}

}  // namespace anew::loops
