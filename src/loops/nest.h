// Walking a loop nest in memory: a Nest is the iteration space with neighbouring loops merged where every stream allows
// it, a Stream is one operand (or loop variable) seen from it. Blocks of iterations are gathered into registers and
// scattered back here. Positions count iterations in row-major order of the nest, whatever the merging.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "loops/schedule.h"

namespace anew::loops {

inline constexpr int max_rank = Shape::max_ndim;

struct Stream {
  std::byte* base = nullptr;
  DType dtype = f32;                   // in memory
  bool flat = false;                   // element number = position
  bool fixed = false;                  // the same element everywhere
  bool filled = false;                 // a fixed element is already in its register
  std::int64_t start = 0;              // first value, where the stream is a loop variable
  std::int64_t raw[max_rank] = {};     // strides by loop variable
  std::int64_t stride[max_rank] = {};  // by dimension of the nest, in elements
};

struct Nest {
  int rank = 0;
  std::int64_t extent[max_rank];
  int section[max_rank];
  std::int64_t index[max_rank];  // of `position`
  std::int64_t position = 0;

  std::int64_t inner() const { return rank ? extent[rank - 1] : 1; }
  void seek(std::int64_t to) {
    if (to >= position) return advance(to - position);
    position = to;
    for (int d = rank - 1; d >= 0; --d) {
      if (d == 0) index[0] = to;
      else index[d] = to % extent[d], to /= extent[d];
    }
  }
  void advance(std::int64_t n) {
    if (n == 0) return;
    position += n;
    for (int d = rank - 1; d >= 0; --d) {
      index[d] += n;
      if (d == 0 || index[d] < extent[d]) return;
      n = index[d] / extent[d];
      index[d] -= n * extent[d];
    }
  }
  std::int64_t offset(const std::int64_t* stride) const {
    std::int64_t at = 0;
    for (int d = 0; d < rank; ++d) at += index[d] * stride[d];
    return at;
  }
};

// Makes the nest of `loops` for `streams`, whose `raw` strides are set.
void make_nest(Nest& nest, const NestLoop* loops, int count, Stream* streams, std::size_t stream_count);

// The n iterations from nest.index on as runs of the innermost dimension: f(offset in elements, first iteration,
// length).
template <class F>
void for_runs(const Nest& nest, const std::int64_t* stride, std::int64_t n, F f) {
  if (nest.rank == 0) return f(std::int64_t{0}, std::int64_t{0}, std::int64_t{1});
  std::int64_t index[max_rank];
  std::copy_n(nest.index, nest.rank, index);
  const int last = nest.rank - 1;
  std::int64_t at = nest.offset(stride);
  for (std::int64_t done = 0;;) {
    const std::int64_t length = std::min(n - done, nest.extent[last] - index[last]);
    f(at, done, length);
    done += length;
    if (done == n) return;
    at -= index[last] * stride[last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      at += stride[d];
      if (++index[d] < nest.extent[d] || d == 0) break;
      at -= index[d] * stride[d];
      index[d] = 0;
    }
  }
}

// Address of the next n elements where they lie dense in memory as a register holds them, else null.
inline std::byte* dense(const Nest& nest, const Stream& stream, std::int64_t n) {
  if (is_stored(stream.dtype)) return nullptr;
  const auto size = static_cast<std::int64_t>(size_of(stream.dtype));
  if (stream.flat) return stream.base + nest.position * size;
  const int last = nest.rank - 1;
  if (last < 0) return stream.base;
  if ((stream.stride[last] != 1 && n > 1) || n > nest.extent[last] - nest.index[last]) return nullptr;
  return stream.base + nest.offset(stream.stride) * size;
}

// The next n elements to or from a register.
void gather(const Nest& nest, const Stream& stream, std::int64_t n, void* to);
void scatter(const Nest& nest, const Stream& stream, std::int64_t n, const void* from);
// n times the number with these bits, as registers hold it.
void fill_register(std::uint64_t bits, DType dtype, std::int64_t n, void* to);
// The next n values of a loop variable, as `dtype`.
void enumerate(const Nest& nest, const Stream& stream, DType dtype, std::int64_t n, void* to);

}  // namespace anew::loops
