// Quicksort of one line with vectors: a partition writes what is not above the pivot where it was, and what is above it
// into the other of two memories, at the places where it shall be in the end. So half of each memory becomes free for
// the other half of the line, and nothing is moved twice. Parts of at most 256 words are sorted in registers.
// Invariant: element i of a part lies at i in one of the two memories, and no store leaves the part. Compiled for
// x86-64-v4, so nothing here may become a function that others link to: all is in the unnamed namespace.
#include <immintrin.h>

#include <cstring>
#include <limits>
#include <utility>

#include "runtime/sort_vectors.h"

namespace anew {
namespace {

// What the plain forms of these intrinsics leave undefined draws a false warning from g++ 12, so lanes are said as a
// mask. The rest of `front` is x again: a register of zeros or a new one would be one that the processor waits for,
// since it keeps lanes of it.
struct Lanes32 {
  using Element = std::int32_t;
  typedef Element Register __attribute__((vector_size(64)));
  using Mask = __mmask16;
  static constexpr int lanes = 16;
  static constexpr Element infinity = 0x7f800000;
  static Register all(Element x) { return (Register)_mm512_set1_epi32(x); }
  static Register load(const Element* p, Mask m, Register rest) {
    return (Register)_mm512_mask_loadu_epi32((__m512i)rest, m, p);
  }
  static void store(Element* p, Register x) { _mm512_storeu_si512(p, (__m512i)x); }
  static void store(Element* p, Register x, Mask m) { _mm512_mask_storeu_epi32(p, m, (__m512i)x); }
  static Register min(Register a, Register b) {
    return (Register)_mm512_maskz_min_epi32(0xffff, (__m512i)a, (__m512i)b);
  }
  static Register max(Register a, Register b) {
    return (Register)_mm512_maskz_max_epi32(0xffff, (__m512i)a, (__m512i)b);
  }
  static Register max(Register a, Register b, Mask m, Register rest) {
    return (Register)_mm512_mask_max_epi32((__m512i)rest, m, (__m512i)a, (__m512i)b);
  }
  static Mask above(Register a, Register b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b); }
  static Mask equal(Register a, Register b) { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
  static Register choose(Mask m, Register a, Register b) {
    return (Register)_mm512_mask_blend_epi32(m, (__m512i)a, (__m512i)b);
  }
  static Register front(Mask m, Register x) { return (Register)_mm512_mask_compress_epi32((__m512i)x, m, (__m512i)x); }
};

struct Lanes64 {
  using Element = std::int64_t;
  typedef Element Register __attribute__((vector_size(64)));
  using Mask = __mmask8;
  static constexpr int lanes = 8;
  static constexpr Element infinity = 0x7ff0000000000000;
  static Register all(Element x) { return (Register)_mm512_set1_epi64(x); }
  static Register load(const Element* p, Mask m, Register rest) {
    return (Register)_mm512_mask_loadu_epi64((__m512i)rest, m, p);
  }
  static void store(Element* p, Register x) { _mm512_storeu_si512(p, (__m512i)x); }
  static void store(Element* p, Register x, Mask m) { _mm512_mask_storeu_epi64(p, m, (__m512i)x); }
  static Register min(Register a, Register b) { return (Register)_mm512_maskz_min_epi64(0xff, (__m512i)a, (__m512i)b); }
  static Register max(Register a, Register b) { return (Register)_mm512_maskz_max_epi64(0xff, (__m512i)a, (__m512i)b); }
  static Register max(Register a, Register b, Mask m, Register rest) {
    return (Register)_mm512_mask_max_epi64((__m512i)rest, m, (__m512i)a, (__m512i)b);
  }
  static Mask above(Register a, Register b) { return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b); }
  static Mask equal(Register a, Register b) { return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b); }
  static Register choose(Mask m, Register a, Register b) {
    return (Register)_mm512_mask_blend_epi64(m, (__m512i)a, (__m512i)b);
  }
  static Register front(Mask m, Register x) { return (Register)_mm512_mask_compress_epi64((__m512i)x, m, (__m512i)x); }
};

template <class L>
using RegisterOf = typename L::Register;

// The lanes i < n, of which n may be any number, without a branch.
template <class L>
typename L::Mask first_lanes(std::int64_t n) {
  using E = typename L::Element;
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return L::above(L::all(static_cast<E>(n)), RegisterOf<L>{E{i}...});
  }(std::make_integer_sequence<int, L::lanes>());
}

// Lane i becomes lane i ^ d.
template <class L, int d>
RegisterOf<L> across(RegisterOf<L> x) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(x, x, (i ^ d)...);
  }(std::make_integer_sequence<int, L::lanes>());
}
template <class L, int d>
constexpr typename L::Mask lanes_with() {  // bit d in their number
  unsigned lanes = 0;
  for (unsigned i = 0; i < L::lanes; ++i) lanes |= (i & d ? 1u : 0u) << i;
  return static_cast<typename L::Mask>(lanes);
}

// Sorts what some registers hold. Counted lane by lane, first within lanes and then by merging neighbours, because only
// the latter needs shuffles; in the end lane by lane becomes register by register.
template <class L, int count>
struct Network {
  using Register = RegisterOf<L>;
  Register v[count];

  template <int a, int b>
  void order() {
    const Register x = v[a], y = v[b];
    v[a] = L::min(x, y);
    v[b] = L::max(x, y);
  }
  // Batcher's odd-even merge of registers from, from + step, ... of n.
  template <int from, int n, int step>
  void merge_registers() {
    if constexpr (2 * step < n) {
      merge_registers<from, n, 2 * step>();
      merge_registers<from + step, n, 2 * step>();
      [&]<int... i>(std::integer_sequence<int, i...>) {
        (order<from + step + 2 * step * i, from + 2 * step + 2 * step * i>(), ...);
      }(std::make_integer_sequence<int, n / (2 * step) - 1>());
    } else {
      order<from, from + step>();
    }
  }
  template <int from, int n>
  void sort_registers() {
    if constexpr (n > 1) {
      sort_registers<from, n / 2>();
      sort_registers<from + n / 2, n / 2>();
      merge_registers<from, n, 1>();
    }
  }
  // What rises and then falls, within lanes.
  template <int from, int n>
  void clean_registers() {
    if constexpr (n > 1) {
      [&]<int... i>(std::integer_sequence<int, i...>) {
        (order<from + i, from + n / 2 + i>(), ...);
      }(std::make_integer_sequence<int, n / 2>());
      clean_registers<from, n / 2>();
      clean_registers<from + n / 2, n / 2>();
    }
  }
  template <int d>
  void clean_lanes() {
    if constexpr (d > 0) {
#pragma GCC unroll 32
      for (int i = 0; i < count; ++i) {
        const Register x = v[i], y = across<L, d>(x);
        v[i] = L::max(x, y, lanes_with<L, d>(), L::min(x, y));
      }
      clean_lanes<d / 2>();
    }
  }
  // Runs of `run` lanes become runs of twice as many: the first of one meets the last of the other.
  template <int run>
  void merge_lanes() {
    if constexpr (run < L::lanes) {
#pragma GCC unroll 32
      for (int i = 0; i < (count + 1) / 2; ++i) {
        const Register x = v[i], y = across<L, 2 * run - 1>(v[count - 1 - i]), low = L::min(x, y), high = L::max(x, y);
        v[i] = L::choose(lanes_with<L, run>(), low, high);
        if constexpr (count > 1) v[count - 1 - i] = across<L, 2 * run - 1>(L::choose(lanes_with<L, run>(), high, low));
      }
      clean_lanes<run / 2>();
      clean_registers<0, count>();
      merge_lanes<2 * run>();
    }
  }
  // Seen as bits, the place of an element is that of its register and then that of its lane. Interleaving halves of the
  // registers turns these bits by one to the left, taking pairs of registers apart to the right: whichever is shorter.
  template <int done>
  void turn() {
    if constexpr (done < (count < L::lanes ? count : L::lanes)) {
      constexpr int n = L::lanes, half = count / 2;
      Register w[count];
      [&]<int... l>(std::integer_sequence<int, l...>) {
#pragma GCC unroll 16
        for (int i = 0; i < half; ++i)
          if constexpr (count <= n) {
            w[2 * i] = __builtin_shufflevector(v[i], v[i + half], (l / 2 + l % 2 * n)...);
            w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + half], (l / 2 + n / 2 + l % 2 * n)...);
          } else {
            w[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], (2 * l)...);
            w[i + half] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], (2 * l + 1)...);
          }
      }(std::make_integer_sequence<int, n>());
#pragma GCC unroll 32
      for (int i = 0; i < count; ++i) v[i] = w[i];
      turn<2 * done>();
    }
  }
  void sort() {
    sort_registers<0, count>();
    merge_lanes<1>();
    turn<1>();
  }
};

template <class L>
class Sorter {
 public:
  using K = typename L::Element;
  using Register = RegisterOf<L>;
  using Mask = typename L::Mask;
  Sorter(K* to, K* spare, Words words) : to_(to), spare_(spare), words_(words) {}

  // Of [begin, end) of x; `raw` are words that are not yet keys, which may lie in memory of the caller's.
  void sort(const K* x, bool raw, std::int64_t begin, std::int64_t end, int depth) {
    if (end - begin <= most) return sort_few(x, raw, begin, end);
    if (!raw && depth <= 0) return sort_plainly(x == to_ ? to_ : spare_, begin, end);
    const K pivot = choose(x, raw, begin, end);
    K* const low = raw || x == to_ ? to_ : spare_;
    const std::int64_t middle = partition(x, raw, low, begin, end, pivot);
    if (middle < end) {
      sort(low, false, begin, middle, depth - 1);
      return sort(other(low), false, middle, end, depth - 1);
    }
    // Nothing is above the pivot: what is equal to it is done.
    const std::int64_t equal = pivot == least ? begin : partition(low, false, low, begin, end, pivot - 1);
    for (std::int64_t i = equal; i < end; i += lanes) store(to_ + i, L::all(pivot), end - i);
    if (begin < equal) sort(low, false, begin, equal, depth - 1);
  }
  bool lost() const { return lost_ != 0; }

 private:
  static constexpr int lanes = L::lanes;
  static constexpr Mask all = static_cast<Mask>(~0u);
  static constexpr std::int64_t most = 256;  // sorted in registers
  static constexpr K least = std::numeric_limits<K>::min(), greatest = std::numeric_limits<K>::max();

  K* other(const K* memory) const { return memory == to_ ? spare_ : to_; }

  // f(what words are), a constant, so that no vector asks.
  template <class F>
  static void with(Words words, F f) {
    if (words == Words::with_sign) f(std::integral_constant<Words, Words::with_sign>());
    else if (words == Words::without_sign) f(std::integral_constant<Words, Words::without_sign>());
    else f(std::integral_constant<Words, Words::floats>());
  }
  template <Words words>
  static Register number_of(Register key) {
    if constexpr (words == Words::with_sign) return key;
    else if constexpr (words == Words::without_sign) return key ^ least;
    else return key ^ ((key >> (8 * sizeof(K) - 1)) & greatest);
  }
  // The keys of words, `rest` in lanes that are not there.
  template <Words words>
  static Register load(const K* p, Mask present, Register rest, Mask& lost) {
    const Register word = L::load(p, present, rest);
    if constexpr (words == Words::with_sign) return word;
    Register key = number_of<words>(word);
    if constexpr (words == Words::floats) {
      const Mask nan = L::above(word & greatest, L::all(L::infinity)), zero = L::equal(word, L::all(least));
      lost |= static_cast<Mask>((nan | zero) & present);
      key = L::choose(nan, key, L::all(greatest));
    }
    return L::choose(present, rest, key);
  }
  void store(K* p, Register key, std::int64_t n) const {
    with(words_, [&](auto words) { L::store(p, number_of<words>(key), first_lanes<L>(n)); });
  }

  template <int count>
  [[gnu::noinline]] void sort_registers(const K* x, bool raw, std::int64_t n, K* to) {
    Network<L, count> network;
    const auto present = [n](int i) { return i < count / 2 ? all : first_lanes<L>(n - i * lanes); };
    with(raw ? words_ : Words::with_sign, [&](auto words) {
      Mask lost = 0;
#pragma GCC unroll 32
      for (int i = 0; i < count; ++i) network.v[i] = load<words>(x + i * lanes, present(i), L::all(greatest), lost);
      lost_ |= lost;
    });
    network.sort();
    with(words_, [&](auto words) {
#pragma GCC unroll 32
      for (int i = 0; i < count; ++i) L::store(to + i * lanes, number_of<words>(network.v[i]), present(i));
    });
  }
  void sort_few(const K* x, bool raw, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = end - begin;
    if (n <= lanes) return sort_registers<1>(x + begin, raw, n, to_ + begin);
    if (n <= 2 * lanes) return sort_registers<2>(x + begin, raw, n, to_ + begin);
    if (n <= 4 * lanes) return sort_registers<4>(x + begin, raw, n, to_ + begin);
    if (n <= 8 * lanes) return sort_registers<8>(x + begin, raw, n, to_ + begin);
    if (n <= 16 * lanes) return sort_registers<16>(x + begin, raw, n, to_ + begin);
    if constexpr (16 * lanes < most) sort_registers<32>(x + begin, raw, n, to_ + begin);
  }
  // A heap, without the library, whose functions others link to.
  static void sink(K* x, std::int64_t at, std::int64_t n) {
    const K word = x[at];
    for (std::int64_t below = 2 * at + 1; below < n; below = 2 * at + 1) {
      if (below + 1 < n && x[below + 1] > x[below]) ++below;
      if (x[below] <= word) break;
      x[at] = x[below];
      at = below;
    }
    x[at] = word;
  }
  [[gnu::noinline]] void sort_plainly(K* x, std::int64_t begin, std::int64_t end) {
    K* const first = x + begin;
    const std::int64_t n = end - begin;
    for (std::int64_t i = n / 2; i-- > 0;) sink(first, i, n);
    for (std::int64_t i = n; i-- > 1;) {
      const K greatest_left = first[0];
      first[0] = first[i];
      first[i] = greatest_left;
      sink(first, 0, i);
    }
    for (std::int64_t i = begin; i < end; i += lanes)
      store(to_ + i, L::load(x + i, first_lanes<L>(end - i), L::all(0)), end - i);
  }
  // The median of some elements that are spread evenly.
  K choose(const K* x, bool raw, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = end - begin;
    return n < 64 * most ? median<1>(x + begin, raw, n) : median<8>(x + begin, raw, n);
  }
  template <int count>
  [[gnu::noinline]] K median(const K* x, bool raw, std::int64_t n) {
    constexpr int some = count * lanes;
    K sample[some];
    const std::int64_t step = n / some;
    for (int i = 0; i < some; ++i) std::memcpy(sample + i, x + step / 2 + i * step, sizeof(K));
    Network<L, count> network;
    with(raw ? words_ : Words::with_sign, [&](auto words) {
      Mask lost = 0;
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i) network.v[i] = load<words>(sample + i * lanes, all, L::all(0), lost);
    });
    network.sort();
    return network.v[count / 2][count == 1 ? lanes / 2 : 0];
  }

  // Of [begin, end) of x: what is not above the pivot goes to the front of it in `low`, which may be x, the rest to its
  // end in the other memory. A whole vector is stored of both; what is too much of it lies where nothing is yet, or
  // where has been read.
  std::int64_t partition(const K* x, bool raw, K* low, std::int64_t begin, std::int64_t end, K pivot) {
    std::int64_t middle;
    with(raw ? words_ : Words::with_sign, [&](auto words) { middle = partition<words>(x, low, begin, end, pivot); });
    return middle;
  }
  template <Words words>
  [[gnu::noinline]] std::int64_t partition(const K* x, K* low, std::int64_t begin, std::int64_t end, K pivot_key) {
    K *at = low + begin, *high = other(low) + end;
    const Register pivot = L::all(pivot_key);
    Mask lost = 0;
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const Register v = load<words>(x + i, all, pivot, lost);
      const Mask up = L::above(v, pivot);
      const int ups = __builtin_popcount(up);
      L::store(at, L::front(static_cast<Mask>(~up), v));
      L::store(high - lanes, across<L, lanes - 1>(L::front(up, v)));
      at += lanes - ups, high -= ups;
    }
    if (i < end) {
      const Mask present = first_lanes<L>(end - i);
      const Register v = load<words>(x + i, present, pivot, lost);
      const Mask up = L::above(v, pivot), down = static_cast<Mask>(present & ~up);
      const int ups = __builtin_popcount(up), downs = __builtin_popcount(down);
      L::store(at, L::front(down, v), first_lanes<L>(downs));
      L::store(high - ups, L::front(up, v), first_lanes<L>(ups));
      at += downs;
    }
    lost_ |= lost;
    return at - low;
  }

  K *to_, *spare_;
  Words words_;
  unsigned lost_ = 0;
};

template <class L>
bool sort_line(std::int64_t n, const typename L::Element* from, typename L::Element* to, typename L::Element* spare,
               Words words, int depth) {
  Sorter<L> sorter(to, spare, words);
  sorter.sort(from, true, 0, n, depth);
  return sorter.lost();
}

}  // namespace

bool sort_line_avx512(std::int64_t n, const std::int32_t* from, std::int32_t* to, std::int32_t* spare, Words words,
                      int depth) {
  return sort_line<Lanes32>(n, from, to, spare, words, depth);
}
bool sort_line_avx512(std::int64_t n, const std::int64_t* from, std::int64_t* to, std::int64_t* spare, Words words,
                      int depth) {
  return sort_line<Lanes64>(n, from, to, spare, words, depth);
}

}  // namespace anew
