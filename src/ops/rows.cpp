// The list of families. A new family adds its line here and its declaration in rows.h.
#include "ops/rows.h"

#include <algorithm>

#include "ops/known_rows.h"

namespace anew {

const std::vector<const ir::Primitive*>& first_order_rows() {
  static const auto& rows = *[] {
    auto* all = new std::vector<const ir::Primitive*>{&softmax_row(), &normalize_row()};
    for (auto family : {unary_rows,  binary_rows,     compare_rows, select_rows, convert_rows, reduce_rows,
                        shape_rows,  pad_rows,        dot_rows,     gather_rows, scatter_rows, dynamic_slice_rows,
                        sort_rows,   cumulative_rows, window_rows,  linalg_rows, fft_rows,     convolution_rows,
                        random_rows, special_rows,    closed_rows,  effect_rows, memory_rows}) {
      auto list = family();
      all->insert(all->end(), list.begin(), list.end());
    }
    std::sort(all->begin(), all->end(), [](auto* a, auto* b) { return a->name < b->name; });
    return all;
  }();
  return rows;
}

}  // namespace anew
