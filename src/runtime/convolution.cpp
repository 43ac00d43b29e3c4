// The tiles of a convolution. Rows of the product are output positions in the order they lie in memory; columns are
// output features. A tile gathers some rows of some k, as [row][k] where channels are neighbours in memory and as
// [k][row] else, so that what is copied comes in runs.
#include "runtime/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/base.h"
#include "runtime/buffer.h"
#include "runtime/pool.h"
#include "runtime/product.h"

namespace anew {
namespace {

using std::int64_t;

constexpr int64_t tile_bytes = 512 << 10;  // of the gathered tile: it stays in the second cache
constexpr int64_t tile_depth = 512;        // k of a tile where there are more: a multiple of a chain of the product
constexpr int64_t few_tiles = 4;           // below which the kernel is gathered by the tile, not as a whole
constexpr int64_t few_channels = 16;       // below which neighbouring positions make longer runs than channels
constexpr int64_t hole = std::numeric_limits<int64_t>::min() / 8;  // an offset outside of x, also with others added

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One dimension of output positions: where it leads in the output and, for each kernel position of it, in x.
struct RowDim {
  int64_t size, out_stride, kernel;
  std::vector<int64_t> offsets;  // [kernel][size]; `hole` where nothing is
};

RowDim spatial_dim(const ConvShape::Spatial& s) {
  RowDim d{s.out, s.out_stride, s.kernel, {}};
  for (int64_t p = 0; p < s.kernel; ++p)
    for (int64_t o = 0; o < s.out; ++o) {
      const int64_t at = o * s.stride + p * s.rhs_dilation - s.before;
      const bool inside = at >= 0 && at % s.lhs_dilation == 0 && at / s.lhs_dilation < s.in;
      d.offsets.push_back(inside ? at / s.lhs_dilation * s.x_stride : hole);
    }
  return d;
}
RowDim batch_dim(const ConvShape& s) {
  RowDim d{s.batch, s.out_batch, 1, {}};
  for (int64_t n = 0; n < s.batch; ++n) d.offsets.push_back(n * s.x_batch);
  return d;
}

template <class T>
class Convolution {
 public:
  Convolution(const ConvShape& shape, const T* x, const T* w, T* out) : s_(shape), x_(x), w_(w), out_(out) {
    dims_.push_back(batch_dim(shape));
    for (const auto& d : shape.spatial) dims_.push_back(spatial_dim(d));
    positions_ = 1;
    for (const auto& d : shape.spatial) positions_ *= d.kernel;
    depth_ = positions_ * s_.channels;
    for (std::size_t i = 0; i < dims_.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(-dims_[a].out_stride, a) < std::pair(-dims_[b].out_stride, b);
    });
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

  void run() {
    if (s_.groups * outer_ * rows_ * s_.features == 0) return;
    part_ = depth_ <= 2 * tile_depth ? depth_ : tile_depth;
    const auto row_bytes = std::max<int64_t>(1, part_) * int64_t{sizeof(T)};
    tile_ = std::clamp<int64_t>(tile_bytes / row_bytes, 16, rows_ + 15);
    const int64_t wanted = 4 * threads(), units = s_.groups * outer_;
    if (units < wanted) tile_ = std::min(tile_, std::max<int64_t>(48, ceil_div(rows_ * units, wanted)));
    tile_ = std::min(tile_, rows_);
    tiles_ = ceil_div(rows_, tile_);
    place_kernel();
    parallel_for(s_.groups * outer_ * tiles_, 1, [&](int64_t begin, int64_t end) {
      Scratch scratch;
      for (int64_t i = begin; i < end; ++i) one_tile(i / tiles_, i % tiles_ * tile_, scratch);
    });
  }

 private:
  struct Run {
    int64_t row, count, offset, step;  // of rows that are `step` apart in x; offset `hole`: zeros
  };
  struct Scratch {
    BufferRef a, b;
    std::vector<int64_t> offset;
    std::vector<Run> runs;
  };
  static T* memory(BufferRef& hold, int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(T);
    if (!hold || hold->bytes() < bytes) hold = allocate(bytes);
    return reinterpret_cast<T*>(hold->data());
  }

  // Where (k, feature) lies is one stride each if the kernel's dimensions follow each other in the order of k.
  void place_kernel() {
    int64_t stride = s_.w_channel, size = s_.channels;
    whole_ = true;
    for (std::size_t d = s_.spatial.size(); d-- > 0;) {
      if (s_.spatial[d].kernel == 1) continue;
      if (size == 1) stride = s_.spatial[d].w_stride;
      else if (s_.spatial[d].w_stride != size * stride) whole_ = false;
      size *= s_.spatial[d].kernel;
    }
    kernel_ = {w_, stride, s_.w_feature};
    kernel_group_ = s_.w_group;
    if (whole_ || outer_ * tiles_ < few_tiles) return;
    T* dense = memory(dense_, s_.groups * depth_ * s_.features);
    parallel_for(s_.groups, 1,
                 [&](int64_t g, int64_t) { gather_kernel(g, 0, depth_, dense + g * depth_ * s_.features); });
    kernel_ = {dense, s_.features, 1};
    kernel_group_ = depth_ * s_.features;
    whole_ = true;
  }

  void gather_kernel(int64_t group, int64_t begin, int64_t end, T* to) {
    for (int64_t k = begin; k < end; ++k) {
      const T* from = w_ + group * s_.w_group + k % s_.channels * s_.w_channel;
      int64_t p = k / s_.channels;
      for (std::size_t d = s_.spatial.size(); d-- > 0; p /= s_.spatial[d].kernel)
        from += p % s_.spatial[d].kernel * s_.spatial[d].w_stride;
      for (int64_t f = 0; f < s_.features; ++f) *to++ = from[f * s_.w_feature];
    }
  }

  void one_tile(int64_t unit, int64_t first, Scratch& scratch) {
    const int64_t rows = std::min(tile_, rows_ - first), group = unit / outer_, outer = unit % outer_;
    T* c = out_ + group * s_.out_group + first * row_stride_;
    // Offsets in the tables of the dimensions, for every row of the tile.
    indices_of(outer * rows_ + first, rows, scratch.offset);
    int64_t rest = outer, place = 0;
    for (std::size_t i = outer_dims_; i-- > 0;) {
      const RowDim& d = dims_[order_[i]];
      place += rest % d.size * d.out_stride;
      rest /= d.size;
    }
    c += place;
    if (depth_ == 0) return multiply(rows, 0, nullptr, {nullptr, 0, 0}, c, false);
    T* a = memory(scratch.a, rows * part_);
    for (int64_t k = 0; k < depth_; k += part_) {
      const int64_t end = std::min(depth_, k + part_);
      gather(group, rows, k, end, a, scratch);
      Matrix<T> b{kernel_.data + group * kernel_group_ + k * kernel_.row_stride, kernel_.row_stride,
                  kernel_.column_stride};
      if (!whole_) {
        T* own = memory(scratch.b, part_ * s_.features);
        gather_kernel(group, k, end, own);
        b = {own, s_.features, 1};
      }
      multiply(rows, end - k, a, b, c, k > 0);
    }
  }

  // to[dimension][row] = the index of this dimension.
  void indices_of(int64_t first, int64_t rows, std::vector<int64_t>& to) const {
    to.resize(dims_.size() * static_cast<std::size_t>(rows));
    std::vector<int64_t> at(dims_.size());
    for (std::size_t i = order_.size(); i-- > 0; first /= dims_[order_[i]].size)
      at[order_[i]] = first % dims_[order_[i]].size;
    for (int64_t r = 0; r < rows; ++r) {
      for (std::size_t d = 0; d < dims_.size(); ++d)
        to[d * static_cast<std::size_t>(rows) + static_cast<std::size_t>(r)] = at[d];
      for (std::size_t i = order_.size(); i-- > 0;) {
        if (++at[order_[i]] < dims_[order_[i]].size) break;
        at[order_[i]] = 0;
      }
    }
  }

  // The rows of a tile at one kernel position, as runs of equal steps through x.
  void find_runs(int64_t position, int64_t rows, Scratch& scratch) const {
    std::vector<const int64_t*> table(dims_.size());
    for (std::size_t d = dims_.size(); d-- > 1; position /= dims_[d].kernel)
      table[d] = dims_[d].offsets.data() + position % dims_[d].kernel * dims_[d].size;
    table[0] = dims_[0].offsets.data();
    scratch.runs.clear();
    for (int64_t r = 0; r < rows; ++r) {
      int64_t offset = 0;
      for (std::size_t d = 0; d < dims_.size(); ++d)
        offset += table[d][scratch.offset[d * static_cast<std::size_t>(rows) + static_cast<std::size_t>(r)]];
      if (offset < hole / 2) offset = hole;
      if (!scratch.runs.empty()) {
        Run& last = scratch.runs.back();
        const bool zeros = offset == hole && last.offset == hole;
        if (last.count == 1 && last.offset != hole && offset != hole) last.step = offset - last.offset;
        if (zeros || (offset != hole && last.offset != hole && offset == last.offset + last.count * last.step)) {
          ++last.count;
          continue;
        }
      }
      scratch.runs.push_back({r, 1, offset, 0});
    }
  }

  void gather(int64_t group, int64_t rows, int64_t begin, int64_t end, T* to, Scratch& scratch) const {
    const T* x = x_ + group * s_.x_group;
    const int64_t depth = end - begin;
    for (int64_t k = begin; k < end;) {
      const int64_t position = k / s_.channels, c = k % s_.channels, count = std::min(end - k, s_.channels - c);
      find_runs(position, rows, scratch);
      for (const Run& run : scratch.runs) {
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
      }
      k += count;
    }
  }

  void multiply(int64_t rows, int64_t depth, const T* a, Matrix<T> b, T* c, bool onto) const {
    const Matrix<T> left = channels_last_ ? Matrix<T>{a, depth, 1} : Matrix<T>{a, 1, rows};
    if constexpr (std::is_floating_point_v<T>) {
      if (onto) add_product(rows, s_.features, depth, left, b, c, row_stride_, s_.out_feature);
      else product(rows, s_.features, depth, left, b, c, row_stride_, s_.out_feature);
    } else {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t f = 0; f < s_.features; ++f) {
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
  int64_t positions_, depth_;       // of the kernel; of a sum
  int64_t rows_, row_stride_, outer_, tile_ = 0, tiles_ = 0, part_ = 0;
  bool channels_last_;
  Matrix<T> kernel_{};  // (k, feature), if `whole_`; else it is gathered by the tile
  int64_t kernel_group_ = 0;
  bool whole_ = true;
  BufferRef dense_;
};

template <class T>
void typed(const ConvShape& shape, const void* x, const void* w, void* out) {
  Convolution<T>(shape, static_cast<const T*>(x), static_cast<const T*>(w), static_cast<T*>(out)).run();
}

}  // namespace

void convolution(DType dtype, const ConvShape& shape, const void* x, const void* w, void* out) {
  switch (dtype) {
    case f32: return typed<float>(shape, x, w, out);
    case f64: return typed<double>(shape, x, w, out);
    case i32:
    case u32: return typed<std::uint32_t>(shape, x, w, out);  // unsigned: wrapping around is defined there
    case i64: return typed<std::uint64_t>(shape, x, w, out);
    default: throw InternalError(fmt::format("no convolution of {}", name_of(dtype)));
  }
}

}  // namespace anew
