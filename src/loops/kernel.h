// A kernel is the meaning of an operation: one loop nest, a scalar expression per iteration, and affine index maps
// that say which element of which operand an iteration reads and writes. It has no pointers, strides or threads.
// Invariant: nodes are in SSA order, and everything the interpreter or a code generator needs is in the kernel, so
// that two kernels that compare equal compute the same bits. `verify` states the rest.
#pragma once
#include <anew/base.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace anew::loops {

// One IEEE operation each (round to nearest even, subnormals kept) or one wrapping integer operation.
// Of bf16 and f16 the value is computed in f32 and rounded; integers wrap around at their width. Integer x/0 = -1,
// rem(x, 0) = x, INT_MIN/-1 wraps; shifts by the width or more give 0 (shr_arith: the sign). Float to integer
// saturates, nan gives 0; to bool is != 0.
enum class Op : std::uint8_t {
  load,      // imm: which of the kernel's accesses
  index,     // imm: which loop variable; an integer dtype of 4 or 8 bytes
  constant,  // imm: the bits of the value in its dtype
  add,
  sub,
  mul,
  div,
  rem,  // the sign of the dividend, as C's fmod and %
  fma,
  neg,
  abs,
  sqrt,
  floor,
  ceil,
  round_even,
  trunc,
  eq,  // comparisons: the node is bool, the operands share a dtype
  ne,
  lt,
  le,
  gt,
  ge,
  select,  // a ? b : c; imm 1: b seldom, so that machine code may leave out what only b needs
  and_,    // bool or integers
  or_,
  xor_,
  not_,
  shl,
  shr_arith,
  shr_logical,
  popcount,
  bitcast,  // between types of one size
  convert,
  scale,  // a 2^b, b a whole number; rounded once, where a 2^(b/2) is a normal number. Of expanded kernels only
  call,   // imm: a Math id, an expression of the math headers
};
std::string_view name_of(Op op);

// The table of math functions: those of one argument, then those of two. Each is a template of the math headers, which
// interpreter, code generation and tests find by its name.
// clang-format off
#define ANEW_MATH_OF_ONE(line)                                                                                 \
  line(exp) line(exp2) line(expm1) line(log) line(log2) line(log10) line(log1p) line(sin) line(cos) line(tan)  \
  line(asin) line(acos) line(atan) line(sinh) line(cosh) line(tanh) line(asinh) line(acosh) line(atanh)        \
  line(logistic) line(erf) line(erfc) line(cbrt) line(rsqrt) line(lgamma) line(digamma) line(trigamma)
#define ANEW_MATH_OF_TWO(line) line(atan2) line(pow) line(hypot)
// clang-format on

enum class Math : std::uint8_t {
#define ANEW_MATH(name) name,
  ANEW_MATH_OF_ONE(ANEW_MATH) ANEW_MATH_OF_TWO(ANEW_MATH)
#undef ANEW_MATH
};
inline constexpr std::string_view math_names[] = {
#define ANEW_MATH(name) #name,
    ANEW_MATH_OF_ONE(ANEW_MATH) ANEW_MATH_OF_TWO(ANEW_MATH)
#undef ANEW_MATH
};
inline constexpr int math_count = std::size(math_names);
constexpr std::string_view name_of(Math m) { return math_names[static_cast<int>(m)]; }
constexpr int arity(Math m) {
  switch (m) {
#define ANEW_MATH(name) case Math::name:
    ANEW_MATH_OF_TWO(ANEW_MATH) return 2;
#undef ANEW_MATH
    default: return 1;
  }
}

struct Node {
  Op op = Op::constant;
  DType dtype = f32;
  std::int32_t a = -1, b = -1, c = -1;  // earlier nodes
  std::uint64_t imm = 0;
  friend bool operator==(const Node&, const Node&) = default;
};

// constant + sum of coefficient * loop variable; one coefficient per loop variable.
struct Affine {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};

// An element of an operand; one Affine per dimension of it, so none for a scalar.
struct Access {
  int operand = 0;
  std::vector<Affine> index;
  friend bool operator==(const Access&, const Access&) = default;
};

// The table of combining operations: how a reduction joins values, in the order of the Bits contract. max, min: nan
// wins, the earlier of two equal values stays. argmax, argmin: row-major index over the reduced variables, nan wins,
// the first of equal values. Columns: the name in text; what is joined; the result of nothing; the operation that it is
// of bools; x joined to a, for vectors of the interpreter and values of generated code alike (of no use to positions).
enum class Joins : std::uint8_t { nothing, numbers, order, bits, positions };
enum class Identity : std::uint8_t { zero, one, least, greatest, all_bits };
// clang-format off
#define ANEW_COMBINES(line)                                                                            \
  line(none, "none", nothing, zero, none, a)                                                           \
  line(sum, "sum", numbers, zero, sum, a + x)                                                          \
  line(product, "product", numbers, one, product, a * x)                                               \
  line(max, "max", order, least, or_, select(is_nan(x), x, select(x > a, x, a)))                       \
  line(min, "min", order, greatest, and_, select(is_nan(x), x, select(x < a, x, a)))                   \
  line(and_, "and", bits, all_bits, and_, a & x)                                                       \
  line(or_, "or", bits, zero, or_, a | x)                                                              \
  line(argmax, "argmax", positions, zero, argmax, a)                                                   \
  line(argmin, "argmin", positions, zero, argmin, a)
// clang-format on

enum class Combine : std::uint8_t {
#define ANEW_COMBINE(name, text, joins, identity, of_bool, joined) name,
  ANEW_COMBINES(ANEW_COMBINE)
#undef ANEW_COMBINE
};
struct CombineLine {
  std::string_view name;
  Joins joins;
  Identity identity;
  Combine of_bool;
};
inline constexpr CombineLine combines[] = {
#define ANEW_COMBINE(name, text, joins, identity, of_bool, joined) \
  {text, Joins::joins, Identity::identity, Combine::of_bool},
    ANEW_COMBINES(ANEW_COMBINE)
#undef ANEW_COMBINE
};
constexpr const CombineLine& line_of(Combine c) { return combines[static_cast<std::size_t>(c)]; }
constexpr std::string_view name_of(Combine c) { return line_of(c).name; }
constexpr bool finds_position(Combine c) { return line_of(c).joins == Joins::positions; }
// The operation that joins values of this dtype: of bools, max is or.
constexpr Combine combine_of(Combine c, DType dtype) { return dtype == bool_ ? line_of(c).of_bool : c; }
// The bits of the result where there is nothing to join.
std::uint64_t identity_bits(Combine c, DType dtype);

struct Store {
  int node = 0;
  Access to;
  friend bool operator==(const Store&, const Store&) = default;
};

// Iterates over `extents`, the last variable fastest. Without `combine` every iteration writes every store once. With
// it there is one store, indexed by the variables that are not reduced; whether the last variable is reduced decides
// between the two orders of summation. The operand of a store has the dtype of its node; bf16 or f16 may also receive
// an f32 node (one rounding), argmax and argmin write an integer.
struct Kernel {
  Kernel();
  Kernel(const Kernel&);
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(const Kernel&);
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  std::vector<ShapeDtype> operands;  // inputs and outputs; caller passes one Operand for each
  std::vector<std::int64_t> extents;
  std::vector<bool> reduced;  // one per variable
  Combine combine = Combine::none;
  std::vector<Node> nodes;
  std::vector<Access> accesses;
  std::vector<Store> stores;

  std::string str() const;
  friend bool operator==(const Kernel&, const Kernel&);
};

std::size_t hash_value(const Node& node);
std::size_t hash_value(const Kernel& kernel);

// Throws InternalError that says what is wrong and where: types, order, bounds of accesses, double or missing stores.
void verify(const Kernel& kernel);

}  // namespace anew::loops
