// Running operations. Axes other than the one that is run along are merged where all arrays allow it. Neighbours along
// the innermost of them go together: a row at a time where they lie side by side, else a few lines at a time, so that
// one line need not wait for each of its own results.
#include "runtime/running.h"

#include <algorithm>
#include <array>
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

// Lines along an axis of several arrays of one shape, the result last.
template <std::size_t arrays>
class RunningLines {
 public:
  using Strides = std::array<std::int64_t, arrays>;
  struct Dim {
    std::int64_t count;
    Strides strides;
  };
  RunningLines(const std::array<const Strided*, arrays>& all, int axis) {
    const Shape& shape = all[0]->shape;
    along = dim(all, axis);
    for (int i = 0; i < shape.ndim(); ++i) {
      if (i == axis || shape[i] == 1) continue;
      const Dim d = dim(all, i);
      if (others.empty() || !runs_on(others.back(), d)) others.push_back(d);
      else others.back() = {others.back().count * d.count, d.strides};
    }
    if (others.empty()) others.push_back({1, {}});
    inner = others.back();
    others.pop_back();
    for (const Dim& d : others) groups *= d.count;
  }
  Strides start(std::int64_t group) const {
    Strides at{};
    for (std::size_t i = others.size(); i-- > 0; group /= others[i].count)
      for (std::size_t k = 0; k < arrays; ++k) at[k] += group % others[i].count * others[i].strides[k];
    return at;
  }
  bool side_by_side() const {
    return inner.count > 1 && std::all_of(inner.strides.begin(), inner.strides.end(), [](auto s) { return s == 1; });
  }
  // part(offsets, neighbours) on several threads: groups are shared out, and neighbours where groups are few.
  template <class F>
  void each_part(F part) const {
    constexpr std::int64_t worth = 1 << 15, least = 256;  // elements, neighbours
    const std::int64_t length = std::max<std::int64_t>(1, along.count), width = inner.count;
    if (groups * width == 0 || along.count == 0) return;
    const std::int64_t columns = std::clamp<std::int64_t>(worth / length, std::min(width, least), width);
    const std::int64_t pieces = (width + columns - 1) / columns;
    const std::int64_t grain = std::max<std::int64_t>(1, worth / (length * columns));
    parallel_for(groups * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i % pieces * columns;
        Strides at = start(i / pieces);
        for (std::size_t k = 0; k < arrays; ++k) at[k] += first * inner.strides[k];
        part(at, std::min(columns, width - first));
      }
    });
  }

  Dim along, inner;
  std::vector<Dim> others;  // outermost first
  std::int64_t groups = 1;

 private:
  static Dim dim(const std::array<const Strided*, arrays>& all, int axis) {
    Dim d{all[0]->shape[axis], {}};
    for (std::size_t k = 0; k < arrays; ++k) d.strides[k] = all[k]->strides[axis];
    return d;
  }
  static bool runs_on(const Dim& outer, const Dim& inner) {
    for (std::size_t k = 0; k < arrays; ++k)
      if (outer.strides[k] != inner.count * inner.strides[k]) return false;
    return true;
  }
};

// Neighbours that lie side by side, a row after the other.
template <class T, std::size_t inputs, class First, class Step>
void run_rows(std::array<const T*, inputs> in, T* out, std::int64_t length, std::int64_t width,
              const std::array<std::int64_t, inputs + 1>& stride, First first, Step step) {
  const auto row = [&](auto f, const T* __restrict before, T* __restrict to) {
    const T* __restrict a = in[0], * __restrict b = in[inputs - 1];
    for (std::int64_t w = 0; w < width; ++w) {
      if constexpr (inputs == 1) to[w] = f(before[w], a[w]);
      else to[w] = f(before[w], a[w], b[w]);
    }
  };
  row(first, in[0], out);  // there is nothing before, and it is not looked at
  for (std::int64_t i = 1; i < length; ++i) {
    const T* before = out;
    out += stride[inputs];
    for (std::size_t k = 0; k < inputs; ++k) in[k] += stride[k];
    row(step, before, out);
  }
}

// `count` lines at a time, each of which waits for its own results only.
template <int count, class T, std::size_t inputs, class First, class Step>
void run_lines(const std::array<const T*, inputs>& in, T* out, std::int64_t length,
               const std::array<std::int64_t, inputs + 1>& stride, const std::array<std::int64_t, inputs + 1>& next,
               First first, Step step) {
  T state[count];
  const auto value = [&](auto f, int l, std::int64_t i) {
    if constexpr (inputs == 1) return f(state[l], in[0][l * next[0] + i * stride[0]]);
    else return f(state[l], in[0][l * next[0] + i * stride[0]], in[1][l * next[1] + i * stride[1]]);
  };
  for (int l = 0; l < count; ++l) state[l] = T(), out[l * next[inputs]] = state[l] = value(first, l, 0);
  for (std::int64_t i = 1; i < length; ++i)
    for (int l = 0; l < count; ++l) out[l * next[inputs] + i * stride[inputs]] = state[l] = value(step, l, i);
}

// first(nothing, operands) is the first element of a line, step(element before, operands) each other one.
template <class T, std::size_t inputs, class First, class Step>
void run_all(const std::array<const Strided*, inputs + 1>& arrays, int axis, bool reverse, First first, Step step) {
  const RunningLines<inputs + 1> lines(arrays, axis);
  const std::int64_t length = lines.along.count;
  auto stride = lines.along.strides;
  lines.each_part([&](auto at, std::int64_t width) {
    auto by = stride;
    if (reverse)
      for (std::size_t k = 0; k <= inputs; ++k) at[k] += (length - 1) * by[k], by[k] = -by[k];
    std::array<const T*, inputs> in;
    for (std::size_t k = 0; k < inputs; ++k) in[k] = reinterpret_cast<const T*>(arrays[k]->data) + at[k];
    T* out = reinterpret_cast<T*>(arrays[inputs]->data) + at[inputs];
    if (lines.side_by_side()) return run_rows<T, inputs>(in, out, length, width, by, first, step);
    constexpr int some = 8;
    const auto next = lines.inner.strides;
    for (std::int64_t w = 0, n = 0; w < width; w += n) {
      n = w + some <= width ? some : 1;
      if (n == some) run_lines<some, T, inputs>(in, out, length, by, next, first, step);
      else run_lines<1, T, inputs>(in, out, length, by, next, first, step);
      for (std::size_t k = 0; k < inputs; ++k) in[k] += n * next[k];
      out += n * next[inputs];
    }
  });
}

template <class T>
void run_kind(Running kind, const Strided& x, int axis, bool reverse, const Strided& out) {
  const auto run = [&](auto step) { run_all<T, 1>({&x, &out}, axis, reverse, [](T, T b) { return b; }, step); };
  switch (kind) {
    case Running::sum: return run([](T a, T b) { return wrapped_sum(a, b); });
    case Running::product: return run([](T a, T b) { return wrapped_product(a, b); });
    // nan wins, the earlier of two equal values stays
    case Running::max: return run([](T a, T b) { return ((b > a) | (b != b)) ? b : a; });
    case Running::min: return run([](T a, T b) { return ((b < a) | (b != b)) ? b : a; });
  }
}

template <class T>
void recur_typed(const Strided& a, const Strided& b, int axis, bool reverse, const Strided& out) {
  run_all<T, 2>(
      {&a, &b, &out}, axis, reverse, [](T, T, T term) { return term; },
      [](T before, T factor, T term) { return factor * before + term; });
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
