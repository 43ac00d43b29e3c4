// The one piece of memory that belongs to threads and not to plans: 1 MiB per thread that computes, taken from the
// system when the thread first needs it, never growing, not counted among buffers. Its lower half is that of the matrix
// product (what one thread packs for itself); the upper half is that of the unit of work that a thread is in: a tile of
// a convolution, a line that is sorted, a small matrix. A unit may call products, a product calls no units. Invariant:
// everything else that a runtime call needs is its caller's scratch, whose size shapes alone decide.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/pool.h"

namespace anew {

constexpr std::size_t workspace_half = 512 << 10;  // bytes
std::byte* product_workspace();
std::byte* unit_workspace();

constexpr std::size_t scratch_alignment = 64;
// Bytes of so many elements as one piece of scratch.
template <class T>
constexpr std::size_t scratch_bytes(std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

// Hands out pieces of lent memory, one after the other.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    T* piece = reinterpret_cast<T*>(memory_);
    memory_ += scratch_bytes<T>(count);
    return piece;
  }

 private:
  std::byte* memory_;
};

// Independent units of work, each with `bytes` of memory of its own while it runs: the workspace of its thread if that
// is enough, else one of a few pieces of the caller's scratch, and then no more units run at once than there are
// pieces.
struct Units {
  std::int64_t count;
  std::size_t bytes;  // of one unit, a multiple of 64

  static constexpr std::int64_t most_pieces = 8;
  std::int64_t pieces() const { return bytes <= workspace_half ? 0 : std::min(count, most_pieces); }
  std::size_t scratch() const { return static_cast<std::size_t>(pieces()) * bytes; }

  // body(unit, its memory), `grain` units at a time. One alone is run by the caller and may use the threads itself.
  template <class F>
  void run(std::int64_t grain, std::byte* scratch, F body) const {
    if (count < 1) return;
    const std::int64_t n = pieces();
    if (count == 1) return body(std::int64_t{0}, n ? scratch : unit_workspace());
    if (n == 0)
      return parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        std::byte* own = unit_workspace();
        for (std::int64_t i = begin; i < end; ++i) body(i, own);
      });
    parallel_for(n, 1, [&](std::int64_t piece, std::int64_t) {
      std::byte* own = scratch + static_cast<std::size_t>(piece) * bytes;
      for (std::int64_t i = count * piece / n; i < count * (piece + 1) / n; ++i) body(i, own);
    });
  }
};

}  // namespace anew
