// Running operations. Axes other than the one that is run along are merged where all arrays allow it. Neighbours along
// the innermost of them go together: a row at a time where they lie side by side, else a few lines at a time, so that
// one line need not wait for each of its own results: in the lanes of vectors where lines are dense. Each line keeps
// its order.
#include "runtime/running.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/dtype.h"
#include "runtime/lanes.h"
#include "runtime/pool.h"

namespace anew {
namespace {

// Of numbers or of vectors of T; integers wrap around.
template <class T, class V>
V wrapped_sum(V a, V b) {
  using U = std::conditional_t<std::is_same_v<T, V>, typename Wrapping<T>::type, LanesOf<typename Wrapping<T>::type>>;
  return (V)((U)a + (U)b);
}
template <class T, class V>
V wrapped_product(V a, V b) {
  using U = std::conditional_t<std::is_same_v<T, V>, typename Wrapping<T>::type, LanesOf<typename Wrapping<T>::type>>;
  return (V)((U)a * (U)b);
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

// `count` lines at a time, each of which waits for its own results only, from element `from` on. `state` has their
// results before it.
template <int count, class T, std::size_t inputs, class First, class Step>
void run_lines(const std::array<const T*, inputs>& in, T* out, std::int64_t from, std::int64_t length, T* state,
               const std::array<std::int64_t, inputs + 1>& stride, const std::array<std::int64_t, inputs + 1>& next,
               First first, Step step) {
  const auto value = [&](auto f, int l, std::int64_t i) {
    if constexpr (inputs == 1) return f(state[l], in[0][l * next[0] + i * stride[0]]);
    else return f(state[l], in[0][l * next[0] + i * stride[0]], in[1][l * next[1] + i * stride[1]]);
  };
  if (from == 0) {
    for (int l = 0; l < count; ++l) state[l] = T(), out[l * next[inputs]] = state[l] = value(first, l, 0);
    from = 1;
  }
  for (std::int64_t i = from; i < length; ++i)
    for (int l = 0; l < count; ++l) out[l * next[inputs] + i * stride[inputs]] = state[l] = value(step, l, i);
}

// As many lines as a vector has lanes, dense and each with a lane: blocks of some vectors of each line are turned, run,
// and turned back. Lines that are missing repeat the last. Several vectors at a time are a line of the cache, which
// may be gone when lines that are a power of two apart have been through.
template <bool reverse, class T, std::size_t inputs, class First, class Step>
struct RunLanes {
  using V = LanesOf<T>;
  static constexpr int width = LaneVector<T>::width;
  std::array<const T*, inputs> in;
  T* out;
  std::int64_t length, last;  // line
  std::array<std::int64_t, inputs + 1> next;
  First first;
  Step step;
  V state{};

  std::int64_t line(int l) const { return std::min<std::int64_t>(l, last); }
  // Elements from i on, in the order of the run; those of `some` vectors of each line.
  template <int some>
  [[gnu::flatten]] void block(std::int64_t i) {
    const std::int64_t low = reverse ? length - i - some * width : i;
    V v[inputs][some][width];
    for (std::size_t k = 0; k < inputs; ++k)
      for (int l = 0; l < width; ++l) {
        const T* from = in[k] + line(l) * next[k] + low;
        for (int s = 0; s < some; ++s) v[k][s][l] = load_lanes(from + s * width);
      }
    for (int s = 0; s < some; ++s) {
      const int at = reverse ? some - 1 - s : s;
      for (std::size_t k = 0; k < inputs; ++k) turn(v[k][at]);
      for (int j = 0; j < width; ++j) {
        const int e = reverse ? width - 1 - j : j;
        const auto value = [&](auto f) {
          if constexpr (inputs == 1) return f(state, v[0][at][e]);
          else return f(state, v[0][at][e], v[1][at][e]);
        };
        state = i == 0 && s == 0 && j == 0 ? value(first) : value(step);
        v[0][at][e] = state;
      }
      turn(v[0][at]);
    }
    for (int l = 0; l < width; ++l) {
      T* to = out + line(l) * next[inputs] + low;
      for (int s = 0; s < some; ++s) store_lanes(to + s * width, v[0][s][l]);
    }
  }
  // Gives how many elements of each line are done.
  std::int64_t run() {
    std::int64_t i = 0;
    for (; i + 2 * width <= length; i += 2 * width) block<2>(i);
    if (i + width <= length) block<1>(i), i += width;
    return i;
  }
};

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
    const bool dense = std::all_of(stride.begin(), stride.end(), [](auto s) { return s == 1; });
    if (lines.side_by_side()) return run_rows<T, inputs>(in, out, length, width, by, first, step);
    constexpr int some = LaneVector<T>::width;
    const auto next = lines.inner.strides;
    T state[some];
    for (std::int64_t w = 0, n = 0; w < width; w += n) {
      n = std::min<std::int64_t>(some, width - w);
      std::int64_t done = 0;
      if (dense && n > 1) {
        const auto run = [&]<bool backwards>(std::bool_constant<backwards>) {
          const std::int64_t low = backwards ? length - 1 : 0;
          auto from = in;
          for (const T*& x : from) x -= low;
          RunLanes<backwards, T, inputs, First, Step> lanes{from, out - low, length, n - 1, next, first, step};
          done = lanes.run();
          for (int l = 0; l < some; ++l) state[l] = lanes.state[l];
        };
        if (reverse) run(std::true_type());
        else run(std::false_type());
      }
      if (n == some) {
        run_lines<some, T, inputs>(in, out, done, length, state, by, next, first, step);
      } else {
        for (int l = 0; l < n; ++l) {
          auto from = in;
          for (std::size_t k = 0; k < inputs; ++k) from[k] += l * next[k];
          run_lines<1, T, inputs>(from, out + l * next[inputs], done, length, state + l, by, next, first, step);
        }
      }
      for (std::size_t k = 0; k < inputs; ++k) in[k] += n * next[k];
      out += n * next[inputs];
    }
  });
}

template <class T>
void run_kind(Running kind, const Strided& x, int axis, bool reverse, const Strided& out) {
  const auto run = [&](auto step) { run_all<T, 1>({&x, &out}, axis, reverse, [](auto, auto b) { return b; }, step); };
  switch (kind) {
    case Running::sum: return run([](auto a, auto b) { return wrapped_sum<T>(a, b); });
    case Running::product: return run([](auto a, auto b) { return wrapped_product<T>(a, b); });
    // nan wins, the earlier of two equal values stays
    case Running::max: return run([](auto a, auto b) { return ((b > a) | (b != b)) ? b : a; });
    case Running::min: return run([](auto a, auto b) { return ((b < a) | (b != b)) ? b : a; });
  }
}

template <class T>
void recur_typed(const Strided& a, const Strided& b, int axis, bool reverse, const Strided& out) {
  run_all<T, 2>(
      {&a, &b, &out}, axis, reverse, [](auto, auto, auto term) { return term; },
      [](auto before, auto factor, auto term) { return factor * before + term; });
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
