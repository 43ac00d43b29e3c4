// Params of the views that others are rewritten to, and of pad and concatenate: passes read and make them
// (passes/named_rows.h).
#pragma once
#include <anew/ops.h>

#include "ir/params.h"

namespace anew {

struct BroadcastParams : ir::ParamsOf<BroadcastParams> {
  explicit BroadcastParams(std::vector<int> d = {}, Shape s = {}) : broadcast_dimensions(std::move(d)), shape(s) {}
  std::vector<int> broadcast_dimensions;
  Shape shape;
  static auto fields() {
    return std::tuple{ir::field("broadcast_dimensions", &BroadcastParams::broadcast_dimensions),
                      ir::field("shape", &BroadcastParams::shape)};
  }
};
struct ReshapeParams : ir::ParamsOf<ReshapeParams> {
  explicit ReshapeParams(Shape s = {}) : new_sizes(s) {}
  Shape new_sizes;
  static auto fields() { return std::tuple{ir::field("new_sizes", &ReshapeParams::new_sizes)}; }
};
struct TransposeParams : ir::ParamsOf<TransposeParams> {
  explicit TransposeParams(std::vector<int> p = {}) : permutation(std::move(p)) {}
  std::vector<int> permutation;
  static auto fields() { return std::tuple{ir::field("permutation", &TransposeParams::permutation)}; }
};
struct SliceParams : ir::ParamsOf<SliceParams> {
  explicit SliceParams(Shape start = {}, Shape limit = {}, std::optional<Shape> strides = {})
      : limit_indices(limit), start_indices(start), strides(strides) {}
  Shape limit_indices, start_indices;
  std::optional<Shape> strides;
  bool part = false;  // the rest is taken by others: transposed, it adds nothing to their signs of zeros
  std::int64_t stride(int i) const { return strides ? (*strides)[i] : 1; }
  static auto fields() {
    return std::tuple{
        ir::field("limit_indices", &SliceParams::limit_indices), ir::optional_field("part", &SliceParams::part),
        ir::field("start_indices", &SliceParams::start_indices), ir::field("strides", &SliceParams::strides)};
  }
};
struct PadParams : ir::ParamsOf<PadParams> {
  explicit PadParams(std::vector<lax::Padding> c = {}) : padding_config(std::move(c)) {}
  std::vector<lax::Padding> padding_config;
  static auto fields() { return std::tuple{ir::field("padding_config", &PadParams::padding_config)}; }
};
struct ConcatenateParams : ir::ParamsOf<ConcatenateParams> {
  explicit ConcatenateParams(int d = 0) : dimension(d) {}
  int dimension;
  static auto fields() { return std::tuple{ir::field("dimension", &ConcatenateParams::dimension)}; }
};

// Rows [begin, end) of x, whose other rows are taken in the same way: their cotangents together are those of x, bit for
// bit.
Array part_of_rows(const Array& x, std::int64_t begin, std::int64_t end, const Location& at);

}  // namespace anew
