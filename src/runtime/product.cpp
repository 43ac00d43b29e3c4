// How a product is cut: panels of a few rows, column panels of two vectors, k in blocks of 256; when operands are read
// where they lie and when they are packed; what the threads share out.
// Invariant: every element of c is made by the kernels in the order of product.h. All choices here are rules over shape,
// strides and the number of threads, never over time, and none of them can change a bit.
#include "runtime/product.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/base.h"
#include "runtime/buffer.h"
#include "runtime/pool.h"
#include "runtime/product_kernels.h"

namespace anew {
namespace {

using std::int64_t;

constexpr int64_t block = product_block;
constexpr int64_t in_place_bytes = 256 << 10;  // an operand that stays in the second cache may be read where it lies
constexpr int64_t packed_bytes = 1 << 20;      // of a, per phase
constexpr int64_t slab_columns = 4096;         // of b, packed for all rows at once
constexpr int64_t cache_rows = 240;            // rows of a that one sweep over the columns keeps in the second cache
constexpr int64_t strip = 16;                  // rows of b that are packed together; divides `block`
constexpr int64_t parallel_work = 256 << 10;   // multiplications below which a second thread does not pay

std::atomic<int> forced_isa{-1};

Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::portable;
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

// Memory of one thread for a column panel of b; it is kept, so a small product allocates nothing.
template <class T>
T* panel_scratch(int64_t elements) {
  static thread_local BufferRef buffer;
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(T);
  if (!buffer || buffer->bytes() < bytes) buffer = allocate(std::max<std::size_t>(bytes, 64 << 10));
  return reinterpret_cast<T*>(buffer->data());
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum class Source { in_place, panel, slab };

// One product with unit column stride of c.
template <class T>
class Product {
 public:
  Product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row)
      : kernels_(kernels), m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), c_row_(c_row) {
    const auto bytes = [](int64_t rows, int64_t columns) { return rows * columns * int64_t{sizeof(T)}; };
    panels_ = ceil_div(m, kernels.rows);
    height_ = m / panels_;
    taller_ = m % panels_;
    const bool unit = b.column_stride == 1 || n == 1;
    b_from_ = unit && (m <= 4 * kernels.rows || bytes(n, k) <= in_place_bytes) ? Source::in_place
              : m <= 2 * cache_rows                                            ? Source::panel
                                                                               : Source::slab;
    stream_ = b_from_ == Source::in_place && m <= 8 && m <= kernels.rows && bytes(n, k) > in_place_bytes;
    vectors_ = n <= kernels.lanes                                                               ? 1
               : b_from_ == Source::in_place && m <= kernels.wide_rows && n > 2 * kernels.lanes ? 4
                                                                                                : 2;
    width_ = vectors_ * kernels.lanes;
    pack_a_ = !stream_ && b_from_ != Source::in_place && n > 2 * width_ &&
              !(a.column_stride == 1 && bytes(m, k) <= in_place_bytes);
  }

  void run(bool parallel) {
    parallel = parallel && m_ * n_ >= parallel_work / k_ && threads() > 1;
    // k in phases, so that what is packed of a stays in the second cache.
    int64_t phase = k_;
    if (pack_a_ || b_from_ == Source::slab)
      phase = std::min(k_, std::max<int64_t>(1, packed_bytes / (block * m_ * int64_t{sizeof(T)})) * block);
    BufferRef a_scratch, b_scratch;
    if (pack_a_) a_scratch = allocate(static_cast<std::size_t>(m_ * phase) * sizeof(T));
    if (pack_a_) packed_a_ = reinterpret_cast<T*>(a_scratch->data());
    const int64_t slab = b_from_ == Source::slab ? slab_columns : n_;
    if (b_from_ == Source::slab) {
      b_scratch = allocate(static_cast<std::size_t>(ceil_div(std::min(slab, n_), width_) * width_ * phase) * sizeof(T));
      packed_b_ = reinterpret_cast<T*>(b_scratch->data());
    }
    for (int64_t j = 0; j < n_; j += slab) {
      slab_begin_ = j, slab_end_ = std::min(n_, j + slab);
      for (int64_t k = 0; k < k_; k += phase) {
        phase_begin_ = k, phase_end_ = std::min(k_, k + phase);
        pack(parallel);
        compute(parallel);
      }
    }
  }

 private:
  int64_t row_of(int64_t panel) const { return panel * height_ + std::min(panel, taller_); }

  // Packs what this phase needs: a by row panels, b by column panels, each block of k after the other.
  void pack(bool parallel) {
    const int64_t row_panels = pack_a_ ? panels_ : 0;
    const int64_t column_panels = b_from_ == Source::slab ? ceil_div(slab_end_ - slab_begin_, width_) : 0;
    const int64_t units = row_panels + column_panels;
    if (units == 0) return;
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        if (u < row_panels) pack_rows(u);
        else pack_columns(u - row_panels);
      }
    };
    const int64_t grain = std::max<int64_t>(1, (32 << 10) / ((phase_end_ - phase_begin_) * width_));
    if (parallel) parallel_for(units, grain, body);
    else body(0, units);
  }

  void pack_rows(int64_t panel) {
    const int64_t row = row_of(panel), rows = row_of(panel + 1) - row;
    for (int64_t k = phase_begin_; k < phase_end_; k += block) {
      const int64_t depth = std::min(block, phase_end_ - k);
      pack_panel(rows, depth, a_.data + row * a_.row_stride + k * a_.column_stride, a_.row_stride, a_.column_stride,
                 packed_a_ + (k - phase_begin_) * m_ + row * depth, rows);
    }
  }

  // Some rows of b for all column panels: whole rows are read in order, as memory likes it.
  void pack_strip(int64_t k) {
    const int64_t begin = (k - phase_begin_) / block * block + phase_begin_,
                  depth = std::min(block, phase_end_ - begin);
    for (int64_t j = slab_begin_, panel = 0; j < slab_end_; j += width_, ++panel)
      kernels_.copy(std::min(width_, slab_end_ - j), std::min(strip, phase_end_ - k), b_.data + k * b_.row_stride + j,
                    b_.row_stride, slab_panel(panel, begin, depth) + (k - begin) * width_, width_);
  }

  void pack_columns(int64_t panel) {
    const int64_t column = slab_begin_ + panel * width_, columns = std::min(width_, n_ - column);
    for (int64_t k = phase_begin_; k < phase_end_; k += block) {
      const int64_t depth = std::min(block, phase_end_ - k);
      pack_panel(columns, depth, b_.data + k * b_.row_stride + column * b_.column_stride, b_.column_stride,
                 b_.row_stride, slab_panel(panel, k, depth), width_);
    }
  }

  T* slab_panel(int64_t panel, int64_t k, int64_t depth) const {
    const int64_t panels = ceil_div(slab_end_ - slab_begin_, width_);
    return packed_b_ + (k - phase_begin_) * panels * width_ + panel * width_ * depth;
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

  // A grid of row panels by column panels, cut where the pieces stay the squarest.
  void compute(bool parallel) {
    const int64_t column_panels = ceil_div(slab_end_ - slab_begin_, width_);
    if (!parallel) return compute(0, panels_, slab_begin_, slab_end_);
    const int64_t work = m_ * (slab_end_ - slab_begin_) * (phase_end_ - phase_begin_);
    const int64_t wanted = threads() * std::clamp<int64_t>(work / (threads() * int64_t{8 << 20}), 1, 4);
    int64_t row_parts = 1, column_parts = 1;
    while (row_parts * column_parts < wanted) {
      const int64_t rows = panels_ / row_parts, columns = column_panels / column_parts;
      const bool rows_free = rows >= 2 && b_from_ != Source::panel, columns_free = columns >= 2;
      if (!rows_free && !columns_free) break;
      if (columns_free && (!rows_free || columns * width_ >= rows * kernels_.rows)) column_parts *= 2;
      else row_parts *= 2;
    }
    parallel_for(row_parts * column_parts, 1, [&](int64_t part, int64_t) {
      const int64_t r = part % row_parts, c = part / row_parts;
      compute(panels_ * r / row_parts, panels_ * (r + 1) / row_parts,
              slab_begin_ + column_panels * c / column_parts * width_,
              std::min(slab_end_, slab_begin_ + column_panels * (c + 1) / column_parts * width_));
    });
  }

  void compute(int64_t first, int64_t last, int64_t begin, int64_t end) {
    if (stream_) return stream(begin, end);
    if (b_from_ == Source::panel) {
      T* scratch = panel_scratch<T>(block * width_);
      for (int64_t j = begin; j < end; j += width_)
        for (int64_t k = phase_begin_; k < phase_end_; k += block) {
          const int64_t depth = std::min(block, phase_end_ - k), columns = std::min(width_, end - j);
          pack_panel(columns, depth, b_.data + k * b_.row_stride + j * b_.column_stride, b_.column_stride,
                     b_.row_stride, scratch, width_);
          column(first, last, j, columns, k, depth, scratch, width_);
        }
      return;
    }
    const int64_t group = std::max<int64_t>(1, cache_rows / (height_ + 1));
    for (int64_t k = phase_begin_; k < phase_end_; k += block) {
      const int64_t depth = std::min(block, phase_end_ - k);
      for (int64_t p = first; p < last; p += group)
        for (int64_t j = begin; j < end; j += width_) {
          const T* b = b_from_ == Source::slab ? slab_panel((j - slab_begin_) / width_, k, depth)
                                               : b_.data + k * b_.row_stride + j;
          column(p, std::min(last, p + group), j, std::min(width_, end - j), k, depth, b,
                 b_from_ == Source::slab ? width_ : b_.row_stride);
        }
    }
  }

  // All row panels against one column panel and one block of k.
  void column(int64_t first, int64_t last, int64_t j, int64_t columns, int64_t k, int64_t depth, const T* b,
              int64_t b_k) {
    const Update update = k == 0 ? Update::set : Update::add;
    const int64_t vectors = ceil_div(columns, kernels_.lanes);
    const bool whole = columns == vectors * kernels_.lanes;
    for (int64_t p = first; p < last; ++p) {
      const int64_t row = row_of(p), rows = row_of(p + 1) - row;
      T* c = c_ + row * c_row_ + j;
      if (pack_a_)
        kernels_.packed[vectors][whole][rows](depth, packed_a_ + (k - phase_begin_) * m_ + row * depth, 1, rows, b, b_k,
                                              c, c_row_, columns, update);
      else
        kernels_.tile[vectors][whole][rows](depth, a_.data + row * a_.row_stride + k * a_.column_stride, a_.row_stride,
                                            a_.column_stride, b, b_k, c, c_row_, columns, update);
    }
  }

  // A few rows against a large b: eight rows of b at a time, so that memory is read in order; the chains wait in c or,
  // from the second block on, in scratch.
  void stream(int64_t begin, int64_t end) {
    constexpr int64_t run = 2048, step = 8;
    const int64_t scratch_row = std::min(run, end - begin);
    T* scratch = k_ > block ? panel_scratch<T>(m_ * scratch_row) : nullptr;
    for (int64_t s = begin; s < end; s += run) {
      const int64_t width = std::min(run, end - s);
      for (int64_t k = 0; k < k_; k += block) {
        T* to = k == 0 ? c_ + s : scratch;
        const int64_t to_row = k == 0 ? c_row_ : scratch_row, stop = std::min(k_, k + block);
        for (int64_t i = k; i < stop; i += step)
          for (int64_t j = 0; j < width; j += width_) {
            const int64_t columns = std::min(width_, width - j);
            kernels_.tile[ceil_div(columns, kernels_.lanes)][columns % kernels_.lanes == 0][m_](
                std::min(step, stop - i), a_.data + i * a_.column_stride, a_.row_stride, a_.column_stride,
                b_.data + i * b_.row_stride + s + j, b_.row_stride, to + j, to_row, columns,
                i == k ? Update::set : Update::extend);
          }
        if (k == 0) continue;
        for (int64_t r = 0; r < m_; ++r)
          for (int64_t j = 0; j < width; ++j) c_[r * c_row_ + s + j] += scratch[r * scratch_row + j];
      }
    }
  }

  const Kernels<T>& kernels_;
  int64_t m_, n_, k_;
  Matrix<T> a_, b_;
  T* c_;
  int64_t c_row_;
  int64_t panels_, height_, taller_;  // the first `taller_` row panels have one row more than `height_`
  Source b_from_;
  bool stream_, pack_a_;
  int vectors_;
  int64_t width_;
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
  int64_t phase_begin_ = 0, phase_end_ = 0, slab_begin_ = 0, slab_end_ = 0;
};

template <class T>
void one_product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                 int64_t c_row, int64_t c_column, bool parallel) {
  // The product of the transposes has the same chains.
  if (n == 1 || (c_column != 1 && c_row == 1 && m != 1)) {
    std::swap(m, n), std::swap(c_row, c_column);
    const Matrix<T> old = a;
    a = {b.data, b.column_stride, b.row_stride};
    b = {old.data, old.column_stride, old.row_stride};
  }
  if (c_column != 1 && n != 1) {
    const BufferRef scratch = allocate(static_cast<std::size_t>(m * n) * sizeof(T));
    T* dense = reinterpret_cast<T*>(scratch->data());
    one_product(kernels, m, n, k, a, b, dense, n, 1, parallel);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * c_row + j * c_column] = dense[i * n + j];
    return;
  }
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_row, n, T{0});
    return;
  }
  Product<T>(kernels, m, n, k, a, b, c, c_row).run(parallel);
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

template <class T>
void product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row_stride,
             int64_t c_column_stride) {
  if (m == 0 || n == 0) return;
  const FloatMode mode;
  one_product(kernels<T>(), m, n, k, a, b, c, c_row_stride, c_column_stride, true);
}

template <class T>
void batched_product(std::span<const BatchDim> batch, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                     int64_t c_row_stride, int64_t c_column_stride) {
  int64_t count = 1;
  for (const BatchDim& d : batch) count *= d.size;
  if (m == 0 || n == 0 || count == 0) return;
  const FloatMode mode;
  const Kernels<T>& table = kernels<T>();
  const auto one = [&](int64_t index, bool parallel) {
    const T *pa = a.data, *pb = b.data;
    T* pc = c;
    for (std::size_t d = batch.size(); d-- > 0; index /= batch[d].size) {
      const int64_t i = index % batch[d].size;
      pa += i * batch[d].a_stride, pb += i * batch[d].b_stride, pc += i * batch[d].c_stride;
    }
    one_product(table, m, n, k, Matrix<T>{pa, a.row_stride, a.column_stride},
                Matrix<T>{pb, b.row_stride, b.column_stride}, pc, c_row_stride, c_column_stride, parallel);
  };
  const int64_t work = m * n * std::max<int64_t>(k, 1);
  // Many products: each on one thread. Few large ones: one after the other, each on all of them.
  if (count >= 2 * threads() || work < parallel_work) {
    const int64_t grain = std::max<int64_t>(1, std::min(count / (4 * threads()), parallel_work / work + 1));
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one(i, false);
    };
    if (count * work < parallel_work) body(0, count);
    else parallel_for(count, grain, body);
  } else {
    for (int64_t i = 0; i < count; ++i) one(i, true);
  }
}

template void product(int64_t, int64_t, int64_t, Matrix<float>, Matrix<float>, float*, int64_t, int64_t);
template void product(int64_t, int64_t, int64_t, Matrix<double>, Matrix<double>, double*, int64_t, int64_t);
template void batched_product(std::span<const BatchDim>, int64_t, int64_t, int64_t, Matrix<float>, Matrix<float>,
                              float*, int64_t, int64_t);
template void batched_product(std::span<const BatchDim>, int64_t, int64_t, int64_t, Matrix<double>, Matrix<double>,
                              double*, int64_t, int64_t);

}  // namespace anew
