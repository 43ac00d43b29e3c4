// Collectives by messages. A reduction of little travels along the tree itself and back, in 2 log2(size) rounds; of
// more, each rank joins one part, for which it gets that part of all others, and sends it to them: 2 (size - 1) / size
// times the bytes, as few as can be.
#include "mpi/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/dtype.h"

namespace anew::mpi {
namespace {

constexpr std::size_t little = 32768;  // bytes
constexpr std::int64_t chunk = 256;    // elements that are joined at a time

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::byte* writable(const std::byte* x) { return const_cast<std::byte*>(x); }  // of what is only sent

template <class T>
T join(Joins how, T a, T b) {
  if (how == Joins::sum) {
    using W = typename Wrapping<T>::type;
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
  if constexpr (std::is_floating_point_v<T>)
    if (a != a || b != b) return a != a ? a : b;
  return how == Joins::max ? std::max(a, b) : std::min(a, b);
}
template <class T>
void join_all(Joins how, T* a, const T* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) a[i] = join(how, a[i], b[i]);
}

// The half of n ranks, n > 1, that the tree joins first: the largest power of two below n.
int first_half(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1))); }

// n elements of ranks [begin, end), joined into `out`.
template <class E, class T>
void join_ranks(Joins how, std::span<const std::byte* const> x, std::int64_t at, std::int64_t n, T* out) {
  if (x.size() == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      out[i] = convert_number<T>(read_element<E>(x[0] + (at + i) * static_cast<std::int64_t>(sizeof(E))));
    }
    return;
  }
  const std::size_t half = static_cast<std::size_t>(first_half(static_cast<int>(x.size())));
  std::array<T, chunk> other;
  join_ranks<E>(how, x.first(half), at, n, out);
  join_ranks<E>(how, x.subspan(half), at, n, other.data());
  join_all(how, out, other.data(), n);
}

// The elements of all ranks, joined; y may be one of x.
void join_parts(Joins how, std::span<const std::byte* const> x, std::byte* y, std::int64_t elements, DType dtype) {
  visit(dtype, [&]<class E>(std::type_identity<E>) {
    using T = Computed<E>;
    for (std::int64_t at = 0; at < elements; at += chunk) {
      const std::int64_t n = std::min(chunk, elements - at);
      std::array<T, chunk> sum;
      join_ranks<E>(how, x, at, n, sum.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const E e = convert_number<E>(sum[i]);
        std::memcpy(y + (at + i) * static_cast<std::int64_t>(sizeof(E)), &e, sizeof(E));
      }
    }
  });
}

bool is_little(std::int64_t elements, DType dtype) {
  return static_cast<std::size_t>(elements) * size_of(dtype) <= little;
}

// Along the tree to rank 0, and back.
template <class E>
void reduce_little(const Group& g, Joins how, const std::byte* x, std::byte* y, std::int64_t elements,
                   std::byte* scratch) {
  using T = Computed<E>;
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
  T* const sum = reinterpret_cast<T*>(scratch);
  T* const other = reinterpret_cast<T*>(scratch + aligned(bytes));
  convert_elements(x, static_cast<std::size_t>(elements), dtype_of_element<E>, dtype_of_element<T>, sum);
  for (int step = 1; step < g.size; step *= 2) {
    if (g.rank % (2 * step) == step) {
      const Parcel up{g.rank - step, scratch, bytes};
      g.exchange({&up, 1}, {});
      break;
    }
    if (g.rank + step >= g.size) continue;
    const Parcel from{g.rank + step, reinterpret_cast<std::byte*>(other), bytes};
    g.exchange({}, {&from, 1});
    join_all(how, sum, other, elements);
  }
  if (g.rank == 0)
    convert_elements(sum, static_cast<std::size_t>(elements), dtype_of_element<T>, dtype_of_element<E>, y);
  broadcast(g, y, static_cast<std::size_t>(elements) * sizeof(E), 0);
}

// Where part r of n elements begins.
std::int64_t part(const Group& g, std::int64_t n, int r) {
  return n / g.size * r + std::min<std::int64_t>(n % g.size, r);
}

// This rank's part of the join: what other ranks have of it comes into scratch.
void reduce_own_part(const Group& g, Joins how, const std::byte* x, std::byte* y, std::int64_t elements, DType dtype,
                     std::byte* scratch) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t begin = part(g, elements, g.rank), own = part(g, elements, g.rank + 1) - begin;
  std::vector<Parcel> out, in;
  std::vector<const std::byte*> parts;
  for (int r = 0, place = 0; r < g.size; ++r) {
    if (r == g.rank) {
      parts.push_back(x + begin * size);
      continue;
    }
    const std::int64_t theirs = part(g, elements, r);
    std::byte* const to = scratch + own * size * place++;
    out.push_back(
        {r, writable(x) + theirs * size, static_cast<std::size_t>((part(g, elements, r + 1) - theirs) * size)});
    in.push_back({r, to, static_cast<std::size_t>(own * size)});
    parts.push_back(to);
  }
  g.exchange(out, in);
  join_parts(how, parts, y, own, dtype);
}

}  // namespace

std::size_t reduce_scratch(const Group& g, std::int64_t elements, DType dtype) {
  if (g.size == 1 || elements == 0) return 0;
  if (is_little(elements, dtype))
    return 2 * aligned(static_cast<std::size_t>(elements) * size_of(computed_type(dtype)));
  return scatter_scratch(g, elements, dtype);
}

std::size_t scatter_scratch(const Group& g, std::int64_t elements, DType dtype) {
  if (g.size == 1 || elements == 0) return 0;
  const std::int64_t own = (elements + g.size - 1) / g.size;  // the largest part: the same on all ranks
  return aligned(static_cast<std::size_t>(own * (g.size - 1)) * size_of(dtype));
}

void all_reduce(const Group& g, Joins how, const std::byte* x, std::byte* y, std::int64_t elements, DType dtype,
                std::byte* scratch) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  if (elements == 0) return;
  if (g.size == 1) {
    if (x != y) std::memcpy(y, x, static_cast<std::size_t>(elements * size));
    return;
  }
  if (is_little(elements, dtype))
    return visit(dtype, [&]<class E>(std::type_identity<E>) { reduce_little<E>(g, how, x, y, elements, scratch); });
  const std::int64_t begin = part(g, elements, g.rank);
  reduce_own_part(g, how, x, y + begin * size, elements, dtype, scratch);
  std::vector<Parcel> out, in;
  for (int r = 0; r < g.size; ++r) {
    if (r == g.rank) continue;
    auto bytes = [&](int rank) {
      return static_cast<std::size_t>((part(g, elements, rank + 1) - part(g, elements, rank)) * size);
    };
    out.push_back({r, y + begin * size, bytes(g.rank)});
    in.push_back({r, y + part(g, elements, r) * size, bytes(r)});
  }
  g.exchange(out, in);
}

void reduce_scatter(const Group& g, const std::byte* x, std::byte* y, std::int64_t elements, DType dtype,
                    std::byte* scratch) {
  if (elements > 0) reduce_own_part(g, Joins::sum, x, y, elements, dtype, scratch);
}

void all_gather(const Group& g, std::byte* y, std::size_t bytes) {
  std::vector<Parcel> out, in;
  auto place = [&](int r) { return y + static_cast<std::size_t>(r) * bytes; };
  for (int r = 0; r < g.size; ++r) {
    if (r == g.rank) continue;
    out.push_back({r, place(g.rank), bytes});
    in.push_back({r, place(r), bytes});
  }
  g.exchange(out, in);
}

void all_to_all(const Group& g, const std::byte* x, std::byte* y, std::size_t bytes) {
  std::vector<Parcel> out, in;
  for (int r = 0; r < g.size; ++r) {
    const std::size_t at = static_cast<std::size_t>(r) * bytes;
    if (r == g.rank) {
      if (bytes) std::memcpy(y + at, x + at, bytes);
      continue;
    }
    out.push_back({r, writable(x) + at, bytes});
    in.push_back({r, y + at, bytes});
  }
  g.exchange(out, in);
}

// A tree of ranks, counted from the root: each has it from the rank without its lowest bit.
void broadcast(const Group& g, std::byte* y, std::size_t bytes, int root) {
  const int place = (g.rank - root + g.size) % g.size;
  auto rank_at = [&](int p) { return (p + root) % g.size; };
  int step = 1;
  for (; step < g.size; step *= 2) {
    if (place % (2 * step) != step) continue;
    const Parcel from{rank_at(place - step), y, bytes};
    g.exchange({}, {&from, 1});
    break;
  }
  std::vector<Parcel> out;
  for (step /= 2; step > 0; step /= 2)
    if (place + step < g.size) out.push_back({rank_at(place + step), y, bytes});
  g.exchange(out, {});
}

}  // namespace anew::mpi
