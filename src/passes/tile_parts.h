// What tiles are made of: kernels on some of their rows, steps in an order that lets them run together, and what memory
// that takes.
#pragma once
#include <cstdint>
#include <vector>

#include "passes/lowered.h"

namespace anew::passes {

using Numbers = std::vector<std::int64_t>;

// The leading variables of a kernel that are not reduced; none where a reduced one comes before one that is not.
Numbers rows_of(const loops::Kernel& kernel);
// Elements from one value of variable `v` to the next, in an array of these strides.
std::int64_t stride_of(const loops::Access& access, const Strides& strides, std::size_t v);
// With a variable of its own for every dimension of what it writes, where those of size one have none: rows of an
// elementwise kernel then are those of its neighbours.
loops::Kernel widened(const loops::Kernel& kernel);
// On `tile` values of the last of the variables that count rows, and one of each before it.
loops::Kernel restricted(const loops::Kernel& kernel, std::size_t rows, std::int64_t tile);
// The part of an operand that a restricted kernel can reach, from its start.
Shape touched(const loops::Kernel& kernel, int operand, Shape shape);

// Whether every iteration reads and writes its own element of each operand, or scalars: the nest may then be of any
// shape. Of a reduction: of all there is, into one number whose blocks can be joined later.
bool has_any_shape(const loops::Kernel& kernel);
// Such a kernel over rows of the blocks of a sum; a reduction gives the results of its blocks.
loops::Kernel in_blocks(const loops::Kernel& kernel);
// What is left to do for the reduction then.
loops::Kernel sum_of_blocks(const loops::Kernel& reduction, const Type& blocks);

// Calls that can be cut move to the kernel that first reads what they make.
void move_to_readers(Body& body);
// What steps from `begin` to `end` read and write is all there while they run together, but for what they alone hand to
// each other: is that, with `scratch`, no more than what there is one after the other?
bool no_larger(const Body& body, std::size_t begin, std::size_t end, std::size_t scratch);

}  // namespace anew::passes
