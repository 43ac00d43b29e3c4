// The table from (operation, dtype) to block instruction. Each entry is the Vec operation of the same name.
#include "loops/instruction.h"

#include <fmt/format.h>

#include "loops/block.h"

namespace anew::loops {
namespace {

template <class T, class F>
Instruction of1(F) {
  return block1<F, T, T>;
}
template <class T, class F>
Instruction of2(F) {
  return block2<F, T, T>;
}
template <class T, class F>
Instruction of_comparison(F) {
  return block2<F, bool, T>;
}

template <class T>
Instruction arithmetic(Op op) {
  switch (op) {
    case Op::add: return of2<T>([](auto x, auto y) { return x + y; });
    case Op::sub: return of2<T>([](auto x, auto y) { return x - y; });
    case Op::mul: return of2<T>([](auto x, auto y) { return x * y; });
    case Op::div: return of2<T>([](auto x, auto y) { return x / y; });
    case Op::rem: return of2<T>([](auto x, auto y) { return rem(x, y); });
    case Op::neg: return of1<T>([](auto x) { return -x; });
    case Op::abs: return of1<T>([](auto x) { return abs(x); });
    default: return nullptr;
  }
}

template <class T>
Instruction floating(Op op) {
  switch (op) {
    case Op::sqrt: return of1<T>([](auto x) { return sqrt(x); });
    case Op::floor: return of1<T>([](auto x) { return floor(x); });
    case Op::ceil: return of1<T>([](auto x) { return ceil(x); });
    case Op::trunc: return of1<T>([](auto x) { return trunc(x); });
    case Op::round_even: return of1<T>([](auto x) { return round_even(x); });
    case Op::fma: {
      auto f = [](auto x, auto y, auto z) { return fma(x, y, z); };
      return block3<decltype(f), T, T>;
    }
    default: return nullptr;
  }
}

template <class T>
Instruction logical(Op op) {
  switch (op) {
    case Op::and_: return of2<T>([](auto x, auto y) { return x & y; });
    case Op::or_: return of2<T>([](auto x, auto y) { return x | y; });
    case Op::xor_: return of2<T>([](auto x, auto y) { return x ^ y; });
    case Op::not_: return of1<T>([](auto x) { return ~x; });
    default: return nullptr;
  }
}

template <class T>
Vec<T> popcount(Vec<T> x) {
  return lanewise<T>([](T v) { return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(v))); }, x);
}
template <class T>
Instruction integral(Op op) {
  switch (op) {
    case Op::shl: return of2<T>([](auto x, auto y) { return shl(x, y); });
    case Op::shr_logical: return of2<T>([](auto x, auto y) { return shr_logical(x, y); });
    case Op::shr_arith: return of2<T>([](auto x, auto y) { return shr_arith(x, y); });
    case Op::popcount: return of1<T>([](auto x) { return popcount(x); });
    default: return nullptr;
  }
}

template <class T>
Instruction comparison(Op op) {
  switch (op) {
    case Op::eq: return of_comparison<T>([](auto x, auto y) { return x == y; });
    case Op::ne: return of_comparison<T>([](auto x, auto y) { return x != y; });
    case Op::lt: return of_comparison<T>([](auto x, auto y) { return x < y; });
    case Op::le: return of_comparison<T>([](auto x, auto y) { return x <= y; });
    case Op::gt: return of_comparison<T>([](auto x, auto y) { return x > y; });
    case Op::ge: return of_comparison<T>([](auto x, auto y) { return x >= y; });
    default: return nullptr;
  }
}

template <class To>
Instruction conversion(DType from) {
  return with_type(from, []<class From>() -> Instruction {
    auto f = [](Vec<From> x) { return convert<To>(x); };
    return block1<decltype(f), To, From>;
  });
}

template <class To>
Instruction reinterpretation(DType from) {
  return with_type(from, []<class From>() -> Instruction {
    if constexpr (std::is_same_v<From, bool> || std::is_same_v<To, bool> || sizeof(From) != sizeof(To)) {
      return nullptr;
    } else {
      auto f = [](Vec<From> x) { return bitcast<To>(x); };
      return block1<decltype(f), To, From>;
    }
  });
}

template <class T>
Instruction for_type(const Node& node, DType operand) {
  Instruction found = nullptr;
  if (node.op == Op::select) {
    auto f = [](Mask c, Vec<T> x, Vec<T> y) { return select(c, x, y); };
    return block3<decltype(f), bool, T>;
  }
  if (node.op == Op::convert) return conversion<T>(operand);
  if (node.op == Op::bitcast) return reinterpretation<T>(operand);
  if constexpr (!std::floating_point<T>) found = logical<T>(node.op);
  if constexpr (std::integral<T> && !std::is_same_v<T, bool>)
    if (!found) found = integral<T>(node.op);
  if constexpr (std::floating_point<T>)
    if (!found) found = floating<T>(node.op);
  if constexpr (!std::is_same_v<T, bool>)
    if (!found) found = arithmetic<T>(node.op);
  return found;
}

// Narrow integers lie in 32-bit registers. What looks at the upper bits there, or must saturate, is done otherwise.
template <class T>
Instruction narrow(Op op, DType operand) {
  using R = Computed<T>;
  constexpr int bits = static_cast<int>(8 * sizeof(T));
  using Other = std::conditional_t<std::is_signed_v<R>, std::uint32_t, std::int32_t>;
  auto other = [](Vec<R> x) { return bitcast<R>(wrapped(bitcast<Other>(x), bits)); };
  using Extended = decltype(other);
  if (op == Op::convert && is_float(operand))
    return with_type(operand, []<class From>() -> Instruction {
      auto f = [](Vec<From> x) {
        const Vec<R> y = convert<R>(x), low = broadcast<R>(std::numeric_limits<T>::min()),
                     high = broadcast<R>(std::numeric_limits<T>::max());
        return select(y < low, low, select(y > high, high, y));
      };
      return block1<decltype(f), R, From>;
    });
  if (op == Op::popcount) return of1<R>([](auto x) { return popcount(std::is_signed_v<R> ? Extended{}(x) : x); });
  if (op == Op::shr_logical)
    return of2<R>([](auto x, auto y) { return shr_logical(std::is_signed_v<R> ? Extended{}(x) : x, y); });
  if (op == Op::shr_arith)
    return of2<R>([](auto x, auto y) { return shr_arith(std::is_signed_v<R> ? x : Extended{}(x), y); });
  return nullptr;
}

}  // namespace

Instruction instruction(const Node& node, DType operand) {
  Instruction found = nullptr;
  if (is_integer(node.dtype) && is_stored(node.dtype))
    found = visit(node.dtype, [&]<class T>(std::type_identity<T>) -> Instruction {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, Computed<T>>) return narrow<T>(node.op, operand);
      else return nullptr;
    });
  if (found) return found;
  if (node.op >= Op::eq && node.op <= Op::ge)
    found = with_type(operand, [&]<class T>() { return comparison<T>(node.op); });
  else if (node.op == Op::call) found = math_instruction(static_cast<Math>(node.imm), node.dtype);
  else found = with_type(node.dtype, [&]<class T>() { return for_type<T>(node, operand); });
  if (!found)
    throw InternalError(fmt::format("[loops] no instruction for {} of {}", name_of(node.op), name_of(node.dtype)));
  return found;
}

Instruction rounding(DType dtype) {
  return visit(dtype, []<class T>(std::type_identity<T>) -> Instruction {
    if constexpr (std::is_same_v<T, Computed<T>>) return nullptr;
    else if constexpr (std::is_integral_v<T>)
      return of1<Computed<T>>([](auto x) { return wrapped(x, static_cast<int>(8 * sizeof(T))); });
    else return of1<float>([](auto x) { return rounded(dtype_of_element<T>, x); });
  });
}

}  // namespace anew::loops
