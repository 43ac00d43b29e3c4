// Matching dimensions to a batch of matrix products. Neighbours whose strides allow it become one dimension. An operand
// whose contracting dimensions do not merge, or whose rows would be too short, is first copied to a dense one.
// Invariant: only the walk over memory is chosen here; the order of k never is.
#include "runtime/dot_general.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/base.h"
#include "runtime/buffer.h"
#include "runtime/pool.h"
#include "runtime/product.h"

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
  void push(const Axis& axis) { axes_[static_cast<std::size_t>(count_++)] = axis; }
  int count() const { return count_; }
  Axis& operator[](int i) { return axes_[static_cast<std::size_t>(i)]; }
  const Axis& operator[](int i) const { return axes_[static_cast<std::size_t>(i)]; }
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

Mapped map_dims(const DotOperand& a, const DotOperand& b, const DotDims& dims) {
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
  for (Axes* axes : {&map.columns, &map.rows, &map.batch})
    for (int i = axes->count(); i-- > 0;) {
      (*axes)[i].stride[result] = stride;
      stride *= (*axes)[i].size;
    }
  return map;
}

// Copies an operand to [batch, its rows or columns, k], dense, and changes its strides in the map accordingly.
template <class T>
const T* gather(const T* from, int which, Axes& batch, Axes& free, Axes& inner, BufferRef& hold) {
  Axes all;
  for (const Axes* axes : {&batch, &free, &inner})
    for (int i = 0; i < axes->count(); ++i) all.push((*axes)[i]);
  const int64_t total = all.size(), row = inner.size(), rows = total / row;
  hold = allocate(static_cast<std::size_t>(total) * sizeof(T));
  T* to = reinterpret_cast<T*>(hold->data());
  const int outer = all.count() - inner.count(), last = all.count() - 1;
  parallel_for(rows, std::max<int64_t>(1, (16 << 10) / row), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* p = from;
      int64_t index = r;
      for (int d = outer; d-- > 0; index /= all[d].size) p += index % all[d].size * all[d].stride[which];
      const Axis& axis = all[last];
      for (int64_t done = 0; done < row; done += axis.size) {
        const T* q = p;
        index = done / axis.size;
        for (int d = last; d-- > outer; index /= all[d].size) q += index % all[d].size * all[d].stride[which];
        for (int64_t i = 0; i < axis.size; ++i) to[r * row + done + i] = q[i * axis.stride[which]];
      }
    }
  });
  int64_t stride = 1;
  for (Axes* axes : {&inner, &free, &batch})
    for (int i = axes->count(); i-- > 0;) {
      (*axes)[i].stride[which] = stride;
      stride *= (*axes)[i].size;
    }
  return to;
}

bool merges(Axes axes, int which) {
  axes.merge({which});
  return axes.count() <= 1;
}

// Short rows that do not merge are not worth a product each.
bool too_short(Axes axes, int which) {
  axes.merge({which});
  return axes.count() > 1 && axes[axes.count() - 1].size < 16;
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
                    int64_t c_row) {
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
      std::fill_n(pc, n, T{});
      for (int64_t i = 0; i < k; ++i) {
        const T x = pa[i * a.column_stride];
        const T* row = pb + i * b.row_stride;
        if (b.column_stride == 1)
          for (int64_t j = 0; j < n; ++j) pc[j] = combine(pc[j], x, row[j]);
        else
          for (int64_t j = 0; j < n; ++j) pc[j] = combine(pc[j], x, row[j * b.column_stride]);
      }
    }
  });
}

template <class T>
void typed(const DotOperand& left, const DotOperand& right, const DotDims& dims, T* out) {
  Mapped map = map_dims(left, right, dims);
  const int64_t count = map.batch.size() * map.rows.size() * map.columns.size();
  if (count == 0) return;
  if (map.inner.size() == 0) {
    std::fill_n(out, count, T{});
    return;
  }
  const T* a = static_cast<const T*>(left.data);
  const T* b = static_cast<const T*>(right.data);
  BufferRef hold_a, hold_b;
  if (!merges(map.inner, lhs) || too_short(map.rows, lhs)) a = gather(a, lhs, map.batch, map.rows, map.inner, hold_a);
  if (!merges(map.inner, rhs) || too_short(map.columns, rhs))
    b = gather(b, rhs, map.batch, map.columns, map.inner, hold_b);

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
    list[static_cast<std::size_t>(i)] = {batch[i].size, batch[i].stride[lhs], batch[i].stride[rhs],
                                         batch[i].stride[result]};
  const std::span<const BatchDim> batches(list.data(), static_cast<std::size_t>(batch.count()));
  const Matrix<T> ma{a, m.stride[lhs], k.stride[lhs]}, mb{b, k.stride[rhs], n.stride[rhs]};
  if constexpr (std::is_floating_point_v<T>)
    batched_product(batches, m.size, n.size, k.size, ma, mb, out, m.stride[result], 1);
  else plain_products(batches, m.size, n.size, k.size, ma, mb, out, m.stride[result]);
}

}  // namespace

void dot_general(DType dtype, const DotOperand& left, const DotOperand& right, const DotDims& dims, void* out) {
  switch (dtype) {
    case f32: return typed(left, right, dims, static_cast<float*>(out));
    case f64: return typed(left, right, dims, static_cast<double*>(out));
    // Unsigned, because there wrapping around is defined; the bits are those of the signed ones.
    case i32:
    case u32: return typed(left, right, dims, static_cast<std::uint32_t*>(out));
    case i64: return typed(left, right, dims, static_cast<std::uint64_t*>(out));
    case bool_: return typed(left, right, dims, static_cast<bool*>(out));
    default: throw InternalError(fmt::format("no dot_general of {}", name_of(dtype)));
  }
}

}  // namespace anew
