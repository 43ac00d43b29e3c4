// What elementwise families share: one scalar expression per row gives type, kernel and facts.
// Operands have one shape or are scalars (0-d); a rule's tangents may be scalars beside full operands, so results are
// fitted to the output, and cotangents of scalars are summed.
#pragma once
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "loops/build.h"
#include "ops/family.h"

namespace anew {

using loops::Expr;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

enum class Accepts { floats, numbers, integers, logical, anything };  // logical: bool and integers

using Body = std::function<Expr(std::span<const Expr>)>;

// infer, lower and facts of an elementwise row whose operands share a dtype; the result has it too, or is bool.
Primitive elementwise_row(std::string name, int arity, Accepts accepts, bool gives_bool, double flops, Body body);

// Throws "[op] needs a floating type, got i32[3]".
void require(std::string_view op, Accepts accepts, const Type& type, const Location& at);
// The shape of an elementwise result; throws where shapes differ and none is a scalar.
Shape common_shape(std::string_view op, std::span<const Type> in, const Location& at);
void require_count(std::string_view op, std::size_t wanted, std::span<const Type> in, const Location& at);
// Kernel of a body. Stored types are computed in f32 and rounded once.
ir::Lowered lower_elementwise(std::span<const Type> in, const Body& body);

// t, broadcast to the type of y where it is a scalar and y is not.
Array fitted(const Array& t, const Array& y);
// The cotangent of an operand of this type: summed where the operand is a scalar and ct is not.
Array unfitted(const Array& ct, const Type& operand);
// The sum of two contributions to a tangent, either of which may be empty.
Array add_tangents(const Array& a, const Array& b);

// Samples for the laws: several shapes in f32 and f64, zero sizes included.
std::vector<ir::Sample> unary_samples(double lo, double hi, const ParamsRef& params = ir::no_params());
struct SampleRange {
  double lo = -1, hi = 1;
};
std::vector<ir::Sample> binary_samples(SampleRange a, SampleRange b);
// Of rows that take integers; of those that take floats as well, one sample of each integer type is added.
std::vector<ir::Sample> integer_samples(int arity, double lo, double hi, bool with_bool);
std::vector<ir::Sample> with_integers(std::vector<ir::Sample> floats, Accepts accepts);

}  // namespace anew
