// What both ways to convolve know of a ConvShape: the dimensions of its rows, how the kernel is found as a matrix.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/convolution.h"
#include "runtime/product.h"
#include "runtime/workspace.h"

namespace anew {

constexpr std::int64_t conv_tile_bytes = workspace_half;  // of what a tile gathers: it stays in the second cache

// One dimension of output positions: where it leads in the output and, for a kernel position, in x. The batch is one
// too, that pads, steps and dilates nothing.
struct RowDim {
  std::int64_t size, out_stride, kernel, in, stride, before, lhs_dilation, rhs_dilation, x_stride, w_stride;

  explicit RowDim(const ConvShape::Spatial& s)
      : size(s.out),
        out_stride(s.out_stride),
        kernel(s.kernel),
        in(s.in),
        stride(s.stride),
        before(s.before),
        lhs_dilation(s.lhs_dilation),
        rhs_dilation(s.rhs_dilation),
        x_stride(s.x_stride),
        w_stride(s.w_stride) {}
};
// The batch, then the spatial ones.
inline std::vector<RowDim> row_dims(const ConvShape& s) {
  std::vector<RowDim> dims{RowDim(ConvShape::Spatial{s.batch, 1, s.batch, 1, 0, 1, 1, s.x_batch, 0, s.out_batch})};
  for (const auto& d : s.spatial) dims.emplace_back(d);
  return dims;
}
// As they lie in the output, from the longest stride on.
inline std::vector<std::size_t> memory_order(const std::vector<RowDim>& dims) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dims.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(-dims[a].out_stride, a) < std::pair(-dims[b].out_stride, b);
  });
  return order;
}

inline std::int64_t kernel_depth(const ConvShape& s) {
  std::int64_t n = s.channels;
  for (const auto& d : s.spatial) n *= d.kernel;
  return n;
}

// How tiles find the kernel, which as a matrix is (k, feature): where it lies, if k runs through it in steps of one
// stride; else as a copy in scratch. A large one whose features are neighbours (that of a weight's gradient is a whole
// activation) can do without: tiles gather some of it at a time, beside themselves.
enum class KernelForm : std::uint8_t { in_place, copied, copied_or_gathered };
struct KernelView {
  KernelForm form;
  std::int64_t k_stride;  // in_place
};
KernelView view_kernel(const ConvShape& s, std::size_t element);

// Rows [begin, end) of the kernel's matrix, `count` features from the first on, behind each other.
template <class T>
void gather_kernel(const ConvShape& s, const T* w, std::int64_t begin, std::int64_t end, std::int64_t first,
                   std::int64_t count, T* to) {
  for (std::int64_t k = begin; k < end;) {
    const std::int64_t c = k % s.channels;
    const T* from = w + first * s.w_feature + c * s.w_channel;
    std::int64_t p = k / s.channels;
    for (std::size_t d = s.spatial.size(); d-- > 0; p /= s.spatial[d].kernel)
      from += p % s.spatial[d].kernel * s.spatial[d].w_stride;
    std::int64_t positions = 1, channels = std::min(end - k, s.channels - c);
    if constexpr (std::is_floating_point_v<T>) {
      if (s.w_feature == 1) {
        // Whole positions of a line at once, along which w lies.
        if (c == 0 && channels == s.channels && !s.spatial.empty()) {
          const std::int64_t line = s.spatial.back().kernel;
          positions = std::min(line - k / s.channels % line, (end - k) / s.channels);
        }
        const std::int64_t step = positions > 1 ? s.spatial.back().w_stride : 0;
        for (std::int64_t i = 0; i < channels; ++i)
          copy_rows(positions, count, from + i * s.w_channel, step, to + i * count, s.channels * count);
      } else {
        turn_rows(channels, count, from, s.w_channel, s.w_feature, to);
      }
    } else {
      for (std::int64_t i = 0; i < channels; ++i)
        for (std::int64_t f = 0; f < count; ++f) to[i * count + f] = from[i * s.w_channel + f * s.w_feature];
    }
    to += positions * channels * count;
    k += positions * channels;
  }
}

}  // namespace anew
