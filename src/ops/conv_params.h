// What a convolution is asked to do, in numbers: the parameters of its row, shared by its rules and user functions.
#pragma once
#include "base/size.h"
#include "ops/family.h"

namespace anew {

// Which axis is which: lhs (batch, feature, spatial...), rhs (out feature, in feature, spatial...), out as lhs.
using ConvAxes = std::tuple<std::vector<int>, std::vector<int>, std::vector<int>>;
using ConvPads = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct ConvParams : ir::ParamsOf<ConvParams> {
  Shape window_strides, lhs_dilation, rhs_dilation;
  ConvPads padding;
  ConvAxes dimension_numbers;
  std::int64_t feature_group_count = 1, batch_group_count = 1;

  const std::vector<int>& lhs() const { return std::get<0>(dimension_numbers); }
  const std::vector<int>& rhs() const { return std::get<1>(dimension_numbers); }
  const std::vector<int>& out() const { return std::get<2>(dimension_numbers); }
  int spatial() const { return static_cast<int>(lhs().size()) - 2; }
  static auto fields() {
    return std::tuple{ir::field("window_strides", &ConvParams::window_strides),
                      ir::field("padding", &ConvParams::padding),
                      ir::field("lhs_dilation", &ConvParams::lhs_dilation),
                      ir::field("rhs_dilation", &ConvParams::rhs_dilation),
                      ir::field("dimension_numbers", &ConvParams::dimension_numbers),
                      ir::field("feature_group_count", &ConvParams::feature_group_count),
                      ir::field("batch_group_count", &ConvParams::batch_group_count)};
  }
};

// The size of n elements with gaps of d - 1 between them; fits where infer has let it pass.
inline CheckedSize checked_dilated(std::int64_t n, CheckedSize d) { return n == 0 ? 0 : CheckedSize(n - 1) * d + 1; }
inline std::int64_t dilated(std::int64_t n, std::int64_t d) { return n == 0 ? 0 : 1 + d * (n - 1); }

// The row, bound to operands of one type.
Array bind_convolution(const Array& x, const Array& w, ConvParams p, const Location& at = Location::current());

}  // namespace anew
