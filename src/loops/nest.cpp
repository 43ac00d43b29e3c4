// Merging of loops, and copies between memory with strides and dense registers; see nest.h.
#include "loops/nest.h"

#include <cstring>

#include "loops/number.h"

namespace anew::loops {
namespace {

template <class T>
void copy_in(T* to, const T* from, std::int64_t stride, std::int64_t n) {
  if (stride == 1) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  else if (stride == 0) std::fill_n(to, n, *from);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}
template <class T>
void copy_out(T* to, const T* from, std::int64_t stride, std::int64_t n) {
  if (stride == 1) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
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

void make_nest(Nest& nest, const Loop* loops, int count, Stream* streams, std::size_t stream_count) {
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

void gather(const Nest& nest, const Stream& s, std::int64_t n, void* to) {
  switch (s.dtype) {
    case bool_: return gather_as(nest, s, n, static_cast<std::uint8_t*>(to));
    case i64:
    case f64: return gather_as(nest, s, n, static_cast<std::uint64_t*>(to));
    case i32:
    case u32:
    case f32: return gather_as(nest, s, n, static_cast<std::uint32_t*>(to));
    case bf16:
    case f16: break;
  }
  const auto* from = reinterpret_cast<const std::uint16_t*>(s.base);
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 0;
  auto* out = static_cast<float*>(to);
  for_runs(nest, s.stride, n, [&](std::int64_t at, std::int64_t i, std::int64_t m) {
    if (s.dtype == bf16)
      for (std::int64_t k = 0; k < m; ++k) out[i + k] = float_of_bf16(from[at + k * stride]);
    else
      for (std::int64_t k = 0; k < m; ++k) out[i + k] = float_of_f16(from[at + k * stride]);
  });
}

void scatter(const Nest& nest, const Stream& s, std::int64_t n, const void* from) {
  switch (s.dtype) {
    case bool_: return scatter_as(nest, s, n, static_cast<const std::uint8_t*>(from));
    case i64:
    case f64: return scatter_as(nest, s, n, static_cast<const std::uint64_t*>(from));
    case i32:
    case u32:
    case f32: return scatter_as(nest, s, n, static_cast<const std::uint32_t*>(from));
    case bf16:
    case f16: break;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(s.base);
  const std::int64_t stride = nest.rank ? s.stride[nest.rank - 1] : 0;
  const auto* in = static_cast<const float*>(from);
  for_runs(nest, s.stride, n, [&](std::int64_t at, std::int64_t i, std::int64_t m) {
    if (s.dtype == bf16)
      for (std::int64_t k = 0; k < m; ++k) to[at + k * stride] = bf16_of_float(in[i + k]);
    else
      for (std::int64_t k = 0; k < m; ++k) to[at + k * stride] = f16_of_float(in[i + k]);
  });
}

void enumerate(const Nest& nest, const Stream& stream, DType dtype, std::int64_t n, void* to) {
  switch (dtype) {
    case i32: return enumerate_as(nest, stream, n, static_cast<std::int32_t*>(to));
    case u32: return enumerate_as(nest, stream, n, static_cast<std::uint32_t*>(to));
    default: return enumerate_as(nest, stream, n, static_cast<std::int64_t*>(to));
  }
}

}  // namespace anew::loops
