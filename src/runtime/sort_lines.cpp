// Sorting: a line's keys are made once and sorted with their positions; then every operand follows.
#include "runtime/sort_lines.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/dtype.h"
#include "runtime/workspace.h"

namespace anew {
namespace {

constexpr std::uint64_t sign = std::uint64_t{1} << 63;

std::uint64_t key_of(double x) {
  if (x != x) return ~std::uint64_t{0};
  if (x == 0) x = 0.0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return bits & sign ? ~bits : bits | sign;
}
struct Entry {
  std::uint64_t key;
  std::int64_t position;
};

// Lines along an axis: their number, and where line i starts in an array.
struct Lines {
  std::int64_t count = 1, length;
  int axis;
  const Shape& shape;
  Lines(const Shape& shape, int axis) : length(shape[axis]), axis(axis), shape(shape) {
    for (int i = 0; i < shape.ndim(); ++i)
      if (i != axis) count *= shape[i];
  }
  std::int64_t start(std::int64_t line, const Shape& strides) const {
    std::int64_t offset = 0;
    for (int i = shape.ndim(); i-- > 0;) {
      if (i == axis) continue;
      offset += line % shape[i] * strides[i];
      line /= shape[i];
    }
    return offset;
  }
  std::int64_t grain() const { return std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, length)); }
};

// What one line needs: its first keys with positions, and its other keys.
Units units_of(const Lines& lines, int keys) {
  return {lines.count, scratch_bytes<Entry>(lines.length) + scratch_bytes<std::uint64_t>(lines.length * (keys - 1))};
}

void copy_element(std::byte* to, std::int64_t t, const std::byte* from, std::int64_t f, std::size_t bytes) {
  std::memcpy(to + t * static_cast<std::int64_t>(bytes), from + f * static_cast<std::int64_t>(bytes), bytes);
}

}  // namespace

std::uint64_t sort_key(const std::byte* data, DType dtype, std::int64_t offset) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) {
    const T x = read_element<T>(data + offset * static_cast<std::int64_t>(sizeof(T)));
    if constexpr (!std::is_integral_v<T>) return key_of(convert_number<double>(x));
    else if constexpr (std::is_unsigned_v<T>) return static_cast<std::uint64_t>(x);
    else return static_cast<std::uint64_t>(x) ^ sign;
  });
}

std::size_t sort_scratch(const Shape& shape, int axis, int keys) {
  return units_of(Lines(shape, axis), keys).scratch();
}

void sort_lines(std::span<const Strided> in, std::span<const Strided> out, int axis, int keys, std::byte* scratch) {
  const Lines lines(in[0].shape, axis);
  if (lines.length == 0) return;
  units_of(lines, keys).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    Pieces pieces(own);
    Entry* order = pieces.take<Entry>(lines.length);
    std::uint64_t* more = pieces.take<std::uint64_t>(lines.length * (keys - 1));  // of the keys after the first
    auto key_at = [&](int k, std::int64_t i) {
      const Strided& x = in[k];
      return sort_key(x.data, x.dtype, lines.start(line, x.strides) + i * x.strides[axis]);
    };
    for (std::int64_t i = 0; i < lines.length; ++i) order[i] = {key_at(0, i), i};
    for (int k = 1; k < keys; ++k)
      for (std::int64_t i = 0; i < lines.length; ++i) more[(k - 1) * lines.length + i] = key_at(k, i);
    std::sort(order, order + lines.length, [&](const Entry& a, const Entry& b) {
      if (a.key != b.key) return a.key < b.key;
      for (int k = 1; k < keys; ++k) {
        const auto x = more[(k - 1) * lines.length + a.position], y = more[(k - 1) * lines.length + b.position];
        if (x != y) return x < y;
      }
      return a.position < b.position;
    });
    for (std::size_t k = 0; k < in.size(); ++k) {
      const std::int64_t from = lines.start(line, in[k].strides), to = lines.start(line, out[k].strides);
      const std::size_t bytes = size_of(in[k].dtype);
      for (std::int64_t i = 0; i < lines.length; ++i)
        copy_element(out[k].data, to + i * out[k].strides[axis], in[k].data,
                     from + order[i].position * in[k].strides[axis], bytes);
    }
  });
}

void top_k_lines(const Strided& in, const Strided& values, const Strided& positions, int axis, std::byte* scratch) {
  const Lines lines(in.shape, axis), results(values.shape, axis);
  const std::int64_t k = values.shape[axis];
  if (k == 0) return;
  const std::size_t bytes = size_of(in.dtype);
  units_of(lines, 1).run(lines.grain(), scratch, [&](std::int64_t line, std::byte* own) {
    Entry* order = Pieces(own).take<Entry>(lines.length);
    const std::int64_t from = lines.start(line, in.strides);
    for (std::int64_t i = 0; i < lines.length; ++i)
      order[i] = {~sort_key(in.data, in.dtype, from + i * in.strides[axis]), i};
    std::partial_sort(order, order + k, order + lines.length, [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.position < b.position;
    });
    const std::int64_t to = results.start(line, values.strides), at = results.start(line, positions.strides);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t position = order[i].position;
      copy_element(values.data, to + i * values.strides[axis], in.data, from + position * in.strides[axis], bytes);
      reinterpret_cast<std::int32_t*>(positions.data)[at + i * positions.strides[axis]] =
          static_cast<std::int32_t>(position);
    }
  });
}

void search_sorted(const Strided& a, const Strided& v, bool right, const Strided& out) {
  const int batch = a.shape.ndim() - 1;
  const std::int64_t n = a.shape[batch], count = v.shape.size();
  auto* results = reinterpret_cast<std::int32_t*>(out.data);
  parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t flat = begin; flat < end; ++flat) {
      std::int64_t rest = flat, start = 0, from = 0, to = 0;
      for (int i = v.shape.ndim(); i-- > 0;) {
        const std::int64_t at = rest % v.shape[i];
        rest /= v.shape[i];
        from += at * v.strides[i];
        to += at * out.strides[i];
        if (i < batch) start += at * a.strides[i];
      }
      const std::uint64_t key = sort_key(v.data, v.dtype, from);
      std::int64_t low = 0, high = n;
      while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        const std::uint64_t x = sort_key(a.data, a.dtype, start + middle * a.strides[batch]);
        if (right ? x <= key : x < key) low = middle + 1;
        else high = middle;
      }
      results[to] = static_cast<std::int32_t>(low);
    }
  });
}

}  // namespace anew
