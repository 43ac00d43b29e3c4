// Merging of loops, and copies between memory with strides and dense registers; see nest.h.
#include "loops/nest.h"

#include <cstring>

namespace anew::loops {
namespace {

template <class T>
void copy_in(T* to, const T* from, std::int64_t stride, std::int64_t n) {
  if (stride == 1) std::memcpy(to, from, n * sizeof(T));
  else if (stride == 0) std::fill_n(to, n, *from);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}
template <class T>
void copy_out(T* to, const T* from, std::int64_t stride, std::int64_t n) {
  if (stride == 1) std::memcpy(to, from, n * sizeof(T));
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = from[i];
}

template <class T>
void gather_as(const Nest& nest, const Stream& s, std::int64_t n, T* to) {
  const auto* from = reinterpret_cast<const T*>(s.base);
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 1;
  for_runs(nest, s.stride, n,
           [&](std::int64_t at, std::int64_t i, std::int64_t m) { copy_in(to + i, from + at, stride, m); });
}
template <class T>
void scatter_as(const Nest& nest, const Stream& s, std::int64_t n, const T* from) {
  auto* to = reinterpret_cast<T*>(s.base);
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 1;
  for_runs(nest, s.stride, n,
           [&](std::int64_t at, std::int64_t i, std::int64_t m) { copy_out(to + at, from + i, stride, m); });
}

template <class T>
void enumerate_as(const Nest& nest, const Stream& s, std::int64_t n, T* to) {
  const std::int64_t step = nest.rank ? s.stride[nest.rank - 1] : 0;
  for_runs(nest, s.stride, n, [&](std::int64_t at, std::int64_t i, std::int64_t m) {
    for (std::int64_t k = 0; k < m; ++k) to[i + k] = static_cast<T>(s.start + at + k * step);
  });
}

}  // namespace

void make_nest(Nest& nest, const NestLoop* loops, int count, Stream* streams, std::size_t stream_count) {
  nest.rank = 0;
  nest.position = 0;
  int section = -1;
  for (int l = 0; l < count; ++l) {
    const auto [v, s, extent] = loops[l];
    if (extent == 1) continue;
    bool merges = nest.rank > 0 && s == section;
    for (std::size_t k = 0; merges && k < stream_count; ++k)
      merges = streams[k].stride[nest.rank - 1] == streams[k].raw[v] * extent;
    if (!merges) nest.extent[nest.rank] = 1, nest.index[nest.rank] = 0, nest.section[nest.rank] = s, ++nest.rank;
    nest.extent[nest.rank - 1] *= extent;
    for (std::size_t k = 0; k < stream_count; ++k) streams[k].stride[nest.rank - 1] = streams[k].raw[v];
    section = s;
  }
  for (std::size_t k = 0; k < stream_count; ++k) {
    Stream& s = streams[k];
    std::int64_t dense_stride = 1;
    s.flat = s.fixed = true;
    s.filled = false;
    for (int d = nest.rank - 1; d >= 0; --d) {
      s.fixed = s.fixed && s.stride[d] == 0;
      s.flat = s.flat && s.stride[d] == dense_stride;
      dense_stride *= nest.extent[d];
    }
  }
}

// f(T{}) with an unsigned type of the size of elements that registers hold as they lie in memory.
template <class F>
void by_size(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1: return f(std::uint8_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

void gather(const Nest& nest, const Stream& s, std::int64_t n, void* to) {
  if (!is_stored(s.dtype)) return by_size(s.dtype, [&]<class T>(T) { gather_as(nest, s, n, static_cast<T*>(to)); });
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 0;
  visit(s.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, Computed<T>>) {
      const auto* from = reinterpret_cast<const T*>(s.base);
      auto* out = static_cast<Computed<T>*>(to);
      for_runs(nest, s.stride, n, [&](std::int64_t at, std::int64_t i, std::int64_t m) {
        for (std::int64_t k = 0; k < m; ++k) out[i + k] = convert_number<Computed<T>>(from[at + k * stride]);
      });
    }
  });
}

void scatter(const Nest& nest, const Stream& s, std::int64_t n, const void* from) {
  if (!is_stored(s.dtype))
    return by_size(s.dtype, [&]<class T>(T) { scatter_as(nest, s, n, static_cast<const T*>(from)); });
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 0;
  visit(s.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, Computed<T>>) {
      auto* to = reinterpret_cast<T*>(s.base);
      const auto* in = static_cast<const Computed<T>*>(from);
      for_runs(nest, s.stride, n, [&](std::int64_t at, std::int64_t i, std::int64_t m) {
        for (std::int64_t k = 0; k < m; ++k) to[at + k * stride] = convert_number<T>(in[i + k]);
      });
    }
  });
}

void fill_register(std::uint64_t bits, DType dtype, std::int64_t n, void* to) {
  if (is_stored(dtype))
    bits = visit(dtype, [&]<class T>(std::type_identity<T>) {
      return bits_of_element(convert_number<Computed<T>>(read_element<T>(&bits)));
    });
  by_size(computed_type(dtype), [&]<class T>(T) { std::fill_n(static_cast<T*>(to), n, static_cast<T>(bits)); });
}

void enumerate(const Nest& nest, const Stream& stream, DType dtype, std::int64_t n, void* to) {
  by_size(dtype, [&]<class T>(T) { enumerate_as(nest, stream, n, static_cast<T*>(to)); });
}

}  // namespace anew::loops
