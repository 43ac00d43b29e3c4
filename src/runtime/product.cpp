// How a product is cut: panels of a few rows, column panels of two vectors (of fewer rows: more), k in blocks of 256;
// when operands are read where they lie and when they are packed, what is fetched for that meanwhile; what the threads
// share out.
// Invariant: every element of c is made by the kernels in the order of product.h. All choices here are rules over
// shape, strides, the second cache and the number of threads, never over time, and none of them can change a bit.
#include "runtime/product.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
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
constexpr int64_t slab_columns = 1024;  // of b, met by all rows before the next ones
// Rows of a for which packing b does not pay: where rows of b share a set of the first cache, and where they do not.
constexpr int64_t few_rows = 48, some_rows = 128;
constexpr int64_t large_result = 4 << 20;     // bytes of c that its tiles fetch from afar
constexpr int64_t parallel_work = 256 << 10;  // multiplications below which a second thread does not pay
// The workspace of a thread: a column panel of b, then rows of a; or sums that wait.
constexpr int64_t panel_bytes = 32 << 10;
constexpr int64_t workspace_bytes = workspace_half;
constexpr int64_t packing_bytes = workspace_bytes - panel_bytes;

std::atomic<int> forced_isa{-1};
std::atomic<int64_t> forced_cache{0};

// Bytes that shall stay in the second cache of a core; beyond 1 MiB more of it gains nothing.
struct Blocking {
  int64_t in_place;  // an operand that may be read where it lies
  int64_t packed;    // rows of a, packed at a time
};

Blocking blocking() {
  const int64_t cache = std::min<int64_t>(product_cache(), 1 << 20);
  return {std::max<int64_t>(cache / 4, 16 << 10), std::clamp<int64_t>(cache / 2, 16 << 10, packing_bytes)};
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

// to[k * to_k + i] = from[i * stride + k * k_stride] for i < count.
template <class T>
void pack_panel(const Kernels<T>& kernels, int64_t count, int64_t depth, const T* from, int64_t stride,
                int64_t k_stride, T* to, int64_t to_k) {
  const int64_t lanes = kernels.lanes;
  if (stride == 1) {
    kernels.copy(count, depth, from, k_stride, to, to_k);
  } else if (k_stride == 1) {
    // From the back: a square of fewer rows may write into the next k, which the squares before it then set right.
    for (int64_t i = (count - 1) / lanes * lanes; i >= 0; i -= lanes)
      kernels.transpose(std::min(lanes, count - i), depth, from + i * stride, stride, to + i, to_k);
  } else {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = 0; i < count; ++i) to[k * to_k + i] = from[i * stride + k * k_stride];
  }
}

// One product with unit column stride of c.
template <class T>
class Product {
 public:
  Product(const Kernels<T>& kernels, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row,
          bool parallel, bool onto, ProductEpilogue* epilogue = nullptr)
      : epilogue_(epilogue), kernels_(kernels), m_(m), n_(n), k_(k), a_(a), b_(b), c_(c), c_row_(c_row), onto_(onto) {
    parallel_ = parallel && m * n >= parallel_work / k && threads() > 1;
    const int64_t lanes = kernels.lanes;
    const bool large = n * k * int64_t{sizeof(T)} > blocking_.in_place;
    pack_b_ =
        b.column_stride != 1 || (m > few_rows && (n < lanes || crowded(k, b.row_stride))) || (m > some_rows && large);
    dot_ = m == 1 && b.row_stride == 1 && b.column_stride != 1;
    stream_ = !pack_b_ && large;
    int64_t vectors = n <= lanes ? 1 : 2;
    panels_ = ceil_div(m, kernels.rows);
    if (!pack_b_ && m <= some_rows && n > 2 * lanes) {
      // A vector of b that is read where it lies serves fewer rows of wider tiles; the threads' shares are cut evenly.
      panels_ = ceil_div(m, kernels.rows_of(3));
      const int64_t all = ceil_div(ceil_div(n, lanes), parallel_ ? threads() : 1);
      vectors = ceil_div(all, ceil_div(all, kernels.vectors_of(ceil_div(m, panels_))));
    }
    height_ = m / panels_;
    taller_ = m % panels_;
    width_ = lanes * vectors;
    blocked_ = pack_b_ && n > 2 * width_ && height_ >= kernels.fewest_packed(kernels.rows) && !dot_;
    pack_a_ = blocked_ && (k > block || a.column_stride != 1 || m * n * int64_t{sizeof(T)} > large_result ||
                           crowded(height_, a.row_stride));
  }

  void run() {
    if (!parallel_) return part(0, panels_, 0, n_);
    const Grid grid = cut();
    const int64_t column_panels = ceil_div(n_, width_);
    parallel_for(grid.rows * grid.columns, 1, [&](int64_t i, int64_t) {
      const int64_t r = i % grid.rows, c = i / grid.rows;
      part(panels_ * r / grid.rows, panels_ * (r + 1) / grid.rows, column_panels * c / grid.columns * width_,
           std::min(n_, column_panels * (c + 1) / grid.columns * width_));
    });
  }

 private:
  struct Grid {
    int64_t rows, columns;
  };
  // What is being worked on: rows of a that are packed, for a phase of k.
  struct Piece {
    int64_t first, last, k_begin, k_end;  // row panels, k
    T* rows;
  };

  // Lines whose addresses are pages apart share one set of the first cache, and drive each other out.
  static bool crowded(int64_t lines, int64_t stride) {
    constexpr int64_t page = 4096, few = 8;
    return lines > few && stride != 0 && stride * int64_t{sizeof(T)} % page == 0;
  }

  static T* workspace() { return reinterpret_cast<T*>(product_workspace()); }
  static T* packing() { return reinterpret_cast<T*>(product_workspace() + panel_bytes); }

  int64_t row_of(int64_t panel) const { return panel * height_ + std::min(panel, taller_); }
  // Row panels whose packed block of k stays in the second cache.
  int64_t most_panels() const {
    return std::max<int64_t>(1, blocking_.packed / int64_t{sizeof(T)} / block / (height_ + (taller_ > 0)));
  }

  // As many parts for each thread, of the least cost: what is multiplied, and what is packed for it.
  Grid cut() const {
    const int64_t column_panels = ceil_div(n_, width_), count = threads();
    const int64_t fewest = blocked_ ? ceil_div(panels_, most_panels()) : 1;
    Grid best{1, 1};
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t r = fewest; r < fewest + count && r <= panels_; ++r) {
      const int64_t c = std::min(count / std::gcd(r, count), column_panels);
      const int64_t rows = ceil_div(panels_, r) * (height_ + (taller_ > 0)),
                    columns = ceil_div(column_panels, c) * width_;
      const int64_t cost = ceil_div(r * c, count) * (rows * columns + (pack_a_ ? 16 : 4) * rows + 8 * columns);
      if (cost < least) least = cost, best = {r, c};
    }
    return best;
  }

  // Some row panels by some columns, by one thread, in its own workspace.
  void part(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    if (dot_) dot(begin, end);
    else if (stream_) stream(first, last, begin, end);
    else if (!blocked_) columns({first, last, 0, k_, nullptr}, begin, end);
    else return blocked_part(first, last, begin, end);
    finish(first, last, begin, end);
  }

  void finish(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    if (epilogue_) epilogue_->tile(row_of(first), row_of(last) - row_of(first), begin, end - begin, n_);
  }

  // The rows in blocks whose part of k stays in the second cache, the columns in slabs whose b may stay in the third.
  void blocked_part(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    const int64_t row_panels = last - first, column_panels = ceil_div(end - begin, width_);
    const int64_t most = most_panels(), blocks = ceil_div(row_panels, most),
                  slabs = ceil_div(end - begin, slab_columns);
    const int64_t k_blocks = ceil_div(k_, block);
    const int64_t phases = ceil_div(k_blocks, std::max<int64_t>(1, most / ceil_div(row_panels, blocks)));
    for (int64_t s = 0; s < slabs; ++s) {
      const int64_t from = begin + column_panels * s / slabs * width_;
      const int64_t to = std::min(end, begin + column_panels * (s + 1) / slabs * width_);
      for (int64_t f = 0; f < phases; ++f)
        for (int64_t r = 0; r < blocks; ++r) {
          const Piece piece{first + row_panels * r / blocks, first + row_panels * (r + 1) / blocks,
                            k_blocks * f / phases * block, std::min(k_, k_blocks * (f + 1) / phases * block),
                            pack_a_ && to - from > 2 * width_ ? packing() : nullptr};
          columns(piece, from, to);
          if (piece.k_end == k_) finish(piece.first, piece.last, from, to);
        }
    }
  }

  bool starts(int64_t k) const { return k == 0 && !onto_; }  // whether the block at k is the first of c
  // Of the block that starts at k: its length, its packed rows of a.
  static int64_t depth_at(const Piece& piece, int64_t k) { return std::min(block, piece.k_end - k); }
  T* packed_rows(const Piece& piece, int64_t row, int64_t k) const {
    const int64_t begin = row_of(piece.first), end = row_of(piece.last);
    return piece.rows + (k - piece.k_begin) * (end - begin) + (row - begin) * depth_at(piece, k);
  }

  // Neighbouring elements, `count` at each of `runs` places that are `stride` apart, or none where these are the
  // neighbours.
  struct Lines {
    Ahead ahead;
    int64_t all = 0;
  };
  static Lines lines(const T* from, int64_t runs, int64_t stride, int64_t count, int64_t step) {
    if (step != 1 && stride == 1) std::swap(runs, count), std::swap(stride, step);
    if (step != 1) return {};
    const int64_t bytes = count * int64_t{sizeof(T)}, line = Ahead::line_bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const bool aligned = address % line == 0 && stride * int64_t{sizeof(T)} % line == 0;
    const int64_t each = ceil_div(bytes, line) + !aligned;
    return {{reinterpret_cast<const char*>(from), stride * int64_t{sizeof(T)}, each, 0, each}, runs * each};
  }
  // Of b: what the column panel at j is at k, or what comes behind it.
  Lines next_columns(const Piece& piece, int64_t j, int64_t k, int64_t end) const {
    if (k >= piece.k_end) k = piece.k_begin, j += width_;
    if (j >= end || !pack_b_) return {};
    return lines(b_.data + k * b_.row_stride + j * b_.column_stride, depth_at(piece, k), b_.row_stride,
                 std::min(width_, end - j), b_.column_stride);
  }
  // Of a: a row panel at k.
  Lines next_rows(int64_t panel, int64_t k, int64_t depth) const {
    return lines(a_.data + row_of(panel) * a_.row_stride + k * a_.column_stride, row_of(panel + 1) - row_of(panel),
                 a_.row_stride, depth, a_.column_stride);
  }

  // Column panels one after the other; the first one packs the rows on the way.
  void columns(const Piece& piece, int64_t begin, int64_t end) const {
    for (int64_t j = begin; j < end; j += width_)
      for (int64_t k = piece.k_begin; k < piece.k_end; k += block)
        column(piece, j, std::min(width_, end - j), k, j == begin, next_columns(piece, j, k + block, end));
  }

  // All row panels against one column panel and the block that starts at k.
  void column(const Piece& piece, int64_t j, int64_t columns, int64_t k, bool first, Lines next) const {
    const Update update = starts(k) ? Update::set : Update::add;
    const int64_t vectors = ceil_div(columns, kernels_.lanes), depth = depth_at(piece, k), n = piece.last - piece.first;
    const bool whole = pack_b_ || columns == vectors * kernels_.lanes;
    const T* b = b_.data + k * b_.row_stride + j * b_.column_stride;
    if (pack_b_) {
      pack_panel(kernels_, columns, depth, b, b_.column_stride, b_.row_stride, workspace(), width_);
      b = workspace();
    }
    const int64_t b_k = pack_b_ ? width_ : b_.row_stride;
    for (int64_t p = piece.first, i = 0; p < piece.last; ++p, ++i) {
      const int64_t row = row_of(p), rows = row_of(p + 1) - row;
      const T* a = a_.data + row * a_.row_stride + k * a_.column_stride;
      T* c = c_ + row * c_row_ + j;
      if (!piece.rows) {
        kernels_.tile[vectors][whole][rows](depth, a, a_.row_stride, a_.column_stride, b, b_k, c, c_row_, columns,
                                            update);
        continue;
      }
      T* packed = packed_rows(piece, row, k);
      next.ahead.now = next.all * (i + 1) / n - next.all * i / n;
      if (first) {
        pack_panel(kernels_, rows, depth, a, a_.row_stride, a_.column_stride, packed, rows);
        Lines more = p + 1 < piece.last ? next_rows(p + 1, k, depth) : next;
        more.ahead.now = more.all;
        kernels_.packed[vectors][whole][rows](depth, packed, b, b_k, c, c_row_, columns, update, more.ahead);
      } else {
        kernels_.packed[vectors][whole][rows](depth, packed, b, b_k, c, c_row_, columns, update, next.ahead);
      }
    }
  }

  void dot(int64_t begin, int64_t end) const {
    for (int64_t j = begin; j < end; j += 2 * kernels_.lanes)
      for (int64_t k = 0; k < k_; k += block)
        kernels_.dot(std::min(block, k_ - k), a_.data + k * a_.column_stride, a_.column_stride,
                     b_.data + k + j * b_.column_stride, b_.column_stride, c_ + j,
                     std::min<int64_t>(2 * kernels_.lanes, end - j), starts(k) ? Update::set : Update::add);
  }

  // A few rows against a large b: some rows of b at a time, so that memory is read in order (one row of a reads no more
  // of them than a core fetches side by side); the chains wait in c or, from the second block on, in the workspace.
  void stream(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    const int64_t step = m_ == 1 ? 16 : block;
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
  bool dot_, stream_, blocked_, pack_a_, pack_b_, parallel_;
  Blocking blocking_ = blocking();
  bool onto_;  // c holds the sum of earlier k
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
               Matrix<T>{a.data, a.column_stride, a.row_stride}, turned.data(), m, false, false)
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
                 int64_t c_row, int64_t c_column, bool parallel, bool onto = false,
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
                    int64_t{1}, false, onto);
        each([](T& to, const T& from) { to = from; });
      }
    return;
  }
  if (epilogue && (onto || c_row != n || epilogue->elements != m * n)) epilogue = nullptr;
  if (epilogue) epilogue->taken = true;
  if (!onto && turns(kernels, m, n, k, a, b))
    return turned_product(kernels, m, n, k, a, b, c, c_row, parallel, epilogue);
  Product<T>(kernels, m, n, k, a, b, c, c_row, parallel, onto, epilogue).run();
}

// Windows, all of whose k are in `runs`, by columns of b that lie behind each other, `width` apart.
template <class T>
void windows_by_panel(const Kernels<T>& kernels, const Windows& w, std::span<const Run> runs, const T* a, const T* b,
                      int64_t columns, int64_t width, T* c, bool onto) {
  constexpr int64_t line_elements = 64 / sizeof(T);
  const auto& tiles = kernels.window[ceil_div(columns, kernels.lanes)];
  const int64_t panels = ceil_div(w.rows, kernels.rows);
  for (const Windows::Line& line : w.lines)
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t row = w.rows * p / panels, rows = w.rows * (p + 1) / panels - row;
      const T* from = a + line.a + row * w.a_row;
      T* to = c + line.c + row * w.c_row;
      for (int64_t r = 0; r < rows && !onto; ++r)
        for (int64_t j = 0; j < columns; j += line_elements) __builtin_prefetch(to + r * w.c_row + j, 1);
      int64_t k = 0;
      for (auto run = runs.begin(); run != runs.end();) {
        const auto first = run;
        const int64_t begin = k;
        while (run != runs.end() && k < begin + block) k += (run++)->k;
        tiles[rows](&*first, run - first, from, w.a_row, w.a_k, b + begin * width, width, to, w.c_row, columns,
                    onto || begin > 0 ? Update::add : Update::set);
      }
    }
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
void product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row_stride,
             int64_t c_column_stride, ProductEpilogue* epilogue) {
  if (m == 0 || n == 0) return;
  const FloatMode mode;
  one_product(kernels<T>(), m, n, k, a, b, c, c_row_stride, c_column_stride, true, false, epilogue);
}

template <class T>
void add_product(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c, int64_t c_row_stride,
                 int64_t c_column_stride) {
  if (m == 0 || n == 0) return;
  const FloatMode mode;
  one_product(kernels<T>(), m, n, k, a, b, c, c_row_stride, c_column_stride, true, true);
}

template <class T>
void window_product(const Windows& w, int64_t n, const T* a, Matrix<T> b, T* c, bool onto) {
  const FloatMode mode;
  const Kernels<T>& table = kernels<T>();
  const int64_t width = table.lanes * (n <= table.lanes ? 1 : 2);
  const bool is_panel = b.column_stride == 1 && b.row_stride == width && n == width;
  // Columns of many k at once, so that a tile of c is finished while it is near.
  const int64_t most = std::max(block, packing_bytes / 4 / int64_t{sizeof(T)} / width / block * block);
  for (int64_t j = 0; j < n; j += width) {
    int64_t k = 0;
    for (auto run = w.runs.begin(); run != w.runs.end();) {
      const auto first = run;
      const int64_t columns = std::min(width, n - j), begin = k;
      while (run != w.runs.end() && k < begin + most) k += (run++)->k;
      const T* panel = b.data + begin * b.row_stride + j * b.column_stride;
      if (!is_panel) {
        T* packed = reinterpret_cast<T*>(product_workspace());
        pack_panel(table, columns, k - begin, panel, b.column_stride, b.row_stride, packed, width);
        panel = packed;
      }
      windows_by_panel(table, w, std::span(first, run), a, panel, columns, width, c + j, onto || begin > 0);
    }
  }
}

template <class T>
int64_t window_columns() {
  return int64_t{2} * kernels<T>().lanes;
}

template <class T>
void copy_rows(int64_t rows, int64_t count, const T* from, int64_t from_row, T* to, int64_t to_row) {
  const Kernels<T>& table = kernels<T>();
  if (count >= table.lanes || to_row == count) return table.copy(count, rows, from, from_row, to, to_row);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_row, count, to + r * to_row);
}

template <class T>
void turn_rows(int64_t rows, int64_t count, const T* from, int64_t from_row, int64_t stride, T* to) {
  pack_panel(kernels<T>(), count, rows, from, stride, from_row, to, count);
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
  // Many products: each on one thread. Few: one after the other, each on all threads.
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

#define ANEW_PRODUCTS(T)                                                                                          \
  template void product(int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*, int64_t, int64_t, ProductEpilogue*); \
  template void add_product(int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*, int64_t, int64_t);               \
  template void window_product(const Windows&, int64_t, const T*, Matrix<T>, T*, bool);                           \
  template int64_t window_columns<T>();                                                                           \
  template void copy_rows(int64_t, int64_t, const T*, int64_t, T*, int64_t);                                      \
  template void turn_rows(int64_t, int64_t, const T*, int64_t, int64_t, T*);                                      \
  template void batched_product(std::span<const BatchDim>, int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*,   \
                                int64_t, int64_t)
ANEW_PRODUCTS(float);
ANEW_PRODUCTS(double);
#undef ANEW_PRODUCTS

}  // namespace anew
