// Every first-order row, by family: the only list of them. Rows whose params hold Programs are in src/control.
#pragma once
#include <span>
#include <vector>

#include "ir/primitive.h"

namespace anew {

std::span<const ir::Primitive* const> unary_rows();
std::span<const ir::Primitive* const> binary_rows();
std::span<const ir::Primitive* const> compare_rows();
std::span<const ir::Primitive* const> select_rows();
std::span<const ir::Primitive* const> convert_rows();
std::span<const ir::Primitive* const> reduce_rows();
std::span<const ir::Primitive* const> shape_rows();
std::span<const ir::Primitive* const> pad_rows();
std::span<const ir::Primitive* const> dot_rows();
std::span<const ir::Primitive* const> gather_rows();
std::span<const ir::Primitive* const> scatter_rows();
std::span<const ir::Primitive* const> dynamic_slice_rows();
std::span<const ir::Primitive* const> sort_rows();
std::span<const ir::Primitive* const> cumulative_rows();
std::span<const ir::Primitive* const> window_rows();
std::span<const ir::Primitive* const> linalg_rows();
std::span<const ir::Primitive* const> fft_rows();
std::span<const ir::Primitive* const> convolution_rows();
std::span<const ir::Primitive* const> random_rows();
std::span<const ir::Primitive* const> special_rows();
std::span<const ir::Primitive* const> closed_rows();
std::span<const ir::Primitive* const> effect_rows();
std::span<const ir::Primitive* const> memory_rows();

const std::vector<const ir::Primitive*>& first_order_rows();

}  // namespace anew
