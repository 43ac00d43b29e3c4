// Building kernels: `Expr` is a node of a kernel under construction with C++ operators, and the functions at the end
// make the common loop nests, so that a row writes its meaning as one lambda:
//   elementwise({x, y}, [](Expr a, Expr b) { return select(a > b, a, b); })
// Operands of an operator share a dtype; C++ numbers take the dtype of their partner. Misuse throws InternalError.
#pragma once
#include <functional>
#include <span>

#include "loops/kernel.h"

namespace anew::loops {

// Nodes shared by the Exprs of one kernel.
struct Graph {
  std::vector<Node> nodes;
  bool scales = false;        // Op::scale may be used
  int add(const Node& node);  // equal nodes are one
};

class Expr {
 public:
  Expr(Graph* graph, int id) : graph_(graph), id_(id) {}
  DType dtype() const { return graph_->nodes[static_cast<std::size_t>(id_)].dtype; }
  Graph& graph() const { return *graph_; }
  int id() const { return id_; }

 private:
  Graph* graph_;
  int id_;
};

Expr constant(Graph& graph, DType dtype, double value);
Expr constant(Graph& graph, DType dtype, std::int64_t value);
// A number of the dtype (and kernel) of x.
Expr like(Expr x, double value);

Expr unary(Op op, Expr x);           // same dtype
Expr binary(Op op, Expr x, Expr y);  // same dtype, or bool for comparisons
Expr call(Math m, Expr x);
Expr call(Math m, Expr x, Expr y);
Expr fma(Expr x, Expr y, Expr z);
Expr select(Expr condition, Expr x, Expr y);
Expr rarely(Expr condition, Expr x, Expr y);  // select, where x is worth a branch around it
Expr convert(Expr x, DType dtype);            // x itself if it has that dtype
Expr bitcast(Expr x, DType dtype);

inline Expr operator-(Expr x) { return unary(Op::neg, x); }
inline Expr operator~(Expr x) { return unary(Op::not_, x); }
inline Expr abs(Expr x) { return unary(Op::abs, x); }
inline Expr sqrt(Expr x) { return unary(Op::sqrt, x); }
inline Expr floor(Expr x) { return unary(Op::floor, x); }
inline Expr ceil(Expr x) { return unary(Op::ceil, x); }
inline Expr round_even(Expr x) { return unary(Op::round_even, x); }
inline Expr trunc(Expr x) { return unary(Op::trunc, x); }
inline Expr popcount(Expr x) { return unary(Op::popcount, x); }
inline Expr rem(Expr x, Expr y) { return binary(Op::rem, x, y); }
inline Expr shl(Expr x, Expr y) { return binary(Op::shl, x, y); }
inline Expr shr_arith(Expr x, Expr y) { return binary(Op::shr_arith, x, y); }
inline Expr shr_logical(Expr x, Expr y) { return binary(Op::shr_logical, x, y); }

#define ANEW_LOOPS_OPERATOR(symbol, op)                                                   \
  inline Expr operator symbol(Expr x, Expr y) { return binary(Op::op, x, y); }            \
  inline Expr operator symbol(Expr x, double y) { return binary(Op::op, x, like(x, y)); } \
  inline Expr operator symbol(double x, Expr y) { return binary(Op::op, like(y, x), y); }
ANEW_LOOPS_OPERATOR(+, add)
ANEW_LOOPS_OPERATOR(-, sub)
ANEW_LOOPS_OPERATOR(*, mul)
ANEW_LOOPS_OPERATOR(/, div)
ANEW_LOOPS_OPERATOR(==, eq)
ANEW_LOOPS_OPERATOR(!=, ne)
ANEW_LOOPS_OPERATOR(<, lt)
ANEW_LOOPS_OPERATOR(<=, le)
ANEW_LOOPS_OPERATOR(>, gt)
ANEW_LOOPS_OPERATOR(>=, ge)
ANEW_LOOPS_OPERATOR(&, and_)
ANEW_LOOPS_OPERATOR(|, or_)
ANEW_LOOPS_OPERATOR(^, xor_)
#undef ANEW_LOOPS_OPERATOR

#define ANEW_MATH(name) \
  inline Expr name(Expr x) { return call(Math::name, x); }
ANEW_MATH_OF_ONE(ANEW_MATH)
#undef ANEW_MATH
#define ANEW_MATH(name) \
  inline Expr name(Expr x, Expr y) { return call(Math::name, x, y); }
ANEW_MATH_OF_TWO(ANEW_MATH)
#undef ANEW_MATH

// ---- loop nests. Operands are the inputs in order, then the output.

// One output element per element; inputs have one shape, or are scalars. The output has the dtype of the expression.
Kernel elementwise(std::span<const ShapeDtype> inputs, const std::function<Expr(std::span<const Expr>)>& body);

template <class F>
Kernel elementwise(std::initializer_list<ShapeDtype> inputs, F body) {
  return elementwise(std::span(inputs.begin(), inputs.size()), [&](std::span<const Expr> x) -> Expr {
    if constexpr (std::is_invocable_v<F, Expr>) return body(x[0]);
    else if constexpr (std::is_invocable_v<F, Expr, Expr>) return body(x[0], x[1]);
    else if constexpr (std::is_invocable_v<F, Expr, Expr, Expr>) return body(x[0], x[1], x[2]);
    else return body(x);
  });
}

// An array computed from its indices (i64) alone: iota, full, eye. `body` gets the graph and one Expr per axis.
Kernel generate(const Shape& shape, const std::function<Expr(Graph&, std::span<const Expr>)>& body);

// Joins over `axes` (ascending, without repeats); `body` maps an element first, identity if empty. The result keeps the
// other axes in order and has dtype `result`: that of the elements, f32 for stored types, an integer for argmax,
// argmin.
Kernel reduction(const ShapeDtype& input, std::span<const int> axes, Combine combine, DType result,
                 const std::function<Expr(Expr)>& body = {});

// variable * coefficient + offset, in a nest of `rank` variables; with variable < 0 only the offset.
Affine affine(int rank, int variable, std::int64_t coefficient = 1, std::int64_t offset = 0);

// out[to(i)] = in[from(i)] for every i below `extents`: slices, transposes, broadcasts, parts of concatenate and pad.
Kernel copy(std::span<const std::int64_t> extents, const ShapeDtype& in, std::vector<Affine> from,
            const ShapeDtype& out, std::vector<Affine> to);
// out = the scalar operand in, everywhere.
Kernel fill(const ShapeDtype& out);

// The same kernel over a longer list of operands, of which its k-th becomes number positions[k]: an equation that runs
// as several kernels gives all of them the same list.
Kernel over(Kernel kernel, std::vector<ShapeDtype> operands, std::span<const int> positions);

// The same kernel with every call replaced by its expression; with Op::scale, where the machine has it.
Kernel expand(const Kernel& kernel, bool scales = false);

}  // namespace anew::loops
