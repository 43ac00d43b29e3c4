// Running operations. Neighbours along the last other axis go together, so that a running sum down the columns of a
// matrix reads rows.
#include "runtime/running.h"

#include <algorithm>
#include <type_traits>

#include "base/dtype.h"
#include "runtime/pool.h"

namespace anew {
namespace {

template <class T>
T wrapped_sum(T a, T b) {
  using U = typename Wrapping<T>::type;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T>
T wrapped_product(T a, T b) {
  using U = typename Wrapping<T>::type;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}

// Lines along `axis`, in groups of neighbours along `inner` (-1: lines alone).
struct Groups {
  const Shape& shape;
  int axis, inner;
  std::int64_t count = 1;

  Groups(const Shape& shape, int axis)
      : shape(shape), axis(axis), inner(axis == shape.ndim() - 1 ? -1 : shape.ndim() - 1) {
    for (int i = 0; i < shape.ndim(); ++i)
      if (i != axis && i != inner) count *= shape[i];
  }
  std::int64_t width() const { return inner < 0 ? 1 : shape[inner]; }
  std::int64_t start(std::int64_t group, const Shape& strides) const {
    std::int64_t offset = 0;
    for (int i = shape.ndim(); i-- > 0;) {
      if (i == axis || i == inner) continue;
      offset += group % shape[i] * strides[i];
      group /= shape[i];
    }
    return offset;
  }
  std::int64_t stride(const Shape& strides) const { return inner < 0 ? 0 : strides[inner]; }
};

// line(group, first neighbour, end) on several threads: groups are shared out, and neighbours where groups are few.
template <class F>
void for_each_group(const Groups& g, F line) {
  constexpr std::int64_t worth = 1 << 14;  // elements
  const std::int64_t length = std::max<std::int64_t>(1, g.shape[g.axis]), width = g.width();
  if (g.count * width == 0) return;
  const std::int64_t columns = std::clamp<std::int64_t>(worth / length, std::min<std::int64_t>(width, 64), width);
  const std::int64_t pieces = (width + columns - 1) / columns;
  const std::int64_t grain = std::max<std::int64_t>(1, worth / (length * columns));
  parallel_for(g.count * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % pieces * columns;
      line(i / pieces, first, std::min(width, first + columns));
    }
  });
}

template <class T, class Step>
void run_typed(const Strided& x, int axis, bool reverse, const Strided& out, Step step) {
  const Groups g(x.shape, axis);
  const std::int64_t n = x.shape[axis];
  const T* in = reinterpret_cast<const T*>(x.data);
  T* to = reinterpret_cast<T*>(out.data);
  for_each_group(g, [&](std::int64_t group, std::int64_t first, std::int64_t end) {
    const std::int64_t xs = g.start(group, x.strides), os = g.start(group, out.strides), xw = g.stride(x.strides),
                       ow = g.stride(out.strides);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = reverse ? n - 1 - k : k, before = reverse ? i + 1 : i - 1;
      const std::int64_t xi = xs + i * x.strides[axis], oi = os + i * out.strides[axis],
                         ob = os + before * out.strides[axis];
      for (std::int64_t w = first; w < end; ++w)
        to[oi + w * ow] = k == 0 ? in[xi + w * xw] : step(to[ob + w * ow], in[xi + w * xw]);
    }
  });
}

template <class T>
void run_kind(Running kind, const Strided& x, int axis, bool reverse, const Strided& out) {
  switch (kind) {
    case Running::sum: return run_typed<T>(x, axis, reverse, out, [](T a, T b) { return wrapped_sum(a, b); });
    case Running::product: return run_typed<T>(x, axis, reverse, out, [](T a, T b) { return wrapped_product(a, b); });
    case Running::max:  // nan wins, the earlier of two equal values stays
      return run_typed<T>(x, axis, reverse, out, [](T a, T b) { return b > a || b != b ? b : a; });
    case Running::min: return run_typed<T>(x, axis, reverse, out, [](T a, T b) { return b < a || b != b ? b : a; });
  }
}

template <class T>
void recur_typed(const Strided& a, const Strided& b, int axis, bool reverse, const Strided& out) {
  const Groups g(a.shape, axis);
  const std::int64_t n = a.shape[axis];
  const T *factor = reinterpret_cast<const T*>(a.data), *term = reinterpret_cast<const T*>(b.data);
  T* to = reinterpret_cast<T*>(out.data);
  for_each_group(g, [&](std::int64_t group, std::int64_t first, std::int64_t end) {
    const std::int64_t as = g.start(group, a.strides), bs = g.start(group, b.strides), os = g.start(group, out.strides);
    const std::int64_t aw = g.stride(a.strides), bw = g.stride(b.strides), ow = g.stride(out.strides);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = reverse ? n - 1 - k : k, before = reverse ? i + 1 : i - 1;
      for (std::int64_t w = first; w < end; ++w) {
        T value = term[bs + i * b.strides[axis] + w * bw];
        if (k > 0)
          value = factor[as + i * a.strides[axis] + w * aw] * to[os + before * out.strides[axis] + w * ow] + value;
        to[os + i * out.strides[axis] + w * ow] = value;
      }
    }
  });
}

}  // namespace

void run_along(Running kind, const Strided& x, int axis, bool reverse, const Strided& out) {
  visit_computed(x.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) run_kind<T>(kind, x, axis, reverse, out);
  });
}

void recur_along(const Strided& a, const Strided& b, int axis, bool reverse, const Strided& out) {
  if (a.dtype == f32) recur_typed<float>(a, b, axis, reverse, out);
  else recur_typed<double>(a, b, axis, reverse, out);
}

}  // namespace anew
