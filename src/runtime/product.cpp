// How a product is cut: panels of a few rows, column panels of two vectors, k in blocks of 256; when operands are read
// where they lie and when they are packed; what the threads share out.
// Invariant: every element of c is made by the kernels in the order of product.h. All choices here are rules over
// shape, strides, the second cache and the number of threads, never over time, and none of them can change a bit.
#include "runtime/product.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>

#include "base/base.h"
#include "base/environment.h"
#include "runtime/pool.h"
#include "runtime/product_kernels.h"
#include "runtime/workspace.h"

namespace anew {
namespace {

using std::int64_t;

constexpr int64_t block = product_block;
constexpr int64_t slab_columns = 1024;        // of b, packed at a time for all rows
constexpr int64_t parallel_work = 256 << 10;  // multiplications below which a second thread does not pay
// The workspace of a thread: a column panel of b, then what else is packed; or sums that wait.
constexpr int64_t panel_bytes = 32 << 10;
constexpr int64_t workspace_bytes = workspace_half;

std::atomic<int> forced_isa{-1};
std::atomic<int64_t> forced_cache{0};

// Bytes that shall stay in the second cache of a core.
struct Blocking {
  int64_t in_place;  // an operand that may be read where it lies
  int64_t packed;    // of a, packed at a time, if that is all rows of a block of k or more
  int64_t part;      // and if it is some of the rows
};
// Of a cache of 1 MiB; a larger one gains nothing. Plans have scratch for these, so that they are the same everywhere.
constexpr Blocking largest_blocking{256 << 10, 528 << 10, 264 << 10};

Blocking blocking() {
  const int64_t cache = std::min<int64_t>(product_cache(), 1 << 20);
  const auto share = [&](int64_t bytes) { return std::max<int64_t>((bytes >> 10) * (cache >> 10), 16 << 10); };
  return {share(largest_blocking.in_place), share(largest_blocking.packed), share(largest_blocking.part)};
}

Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::portable;
}

// As the system tells, which may be that it does not know.
int64_t second_cache() {
  int64_t found = environment::second_cache();
#if defined(_SC_LEVEL2_CACHE_SIZE)
  if (found <= 0) found = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return found > 0 ? found : 1 << 20;
}

template <class T>
const Kernels<T>& kernels() {
  const Isa isa = product_isa();
#if defined(__x86_64__)
  if (isa == Isa::avx512) return *avx512_kernels<T>();
  if (isa == Isa::avx2) return *avx2_kernels<T>();
#endif
  (void)isa;
  return *portable_kernels<T>();
}

// What of a and b is packed at a time, in a product that packs a: the rows in blocks and, if those are several, b in
// slabs of columns; k in phases. In elements, but for the capacity.
struct Cut {
  int64_t row_blocks, rows, phase, slab, padded_slab;
  bool fits;

  template <class T>
  static Cut of(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, int64_t capacity,
                const Blocking& blocking) {
    constexpr int64_t element = sizeof(T), row_bytes = block * element;
    const int64_t panels = ceil_div(m, kernels.rows), height = m / panels, width = panel_width(kernels, n);
    Cut c{};
    const auto cut_rows = [&](int64_t blocks) {
      c.row_blocks = std::min(blocks, panels);
      c.rows = std::min(m, ceil_div(panels, c.row_blocks) * (height + 1));
    };
    cut_rows(m * row_bytes > blocking.packed ? ceil_div(m * row_bytes, blocking.part) : 1);
    c.phase = std::min(k, std::max<int64_t>(1, blocking.packed / (c.rows * row_bytes)) * block);
    c.set_slab(c.row_blocks > 1 ? std::min(n, slab_columns) : n, width);
    c.fits = static_cast<int64_t>(c.bytes<T>()) <= capacity;
    if (c.fits) return c;
    // Less at a time: one block of k, half of the memory for rows, the rest for columns.
    c.phase = std::min(k, block);
    if (c.rows * c.phase * element > capacity / 2) cut_rows(ceil_div(m * row_bytes, capacity / 3));
    const int64_t rest = capacity - c.rows * c.phase * element - int64_t{scratch_alignment};
    c.set_slab(std::min(n, rest / (c.phase * element) / width * width), width);
    c.fits = c.slab >= width && static_cast<int64_t>(c.bytes<T>()) <= capacity;
    return c;
  }
  template <class T>
  static int64_t panel_width(const Kernels<T>& kernels, int64_t n) {
    return kernels.lanes * (n <= kernels.lanes ? 1 : 2);
  }
  // Whether a product of so many columns may pack a at all.
  template <class T>
  static bool possible(const Kernels<T>& kernels, int64_t n) {
    return n > 2 * panel_width(kernels, n);
  }
  template <class T>
  std::size_t bytes() const {
    return scratch_bytes<T>(rows * phase) + (row_blocks > 1 ? scratch_bytes<T>(padded_slab * phase) : 0);
  }

 private:
  void set_slab(int64_t columns, int64_t width) {
    slab = columns;
    padded_slab = ceil_div(columns, width) * width;
  }
};

// One product with unit column stride of c.
template <class T>
class Product {
 public:
  Product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row,
          bool parallel, bool onto, std::span<std::byte> scratch, ProductEpilogue* epilogue = nullptr)
      : epilogue_(epilogue),
        kernels_(kernels),
        m_(m),
        n_(n),
        k_(k),
        a_(a),
        b_(b),
        c_(c),
        c_row_(c_row),
        scratch_(scratch),
        onto_(onto) {
    constexpr auto pack_bytes = static_cast<std::size_t>(workspace_bytes - panel_bytes);
    if (scratch.size() < pack_bytes) scratch_ = {product_workspace() + panel_bytes, pack_bytes};
    parallel_ = parallel && m * n >= parallel_work / k && threads() > 1;
    const int64_t a_bytes = m * k * int64_t{sizeof(T)}, b_bytes = n * k * int64_t{sizeof(T)};
    panels_ = ceil_div(m, kernels.rows);
    height_ = m / panels_;
    taller_ = m % panels_;
    pack_b_ = b.column_stride != 1 || (m > 4 * kernels.rows && (b_bytes > blocking_.in_place || n < kernels.lanes));
    dot_ = m == 1 && b.row_stride == 1 && b.column_stride != 1;
    stream_ = !pack_b_ && b_bytes > blocking_.in_place;
    const bool wide = !pack_b_ && m <= kernels.wide_rows && n > 2 * kernels.lanes;
    width_ = wide ? 4 * kernels.lanes : Cut::panel_width(kernels, n);
    // What one core packs another has to fetch from its cache, so with threads more is read in place.
    const bool a_in_place = a.column_stride == 1 && a_bytes <= (parallel_ ? 4 : 1) * blocking_.in_place;
    pack_a_ = !dot_ && pack_b_ && Cut::possible(kernels, n) && !a_in_place;
  }

  void run() {
    int64_t phase = k_, slab = n_, row_blocks = 1;
    if (pack_a_) {
      const Cut cut = Cut::of(kernels_, m_, n_, k_, static_cast<int64_t>(scratch_.size()), blocking_);
      pack_a_ = cut.fits;
      if (cut.fits) {
        phase = cut.phase, slab = cut.slab, row_blocks = cut.row_blocks;
        Pieces pieces(scratch_.data());
        packed_a_ = pieces.take<T>(cut.rows * phase);
        if (row_blocks > 1) packed_b_ = pieces.take<T>(cut.padded_slab * phase);
      }
    }
    for (slab_begin_ = 0; slab_begin_ < n_; slab_begin_ = slab_end_) {
      slab_end_ = std::min(n_, slab_begin_ + slab);
      for (phase_begin_ = 0; phase_begin_ < k_; phase_begin_ = phase_end_) {
        phase_end_ = std::min(k_, phase_begin_ + phase);
        for (int64_t r = 0; r < row_blocks; ++r) {
          first_ = panels_ * r / row_blocks, last_ = panels_ * (r + 1) / row_blocks;
          fresh_ = r == 0;
          pack();
          compute();
        }
      }
    }
  }

 private:
  static T* workspace() { return reinterpret_cast<T*>(product_workspace()); }

  int64_t row_of(int64_t panel) const { return panel * height_ + std::min(panel, taller_); }

  // Packs the rows of a for this phase, each block of k after the other.
  void pack() {
    if (!pack_a_) return;
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) pack_rows(first_ + p);
    };
    if (parallel_) parallel_for(last_ - first_, 2, body);
    else body(0, last_ - first_);
  }

  void pack_rows(int64_t panel) {
    const int64_t row = row_of(panel), rows = row_of(panel + 1) - row;
    for (int64_t k = phase_begin_; k < phase_end_; k += block)
      pack_panel(rows, depth_at(k), a_.data + row * a_.row_stride + k * a_.column_stride, a_.row_stride,
                 a_.column_stride, packed_rows(row, k), rows);
  }

  void pack_columns(int64_t j, int64_t columns, int64_t k, T* to) {
    pack_panel(columns, depth_at(k), b_.data + k * b_.row_stride + j * b_.column_stride, b_.column_stride,
               b_.row_stride, to, width_);
  }

  // to[k * to_k + i] = from[i * stride + k * k_stride] for i < count.
  void pack_panel(int64_t count, int64_t depth, const T* from, int64_t stride, int64_t k_stride, T* to, int64_t to_k) {
    if (stride == 1) {
      kernels_.copy(count, depth, from, k_stride, to, to_k);
    } else if (k_stride == 1) {
      // From the back: a square of fewer rows may write into the next k, which the squares before it then set right.
      for (int64_t i = (count - 1) / kernels_.lanes * kernels_.lanes; i >= 0; i -= kernels_.lanes)
        kernels_.transpose(std::min<int64_t>(kernels_.lanes, count - i), depth, from + i * stride, stride, to + i,
                           to_k);
    } else {
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t i = 0; i < count; ++i) to[k * to_k + i] = from[i * stride + k * k_stride];
    }
  }

  bool starts(int64_t k) const { return k == 0 && !onto_; }  // whether the block at k is the first of c
  // Of the block that starts at k: its length, its packed rows of a, its packed panels of b.
  int64_t depth_at(int64_t k) const { return std::min(block, phase_end_ - k); }
  T* packed_rows(int64_t row, int64_t k) const {
    const int64_t begin = row_of(first_), end = row_of(last_);
    return packed_a_ + (k - phase_begin_) * (end - begin) + (row - begin) * depth_at(k);
  }
  T* slab_panel(int64_t j, int64_t k) const {
    const int64_t padded = ceil_div(slab_end_ - slab_begin_, width_) * width_;
    return packed_b_ + (k - phase_begin_) * padded + (j - slab_begin_) * depth_at(k);
  }

  // A grid of row panels by column panels, cut where the pieces stay the squarest; by columns only as long as b has to
  // be packed on the way, which then happens once and where it is needed.
  void compute() {
    if (!parallel_) return compute(first_, last_, slab_begin_, slab_end_);
    const int64_t row_panels = last_ - first_, column_panels = ceil_div(slab_end_ - slab_begin_, width_);
    const int64_t work = row_panels * height_ * (slab_end_ - slab_begin_) * (phase_end_ - phase_begin_);
    const int64_t wanted = threads() * std::clamp<int64_t>(work / (threads() * int64_t{8 << 20}), 1, 4);
    // Where there are too few columns, each thread packs them for its own rows.
    const bool by_rows = !pack_b_ || !fresh_ || (!packed_b_ && column_panels < threads());
    int64_t row_parts = 1, column_parts = 1;
    while (row_parts * column_parts < wanted) {
      const int64_t rows = row_panels / row_parts, columns = column_panels / column_parts;
      const bool rows_free = rows >= 2 && by_rows, columns_free = columns >= 2;
      if (!rows_free && !columns_free) break;
      if (columns_free && (!rows_free || columns * width_ >= rows * kernels_.rows)) column_parts *= 2;
      else row_parts *= 2;
    }
    parallel_for(row_parts * column_parts, 1, [&](int64_t part, int64_t) {
      const int64_t r = part % row_parts, c = part / row_parts;
      compute(first_ + row_panels * r / row_parts, first_ + row_panels * (r + 1) / row_parts,
              slab_begin_ + column_panels * c / column_parts * width_,
              std::min(slab_end_, slab_begin_ + column_panels * (c + 1) / column_parts * width_));
    });
  }

  void compute(int64_t first, int64_t last, int64_t begin, int64_t end) {
    compute_part(first, last, begin, end);
    if (epilogue_ && phase_end_ == k_)
      epilogue_->tile(row_of(first), row_of(last) - row_of(first), begin, end - begin, n_);
  }

  void compute_part(int64_t first, int64_t last, int64_t begin, int64_t end) {
    if (dot_) return dot(begin, end);
    if (stream_) return stream(first, last, begin, end);
    T* own = pack_b_ && !packed_b_ ? workspace() : nullptr;
    for (int64_t j = begin; j < end; j += width_) {
      const int64_t columns = std::min(width_, end - j);
      for (int64_t k = phase_begin_; k < phase_end_; k += block) {
        if (!pack_b_) {
          column(first, last, j, columns, k, b_.data + k * b_.row_stride + j, b_.row_stride);
          continue;
        }
        T* b = packed_b_ ? slab_panel(j, k) : own;
        if (fresh_) pack_columns(j, columns, k, b);
        column(first, last, j, columns, k, b, width_);
      }
    }
  }

  // All row panels against one column panel and the block that starts at k.
  void column(int64_t first, int64_t last, int64_t j, int64_t columns, int64_t k, const T* b, int64_t b_k) {
    const Update update = starts(k) ? Update::set : Update::add;
    const int64_t vectors = ceil_div(columns, kernels_.lanes), depth = depth_at(k);
    const bool whole = pack_b_ || columns == vectors * kernels_.lanes;
    for (int64_t p = first; p < last; ++p) {
      const int64_t row = row_of(p), rows = row_of(p + 1) - row;
      T* c = c_ + row * c_row_ + j;
      if (pack_a_)
        kernels_.packed[vectors][whole][rows](depth, packed_rows(row, k), 1, rows, b, b_k, c, c_row_, columns, update);
      else
        kernels_.tile[vectors][whole][rows](depth, a_.data + row * a_.row_stride + k * a_.column_stride, a_.row_stride,
                                            a_.column_stride, b, b_k, c, c_row_, columns, update);
    }
  }

  void dot(int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += kernels_.lanes)
      for (int64_t k = 0; k < k_; k += block)
        kernels_.dot(depth_at(k), a_.data + k * a_.column_stride, a_.column_stride, b_.data + k + j * b_.column_stride,
                     b_.column_stride, c_ + j, std::min<int64_t>(kernels_.lanes, end - j),
                     starts(k) ? Update::set : Update::add);
  }

  // A few rows against a large b: some rows of b at a time, so that memory is read in order; the chains wait in c or,
  // from the second block on, in the workspace.
  void stream(int64_t first, int64_t last, int64_t begin, int64_t end) {
    constexpr int64_t step = 64;
    const int64_t top = row_of(first), bottom = row_of(last);
    const int64_t most = workspace_bytes / int64_t{sizeof(T)} / (bottom - top) / width_ * width_;
    const int64_t run = std::min<int64_t>(2048, most), scratch_row = std::min(run, end - begin);
    T* scratch = k_ > block || onto_ ? workspace() : nullptr;
    for (int64_t s = begin; s < end; s += run) {
      const int64_t length = std::min(run, end - s);
      for (int64_t k = 0; k < k_; k += block) {
        T* to = starts(k) ? c_ + top * c_row_ + s : scratch;
        const int64_t to_row = starts(k) ? c_row_ : scratch_row, stop = std::min(k_, k + block);
        for (int64_t i = k; i < stop; i += step)
          for (int64_t j = 0; j < length; j += width_) {
            const int64_t columns = std::min(width_, length - j), vectors = ceil_div(columns, kernels_.lanes);
            for (int64_t p = first; p < last; ++p) {
              const int64_t row = row_of(p), rows = row_of(p + 1) - row;
              kernels_.tile[vectors][columns == vectors * kernels_.lanes][rows](
                  std::min(step, stop - i), a_.data + row * a_.row_stride + i * a_.column_stride, a_.row_stride,
                  a_.column_stride, b_.data + i * b_.row_stride + s + j, b_.row_stride, to + (row - top) * to_row + j,
                  to_row, columns, i == k ? Update::set : Update::extend);
            }
          }
        if (starts(k)) continue;
        for (int64_t r = top; r < bottom; ++r)
          for (int64_t j = 0; j < length; ++j) c_[r * c_row_ + s + j] += scratch[(r - top) * scratch_row + j];
      }
    }
  }

  ProductEpilogue* epilogue_;
  const Kernels<T>& kernels_;
  int64_t m_, n_, k_;
  Matrix<T> a_, b_;
  T* c_;
  int64_t c_row_;
  int64_t panels_, height_, taller_;  // the first `taller_` row panels have one row more than `height_`
  int64_t width_;                     // columns of a column panel
  bool dot_, stream_, pack_a_, pack_b_, parallel_;
  std::span<std::byte> scratch_;
  Blocking blocking_ = blocking();
  bool onto_;          // c holds the sum of earlier k
  bool fresh_ = true;  // the first rows: b is packed as they meet it, and kept if more rows follow
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
  // What is being worked on: columns, k and row panels.
  int64_t slab_begin_ = 0, slab_end_ = 0, phase_begin_ = 0, phase_end_ = 0, first_ = 0, last_ = 0;
};

// A few rows by columns that lie along k, as in the cotangent of a layer's input: the product of the transposes packs
// the few rows in place of all of b; c is turned on its way out. Worth it where the rows fill vectors and b is longer
// than both.
template <class T>
bool turns(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b) {
  const int64_t lanes = kernels.lanes, vectors = ceil_div(m, lanes);
  return a.column_stride == 1 && b.row_stride == 1 && b.column_stride != 1 && vectors <= 2 &&
         8 * m >= 7 * vectors * lanes && n >= 4 * m && k >= 4 * m;
}

template <class T>
void turned_product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                    int64_t c_row, bool parallel, ProductEpilogue* epilogue) {
  constexpr int64_t room = 4096;
  const bool shared = parallel && m * n >= parallel_work / k && threads() > 1;
  const int64_t most = room / m, width = std::min(most, std::max<int64_t>(48, ceil_div(n, shared ? threads() : 1)));
  const auto columns = [&](int64_t part) {
    const int64_t j = part * width, count = std::min(width, n - j), lanes = kernels.lanes;
    std::array<T, room> turned;  // c(i, j + r) at turned[r * m + i]
    Product<T>(kernels, count, m, k, Matrix<T>{b.data + j * b.column_stride, b.column_stride, b.row_stride},
               Matrix<T>{a.data, a.column_stride, a.row_stride}, turned.data(), m, false, false, {})
        .run();
    int64_t r = 0;
    for (; r + lanes <= count; r += lanes) kernels.transpose(lanes, m, turned.data() + r * m, m, c + j + r, c_row);
    for (; r < count; ++r)
      for (int64_t i = 0; i < m; ++i) c[i * c_row + j + r] = turned[r * m + i];
    if (epilogue) epilogue->tile(0, m, j, count, n);
  };
  const int64_t parts = ceil_div(n, width);
  if (shared) return parallel_for(parts, 1, [&](int64_t part, int64_t) { columns(part); });
  for (int64_t part = 0; part < parts; ++part) columns(part);
}

template <class T>
void one_product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                 int64_t c_row, int64_t c_column, std::span<std::byte> scratch, bool parallel, bool onto = false,
                 ProductEpilogue* epilogue = nullptr) {
  if (k == 0) {  // operands without elements, whose pointers nobody may move
    for (int64_t i = 0; i < m && !onto; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * c_row + j * c_column] = T{0};
    return;
  }
  // The product of the transposes has the same chains.
  if (n == 1 || (c_column != 1 && c_row == 1 && m != 1)) {
    std::swap(m, n), std::swap(c_row, c_column);
    epilogue = nullptr;  // rows would be columns
    const Matrix<T> old = a;
    a = {b.data, b.column_stride, b.row_stride};
    b = {old.data, old.column_stride, old.row_stride};
  }
  if (n == 1) b.column_stride = 1;
  if (c_column != 1 && n != 1) {  // squares of c, through a dense one
    constexpr int64_t side = 64;
    std::array<T, side * side> dense;
    for (int64_t i = 0; i < m; i += side)
      for (int64_t j = 0; j < n; j += side) {
        const int64_t rows = std::min(side, m - i), columns = std::min(side, n - j);
        T* corner = c + i * c_row + j * c_column;
        const auto each = [&](auto f) {
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t s = 0; s < columns; ++s) f(corner[r * c_row + s * c_column], dense[r * columns + s]);
        };
        if (onto) each([](const T& from, T& to) { to = from; });
        one_product(kernels, rows, columns, k, Matrix<T>{a.data + i * a.row_stride, a.row_stride, a.column_stride},
                    Matrix<T>{b.data + j * b.column_stride, b.row_stride, b.column_stride}, dense.data(), columns,
                    int64_t{1}, scratch, false, onto);
        each([](T& to, const T& from) { to = from; });
      }
    return;
  }
  if (epilogue && (onto || c_row != n || epilogue->elements != m * n)) epilogue = nullptr;
  if (epilogue) epilogue->taken = true;
  if (!onto && turns(kernels, m, n, k, a, b))
    return turned_product(kernels, m, n, k, a, b, c, c_row, parallel, epilogue);
  Product<T>(kernels, m, n, k, a, b, c, c_row, parallel, onto, scratch, epilogue).run();
}

}  // namespace

bool has_isa(Isa isa) { return isa <= best_isa(); }

Isa product_isa() {
  static const Isa best = best_isa();
  const int forced = forced_isa.load(std::memory_order_relaxed);
  return forced < 0 ? best : static_cast<Isa>(forced);
}

void set_product_isa(Isa isa) {
  if (!has_isa(isa)) throw InternalError("this machine has not the instructions asked for");
  forced_isa.store(static_cast<int>(isa), std::memory_order_relaxed);
}

int64_t product_cache() {
  static const int64_t found = second_cache();
  const int64_t forced = forced_cache.load(std::memory_order_relaxed);
  return forced > 0 ? forced : found;
}

void set_product_cache(int64_t bytes) { forced_cache.store(bytes, std::memory_order_relaxed); }

template <class T>
std::size_t product_scratch(int64_t m, int64_t n, int64_t k) {
  if (m == 0 || n == 0 || k == 0) return 0;
  if (n == 1) std::swap(m, n);
  constexpr auto own = static_cast<std::size_t>(workspace_bytes - panel_bytes);
  constexpr int64_t most_padding = 64;
  if (((m + n + most_padding) * k) * sizeof(T) <= own) return 0;
  std::size_t most = 0;
  const auto count = [&](const Kernels<T>& kernels) {
    constexpr int64_t any = std::numeric_limits<int64_t>::max();
    if (Cut::possible(kernels, n))
      most = std::max(most, Cut::of(kernels, m, n, k, any, largest_blocking).template bytes<T>());
  };
  count(*portable_kernels<T>());
#if defined(__x86_64__)
  if (has_isa(Isa::avx2)) count(*avx2_kernels<T>());
  if (has_isa(Isa::avx512)) count(*avx512_kernels<T>());
#endif
  return most > own ? most : 0;
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row_stride,
             int64_t c_column_stride, std::span<std::byte> scratch, ProductEpilogue* epilogue) {
  if (m == 0 || n == 0) return;
  const FloatMode mode;
  one_product(kernels<T>(), m, n, k, a, b, c, c_row_stride, c_column_stride, scratch, true, false, epilogue);
}

template <class T>
void add_product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row_stride,
                 int64_t c_column_stride, std::span<std::byte> scratch) {
  if (m == 0 || n == 0) return;
  const FloatMode mode;
  one_product(kernels<T>(), m, n, k, a, b, c, c_row_stride, c_column_stride, scratch, true, true);
}

template <class T>
void batched_product(std::span<const BatchDim> batch, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                     int64_t c_row_stride, int64_t c_column_stride, std::span<std::byte> scratch) {
  int64_t count = 1;
  for (const BatchDim& d : batch) count *= d.size;
  if (m == 0 || n == 0 || count == 0) return;
  const FloatMode mode;
  const Kernels<T>& table = kernels<T>();
  const auto one = [&](int64_t index, std::span<std::byte> memory, bool parallel) {
    const T *pa = a.data, *pb = b.data;
    T* pc = c;
    for (std::size_t d = batch.size(); d-- > 0; index /= batch[d].size) {
      const int64_t i = index % batch[d].size;
      pa += i * batch[d].a_stride, pb += i * batch[d].b_stride, pc += i * batch[d].c_stride;
    }
    one_product(table, m, n, k, Matrix<T>{pa, a.row_stride, a.column_stride},
                Matrix<T>{pb, b.row_stride, b.column_stride}, pc, c_row_stride, c_column_stride, memory, parallel);
  };
  const int64_t work = m * n * std::max<int64_t>(k, 1);
  // Many products: each on one thread, in its workspace. Few, or ones that pack more than that holds: one after the
  // other, each on all threads.
  constexpr int64_t any = std::numeric_limits<int64_t>::max();
  const bool small =
      !Cut::possible(table, n) || k == 0 ||
      Cut::of(table, m, n, k, any, blocking()).template bytes<T>() <= std::size_t{workspace_bytes - panel_bytes};
  if ((count >= 2 * threads() && small) || work < parallel_work) {
    const int64_t grain = std::max<int64_t>(1, std::min(count / (4 * threads()), parallel_work / work + 1));
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one(i, {}, false);
    };
    if (count * work < parallel_work) body(0, count);
    else parallel_for(count, grain, body);
  } else {
    for (int64_t i = 0; i < count; ++i) one(i, scratch, true);
  }
}

#define ANEW_PRODUCTS(T)                                                                                             \
  template std::size_t product_scratch<T>(int64_t, int64_t, int64_t);                                                \
  template void product(int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*, int64_t, int64_t, std::span<std::byte>, \
                        ProductEpilogue*);                                                                           \
  template void add_product(int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*, int64_t, int64_t,                   \
                            std::span<std::byte>);                                                                   \
  template void batched_product(std::span<const BatchDim>, int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*,      \
                                int64_t, int64_t, std::span<std::byte>)
ANEW_PRODUCTS(float);
ANEW_PRODUCTS(double);
#undef ANEW_PRODUCTS

}  // namespace anew
