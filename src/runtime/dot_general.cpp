// Matching dimensions to a batch of matrix products. Neighbours whose strides allow it become one dimension. Where
// contracting dimensions do not merge, or rows would be too short, parts of the operands are copied to dense ones, as
// much at a time as a fixed part of the scratch holds.
// Invariant: only the walk over memory is chosen here; the order of k never is, and k is cut at multiples of 256 only.
#include "runtime/dot_general.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "runtime/pool.h"
#include "runtime/product.h"
#include "runtime/product_kernels.h"
#include "runtime/workspace.h"

namespace anew {
namespace {

using std::int64_t;

// A dimension with its stride in up to three arrays: lhs, rhs, out.
struct Axis {
  int64_t size;
  int64_t stride[3];
};

class Axes {
 public:
  Axes() = default;
  Axes(const Axes& other) { *this = other; }
  Axes& operator=(const Axes& other) {  // only those there are: a small product takes less time than the others
    count_ = other.count_;
    std::copy_n(other.axes_.begin(), count_, axes_.begin());
    return *this;
  }
  void push(const Axis& axis) { axes_[count_++] = axis; }
  int count() const { return count_; }
  Axis& operator[](int i) { return axes_[i]; }
  const Axis& operator[](int i) const { return axes_[i]; }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < count_; ++i) n *= (*this)[i].size;
    return n;
  }
  // Drops dimensions of size 1 and joins neighbours that are one dimension in every array of `arrays`.
  void merge(std::initializer_list<int> arrays) {
    int kept = 0;
    for (int i = 0; i < count_; ++i) {
      const Axis axis = (*this)[i];
      if (axis.size == 1) continue;
      if (kept > 0 && std::all_of(arrays.begin(), arrays.end(),
                                  [&](int s) { return (*this)[kept - 1].stride[s] == axis.stride[s] * axis.size; })) {
        Axis& joined = (*this)[kept - 1];
        joined.size *= axis.size;
        std::copy(axis.stride, axis.stride + 3, joined.stride);
      } else {
        (*this)[kept++] = axis;
      }
    }
    count_ = kept;
  }

 private:
  std::array<Axis, 2 * Shape::max_ndim> axes_;
  int count_ = 0;
};

constexpr int lhs = 0, rhs = 1, result = 2;

struct Mapped {
  Axes batch, rows, columns, inner;
};

bool contains(std::span<const int> list, int d) { return std::find(list.begin(), list.end(), d) != list.end(); }

// `out`: strides of the result; none: row-major.
Mapped map_dims(const DotOperand& a, const DotOperand& b, const DotDims& dims, const Shape* out = nullptr) {
  Mapped map;
  for (std::size_t i = 0; i < dims.lhs_batch.size(); ++i)
    map.batch.push({a.shape[dims.lhs_batch[i]], {a.strides[dims.lhs_batch[i]], b.strides[dims.rhs_batch[i]], 0}});
  for (int d = 0; d < a.shape.ndim(); ++d)
    if (!contains(dims.lhs_batch, d) && !contains(dims.lhs_contract, d))
      map.rows.push({a.shape[d], {a.strides[d], 0, 0}});
  for (int d = 0; d < b.shape.ndim(); ++d)
    if (!contains(dims.rhs_batch, d) && !contains(dims.rhs_contract, d))
      map.columns.push({b.shape[d], {0, b.strides[d], 0}});
  for (std::size_t i = 0; i < dims.lhs_contract.size(); ++i)
    map.inner.push(
        {a.shape[dims.lhs_contract[i]], {a.strides[dims.lhs_contract[i]], b.strides[dims.rhs_contract[i]], 0}});
  if (map.inner.count() == 0) map.inner.push({1, {0, 0, 0}});
  int64_t stride = 1;
  int last = out ? out->ndim() : 0;
  for (Axes* axes : {&map.columns, &map.rows, &map.batch})
    for (int i = axes->count(); i-- > 0;) {
      (*axes)[i].stride[result] = out ? (*out)[--last] : stride;
      stride *= (*axes)[i].size;
    }
  return map;
}

bool merges(const Axes& all, int which) {
  if (all.count() <= 1) return true;
  Axes axes = all;
  axes.merge({which});
  return axes.count() <= 1;
}

constexpr int64_t short_row = 16;

// Short rows that do not merge are not worth a product each.
bool too_short(const Axes& all, int which) {
  if (all.count() <= 1) return false;
  Axes axes = all;
  axes.merge({which});
  return axes.count() > 1 && axes[axes.count() - 1].size < short_row;
}

// The last axis of a list becomes the dimension of the matrix, the others go to the batch.
Axis split_last(Axes& axes, std::initializer_list<int> arrays, Axes& batch) {
  axes.merge(arrays);
  for (int i = 0; i + 1 < axes.count(); ++i) batch.push(axes[i]);
  return axes.count() ? axes[axes.count() - 1] : Axis{1, {0, 0, 0}};
}

template <class T>
T combine(T acc, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) return acc | (x & y);
  else return static_cast<T>(acc + x * y);
}

// Integers and bool: the order cannot show, so the plain loops that read rows.
template <class T>
void plain_products(std::span<const BatchDim> batch, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
                    int64_t c_row, int64_t c_column, bool onto) {
  int64_t count = m;
  for (const BatchDim& d : batch) count *= d.size;
  const int64_t grain = std::max<int64_t>(1, (64 << 10) / std::max<int64_t>(1, n * k));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T *pa = a.data + r % m * a.row_stride, *pb = b.data;
      T* pc = c + r % m * c_row;
      int64_t index = r / m;
      for (std::size_t d = batch.size(); d-- > 0; index /= batch[d].size) {
        const int64_t i = index % batch[d].size;
        pa += i * batch[d].a_stride, pb += i * batch[d].b_stride, pc += i * batch[d].c_stride;
      }
      if (!onto)
        for (int64_t j = 0; j < n; ++j) pc[j * c_column] = T{};
      for (int64_t i = 0; i < k; ++i) {
        const T x = pa[i * a.column_stride];
        const T* row = pb + i * b.row_stride;
        if (c_column != 1)
          for (int64_t j = 0; j < n; ++j) pc[j * c_column] = combine(pc[j * c_column], x, row[j * b.column_stride]);
        else if (b.column_stride == 1)
          for (int64_t j = 0; j < n; ++j) pc[j] = combine(pc[j], x, row[j]);
        else
          for (int64_t j = 0; j < n; ++j) pc[j] = combine(pc[j], x, row[j * b.column_stride]);
      }
    }
  });
}

// What is copied at a time, where operands are copied: batches of whole products or, of one that is larger, some rows,
// columns and k. Shapes alone decide.
struct Block {
  int64_t batch, rows, columns, inner;

  static Block of(int64_t batch, int64_t rows, int64_t columns, int64_t inner, std::size_t element) {
    constexpr int64_t copied_bytes = 2 << 20;  // of each operand
    const int64_t room = copied_bytes / static_cast<int64_t>(element), longer = std::max(rows, columns);
    if (longer * inner <= room) return {std::min(batch, room / (longer * inner)), rows, columns, inner};
    const int64_t depth = std::max<int64_t>(2, room / longer / product_block) * product_block;
    const int64_t k = std::min(inner, depth), lines = room / k;
    return {1, std::min(rows, lines), std::min(columns, lines), k};
  }
};

// One operand of a product in blocks: read where it lies if one stride each leads through its batches, lines and k.
template <class T>
class Side {
 public:
  Side(const T* data, int which, Axes batch, Axes lines, Axes inner) : data_(data), which_(which) {
    batch.merge({which}), lines.merge({which}), inner.merge({which});
    dense_ = batch.count() <= 1 && lines.count() <= 1 && inner.count() <= 1;
    parts_[0] = batch, parts_[1] = lines, parts_[2] = inner;
  }
  bool dense() const { return dense_; }

  struct Look {
    const T* data;
    int64_t batch, line, inner;  // strides
  };
  // Of `count` batches, lines and k from `first` on; what has to be copied is put at `to`.
  Look look(const int64_t (&first)[3], const int64_t (&count)[3], T* to) const {
    if (dense_) {
      int64_t stride[3], offset = 0;
      for (int i = 0; i < 3; ++i) {
        stride[i] = parts_[i].count() ? parts_[i][0].stride[which_] : 0;
        offset += first[i] * stride[i];
      }
      return {data_ + offset, stride[0], stride[1], stride[2]};
    }
    const Axes& inner = parts_[2];
    const int last = inner.count() - 1;
    const int64_t run = last < 0 ? 1 : inner[last].size, step = last < 0 ? 0 : inner[last].stride[which_];
    const int64_t lines = count[1], row = count[2];
    parallel_for(count[0] * lines, std::max<int64_t>(1, (16 << 10) / row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* p = data_ + offset(parts_[0], first[0] + r / lines) + offset(parts_[1], first[1] + r % lines);
        T* line = to + r * row;
        for (int64_t done = 0; done < row;) {
          const int64_t k = first[2] + done, n = std::min(row - done, run - k % run);
          const T* q = p + offset(inner, k);
          for (int64_t i = 0; i < n; ++i) line[done + i] = q[i * step];
          done += n;
        }
      }
    });
    return {to, lines * row, row, 1};
  }

 private:
  int64_t offset(const Axes& axes, int64_t index) const {
    int64_t sum = 0;
    for (int d = axes.count(); d-- > 0; index /= axes[d].size) sum += index % axes[d].size * axes[d].stride[which_];
    return sum;
  }
  const T* data_;
  int which_;
  Axes parts_[3];
  bool dense_;
};

template <class T>
void multiply(std::span<const BatchDim> batch, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T* c,
              int64_t c_row, int64_t c_column, bool onto) {
  if constexpr (!std::is_floating_point_v<T>) plain_products(batch, m, n, k, a, b, c, c_row, c_column, onto);
  else if (onto) add_product(m, n, k, a, b, c, c_row, c_column);
  else batched_product(batch, m, n, k, a, b, c, c_row, c_column);
}

// Where indices over some dimensions lie in the result. One stride leads through each `run` of them.
class OutputAxes {
 public:
  explicit OutputAxes(Axes axes) : axes_(axes) { axes_.merge({result}); }
  int64_t run() const { return axes_.count() ? last().size : 1; }
  int64_t stride() const { return axes_.count() ? last().stride[result] : 1; }
  // How many of `count` indices from `first` on are in the same run.
  int64_t in_run(int64_t first, int64_t count) const { return std::min(count, run() - first % run()); }
  int64_t of(int64_t index) const {
    int64_t sum = 0;
    for (int d = axes_.count(); d-- > 0; index /= axes_[d].size) sum += index % axes_[d].size * axes_[d].stride[result];
    return sum;
  }

 private:
  const Axis& last() const { return axes_[axes_.count() - 1]; }
  Axes axes_;
};

template <class T>
void in_blocks(const T* a, const T* b, const Mapped& map, T* out, Pieces pieces) {
  const int64_t batches = map.batch.size(), rows = map.rows.size(), columns = map.columns.size(), k = map.inner.size();
  const Side<T> left(a, lhs, map.batch, map.rows, map.inner), right(b, rhs, map.batch, map.columns, map.inner);
  const Block block = Block::of(batches, rows, columns, k, sizeof(T));
  T* left_copy = pieces.take<T>(block.batch * block.rows * block.inner);
  T* right_copy = pieces.take<T>(block.batch * block.columns * block.inner);
  const OutputAxes of_batch(map.batch), of_rows(map.rows), of_columns(map.columns);
  for (int64_t n = 0, count = 0; n < batches; n += count) {
    count = of_batch.in_run(n, std::min(block.batch, batches - n));
    for (int64_t r = 0, height = 0; r < rows; r += height) {
      height = of_rows.in_run(r, std::min(block.rows, rows - r));
      for (int64_t c = 0, width = 0; c < columns; c += width) {
        width = of_columns.in_run(c, std::min(block.columns, columns - c));
        for (int64_t i = 0; i < k; i += block.inner) {
          const int64_t depth = std::min(block.inner, k - i);
          const auto x = left.look({n, r, i}, {count, height, depth}, left_copy);
          const auto y = right.look({n, c, i}, {count, width, depth}, right_copy);
          const BatchDim batch{count, x.batch, y.batch, of_batch.stride()};
          multiply(std::span(&batch, 1), height, width, depth, Matrix<T>{x.data, x.line, x.inner},
                   Matrix<T>{y.data, y.inner, y.line}, out + of_batch.of(n) + of_rows.of(r) + of_columns.of(c),
                   of_rows.stride(), of_columns.stride(), i > 0);
        }
      }
    }
  }
}

// Whether there are strides with which the operands have to be copied.
bool may_copy(const Mapped& map) {
  const auto longer = [](const Axes& axes) {
    int n = 0;
    for (int i = 0; i < axes.count(); ++i) n += axes[i].size > 1;
    return n;
  };
  const auto short_end = [&](const Axes& axes) {
    int last = axes.count() - 1;
    while (last >= 0 && axes[last].size == 1) --last;
    return longer(axes) > 1 && axes[last].size < short_row;
  };
  return longer(map.inner) > 1 || short_end(map.rows) || short_end(map.columns);
}

// Whether operands with these strides have to be.
bool must_copy(const Mapped& map) {
  return !merges(map.inner, lhs) || too_short(map.rows, lhs) || !merges(map.inner, rhs) || too_short(map.columns, rhs);
}

template <class T>
std::size_t copied_bytes(const Mapped& map) {
  const int64_t batch = map.batch.size(), rows = map.rows.size(), columns = map.columns.size(), k = map.inner.size();
  if (batch * rows * columns * k == 0) return 0;
  const Block block = Block::of(batch, rows, columns, k, sizeof(T));
  return scratch_bytes<T>(block.batch * block.rows * block.inner) +
         scratch_bytes<T>(block.batch * block.columns * block.inner);
}

template <class T>
void typed(const DotOperand& left, const DotOperand& right, const DotDims& dims, T* out, std::byte* scratch,
           const Shape* out_strides, ProductEpilogue* epilogue) {
  Mapped map = map_dims(left, right, dims, out_strides);
  const int64_t count = map.batch.size() * map.rows.size() * map.columns.size();
  const bool adds = epilogue && epilogue->kind != ProductEpilogue::Kind::tiles;
  if (count == 0 || (adds && (map.inner.size() == 0 || must_copy(map)))) return;
  if (map.inner.size() == 0) {
    std::fill_n(out, count, T{});
    return;
  }
  const T* a = static_cast<const T*>(left.data);
  const T* b = static_cast<const T*>(right.data);
  if (must_copy(map)) return in_blocks(a, b, map, out, Pieces(scratch));

  map.inner.merge({lhs, rhs});
  const Axis k = map.inner.count() ? map.inner[0] : Axis{1, {0, 0, 0}};
  Axes batch = map.batch;
  Axis m = split_last(map.rows, {lhs, result}, batch);
  const Axis n = split_last(map.columns, {rhs, result}, batch);
  batch.merge({lhs, rhs, result});
  // A batch over one and the same rhs is more rows.
  if (batch.count() > 0) {
    Axis& last = batch[batch.count() - 1];
    const bool follows = last.stride[lhs] == m.size * m.stride[lhs] && last.stride[result] == m.size * m.stride[result];
    if (last.stride[rhs] == 0 && (m.size == 1 || follows)) {
      if (m.size == 1) m = {1, {last.stride[lhs], 0, last.stride[result]}};
      m.size *= std::exchange(last.size, 1);
      batch.merge({lhs, rhs, result});
    }
  }
  std::array<BatchDim, 2 * Shape::max_ndim> list;
  for (int i = 0; i < batch.count(); ++i)
    list[i] = {batch[i].size, batch[i].stride[lhs], batch[i].stride[rhs], batch[i].stride[result]};
  const std::span<const BatchDim> batches(list.data(), static_cast<std::size_t>(batch.count()));
  const Matrix<T> ma{a, m.stride[lhs], k.stride[lhs]}, mb{b, k.stride[rhs], n.stride[rhs]};
  const int64_t row = m.stride[result], column = n.size == 1 ? 1 : n.stride[result];
  if constexpr (std::is_floating_point_v<T>) {
    if (batches.empty() && !adds) return product(m.size, n.size, k.size, ma, mb, out, row, column, epilogue);
    // A product of more blocks of k would be added block by block.
    if (batches.empty() && k.size <= product_block) {
      epilogue->taken = true;
      if (epilogue->kind == ProductEpilogue::Kind::adds) add_product(m.size, n.size, k.size, ma, mb, out, row, column);
    }
  }
  if (adds) return;
  multiply(batches, m.size, n.size, k.size, ma, mb, out, row, column, false);
}

}  // namespace

std::size_t dot_scratch(DType dtype, const Shape& left, const Shape& right, const DotDims& dims) {
  const Mapped map = map_dims({nullptr, left, left}, {nullptr, right, right}, dims);  // any strides: only sizes count
  if (!may_copy(map)) return 0;
  return visit_arithmetic(dtype, [&]<class T>(T) { return copied_bytes<T>(map); });
}

std::size_t dot_scratch_of(DType dtype, const DotOperand& left, const DotOperand& right, const DotDims& dims) {
  const Mapped map = map_dims(left, right, dims);
  if (!must_copy(map)) return 0;
  return visit_arithmetic(dtype, [&]<class T>(T) { return copied_bytes<T>(map); });
}

void dot_general(DType dtype, const DotOperand& left, const DotOperand& right, const DotDims& dims, void* out,
                 std::byte* scratch, const Shape* out_strides, ProductEpilogue* epilogue) {
  visit_arithmetic(dtype,
                   [&]<class T>(T) { typed(left, right, dims, static_cast<T*>(out), scratch, out_strides, epilogue); });
}

bool dot_writes(const Shape& left, const Shape& right, const DotDims& dims, const Shape& out_strides) {
  Mapped map = map_dims({nullptr, left, left}, {nullptr, right, right}, dims, &out_strides);
  if (too_short(map.rows, result) || too_short(map.columns, result)) return false;
  map.batch.merge({result});
  for (int i = 0; i < map.batch.count(); ++i)
    if (map.batch[i].stride[result] == 1) return false;  // neither rows nor columns of the product would be dense
  return true;
}

}  // namespace anew
