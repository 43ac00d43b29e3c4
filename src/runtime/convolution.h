// Convolution as a matrix product whose left side is never laid out as a whole: tiles of it are windows of a box
// (runtime/convolution_windows.h), or are gathered through the index map (strides, padding, dilation), and multiplied
// by the kernel. Invariant: an output is one sum over k =
// (kernel positions row-major, input channels) in the order of product.h; padding and the holes of a dilated input are
// zeros that take part in it. Tiles, layouts and threads cannot change a bit.
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <vector>

namespace anew {

// Sizes are those of one group; strides count elements, those of a group lead to the next one.
struct ConvShape {
  struct Spatial {
    std::int64_t out, kernel, in;
    std::int64_t stride, before;  // padding before; negative removes elements
    std::int64_t lhs_dilation, rhs_dilation;
    std::int64_t x_stride, w_stride, out_stride;
  };
  std::vector<Spatial> spatial;
  std::int64_t groups, batch, channels, features;
  std::int64_t x_group, x_batch, x_channel;
  std::int64_t w_group, w_channel, w_feature;
  std::int64_t out_group, out_batch, out_feature;
};

// out(group, n, f, o) = sum over (p, c) of x(group, n, c, o * stride + p * rhs_dilation - before) * w(group, f, c, p).
// f32, f64 and integers, which wrap around. Tiles are gathered in the workspaces of threads; `scratch` is for the
// kernel, where its strides do not let k run through it.
void convolution(DType dtype, const ConvShape& shape, const void* x, const void* w, void* out, std::byte* scratch);
// Its bytes with the strides in `shape`, and with any. What is optional may be null in its place.
struct ConvScratch {
  std::size_t bytes = 0;
  bool optional = false;
};
ConvScratch convolution_scratch(DType dtype, const ConvShape& shape);
std::size_t most_convolution_scratch(DType dtype, const ConvShape& shape);

}  // namespace anew
