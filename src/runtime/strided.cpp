// Boxes, and copies through them.
#include "runtime/strided.h"

#include <algorithm>
#include <cstring>

#include "base/dtype.h"
#include "runtime/pool.h"

namespace anew {

Box::Box(const std::vector<BoxDim>& dims) {
  for (const BoxDim& d : dims) {
    size_ *= d.count;
    if (d.count == 1) continue;
    if (!dims_.empty() && dims_.back().to == d.count * d.to && dims_.back().from == d.count * d.from)
      dims_.back() = {dims_.back().count * d.count, d.to, d.from};
    else dims_.push_back(d);
  }
}

namespace {

template <class T>
void copy_elements(const Box& box, T* to, std::int64_t to_offset, const T* from, std::int64_t from_offset) {
  box.for_each_line(to_offset, from_offset,
                    [&](std::int64_t t, std::int64_t f, std::int64_t n, std::int64_t ts, std::int64_t fs) {
                      if (ts == 1 && fs == 1) {
                        std::memcpy(to + t, from + f, n * sizeof(T));
                        return;
                      }
                      for (std::int64_t i = 0; i < n; ++i) to[t + i * ts] = from[f + i * fs];
                    });
}

}  // namespace

void copy_box(const Box& box, std::byte* to, std::int64_t to_offset, const std::byte* from, std::int64_t from_offset,
              std::size_t bytes) {
  by_size(bytes, [&](auto zero) {
    using T = decltype(zero);
    copy_elements(box, reinterpret_cast<T*>(to), to_offset, reinterpret_cast<const T*>(from), from_offset);
  });
}

void fill_box(const Box& box, std::byte* to, std::int64_t to_offset, const std::byte* element, std::size_t bytes) {
  by_size(bytes, [&](auto zero) {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, element, sizeof value);
    T* out = reinterpret_cast<T*>(to);
    box.for_each_line(to_offset, 0, [&](std::int64_t t, std::int64_t, std::int64_t n, std::int64_t ts, std::int64_t) {
      for (std::int64_t i = 0; i < n; ++i) out[t + i * ts] = value;
    });
  });
}

void copy_array(const Strided& to, const Strided& from) {
  std::vector<BoxDim> dims;
  for (int i = 0; i < to.shape.ndim(); ++i) dims.push_back({to.shape[i], to.strides[i], from.strides[i]});
  const Box box(dims);
  const std::size_t bytes = size_of(to.dtype);
  if (box.size() == 0) return;
  if (box.dims().empty()) return copy_box(box, to.data, 0, from.data, 0, bytes);
  const BoxDim outer = box.dims().front();
  constexpr std::int64_t worth = 1 << 16;  // elements
  const std::int64_t inner = box.size() / outer.count;
  const std::int64_t grain = std::max<std::int64_t>(1, worth / std::max<std::int64_t>(1, inner));
  parallel_for(outer.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<BoxDim> part = box.dims();
    part.front().count = end - begin;
    copy_box(Box(part), to.data, begin * outer.to, from.data, begin * outer.from, bytes);
  });
}

std::int64_t read_integer(const std::byte* data, DType dtype, std::int64_t offset) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) -> std::int64_t {
    const T x = read_element<T>(data + offset * static_cast<std::int64_t>(sizeof(T)));
    if constexpr (std::is_integral_v<T>) return detail::saturated<std::int64_t>(x);
    else return convert_number<std::int64_t>(x);
  });
}

}  // namespace anew
