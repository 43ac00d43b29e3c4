// Boxes and their windows. A box has a dimension for each of the rows (batch, spatial) and one of channels; innermost
// is the one whose elements are neighbours in x, so that whole runs are copied.
#include "runtime/convolution_windows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "runtime/convolution_parts.h"
#include "runtime/pool.h"
#include "runtime/product_kernels.h"

namespace anew {
namespace {

using std::int64_t;

constexpr int64_t shortest_line = 3;    // rows that a tile of the product can have, below which it idles
constexpr int64_t enough_rows = 48;     // of a tile, to be worth a thread
constexpr int64_t many_rows = 256;      // of a tile, to be worth fetching a kernel that does not stay in the cache
constexpr int64_t most_depth = 1024;    // of the k of a box that does not see all of them
constexpr int64_t fewest_in_piece = 8;  // rows of a line that is cut
constexpr int64_t box_bytes = conv_tile_bytes / 4 * 3;  // of the workspace; the rest is for columns of the kernel
constexpr std::size_t most_dims = Shape::max_ndim;

struct Span {
  int64_t first, count;
  bool operator==(const Span&) const = default;
};

// Along one dimension of the box: coordinates of x, padded and dilated; where they lie in x and in the box.
struct BoxSide {
  Span at;
  int64_t in, dilation, x_stride, stride;
  int64_t end() const { return at.first + at.count; }
  bool holds(int64_t i) const {
    return at.first + i >= 0 && (at.first + i) % dilation == 0 && (at.first + i) / dilation < in;
  }
  int64_t offset(int64_t i) const { return (at.first + i) / dilation * x_stride; }
};

// Which dimension of x is the innermost of boxes.
enum class Inner : std::uint8_t { none, channels, batch };
Inner inner_of(const ConvShape& s, std::size_t last) {
  if (s.x_channel == 1 && s.channels > 1) return Inner::channels;
  if (s.x_batch == 1 && last == 0) return Inner::batch;
  return s.channels == 1 ? Inner::channels : Inner::none;
}

// Where some k lead: positions of the kernel along each dimension of rows, and channels.
struct Reach {
  std::array<Span, most_dims> positions;
  Span channels;
};
Reach reach_of(const ConvShape& s, const std::vector<RowDim>& dims, Span k) {
  int64_t first = k.first / s.channels, last = (k.first + k.count - 1) / s.channels;
  Reach reach{{}, first == last ? Span{k.first % s.channels, k.count} : Span{0, s.channels}};
  for (std::size_t d = dims.size(); d-- > 0; first /= dims[d].kernel, last /= dims[d].kernel) {
    const int64_t size = dims[d].kernel;
    reach.positions[d] = first / size == last / size ? Span{first % size, last - first + 1} : Span{0, size};
  }
  return reach;
}
// The longest of all that begin at a multiple of `count`. So many neighbours among lines of `size` stay in a line if
// they divide it or if there is only one; else they may lie across its end, and then all of it is between their
// corners.
Reach longest_reach(const ConvShape& s, const std::vector<RowDim>& dims, int64_t count) {
  int64_t lines = kernel_depth(s);
  bool aligned = true;
  const auto along = [&](int64_t size) {
    lines /= size;
    int64_t touched = 1;
    if (aligned && count % size == 0) touched = count / size;
    else if (aligned && size % count == 0) aligned = count == 1;
    else if (count > 1) aligned = false, touched = std::min(lines, (count - 2) / size + 2);
    const int64_t longest = touched == 1 ? std::min(size, count) : size;
    count = touched;
    return Span{0, longest};
  };
  Reach reach{{}, along(s.channels)};
  for (std::size_t d = dims.size(); d-- > 0;) reach.positions[d] = along(dims[d].kernel);
  return reach;
}

// The box of some rows and some k.
class WindowBox {
 public:
  WindowBox(const ConvShape& s, const std::vector<RowDim>& dims, Inner inner, std::span<const Span> rows,
            const Reach& reach)
      : s_(s), dims_(dims), reach_(reach), channel_(dims.size()) {
    const auto& [positions, channels] = reach_;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const RowDim& dim = dims[d];
      const int64_t first = rows[d].first * dim.stride + positions[d].first * dim.rhs_dilation - dim.before;
      const int64_t last = (rows[d].count - 1) * dim.stride + (positions[d].count - 1) * dim.rhs_dilation;
      sides_[d] = {{first, last + 1}, dim.in, dim.lhs_dilation, dim.x_stride, 0};
    }
    sides_[channel_] = {channels, s.channels, 1, s.x_channel, 0};
    // Inside out: the innermost, then back from the last dimension.
    int64_t stride = 1;
    const auto place = [&](std::size_t d) { sides_[d].stride = stride, stride *= sides_[d].at.count; };
    if (inner == Inner::batch) place(0);
    place(channel_);
    for (std::size_t d = dims.size(); d-- > (inner == Inner::batch ? 1 : 0);) place(d);
    size_ = stride;
    inner_ = inner == Inner::batch ? 0 : channel_;
  }

  int64_t size() const { return size_; }
  int64_t k_stride() const { return sides_[channel_].stride; }
  int64_t row_stride(std::size_t d) const { return dims_[d].stride * sides_[d].stride; }

  // Runs of k, as seen from the box's first row.
  void list_runs(Span range, std::vector<Run>& runs) const {
    runs.clear();
    int64_t in_block = 0;
    const int64_t step = k_stride(), end = range.first + range.count;
    const auto add = [&](int64_t offset, int64_t count) {
      while (count > 0) {
        const int64_t some = std::min(count, product_block - in_block);
        if (in_block > 0 && runs.back().offset + runs.back().k * step == offset) runs.back().k += some;
        else runs.push_back({offset, some});
        offset += some * step, count -= some;
        in_block = (in_block + some) % product_block;
      }
    };
    for (int64_t k = range.first; k < end;) {
      const int64_t c = k % s_.channels, count = std::min(end - k, s_.channels - c);
      int64_t offset = (c - reach_.channels.first) * step, p = k / s_.channels;
      for (std::size_t d = dims_.size(); d-- > 0; p /= dims_[d].kernel)
        offset += (p % dims_[d].kernel - reach_.positions[d].first) * dims_[d].rhs_dilation * sides_[d].stride;
      add(offset, count);
      k += count;
    }
  }

  // From x, which begins where its group does. Lines that the box before had too, in the same place of memory, are
  // kept.
  template <class T>
  void fill(const T* x, T* to, const WindowBox* before) const {
    const BoxSide& side = sides_[1];  // the outermost, where rows are innermost
    Span kept{side.at.first, 0};
    if (before && continues(*before)) {
      const int64_t first = std::max(side.at.first, before->sides_[1].at.first);
      const int64_t end = std::min(side.end(), before->sides_[1].end());
      if (first < end) kept = {first, end - first};
      std::memmove(to + (kept.first - side.at.first) * side.stride,
                   to + (kept.first - before->sides_[1].at.first) * side.stride,
                   static_cast<std::size_t>(kept.count * side.stride) * sizeof(T));
    }
    if (inner_ != 0 || kept.count == 0) return gather(x, to);
    for (const Span some : {Span{side.at.first, kept.first - side.at.first},
                            Span{kept.first + kept.count, side.end() - kept.first - kept.count}}) {
      WindowBox lines = *this;
      lines.sides_[1].at = some;
      lines.gather(x, to + (some.first - side.at.first) * side.stride);
    }
  }

 private:
  // Whether both are lines of the same length behind each other.
  bool continues(const WindowBox& before) const {
    if (inner_ != 0 || dims_.size() < 2) return false;
    for (std::size_t d = 0; d < dims_.size() + 1; ++d)
      if (d != 1 && sides_[d].at != before.sides_[d].at) return false;
    return true;
  }

  template <class T>
  void gather(const T* x, T* to) const {
    // Last the way along which x lies: positions, or where runs are too short for that, what is dense in the box.
    std::array<std::size_t, most_dims> path;
    std::size_t n = 0;
    const std::size_t line = dims_.size() - 1;
    const bool along_line = inner_ != channel_ && sides_[inner_].at.count >= window_columns<T>() / 2;
    for (std::size_t d = 0; d < line; ++d)
      if (d != inner_) path[n++] = d;
    if (along_line) path[n++] = channel_;
    if (line != inner_) path[n++] = line;
    if (inner_ != channel_ && !along_line) path[n++] = channel_;
    walk(std::span(path).first(n), x + sides_[inner_].at.first * sides_[inner_].x_stride, to, true);
  }

  // The rest of the path, and the run at its end; zeros if x is left.
  template <class T>
  void walk(std::span<const std::size_t> path, const T* x, T* to, bool inside) const {
    if (path.empty()) return copy(1, x, 0, to, 0, inside);
    const BoxSide& side = sides_[path[0]];
    if (path.size() > 1 || (inside && side.dilation > 1)) {
      for (int64_t i = 0; i < side.at.count; ++i) {
        const bool there = inside && side.holds(i);
        walk(path.subspan(1), there ? x + side.offset(i) : x, to + i * side.stride, there);
      }
      return;
    }
    const int64_t begin = inside ? std::clamp<int64_t>(-side.at.first, 0, side.at.count) : side.at.count;
    const int64_t end = std::clamp<int64_t>(side.in - side.at.first, begin, side.at.count);
    copy(begin, x, 0, to, side.stride, false);
    copy(end - begin, begin < end ? x + side.offset(begin) : x, side.x_stride, to + begin * side.stride, side.stride,
         true);
    copy(side.at.count - end, x, 0, to + end * side.stride, side.stride, false);
  }
  template <class T>
  void copy(int64_t rows, const T* from, int64_t from_row, T* to, int64_t to_row, bool inside) const {
    int64_t count = sides_[inner_].at.count;
    if (to_row == count && (from_row == count || !inside)) count *= std::exchange(rows, rows > 0);
    if (inside) return copy_rows(rows, count, from, from_row, to, to_row);
    for (int64_t r = 0; r < rows; ++r) std::fill_n(to + r * to_row, count, T{});
  }

  const ConvShape& s_;
  const std::vector<RowDim>& dims_;
  Reach reach_;
  std::size_t channel_, inner_;  // of sides_
  std::array<BoxSide, most_dims + 1> sides_;
  int64_t size_;
};

// The dimensions of rows: those that are cut, and the number of tiles along each.
class Rows {
 public:
  Rows(const ConvShape& s, const std::vector<RowDim>& dims, const WindowCut& cut)
      : dims_(dims), order_(memory_order(dims)), count_(s.groups) {
    const std::array<int64_t, 3> pieces{cut.line, cut.second, cut.third};
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::size_t d = order_[order_.size() - 1 - i];
      piece_[d] = i < pieces.size() ? pieces[i] : 1;
      count_ *= ceil_div(dims[d].size, piece_[d]);
    }
  }
  std::size_t line() const { return order_.back(); }
  int64_t tiles() const { return count_; }
  // Its ranges of the dimensions; gives its group.
  int64_t tile(int64_t i, std::span<Span> ranges) const {
    for (std::size_t o = order_.size(); o-- > 0;) {
      const std::size_t d = order_[o];
      const int64_t n = ceil_div(dims_[d].size, piece_[d]), p = i % n;
      ranges[d].first = dims_[d].size * p / n;  // evenly
      ranges[d].count = dims_[d].size * (p + 1) / n - ranges[d].first;
      i /= n;
    }
    return i;
  }
  // Lines of a tile in a box and in the output.
  void list_lines(const WindowBox& box, std::span<const Span> ranges, std::vector<Windows::Line>& lines) const {
    Windows::Line first{0, 0};
    for (std::size_t d = 0; d < dims_.size(); ++d) first.c += ranges[d].first * dims_[d].out_stride;
    lines.assign(1, first);
    for (std::size_t o = 0; o + 1 < order_.size(); ++o) {
      const std::size_t d = order_[o], n = lines.size();
      std::vector<Windows::Line> more;
      for (std::size_t l = 0; l < n; ++l)
        for (int64_t i = 0; i < ranges[d].count; ++i)
          more.push_back({lines[l].a + i * box.row_stride(d), lines[l].c + i * dims_[d].out_stride});
      lines = std::move(more);
    }
  }

 private:
  const std::vector<RowDim>& dims_;
  std::vector<std::size_t> order_;
  std::array<int64_t, most_dims> piece_;
  int64_t count_;
};

// Chooses a cut: all of k by as many lines as fit, else all rows, or pieces of their lines, by some of k at a time.
class Cutting {
 public:
  Cutting(const ConvShape& s, std::size_t element, int threads)
      : s_(s),
        element_(static_cast<int64_t>(element)),
        dims_(row_dims(s)),
        order_(memory_order(dims_)),
        inner_(inner_of(s, order_.back())),
        depth_(kernel_depth(s)),
        others_(s.groups),
        least_tiles_(threads) {
    for (std::size_t back = 3; back < order_.size(); ++back) others_ *= extent(back);
  }

  WindowCut best() {
    WindowCut cut{1, 1, extent(0), depth_};
    if (inner_ == Inner::none || s_.out_feature != 1 || s_.features < 2 || cut.line < shortest_line || depth_ == 0)
      return {};
    // Every tile gathers such a kernel again: then a few large ones.
    if (view_kernel(s_, static_cast<std::size_t>(element_)).form == KernelForm::copied_or_gathered) return some_of_k();
    least_tiles_ *= 4;
    while (!fits(cut) && cut.line > enough_rows) cut.line = ceil_div(cut.line, 2);
    return fits(cut) ? all_of_k(cut) : some_of_k();
  }

 private:
  static int64_t rows(const WindowCut& c) { return c.third * c.second * c.line; }
  int64_t extent(std::size_t back) const {
    return back < order_.size() ? dims_[order_[order_.size() - 1 - back]].size : 1;
  }
  int64_t size(const WindowCut& c) const {
    std::array<Span, most_dims> ranges;
    const std::array<int64_t, 3> pieces{c.line, c.second, c.third};
    for (std::size_t back = 0; back < order_.size(); ++back)
      ranges[order_[order_.size() - 1 - back]] = {0, back < pieces.size() ? pieces[back] : 1};
    return WindowBox(s_, dims_, inner_, ranges, longest_reach(s_, dims_, c.depth)).size();
  }
  bool fits(const WindowCut& c) const { return size(c) <= box_bytes / element_; }
  // Strides may leave more out than windows share.
  bool saves(const WindowCut& c) const { return size(c) < rows(c) * c.depth; }
  int64_t tiles(const WindowCut& c) const {
    return others_ * ceil_div(extent(0), c.line) * ceil_div(extent(1), c.second) * ceil_div(extent(2), c.third);
  }

  WindowCut all_of_k(WindowCut cut) const {
    const auto grow = [&](int64_t& piece, int64_t most) {
      for (int64_t n = 1; n <= most; ++n) {
        const int64_t before = std::exchange(piece, ceil_div(most, n));
        if (fits(cut) && (tiles(cut) >= least_tiles_ || rows(cut) <= enough_rows)) return n == 1;
        piece = before;
      }
      return false;
    };
    if (grow(cut.second, extent(1))) grow(cut.third, extent(2));
    const bool large = depth_ * s_.features * element_ > conv_tile_bytes;
    return saves(cut) && (!large || rows(cut) >= many_rows) ? cut : WindowCut{};
  }
  WindowCut some_of_k() const {
    WindowCut cut{extent(2), extent(1), extent(0), std::min(depth_, product_block)};
    const auto halve = [&] {
      int64_t& piece = cut.line >= 2 * fewest_in_piece ? cut.line : cut.third > 1 ? cut.third : cut.second;
      return piece > 1 && (piece = ceil_div(piece, 2), true);
    };
    while (!fits(cut))
      if (!halve()) return {};
    if (!saves(cut)) return {};
    while (tiles(cut) < least_tiles_ && halve()) continue;
    while (cut.depth < std::min(depth_, most_depth)) {
      const int64_t before = std::exchange(cut.depth, std::min(depth_, cut.depth + product_block));
      if (fits(cut)) continue;
      cut.depth = before;
      break;
    }
    return cut;
  }

  const ConvShape& s_;
  const int64_t element_;
  const std::vector<RowDim> dims_;
  const std::vector<std::size_t> order_;
  const Inner inner_;
  const int64_t depth_;
  int64_t others_;  // tiles beside those of the last three dimensions
  int64_t least_tiles_;
};

}  // namespace

WindowCut cut_windows(const ConvShape& s, std::size_t element, int threads) {
  return Cutting(s, element, threads).best();
}

template <class T>
void convolve_windows(const ConvShape& s, const WindowCut& cut, const T* x, const T* w, Matrix<T> kernel,
                      int64_t kernel_group, T* out) {
  const std::vector<RowDim> dims = row_dims(s);
  const Rows rows(s, dims, cut);
  const Inner inner = inner_of(s, rows.line());
  const int64_t depth = kernel_depth(s);
  parallel_for(rows.tiles(), 1, [&](int64_t i, int64_t) {
    std::array<Span, most_dims> ranges;
    const int64_t group = rows.tile(i, ranges);
    T* a = reinterpret_cast<T*>(unit_workspace());
    T* c = out + group * s.out_group;
    std::vector<Run> runs;
    std::vector<Windows::Line> lines;
    std::optional<WindowBox> before;
    for (int64_t k = 0; k < depth; k += cut.depth) {
      const Span some{k, std::min(cut.depth, depth - k)};
      const WindowBox box(s, dims, inner, ranges, reach_of(s, dims, some));
      box.fill(x + group * s.x_group, a, before ? &*before : nullptr);
      before.emplace(box);
      box.list_runs(some, runs);
      rows.list_lines(box, ranges, lines);
      const Windows windows{lines,          ranges[rows.line()].count,    box.row_stride(rows.line()),
                            box.k_stride(), dims[rows.line()].out_stride, runs};
      if (kernel.data) {
        const Matrix<T> b{kernel.data + group * kernel_group + k * kernel.row_stride, kernel.row_stride,
                          kernel.column_stride};
        window_product(windows, s.features, a, b, c, k > 0);
        continue;
      }
      T* b = reinterpret_cast<T*>(unit_workspace() + box_bytes);
      for (int64_t f = 0; f < s.features; f += window_columns<T>()) {
        const int64_t count = std::min(window_columns<T>(), s.features - f);
        gather_kernel(s, w + group * s.w_group, k, k + some.count, f, count, b);
        window_product(windows, count, a, {b, count, 1}, c + f, k > 0);
      }
    }
  });
}

template void convolve_windows(const ConvShape&, const WindowCut&, const float*, const float*, Matrix<float>, int64_t,
                               float*);
template void convolve_windows(const ConvShape&, const WindowCut&, const double*, const double*, Matrix<double>,
                               int64_t, double*);

}  // namespace anew
