// The tiles of a convolution that windows do not serve: other layouts, short lines, integers. Rows of the product are
// output positions in the order they lie in memory; columns are output features. A tile gathers some rows of some k, as
// [row][k] where channels are neighbours in memory and as [k][row] else, so that what is copied comes in runs.
#include "runtime/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "runtime/convolution_parts.h"
#include "runtime/convolution_windows.h"
#include "runtime/pool.h"
#include "runtime/product.h"
#include "runtime/workspace.h"

namespace anew {
namespace {

using std::int64_t;

constexpr int64_t tile_depth = 512;   // k of a tile where there are more: a multiple of a chain of the product
constexpr int64_t few_channels = 16;  // below which neighbouring positions make longer runs than channels
constexpr int64_t hole = std::numeric_limits<int64_t>::min();  // an offset outside of x

// Of output position o and kernel position p in x; `hole` where nothing is.
int64_t offset_in_x(const RowDim& d, int64_t o, int64_t p) {
  const int64_t at = o * d.stride + p * d.rhs_dilation - d.before;
  if (at < 0) return hole;
  if (d.lhs_dilation == 1) return at < d.in ? at * d.x_stride : hole;
  return at % d.lhs_dilation == 0 && at / d.lhs_dilation < d.in ? at / d.lhs_dilation * d.x_stride : hole;
}

// Rows that are `step` apart in x; offset `hole`: zeros.
struct RowRun {
  int64_t row, count, offset, step;
  // Whether the next one, right behind this, is more of the same; then it is taken in.
  bool join(const RowRun& next) {
    if ((offset == hole) != (next.offset == hole)) return false;
    if (offset != hole) {
      const int64_t by = count > 1 ? step : next.offset - offset;
      if (next.offset != offset + count * by || (next.count > 1 && next.step != by)) return false;
      step = by;
    }
    count += next.count;
    return true;
  }
};

template <class T>
class Convolution {
 public:
  Convolution(const ConvShape& shape, const T* x, const T* w, T* out) : s_(shape), x_(x), w_(w), out_(out) {
    dims_ = row_dims(shape), order_ = memory_order(dims_);
    depth_ = kernel_depth(shape);
    // The last dimensions of the output that follow each other without a gap are the rows of one matrix.
    std::size_t first = order_.size() - 1;
    rows_ = dims_[order_[first]].size;
    row_stride_ = dims_[order_[first]].out_stride;
    while (first > 0 && dims_[order_[first - 1]].out_stride == rows_ * row_stride_)
      rows_ *= dims_[order_[--first]].size;
    outer_ = 1;
    outer_dims_ = first;
    for (std::size_t i = 0; i < first; ++i) outer_ *= dims_[order_[i]].size;
    channels_last_ = s_.x_channel == 1 && s_.channels >= few_channels;
  }

  void run(T* scratch) {
    if (s_.groups * outer_ * rows_ * s_.features == 0) return;
    if constexpr (std::is_floating_point_v<T>) {
      const WindowCut cut = cut_windows(s_, sizeof(T), threads());
      if (cut.possible()) {
        const bool gathers = view_kernel(s_, sizeof(T)).form == KernelForm::copied_or_gathered;
        if (gathers) kernel_.data = nullptr;
        else place_kernel(scratch);
        return convolve_windows(s_, cut, x_, w_, kernel_, kernel_group_, out_);
      }
    }
    part_ = depth_ <= 2 * tile_depth ? depth_ : tile_depth;
    place_kernel(scratch);
    // Beside a tile lies what it gathers of the kernel, which every tile does again: then a few large ones.
    const auto row_bytes = std::max<int64_t>(1, part_) * int64_t{sizeof(T)};
    const int64_t most = conv_tile_bytes / (gathers_ ? 2 : 1) / row_bytes;
    tile_ = std::clamp<int64_t>(most, 16, rows_ + 15);
    const int64_t wanted = (gathers_ ? 1 : 4) * threads(), units = s_.groups * outer_;
    if (units < wanted) tile_ = std::min(tile_, std::max<int64_t>(48, ceil_div(rows_ * units, wanted)));
    tile_ = std::min(tile_, rows_);
    tiles_ = ceil_div(rows_, tile_);
    parallel_for(s_.groups * outer_ * tiles_, 1, [&](int64_t i, int64_t) { one_tile(i / tiles_, i % tiles_ * tile_); });
  }

 private:
  void place_kernel(T* scratch) {
    const KernelView view = view_kernel(s_, sizeof(T));
    gathers_ = view.form == KernelForm::copied_or_gathered && !scratch;
    kernel_ = {w_, view.k_stride, s_.w_feature};
    kernel_group_ = s_.w_group;
    if (gathers_ || view.form == KernelForm::in_place) return;
    const int64_t grain = std::max<int64_t>(1, (8 << 10) / s_.features);
    parallel_for(s_.groups * depth_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t group = i / depth_, first = i % depth_, some = std::min(end - i, depth_ - first);
        gather_kernel(s_, w_ + group * s_.w_group, first, first + some, 0, s_.features, scratch + i * s_.features);
        i += some;
      }
    });
    kernel_ = {scratch, s_.features, 1};
    kernel_group_ = depth_ * s_.features;
  }

  void one_tile(int64_t unit, int64_t first) const {
    const int64_t rows = std::min(tile_, rows_ - first), group = unit / outer_, outer = unit % outer_;
    T* c = out_ + group * s_.out_group + first * row_stride_;
    int64_t rest = outer;
    for (std::size_t i = outer_dims_; i-- > 0;) {
      const RowDim& d = dims_[order_[i]];
      c += rest % d.size * d.out_stride;
      rest /= d.size;
    }
    if (depth_ == 0) return multiply(rows, 0, nullptr, {nullptr, 0, 0}, s_.features, c, false);
    T* a = reinterpret_cast<T*>(unit_workspace());
    for (int64_t k = 0; k < depth_; k += part_) {
      const int64_t end = std::min(depth_, k + part_);
      gather(group, outer * rows_ + first, rows, k, end, a);
      if (gathers_) {
        multiply_gathered(group, rows, k, end, a, c);
        continue;
      }
      const Matrix<T> b{kernel_.data + group * kernel_group_ + k * kernel_.row_stride, kernel_.row_stride,
                        kernel_.column_stride};
      multiply(rows, end - k, a, b, s_.features, c, k > 0);
    }
  }

  // With [begin, end) of the kernel's rows, as many features at a time as fit behind the tile.
  void multiply_gathered(int64_t group, int64_t rows, int64_t begin, int64_t end, const T* a, T* c) const {
    T* b = reinterpret_cast<T*>(unit_workspace() + conv_tile_bytes / 2);
    const int64_t some = std::min(s_.features, conv_tile_bytes / 2 / int64_t{sizeof(T)} / part_);
    for (int64_t f = 0; f < s_.features; f += some) {
      const int64_t count = std::min(some, s_.features - f);
      gather_kernel(s_, w_ + group * s_.w_group, begin, end, f, count, b);
      multiply(rows, end - begin, a, {b, count, 1}, count, c + f * s_.out_feature, begin > 0);
    }
  }

  // f(run) for the rows from `first` on at one kernel position, as few runs as there are.
  template <class F>
  void each_run(int64_t position, int64_t first, int64_t rows, F f) const {
    std::array<int64_t, Shape::max_ndim> kernel, at;  // per dimension
    for (std::size_t d = dims_.size(); d-- > 0; position /= dims_[d].kernel) kernel[d] = position % dims_[d].kernel;
    for (std::size_t i = order_.size(); i-- > 0; first /= dims_[order_[i]].size)
      at[order_[i]] = first % dims_[order_[i]].size;
    const std::size_t inner = order_.back();
    const RowDim& line = dims_[inner];
    RowRun last{0, 0, hole, 0};
    const auto add = [&](const RowRun& next) {
      if (next.count == 0) return;
      if (last.count == 0) last = next;
      else if (!last.join(next)) f(std::exchange(last, next));
    };
    for (int64_t row = 0; row < rows;) {
      int64_t base = 0;
      for (std::size_t d = 0; d < dims_.size() && base != hole; ++d) {
        if (d == inner) continue;
        const int64_t offset = offset_in_x(dims_[d], at[d], kernel[d]);
        base = offset == hole ? hole : base + offset;
      }
      const int64_t begin = at[inner], end = std::min(line.size, begin + rows - row);
      if (base == hole) {
        add({row, end - begin, hole, 0});
      } else if (line.lhs_dilation == 1) {
        // Inside are the positions between two ends.
        const int64_t shift = line.before - kernel[inner] * line.rhs_dilation;
        const int64_t from = std::clamp<int64_t>(shift <= 0 ? 0 : ceil_div(shift, line.stride), begin, end);
        const int64_t past = line.in + shift;
        const int64_t to = std::clamp<int64_t>(past <= 0 ? 0 : ceil_div(past, line.stride), from, end);
        add({row, from - begin, hole, 0});
        add({row + from - begin, to - from, base + (from * line.stride - shift) * line.x_stride,
             line.stride * line.x_stride});
        add({row + to - begin, end - to, hole, 0});
      } else {
        for (int64_t o = begin; o < end; ++o) {
          const int64_t offset = offset_in_x(line, o, kernel[inner]);
          add({row + o - begin, 1, offset == hole ? hole : base + offset, 0});
        }
      }
      row += end - begin;
      at[inner] = 0;
      for (std::size_t i = order_.size() - 1; i-- > 0;) {
        if (++at[order_[i]] < dims_[order_[i]].size) break;
        at[order_[i]] = 0;
      }
    }
    f(last);
  }

  void gather(int64_t group, int64_t first, int64_t rows, int64_t begin, int64_t end, T* to) const {
    const T* x = x_ + group * s_.x_group;
    const int64_t depth = end - begin;
    for (int64_t k = begin; k < end;) {
      const int64_t position = k / s_.channels, c = k % s_.channels, count = std::min(end - k, s_.channels - c);
      each_run(position, first, rows, [&](const RowRun& run) {
        const T* from = x + (run.offset == hole ? 0 : run.offset + c * s_.x_channel);
        if (channels_last_) {
          T* row = to + run.row * depth + (k - begin);
          for (int64_t r = 0; r < run.count; ++r, row += depth)
            if (run.offset == hole) std::fill_n(row, count, T{});
            else std::copy_n(from + r * run.step, count, row);
        } else {
          T* column = to + (k - begin) * rows + run.row;
          for (int64_t i = 0; i < count; ++i, column += rows, from += run.offset == hole ? 0 : s_.x_channel) {
            if (run.offset == hole) std::fill_n(column, run.count, T{});
            else if (run.step == 1) std::copy_n(from, run.count, column);
            else
              for (int64_t r = 0; r < run.count; ++r) column[r] = from[r * run.step];
          }
        }
      });
      k += count;
    }
  }

  void multiply(int64_t rows, int64_t depth, const T* a, Matrix<T> b, int64_t features, T* c, bool onto) const {
    const Matrix<T> left = channels_last_ ? Matrix<T>{a, depth, 1} : Matrix<T>{a, 1, rows};
    if constexpr (std::is_floating_point_v<T>) {
      if (onto) add_product(rows, features, depth, left, b, c, row_stride_, s_.out_feature);
      else product(rows, features, depth, left, b, c, row_stride_, s_.out_feature);
    } else {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t f = 0; f < features; ++f) {
          T& sum = c[r * row_stride_ + f * s_.out_feature];
          if (!onto) sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += left.data[r * left.row_stride + k * left.column_stride] *
                   b.data[k * b.row_stride + f * b.column_stride];
        }
    }
  }

  const ConvShape& s_;
  const T *x_, *w_;
  T* out_;
  std::vector<RowDim> dims_;        // batch, then the spatial ones
  std::vector<std::size_t> order_;  // of dims_, as they lie in the output
  std::size_t outer_dims_;          // of order_: those that are not rows
  int64_t depth_;                   // of a sum
  int64_t rows_, row_stride_, outer_, tile_ = 0, tiles_ = 0, part_ = 0;
  bool channels_last_;
  Matrix<T> kernel_{};  // (k, feature)
  bool gathers_ = false;
  int64_t kernel_group_ = 0;
};

}  // namespace

KernelView view_kernel(const ConvShape& s, std::size_t element) {
  int64_t stride = s.w_channel, size = s.channels;
  bool whole = true;
  for (std::size_t d = s.spatial.size(); d-- > 0;) {
    if (s.spatial[d].kernel == 1) continue;
    if (size == 1) stride = s.spatial[d].w_stride;
    else if (s.spatial[d].w_stride != size * stride) whole = false;
    size *= s.spatial[d].kernel;
  }
  if (whole) return {KernelForm::in_place, stride};
  const bool large = s.groups * size * s.features * static_cast<int64_t>(element) > conv_tile_bytes;
  return {large && s.w_feature == 1 ? KernelForm::copied_or_gathered : KernelForm::copied, 0};
}

void convolution(DType dtype, const ConvShape& shape, const void* x, const void* w, void* out, std::byte* scratch) {
  visit_arithmetic(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>)  // which rows do not take
      Convolution<T>(shape, static_cast<const T*>(x), static_cast<const T*>(w), static_cast<T*>(out))
          .run(reinterpret_cast<T*>(scratch));
  });
}

ConvScratch convolution_scratch(DType dtype, const ConvShape& s) {
  int64_t rows = s.batch;
  for (const auto& d : s.spatial) rows *= d.out;
  if (rows == 0) return {};
  return visit_arithmetic(dtype, [&]<class T>(T) -> ConvScratch {
    const KernelForm form = view_kernel(s, sizeof(T)).form;
    if (form == KernelForm::in_place) return {};
    if constexpr (std::is_floating_point_v<T>)
      if (form == KernelForm::copied_or_gathered && cut_windows(s, sizeof(T), 1).possible()) return {};
    return {scratch_bytes<T>(s.groups * kernel_depth(s) * s.features), form == KernelForm::copied_or_gathered};
  });
}
std::size_t most_convolution_scratch(DType dtype, const ConvShape& s) {
  int longer = s.channels > 1;
  int64_t rows = s.batch;
  for (const auto& d : s.spatial) longer += d.kernel > 1, rows *= d.out;
  if (longer < 2 || rows == 0) return 0;
  return visit_arithmetic(dtype, [&]<class T>(T) { return scratch_bytes<T>(s.groups * kernel_depth(s) * s.features); });
}

}  // namespace anew
