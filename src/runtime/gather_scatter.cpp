// gather and scatter.
#include "runtime/gather_scatter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
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

  // Whether every slice lies between two multiples of `stride`, by the strides and counts of all that moves it.
  bool apart(std::int64_t stride) const {
    std::int64_t span = 0;
    const auto within = [&](std::int64_t count, std::int64_t by) {
      if (by < 0) return false;
      if (by != stride) span += (count - 1) * by;
      return true;
    };
    for (const Position& p : positions)
      if (p.count > 1 && !within(p.count, p.operand)) return false;
    for (const Component& c : components)
      if (c.last > 0 && !within(c.last + 1, c.operand)) return false;
    for (const BoxDim& d : slice)
      if (d.count > 1 && (d.to == stride || !within(d.count, d.to))) return false;
    return span < stride;
  }

  // f(operand offset, window offset, inside) for positions [begin, end) in order.
  template <class F>
  void walk(std::int64_t begin, std::int64_t end, const F& f) const {
    constexpr std::int64_t some = 256;
    std::array<std::int64_t, some> operands, windows;
    for (; begin < end; begin += some) {
      const std::int64_t n = std::min(some, end - begin);
      find(begin, begin + n, operands.data(), windows.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) f(operands[i], windows[i], operands[i] != outside);
    }
  }

 private:
  static constexpr std::int64_t outside = std::numeric_limits<std::int64_t>::min();

  // Offsets of positions [begin, end). Along the innermost axis of the indices everything moves by constant strides.
  void find(std::int64_t begin, std::int64_t end, std::int64_t* operands, std::int64_t* windows) const {
    const Position inner = positions.empty() ? Position{1, 0, 0, 0} : positions.back();
    while (begin < end) {
      std::int64_t rest = begin / inner.count, first = begin % inner.count;
      std::int64_t index = first * inner.index, window = first * inner.window, operand = first * inner.operand;
      for (std::size_t i = positions.empty() ? 0 : positions.size() - 1; i-- > 0; rest /= positions[i].count) {
        const std::int64_t at = rest % positions[i].count;
        index += at * positions[i].index;
        window += at * positions[i].window;
        operand += at * positions[i].operand;
      }
      const std::int64_t count = std::min(inner.count - first, end - begin);
      for (std::int64_t i = 0; i < count; ++i) operands[i] = operand + i * inner.operand;
      for (std::int64_t i = 0; i < count; ++i) windows[i] = window + i * inner.window;
      for (const Component& c : components) add(c, index, inner.index, count, operands);
      begin += count, operands += count, windows += count;
    }
  }
  // What one number of the index vector adds to `count` offsets.
  void add(const Component& c, std::int64_t index, std::int64_t stride, std::int64_t count,
           std::int64_t* operands) const {
    visit(index_dtype, [&]<class I>(std::type_identity<I>) {
      if constexpr (std::is_integral_v<I>) {
        const I* data = reinterpret_cast<const I*>(index_data) + index + c.index;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto start = detail::saturated<std::int64_t>(data[i * stride]);
          if (clip) operands[i] += std::clamp<std::int64_t>(start, 0, c.last) * c.operand;
          else if (operands[i] != outside)
            operands[i] = start >= 0 && start <= c.last ? operands[i] + start * c.operand : outside;
        }
      }
    });
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
void join_row(T* __restrict to, const T* __restrict from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = joined(join, to[i], from[i]);
}

// Updates whose first element is at an offset in [low, high), in order.
template <Scatter join, class T>
void scatter_part(const Plan& plan, const Box& box, std::byte* to, const std::byte* from, std::int64_t low,
                  std::int64_t high) {
  T* out = reinterpret_cast<T*>(to);
  const T* updates = reinterpret_cast<const T*>(from);
  const auto mine = [=](std::int64_t operand, bool inside) { return inside && operand >= low && operand < high; };
  if (box.dims().empty())
    return plan.walk(0, plan.count, [=](std::int64_t operand, std::int64_t window, bool inside) {
      if (mine(operand, inside)) out[operand] = joined(join, out[operand], updates[window]);
    });
  if (box.dims().size() == 1 && box.dims()[0].to == 1 && box.dims()[0].from == 1)
    return plan.walk(0, plan.count, [=, n = box.size()](std::int64_t operand, std::int64_t window, bool inside) {
      if (mine(operand, inside)) join_row<join>(out + operand, updates + window, n);
    });
  plan.walk(0, plan.count, [&](std::int64_t operand, std::int64_t window, bool inside) {
    if (!mine(operand, inside)) return;
    box.for_each_line(operand, window,
                      [&](std::int64_t t, std::int64_t f, std::int64_t n, std::int64_t ts, std::int64_t fs) {
                        for (std::int64_t i = 0; i < n; ++i)
                          out[t + i * ts] = joined(join, out[t + i * ts], updates[f + i * fs]);
                      });
  });
}

constexpr std::int64_t least_offset = std::numeric_limits<std::int64_t>::min(),
                       largest_offset = std::numeric_limits<std::int64_t>::max();

// One operation on one type: where it goes and comes from, in elements of `size` bytes.
struct Joining {
  decltype(&scatter_part<Scatter::set, float>) part;
  std::byte* out;
  const std::byte* updates;
  std::int64_t size;
};

// Shares out the elements along the longest axis that no index moves, if that is long.
bool scatter_slices(const Plan& plan, const Joining& j, std::int64_t parts) {
  std::size_t best = plan.slice.size();
  for (std::size_t i = 0; i < plan.slice.size(); ++i)
    if (plan.own[i] && (best == plan.slice.size() || plan.slice[i].count > plan.slice[best].count)) best = i;
  if (best == plan.slice.size()) return false;
  const std::int64_t count = plan.slice[best].count, grain = std::max<std::int64_t>((count + parts - 1) / parts, 256);
  if (count < 2 * grain) return false;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<BoxDim> dims = plan.slice;
    dims[best].count = end - begin;
    j.part(plan, Box(dims), j.out + begin * dims[best].to * j.size, j.updates + begin * dims[best].from * j.size,
           least_offset, largest_offset);
  });
  return true;
}
// Shares out the operand by the offsets of slices, which must be apart: everybody reads all indices and leaves out what
// is another's.
bool scatter_ranges(const Plan& plan, const Joining& j, std::int64_t parts) {
  std::int64_t rows = 0, stride = 0;
  for (const Plan::Component& c : plan.components)
    if (c.last > 0 && c.operand > stride) stride = c.operand, rows = c.last + 1;
  for (const Plan::Position& p : plan.positions)
    if (p.count > 1 && p.operand > stride) stride = p.operand, rows = p.count;
  if (!plan.apart(stride) || rows < 2) return false;
  const std::int64_t grain = std::max<std::int64_t>((rows + parts - 1) / parts, 1);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    j.part(plan, Box(plan.slice), j.out, j.updates, begin * stride, end * stride);
  });
  return true;
}
// Without a way to share it out the work is serial.
void scatter_all(const Plan& plan, const Joining& j) {
  const Box box(plan.slice);
  const std::int64_t total = plan.count * box.size();
  if (total == 0) return;
  constexpr std::int64_t worth = 1 << 15;  // updates
  const std::int64_t parts = std::min<std::int64_t>(total / worth, 16);
  if (parts > 1 && scatter_slices(plan, j, parts)) return;
  // Everybody reads all indices, so a part for every 16 elements of a slice: more is more looking than joining.
  const std::int64_t ranges = std::min(parts, box.size() / 16);
  if (ranges > 1 && scatter_ranges(plan, j, ranges)) return;
  j.part(plan, box, j.out, j.updates, least_offset, largest_offset);
}

template <class T>
auto part_of(Scatter join) {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    switch (join) {
      case Scatter::set: break;
      case Scatter::add: return &scatter_part<Scatter::add, T>;
      case Scatter::mul: return &scatter_part<Scatter::mul, T>;
      case Scatter::min: return &scatter_part<Scatter::min, T>;
      case Scatter::max: return &scatter_part<Scatter::max, T>;
    }
    return &scatter_part<Scatter::set, T>;
  } else {  // only set: stored types are joined in the type they are computed in
    return &scatter_part<Scatter::set, std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>>;
  }
}

// Element by element of a slice, all places of one before the next: the result is written in order.
template <class T>
void gather_elements(const Plan& plan, const Box& box, std::int64_t begin, std::int64_t end, const std::byte* operand,
                     const std::byte* fill, std::byte* out) {
  T other;
  std::memcpy(&other, fill, sizeof other);
  box.for_each_line(0, 0, [&](std::int64_t t, std::int64_t f, std::int64_t n, std::int64_t ts, std::int64_t fs) {
    for (std::int64_t i = 0; i < n; ++i) {
      T* to = reinterpret_cast<T*>(out) + t + i * ts;
      const T* from = reinterpret_cast<const T*>(operand) + f + i * fs;
      plan.walk(begin, end,
                [=](std::int64_t at, std::int64_t window, bool inside) { to[window] = inside ? from[at] : other; });
    }
  });
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
  const bool row = box.dims().size() == 1 && box.dims()[0].to == 1 && box.dims()[0].from == 1;
  const bool along_places = !plan.positions.empty() && plan.positions.back().window == 1;
  constexpr std::int64_t worth = 1 << 15;  // elements
  parallel_for(plan.count, std::max<std::int64_t>(1, worth / box.size()), [&](std::int64_t begin, std::int64_t end) {
    if (row)
      return plan.walk(
          begin, end,
          [&, n = static_cast<std::size_t>(box.size()) * bytes](std::int64_t from, std::int64_t to, bool inside) {
            const auto size = static_cast<std::int64_t>(bytes);
            if (inside) std::memcpy(out.data + to * size, operand.data + from * size, n);
            else fill_box(box, out.data, to, fill, bytes);
          });
    if (box.dims().empty() || along_places)
      return by_size(bytes, [&](auto zero) {
        gather_elements<decltype(zero)>(plan, box, begin, end, operand.data, fill, out.data);
      });
    plan.walk(begin, end, [&](std::int64_t from, std::int64_t to, bool inside) {
      if (inside) copy_box(box, out.data, to, operand.data, from, bytes);
      else fill_box(box, out.data, to, fill, bytes);
    });
  });
}

void scatter(const Strided& out, const Strided& indices, const Strided& updates, const Places& places, Scatter join) {
  const Plan plan(out, indices, updates, places);
  const auto part = visit(out.dtype, [&]<class T>(std::type_identity<T>) { return part_of<T>(join); });
  scatter_all(plan, {part, out.data, updates.data, static_cast<std::int64_t>(size_of(out.dtype))});
}

}  // namespace anew
