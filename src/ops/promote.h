// Types and shapes of operands: the one place that knows promotion and broadcasting. Invariant: what leaves here for a
// row has one dtype and one shape, or is a scalar; no weak number gets into a Program.
#pragma once
#include <anew/array.h>

#include <initializer_list>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "trace/trace.h"

namespace anew {

// The least type that holds both, in JAX's order: bool < integers < f16, bf16 < f32 < f64.
DType promote(DType a, DType b);
// The type of arithmetic that leaves the integers: f32, of 64-bit integers f64.
DType floating(DType d);
// The common type of operands. Weak numbers yield to every array of their kind or above; alone they have default types.
DType common_dtype(std::span<const Array> xs);

// Throws where a C++ number would wrap around.
void check_fits(std::int64_t v, DType to, const Location& at);
void check_fits(std::uint64_t v, DType to, const Location& at);
// x as this type: a weak number becomes a literal of it, an array of another type is converted.
Array coerce(const Array& x, DType dtype, const Location& at);
// The same, but a number stays one, of the kind of this type: what elementwise functions do to operands they compute
// with.
Array as_operand(const Array& x, DType dtype, const Location& at);
// A checked operand as it is, no longer weak.
Array checked(const ArrayLike& x);
// A checked operand of a function that gives floats.
Array as_float(const ArrayLike& x);
// The same as an array, even of a number.
Array float_array(const ArrayLike& x);
// A strong scalar literal.
Array literal(DType dtype, double v);
Array literal_integer(DType dtype, std::int64_t v);
// A literal zero of the dtype of x.
Array zero_like(const Array& x);

// The shape that all of these broadcast to, by NumPy's rule; throws with the types.
Shape broadcast_shapes(std::string_view op, std::span<const Array> xs, const Location& at);
// Every x that is not a scalar, broadcast to the common shape; scalars stay what they are.
Arrays broadcast_operands(std::string_view op, Arrays xs, const Location& at);
// Checked, of one dtype (`dtype` if given), broadcast; numbers alone stay numbers, of one kind.
Arrays operands(std::string_view op, Arrays xs, const Location& at, std::optional<DType> dtype = {});
// The operands of a function of two, of floats if `as_floats`.
std::pair<Array, Array> both(std::string_view op, const ArrayLike& a, const ArrayLike& b, bool as_floats);

// A negative axis counts from the end; throws "[op] axis 3 is out of range for f32[2,3]".
int checked_axis(std::string_view op, int axis, int ndim, const Type& type, const Location& at);
// Ascending, without repeats; all axes for {}.
std::vector<int> checked_axes(std::string_view op, const Axes& axes, const Type& type, const Location& at);

}  // namespace anew
