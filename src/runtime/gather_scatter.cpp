// gather and scatter.
#include "runtime/gather_scatter.h"

#include <algorithm>
#include <type_traits>

#include "base/dtype.h"
#include "runtime/pool.h"

namespace anew {
namespace {

bool has(std::span<const int> list, int x) { return std::find(list.begin(), list.end(), x) != list.end(); }

// Places as strides.
struct Plan {
  struct Position {  // one axis of the indices, but for the last
    std::int64_t count, index, window, operand;
  };
  struct Component {  // one number of the index vector
    std::int64_t index, last, operand;
  };
  std::vector<Position> positions;
  std::vector<Component> components;
  std::vector<BoxDim> slice;  // to: the operand, from: the window
  std::vector<bool> own;      // per dim of the slice: no index moves it, so its elements never meet
  std::int64_t count = 1;     // of positions
  bool clip;
  const std::byte* index_data;
  DType index_dtype;

  Plan(const Strided& operand, const Strided& indices, const Strided& window, const Places& p)
      : clip(p.clip), index_data(indices.data), index_dtype(indices.dtype) {
    const int last = indices.shape.ndim() - 1;
    int place = 0;
    std::vector<int> window_places;
    for (int i = 0; i < window.shape.ndim(); ++i)
      if (!has(p.window_dims, i)) window_places.push_back(i);
    for (int i = 0; i < last; ++i, ++place) {
      Position q{indices.shape[i], indices.strides[i], window.strides[window_places[place]], 0};
      for (std::size_t k = 0; k < p.index_batch.size(); ++k)
        if (p.index_batch[k] == i) q.operand = operand.strides[p.operand_batch[k]];
      count *= q.count;
      positions.push_back(q);
    }
    for (std::size_t k = 0; k < p.mapped.size(); ++k) {
      const int d = p.mapped[k];
      components.push_back({static_cast<std::int64_t>(k) * indices.strides[last], operand.shape[d] - p.slice_sizes[d],
                            operand.strides[d]});
    }
    std::size_t w = 0;
    for (int d = 0; d < operand.shape.ndim(); ++d) {
      if (has(p.collapsed, d) || has(p.operand_batch, d)) continue;
      slice.push_back({p.slice_sizes[d], operand.strides[d], window.strides[p.window_dims[w++]]});
      own.push_back(!has(p.mapped, d));
    }
  }

  // f(operand offset, window offset, inside) for positions [begin, end) in order.
  template <class F>
  void walk(std::int64_t begin, std::int64_t end, F f) const {
    const std::size_t n = positions.size();
    std::int64_t left = end - begin;
    std::vector<std::int64_t> at(n);
    std::int64_t index = 0, window = 0, operand = 0;
    for (std::size_t i = n; i-- > 0;) {
      at[i] = begin % positions[i].count;
      begin /= positions[i].count;
      index += at[i] * positions[i].index;
      window += at[i] * positions[i].window;
      operand += at[i] * positions[i].operand;
    }
    for (; left > 0; --left) {
      std::int64_t offset = operand;
      bool inside = true;
      for (const Component& c : components) {
        std::int64_t start = read_integer(index_data, index_dtype, index + c.index);
        if (clip) start = std::clamp<std::int64_t>(start, 0, c.last);
        else inside = inside && start >= 0 && start <= c.last;
        if (inside) offset += start * c.operand;
      }
      f(offset, window, inside);
      for (std::size_t i = n; i-- > 0;) {
        const Position& p = positions[i];
        index += p.index, window += p.window, operand += p.operand;
        if (++at[i] < p.count) break;
        index -= p.count * p.index, window -= p.count * p.window, operand -= p.count * p.operand;
        at[i] = 0;
      }
    }
  }
};

template <class T>
T joined(Scatter join, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return join == Scatter::add || join == Scatter::max ? a || b : join == Scatter::set ? b : a && b;
  } else {
    using U = typename Wrapping<T>::type;
    switch (join) {
      case Scatter::set: return b;
      case Scatter::add: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case Scatter::mul: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case Scatter::max: return b > a || b != b ? b : a;  // nan wins, the earlier of two equal values stays
      case Scatter::min: return b < a || b != b ? b : a;
    }
    return a;
  }
}

template <Scatter join, class T>
void scatter_part(const Plan& plan, const Box& box, T* out, const T* updates) {
  plan.walk(0, plan.count, [&](std::int64_t operand, std::int64_t window, bool inside) {
    if (!inside) return;
    box.for_each_line(operand, window,
                      [&](std::int64_t t, std::int64_t f, std::int64_t n, std::int64_t ts, std::int64_t fs) {
                        for (std::int64_t i = 0; i < n; ++i)
                          out[t + i * ts] = joined(join, out[t + i * ts], updates[f + i * fs]);
                      });
  });
}

// Shares out the elements along the longest axis that no index moves; without one the work is serial.
template <Scatter join, class T>
void scatter_all(const Plan& plan, T* out, const T* updates) {
  std::size_t best = plan.slice.size();
  for (std::size_t i = 0; i < plan.slice.size(); ++i)
    if (plan.own[i] && (best == plan.slice.size() || plan.slice[i].count > plan.slice[best].count)) best = i;
  const std::int64_t total = plan.count * Box(plan.slice).size();
  if (total == 0) return;
  constexpr std::int64_t worth = 1 << 15;  // updates
  if (best == plan.slice.size() || total < 2 * worth) return scatter_part<join>(plan, Box(plan.slice), out, updates);
  const std::int64_t count = plan.slice[best].count;
  const std::int64_t parts = std::min<std::int64_t>(total / worth, 16);
  const std::int64_t grain = std::max<std::int64_t>((count + parts - 1) / parts, std::min<std::int64_t>(count, 16));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<BoxDim> dims = plan.slice;
    dims[best].count = end - begin;
    scatter_part<join>(plan, Box(dims), out + begin * dims[best].to, updates + begin * dims[best].from);
  });
}

template <class T>
using Bytes = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;

template <class T>
void scatter_typed(const Plan& plan, std::byte* out, const std::byte* updates, Scatter join) {
  T* to = reinterpret_cast<T*>(out);
  const T* from = reinterpret_cast<const T*>(updates);
  switch (join) {
    case Scatter::set: return scatter_all<Scatter::set>(plan, to, from);
    case Scatter::add: return scatter_all<Scatter::add>(plan, to, from);
    case Scatter::mul: return scatter_all<Scatter::mul>(plan, to, from);
    case Scatter::min: return scatter_all<Scatter::min>(plan, to, from);
    case Scatter::max: return scatter_all<Scatter::max>(plan, to, from);
  }
}

}  // namespace

void gather(const Strided& operand, const Strided& indices, const Places& places, const std::byte* fill,
            const Strided& out) {
  const Plan plan(operand, indices, out, places);
  std::vector<BoxDim> dims = plan.slice;
  for (BoxDim& d : dims) std::swap(d.to, d.from);
  const Box box(dims);
  if (plan.count == 0 || box.size() == 0) return;
  const std::size_t bytes = size_of(out.dtype);
  constexpr std::int64_t worth = 1 << 15;  // elements
  parallel_for(plan.count, std::max<std::int64_t>(1, worth / box.size()), [&](std::int64_t begin, std::int64_t end) {
    plan.walk(begin, end, [&](std::int64_t from, std::int64_t to, bool inside) {
      if (inside) copy_box(box, out.data, to, operand.data, from, bytes);
      else fill_box(box, out.data, to, fill, bytes);
    });
  });
}

void scatter(const Strided& out, const Strided& indices, const Strided& updates, const Places& places, Scatter join) {
  const Plan plan(out, indices, updates, places);
  visit(out.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, Computed<T>>) scatter_typed<T>(plan, out.data, updates.data, join);
    else  // only set: stored types are joined in the type they are computed in
      scatter_all<Scatter::set>(plan, reinterpret_cast<Bytes<T>*>(out.data),
                                reinterpret_cast<const Bytes<T>*>(updates.data));
  });
}

}  // namespace anew
