// A kernel is the meaning of an operation: one loop nest, a scalar expression per iteration, and affine index maps
// that say which element of which operand an iteration reads and writes. It has no pointers, strides or threads.
// Invariant: nodes are in SSA order, and everything the interpreter or a code generator needs is in the kernel, so
// that two kernels that compare equal compute the same bits. `verify` states the rest.
#pragma once
#include <anew/base.h>

#include <cstdint>
#include <string>
#include <vector>

namespace anew::loops {

// One IEEE operation each (round to nearest even, subnormals kept) or one wrapping integer operation.
// Of bf16 and f16 the value is computed in f32 and rounded. Integer x/0 = -1, rem(x, 0) = x, INT_MIN/-1 wraps; shifts
// by the width or more give 0 (shr_arith: the sign). Float to integer saturates, nan gives 0; to bool is != 0.
enum class Op : std::uint8_t {
  load,      // imm: which of the kernel's accesses
  index,     // imm: which loop variable; an integer dtype
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
  select,  // a ? b : c
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
  call,  // imm: a Math id, an expression of the math headers
};
std::string_view name_of(Op op);

enum class Math : std::uint8_t {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  logistic,
  erf,
  erfc,
  cbrt,
  rsqrt,
  lgamma,
  digamma,
  trigamma,
  atan2,
  pow,
  hypot,
};
inline constexpr int math_count = static_cast<int>(Math::hypot) + 1;
constexpr int arity(Math m) { return m >= Math::atan2 ? 2 : 1; }
std::string_view name_of(Math m);

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

// How a reduction joins values, in the order of the Bits contract. max, min: nan wins, the earlier of two equal values
// stays. argmax, argmin: row-major index over the reduced variables, nan wins, the first of equal values.
enum class Combine : std::uint8_t { none, sum, product, max, min, and_, or_, argmax, argmin };
std::string_view name_of(Combine c);

struct Store {
  int node = 0;
  Access to;
  friend bool operator==(const Store&, const Store&) = default;
};

// Iterates over `extents`, the last variable fastest. Without `combine` every iteration writes every store once. With
// it there is one store, indexed by the variables that are not reduced; whether the last variable is reduced decides
// between the two orders of summation. The operand of a store has the dtype of its node; bf16 or f16 may also receive an
// f32 node (one rounding), argmax and argmin write an integer.
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

std::size_t hash_value(const Kernel& kernel);

// Throws InternalError that says what is wrong and where: types, order, bounds of accesses, double or missing stores.
void verify(const Kernel& kernel);

}  // namespace anew::loops
