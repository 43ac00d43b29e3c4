// The scalar reference: evaluates a kernel one iteration at a time, written from kernel.h and from the order of
// reductions in the Bits contract. It shares no code with the interpreter but the numbers of loops/integer_division.h
// and, where a kernel calls a math function, the scalar instantiation of that function.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "loops/interpreter.h"
#include "loops/kernel.h"
#include "loops/math_function.h"

namespace anew::loops::reference {

using Bits = std::uint64_t;  // of a value in its dtype

template <class T>
T as(Bits b) {
  T x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}
template <class T>
Bits of(T x) {
  Bits b = 0;
  std::memcpy(&b, &x, sizeof x);
  return b;
}

// Calls f(value) with the value; those of bf16 and f16 as float.
template <class F>
auto visit(DType d, Bits b, F f) {
  return anew::visit(d, [&]<class E>(std::type_identity<E>) {
    if constexpr (std::is_class_v<E>) return f(convert_number<float>(as<E>(b)));
    else return f(as<E>(b));
  });
}

template <class T>
Bits integer_operation(Op op, T x, T y) {
  using U = std::make_unsigned_t<T>;
  using S = std::make_signed_t<T>;
  const U a = static_cast<U>(x), b = static_cast<U>(y), width = sizeof(T) * 8;
  switch (op) {
    case Op::add: return of(static_cast<T>(a + b));
    case Op::sub: return of(static_cast<T>(a - b));
    case Op::mul: return of(static_cast<T>(std::uint64_t{a} * b));
    case Op::div:
      if (y == 0) return of(static_cast<T>(-1));
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return of(static_cast<T>(U{0} - a));
      return of(static_cast<T>(x / y));
    case Op::rem:
      if (y == 0) return of(x);
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return of(T{0});
      return of(static_cast<T>(x % y));
    case Op::neg: return of(static_cast<T>(U{0} - a));
    case Op::abs: return of(static_cast<T>(std::is_signed_v<T> && x < T{0} ? U{0} - a : a));
    case Op::and_: return of(static_cast<T>(a & b));
    case Op::or_: return of(static_cast<T>(a | b));
    case Op::xor_: return of(static_cast<T>(a ^ b));
    case Op::not_: return of(static_cast<T>(~a));
    case Op::shl: return of(static_cast<T>(b < width ? static_cast<U>(a << b) : U{0}));
    case Op::shr_logical: return of(static_cast<T>(b < width ? static_cast<U>(a >> b) : U{0}));
    case Op::shr_arith: return of(static_cast<T>(static_cast<S>(a) >> (b < width ? b : width - 1)));
    case Op::popcount: return of(static_cast<T>(std::popcount(a)));
    default: ADD_FAILURE() << name_of(op); return 0;
  }
}

template <class T>
T float_operation(Op op, T x, T y, T z) {
  switch (op) {
    case Op::add: return x + y;
    case Op::sub: return x - y;
    case Op::mul: return x * y;
    case Op::div: return x / y;
    case Op::rem: return std::fmod(x, y);
    case Op::fma: return std::fma(x, y, z);
    case Op::neg: return -x;
    case Op::abs: return std::fabs(x);
    case Op::sqrt: return std::sqrt(x);
    case Op::floor: return std::floor(x);
    case Op::ceil: return std::ceil(x);
    case Op::round_even: return std::nearbyint(x);
    case Op::trunc: return std::trunc(x);
    default: ADD_FAILURE() << name_of(op); return 0;
  }
}

template <class T>
bool comparison(Op op, T x, T y) {
  switch (op) {
    case Op::eq: return x == y;
    case Op::ne: return x != y;
    case Op::lt: return x < y;
    case Op::le: return x <= y;
    case Op::gt: return x > y;
    default: return x >= y;
  }
}

inline Bits converted(DType from, Bits x, DType to) {
  return visit(from, x, [&](auto v) -> Bits {
    return anew::visit(to, [&]<class E>(std::type_identity<E>) { return of(convert_number<E>(v)); });
  });
}

inline Bits operation(const Node& n, DType operand, Bits x, Bits y, Bits z) {
  if (n.op >= Op::eq && n.op <= Op::ge)
    return visit(operand, x, [&]<class T>(T a) -> Bits {
      T b{};
      visit(operand, y, [&]<class U>(U v) { b = static_cast<T>(v); });
      return comparison(n.op, a, b);
    });
  if (n.op == Op::select) return x ? y : z;
  if (n.op == Op::convert) return converted(operand, x, n.dtype);
  if (n.op == Op::bitcast) return x;
  return anew::visit(n.dtype, [&]<class E>(std::type_identity<E>) -> Bits {
    if constexpr (std::is_same_v<E, bool>) {
      if (n.op == Op::and_) return x & y;
      if (n.op == Op::or_) return x | y;
      return n.op == Op::xor_ ? x ^ y : !x;
    } else if constexpr (std::is_integral_v<E>) {
      return integer_operation(n.op, as<E>(x), as<E>(y));
    } else {
      using T = std::conditional_t<std::is_same_v<E, double>, double, float>;
      const T a = convert_number<T>(as<E>(x)), b = convert_number<T>(as<E>(y)), c = convert_number<T>(as<E>(z));
      const T r = n.op == Op::call ? math_function<std::is_same_v<E, double>>(static_cast<Math>(n.imm), a, b)
                                   : float_operation(n.op, a, b, c);
      return of(convert_number<E>(r));
    }
  });
}

inline std::byte* address(const Kernel& k, const Access& access, const std::vector<std::int64_t>& i,
                          const Operand& operand) {
  const ShapeDtype& type = k.operands[static_cast<std::size_t>(access.operand)];
  std::int64_t offset = 0, dense = 1;
  for (int d = type.shape.ndim() - 1; d >= 0; --d) {
    const Affine& f = access.index[static_cast<std::size_t>(d)];
    std::int64_t at = f.constant;
    for (std::size_t v = 0; v < i.size(); ++v) at += f.coefficients[v] * i[v];
    offset += at * (operand.strides ? operand.strides[d] : dense);
    dense *= type.shape[d];
  }
  return static_cast<std::byte*>(operand.data) + offset * static_cast<std::int64_t>(size_of(type.dtype));
}

inline Bits evaluate(const Kernel& k, int node, const std::vector<std::int64_t>& i, std::span<const Operand> operands) {
  std::vector<Bits> value(k.nodes.size());
  for (std::size_t n = 0; n <= static_cast<std::size_t>(node); ++n) {
    const Node& x = k.nodes[n];
    auto at = [&](std::int32_t o) { return o < 0 ? Bits{0} : value[static_cast<std::size_t>(o)]; };
    if (x.op == Op::load) {
      const Access& access = k.accesses[x.imm];
      std::memcpy(&value[n], address(k, access, i, operands[static_cast<std::size_t>(access.operand)]),
                  size_of(x.dtype));
    } else if (x.op == Op::index) {
      value[n] = converted(i64, of(i[x.imm]), x.dtype);
    } else if (x.op == Op::constant) {
      value[n] = x.imm;
    } else {
      value[n] = operation(x, k.nodes[static_cast<std::size_t>(x.a)].dtype, at(x.a), at(x.b), at(x.c));
    }
  }
  return value[static_cast<std::size_t>(node)];
}

// ---- reductions
inline Bits join(Combine c, DType d, Bits a, Bits x) {
  if (c == Combine::sum || c == Combine::product)
    return operation({.op = c == Combine::sum ? Op::add : Op::mul, .dtype = d}, d, a, x, 0);
  if (c == Combine::and_ || c == Combine::or_)
    return operation({.op = c == Combine::and_ ? Op::and_ : Op::or_, .dtype = d}, d, a, x, 0);
  const bool wins = operation({.op = c == Combine::max ? Op::gt : Op::lt, .dtype = bool_}, d, x, a, 0);
  const bool is_nan = operation({.op = Op::ne, .dtype = bool_}, d, x, x, 0);
  return wins || is_nan ? x : a;
}

inline Bits identity(Combine c, DType d) {
  auto number = [&](double v) { return converted(f64, of(v), d); };
  switch (c) {
    case Combine::product: return number(1);
    case Combine::max: return d == bool_ ? 0 : number(-INFINITY);
    case Combine::min: return number(INFINITY);
    case Combine::and_: return d == bool_ ? 1 : operation({.op = Op::not_, .dtype = d}, d, 0, 0, 0);
    default: return 0;
  }
}

// "r = row-major index over the reduced axes; blocks of 4096; lane r mod 32 accumulates from its first element; lanes
// join by halves (16, 8, 4, 2, 1), absent ones skipped; block results are reduced by the same rule."
inline Bits row(Combine c, DType d, std::vector<Bits> x) {
  while (x.size() > 1) {
    std::vector<Bits> next;
    for (std::size_t b = 0; b < x.size(); b += 4096) {
      const std::size_t n = std::min<std::size_t>(4096, x.size() - b);
      Bits lane[32];
      bool present[32] = {};
      for (std::size_t r = 0; r < n; ++r) {
        lane[r % 32] = present[r % 32] ? join(c, d, lane[r % 32], x[b + r]) : x[b + r];
        present[r % 32] = true;
      }
      for (std::size_t half : {16, 8, 4, 2, 1})
        for (std::size_t l = 0; l < half; ++l)
          if (present[l + half]) lane[l] = join(c, d, lane[l], lane[l + half]), present[l + half] = false;
      next.push_back(lane[0]);
    }
    x = std::move(next);
  }
  return x.empty() ? identity(c, d) : x[0];
}

// "one chain down each column in blocks of 128 rows, block results by the same rule"
inline Bits column(Combine c, DType d, std::vector<Bits> x) {
  while (x.size() > 1) {
    std::vector<Bits> next;
    for (std::size_t b = 0; b < x.size(); b += 128) {
      Bits acc = x[b];
      for (std::size_t r = 1; r < 128 && b + r < x.size(); ++r) acc = join(c, d, acc, x[b + r]);
      next.push_back(acc);
    }
    x = std::move(next);
  }
  return x.empty() ? identity(c, d) : x[0];
}

inline Bits find(Combine c, DType d, const std::vector<Bits>& x) {
  std::size_t best = 0;
  const Op op = c == Combine::argmax ? Op::gt : Op::lt;
  auto is_nan = [&](Bits v) { return operation({.op = Op::ne, .dtype = bool_}, d, v, v, 0) != 0; };
  for (std::size_t r = 1; r < x.size(); ++r) {
    if (is_nan(x[best])) break;
    if (is_nan(x[r]) || operation({.op = op, .dtype = bool_}, d, x[r], x[best], 0)) best = r;
  }
  return best;
}

// Calls f for every index below the extents of the variables for which `runs` holds; the others stay.
template <class F>
void for_all(const Kernel& k, bool reduced, std::vector<std::int64_t>& i, F f, std::size_t v = 0) {
  if (v == i.size()) return f();
  if (k.reduced[v] != reduced) return for_all(k, reduced, i, f, v + 1);
  for (i[v] = 0; i[v] < k.extents[v]; ++i[v]) for_all(k, reduced, i, f, v + 1);
  i[v] = 0;
}

inline void run(const Kernel& k, std::span<const Operand> operands) {
  std::vector<std::int64_t> i(k.extents.size());
  for_all(k, false, i, [&] {
    for (const Store& s : k.stores) {
      const DType d = k.nodes[static_cast<std::size_t>(s.node)].dtype;
      const DType to = k.operands[static_cast<std::size_t>(s.to.operand)].dtype;
      Bits y;
      if (k.combine == Combine::none) {
        y = evaluate(k, s.node, i, operands);
      } else {
        std::vector<Bits> x;
        for_all(k, true, i, [&] { x.push_back(evaluate(k, s.node, i, operands)); });
        if (finds_position(k.combine)) y = find(k.combine, d, x);
        else if (k.reduced.empty() || k.reduced.back()) y = row(k.combine, d, x);
        else y = column(k.combine, d, x);
      }
      if (d != to && !finds_position(k.combine)) y = converted(d, y, to);
      std::memcpy(address(k, s.to, i, operands[static_cast<std::size_t>(s.to.operand)]), &y, size_of(to));
    }
  });
}

}  // namespace anew::loops::reference
